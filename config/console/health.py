"""Who is there: each part of Daybook with the age of its last sign. Pure but for one look at the broker."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from config import broker
from config.health import OK, check_database

# The heart beats every 15 seconds; two that are missed may be a restart.
LATE = timedelta(seconds=45)
WORKER_LATE = timedelta(seconds=40)
LONG_QUEUE = 1000


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    well: bool
    said: str
    # What to do about it, where it is not well.
    advice: str = ""


def parts(now: datetime) -> list[Part]:
    database = check_database()
    web = Part("Web", True, "answers")
    stored = Part("Database", database == OK, "answers" if database == OK else database)
    try:
        signs = broker.signs()
    except broker.Unavailable:
        gone = Part("Broker", False, "does not answer", "Background work stands still. See the broker's log.")
        unknown = [Part(name, False, "unknown without the broker") for name in ("Worker", "Scheduler")]
        return [gone, *unknown, stored, web]
    return [_worker(signs, now), _scheduler(signs, now), _broker(signs), stored, web]


def missing(found: Iterable[Part]) -> list[Part]:
    return [part for part in found if not part.well]


def age(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    for limit, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= limit:
            return f"{seconds // limit} {unit}"
    return f"{seconds} s"


def _worker(signs: broker.Signs, now: datetime) -> Part:
    live = [at for at in signs.workers.values() if now - at <= WORKER_LATE]
    if live:
        number = f"{len(live)} of them, " if len(live) > 1 else ""
        return Part("Worker", True, f"{number}last sign {age(max(live), now)} ago")
    advice = "Nothing is delivered, swept or condensed. Start one: python -m celery -A config worker"
    known = [*signs.workers.values(), *([signs.beat] if signs.beat else [])]
    if not known:
        return Part("Worker", False, "never seen", advice)
    return Part("Worker", False, f"missing for {age(max(known), now)}", advice)


def _scheduler(signs: broker.Signs, now: datetime) -> Part:
    advice = "No schedule runs. Start exactly one: python -m celery -A config beat"
    if signs.scheduler is None:
        return Part("Scheduler", False, "never seen", advice)
    if now - signs.scheduler > LATE:
        return Part("Scheduler", False, f"missing for {age(signs.scheduler, now)}", advice)
    return Part("Scheduler", True, f"last beat {age(signs.scheduler, now)} ago")


def _broker(signs: broker.Signs) -> Part:
    said = f"answers, {signs.waiting} waiting"
    if signs.waiting > LONG_QUEUE:
        return Part("Broker", False, said, "Tasks come faster than workers take them: start more workers.")
    return Part("Broker", True, said)
