"""The supervisor with a clock that is moved by hand and processes that do as they are told."""

from dataclasses import dataclass, field

import pytest

from config.supervisor import Backoff, Service, Supervisor, describe_exit


@dataclass
class FakeProcess:
    name: str
    pid: int
    events: list[str]
    code: int | None = None
    obeys: bool = True

    def exit_code(self) -> int | None:
        return self.code

    def ask_to_stop(self) -> None:
        self.events.append(f"stop {self.name}")
        if self.obeys:
            self.code = 0

    def kill(self) -> None:
        self.events.append(f"kill {self.name}")
        if self.code is None:
            self.code = -9


@dataclass
class World:
    now: float = 1000.0
    events: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    processes: list[FakeProcess] = field(default_factory=list)
    obedient: bool = True

    def supervisor(self) -> Supervisor:
        return Supervisor(spawn=self.spawn, clock=lambda: self.now, report=self.said.append)

    def spawn(self, service: Service) -> FakeProcess:
        process = FakeProcess(service.name, 100 + len(self.processes), self.events, obeys=self.obedient)
        self.processes.append(process)
        self.events.append(f"start {service.name}")
        return process

    def pause(self, seconds: float) -> None:
        self.now += seconds


def service(name: str, stop_seconds: float = 10) -> Service:
    return Service(name, ("/bin/true",), stop_seconds)


def test_delays_double_up_to_half_a_minute() -> None:
    backoff = Backoff()
    assert [backoff.delay_after(0) for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_process_that_lived_a_minute_starts_with_the_first_delay_again() -> None:
    backoff = Backoff()
    for _ in range(6):
        backoff.delay_after(59.9)
    assert [backoff.delay_after(60), backoff.delay_after(0)] == [1, 2]


def test_a_dead_process_starts_again_when_its_delay_is_over_and_not_before() -> None:
    world = World()
    supervisor = world.supervisor()
    supervisor.start(service("web"))
    assert supervisor.step() is None
    world.processes[0].code = 3

    assert supervisor.step() == 1.0
    world.now += 0.9
    assert supervisor.step() == pytest.approx(0.1)
    assert len(world.processes) == 1
    world.now += 0.1
    assert supervisor.step() is None

    assert len(world.processes) == 2
    assert world.said == ["web (process 100) ended with code 3; it starts again in 1 s", "web runs again"]


def test_what_a_dead_process_left_behind_is_ended_before_it_starts_again() -> None:
    world = World()
    supervisor = world.supervisor()
    supervisor.start(service("web"))
    world.processes[0].code = -9
    supervisor.step()
    world.now += 1
    supervisor.step()
    assert world.events == ["start web", "kill web", "start web"]
    assert world.said[0] == "web (process 100) was ended by signal 9; it starts again in 1 s"


def test_one_that_keeps_failing_waits_longer_while_the_others_run_on() -> None:
    world = World()
    supervisor = world.supervisor()
    supervisor.start(service("broker"))
    supervisor.start(service("web"))
    waits = []
    for _ in range(4):
        world.processes[-1].code = 1
        wait = supervisor.step()
        assert wait is not None
        waits.append(wait)
        world.now += wait
        assert supervisor.step() is None
    assert waits == [1, 2, 4, 8]
    assert [event for event in world.events if "broker" in event] == ["start broker"]


def test_the_next_look_is_due_when_the_first_of_several_starts() -> None:
    world = World()
    supervisor = world.supervisor()
    for name in ("broker", "web"):
        supervisor.start(service(name))
    world.processes[0].code = 1
    supervisor.step()
    world.now += 0.5
    world.processes[1].code = 1
    assert supervisor.step() == 0.5


def test_the_last_started_stops_first() -> None:
    world = World()
    supervisor = world.supervisor()
    for name in ("broker", "worker", "web"):
        supervisor.start(service(name))
    supervisor.stop(world.pause)
    assert [event for event in world.events if event.startswith("stop")] == [
        "stop web",
        "stop worker",
        "stop broker",
    ]
    assert world.said == []


def test_one_that_waits_for_its_next_start_is_not_started_to_be_stopped() -> None:
    world = World()
    supervisor = world.supervisor()
    supervisor.start(service("web"))
    world.processes[0].code = 1
    supervisor.step()
    supervisor.stop(world.pause)
    assert world.events == ["start web", "kill web"]


def test_one_that_does_not_stop_in_time_is_killed_and_named() -> None:
    world = World(obedient=False)
    supervisor = world.supervisor()
    supervisor.start(service("web", stop_seconds=5))
    supervisor.stop(world.pause)
    assert world.now == pytest.approx(1005, abs=0.2)
    assert world.events == ["start web", "stop web", "kill web"]
    assert world.said == ["web did not stop and is killed"]


def test_in_a_hurry_nobody_is_waited_for() -> None:
    world = World(obedient=False)
    supervisor = world.supervisor()
    for name in ("broker", "web"):
        supervisor.start(service(name))

    def pause(seconds: float) -> None:
        world.pause(seconds)
        supervisor.hurry()

    supervisor.stop(pause)
    assert world.now == pytest.approx(1000.1)
    assert world.said == ["web did not stop and is killed", "broker did not stop and is killed"]


@pytest.mark.parametrize(
    ("code", "said"), [(0, "ended with code 0"), (2, "ended with code 2"), (-15, "was ended by signal 15")]
)
def test_how_a_process_ended_is_told(code: int, said: str) -> None:
    assert describe_exit(code) == said
