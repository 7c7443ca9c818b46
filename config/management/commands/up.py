import os
import shutil
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from config import embedded_broker, preparation
from config.env import writable_folder
from config.probe import web_is_ready
from config.processes import AlreadyRunning, OwnedProcess, Signals, only_one, port_is_free
from config.supervisor import Service, Supervisor
from config.web import STOP_SECONDS

# Between looks at whether the web server answers, until it does.
LOOK_AGAIN = 0.2
PORT_PATIENCE = 6.0


class Stopped(Exception):
    pass


class Command(BaseCommand):
    help = "Runs everything: broker (unless REDIS_URL is set), web, worker and scheduler, until Ctrl-C."
    # The database may not be there yet, and the checks that matter have run with the settings.
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (DAYBOOK_HOST)")
        parser.add_argument(
            "--port", type=int, default=settings.PORT, help="port to listen on (DAYBOOK_PORT)"
        )
        parser.add_argument(
            "--workers", type=int, default=settings.WEB_WORKERS, help="web processes (DAYBOOK_WEB_WORKERS)"
        )

    def handle(self, *args: Any, host: str, port: int, workers: int, **options: Any) -> None:
        data_dir = writable_folder("DAYBOOK_DATA_DIR", settings.DATA_DIR)
        try:
            with only_one(data_dir / "up.lock"):
                self.run(host, port, workers)
        except AlreadyRunning as error:
            raise CommandError(f"Daybook already runs on {data_dir} ({error}).") from None
        except (embedded_broker.NoBroker, preparation.NoDatabase) as error:
            raise CommandError(str(error)) from None

    def run(self, host: str, port: int, workers: int) -> None:
        if not port_is_free(host, port, patience=PORT_PATIENCE):
            raise CommandError(f"{host}:{port} is in use: choose another with --port or DAYBOOK_PORT.")
        signals = Signals()
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DAYBOOK_DATA_DIR": str(settings.DATA_DIR),
            "DAYBOOK_HOST": host,
            "DAYBOOK_PORT": str(port),
            "DAYBOOK_WEB_WORKERS": str(workers),
        }
        supervisor = Supervisor(
            spawn=lambda service: OwnedProcess(service, folder=settings.BASE_DIR, environment=environment),
            clock=time.monotonic,
            report=self.say,
        )
        self.say(f"data        {settings.DATA_DIR}")
        try:
            self.prepare(supervisor, signals)
            self.start_services(supervisor)
            self.announce(supervisor, signals, host, port)
            while not signals.stops:
                signals.pause(supervisor.step())
        except Stopped:
            pass
        finally:
            self.stop(supervisor, signals)

    def prepare(self, supervisor: Supervisor, signals: Signals) -> None:
        shutil.rmtree(settings.METRICS_DIR)
        settings.METRICS_DIR.mkdir()
        if settings.BROKER_IS_EMBEDDED:
            embedded_broker.dismiss_leftover(settings.EMBEDDED_BROKER_SOCKET)
            supervisor.start(
                embedded_broker.broker_service(settings.DATA_DIR, settings.EMBEDDED_BROKER_SOCKET)
            )
        applied = preparation.migrate()
        self.say(f"database    {connection.vendor}, {applied} migrations applied")
        self.stop_if_asked(signals)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.say("static      files collected")
        for line in preparation.lines_about(preparation.make_first_secrets()):
            self.say(line)
        connection.close()
        if settings.BROKER_IS_EMBEDDED:
            self.await_broker(supervisor, signals)

    def await_broker(self, supervisor: Supervisor, signals: Signals) -> None:
        deadline = time.monotonic() + embedded_broker.START_SECONDS
        while not embedded_broker.is_up(settings.EMBEDDED_BROKER_SOCKET):
            self.stop_if_asked(signals)
            if time.monotonic() >= deadline:
                log = settings.DATA_DIR / "broker" / "valkey.log"
                raise embedded_broker.NoBroker(f"The broker does not start; {log} says why.")
            signals.pause(0.02)
            supervisor.step()
        self.say("broker      Valkey, embedded")

    def start_services(self, supervisor: Supervisor) -> None:
        python = sys.executable
        celery = (python, "-m", "celery", "--quiet", "-A", "config")
        supervisor.start(Service("worker", (*celery, "worker"), stop_seconds=20))
        supervisor.start(Service("beat", (*celery, "beat", "--pidfile="), stop_seconds=10))
        supervisor.start(Service("web", (python, "-m", "config.web"), stop_seconds=STOP_SECONDS + 5))

    def announce(self, supervisor: Supervisor, signals: Signals, host: str, port: int) -> None:
        while not web_is_ready(host, port):
            self.stop_if_asked(signals)
            supervisor.step()
            signals.pause(LOOK_AGAIN)
        base = f"http://{host}:{port}" if ":" not in host else f"http://[{host}]:{port}"
        self.say(f"API         {base}/api/v1/docs")
        self.say(f"operators   {base}/admin/")
        self.say("Daybook is ready. Ctrl-C stops it.")

    def stop(self, supervisor: Supervisor, signals: Signals) -> None:
        self.say("Stopping …")
        before = signals.stops

        def pause(seconds: float) -> None:
            signals.pause(seconds)
            if signals.stops > max(before, 1):
                supervisor.hurry()

        supervisor.stop(pause)
        self.say("Stopped.")

    def stop_if_asked(self, signals: Signals) -> None:
        if signals.stops:
            raise Stopped

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
