"""What is said: scenes of a few turns each, with places to fill. Pure."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import orjson

Said = dict[str, Any]

CITIES = ("Lisbon", "Kyoto", "Tromsø", "Valparaíso", "Ghent", "Tbilisi", "Halifax", "Oaxaca")
NAMES = ("Ada", "Noor", "Jonas", "Mei", "Tomás", "Ingrid", "Kwame", "Yuki", "Priya", "Leo", "Zofia", "Samir")
SERVICES = ("checkout", "billing", "search-api", "image-resizer", "auth", "notifications", "ledger")
BOOKS = ("The Left Hand of Darkness", "Invisible Cities", "The Dispossessed", "Pedro Páramo", "Austerlitz")
DISHES = ("lentil soup", "shakshuka", "okonomiyaki", "ratatouille", "dal", "focaccia")


def scene(random: Random, agent: str) -> Iterator[Said]:
    chosen = random.choice(SCENES[agent])
    call = f"call_{random.getrandbits(40):010x}"
    yield from chosen(random, call)


def _weather(random: Random, call: str) -> Iterator[Said]:
    city, warm = random.choice(CITIES), random.randint(-4, 33)
    yield _user(f"How warm will it be in {city} tomorrow? Do I need a jacket?")
    yield from _tool(
        call,
        "weather",
        {"city": city, "days": 1},
        {"city": city, "high": warm, "low": warm - 8, "rain": random.random() > 0.6},
    )
    advice = "take a jacket" if warm < 18 else "no jacket needed"
    yield _assistant(f"**{warm} °C** in {city} tomorrow, {warm - 8} °C in the morning: {advice}.", random)
    yield _user("thanks!")
    yield _assistant("You're welcome. Have a good trip.", random)


def _calendar(random: Random, call: str) -> Iterator[Said]:
    who, hour = random.choice(NAMES), random.randint(9, 16)
    yield _user(f"Can you move my call with {who} to {hour}:30 on Thursday?")
    yield from _tool(
        call,
        "calendar.find",
        {"with": who, "range": "this week"},
        [{"id": "ev_311", "title": f"Call with {who}", "start": "Wed 10:00", "minutes": 30}],
    )
    yield from _tool(call + "b", "calendar.move", {"id": "ev_311", "start": f"Thu {hour}:30"}, {"ok": True})
    yield _decision(
        f"Moved without asking {who} first",
        "The event is marked as movable and the new time is free for both.",
    )
    yield _assistant(
        f"Done. The call with {who} is on Thursday at {hour}:30 now.\n\n"
        f"- {who} got the new invitation\n- your reminder is 10 minutes before",
        random,
    )


def _recipe(random: Random, call: str) -> Iterator[Said]:
    dish, people = random.choice(DISHES), random.randint(2, 8)
    yield _user(f"I want to cook {dish} for {people}. What do I have to buy?")
    yield from _tool(call, "pantry.list", {}, {"have": ["salt", "olive oil", "onions", "rice"]})
    yield _assistant(
        f"For {dish} for {people} you still need:\n\n| what | how much |\n|---|---|\n"
        f"| tomatoes | {people * 150} g |\n| garlic | {people} cloves |\n| cumin | 2 tsp |\n\n"
        "Salt, oil and onions are in the pantry.",
        random,
    )
    yield _user("Put it on the shopping list please, and no garlic, Noor is allergic")
    yield from _tool(
        call + "b", "list.add", {"list": "shopping", "items": ["tomatoes", "cumin"]}, {"added": 2}
    )
    yield _decision("Garlic left out of everything for this household", "An allergy was mentioned.")
    yield _assistant("On the list, without garlic. I'll remember that for next time.", random)


def _book(random: Random, call: str) -> Iterator[Said]:
    book = random.choice(BOOKS)
    yield _user(f"I finished *{book}* last night and I'm still thinking about it. What should I read next?")
    yield _assistant(
        f"If {book} stayed with you, three that are near it:\n\n1. something by the same hand\n"
        "2. something from the same decade that disagrees with it\n3. something short, to get air\n\n"
        "Which of these appeals to you?",
        random,
        confidence=0.45,
    )
    yield _user("The second. Surprise me.")
    yield _error("timeout after 10 s", "library.search, first try")
    yield from _tool(
        call,
        "library.search",
        {"near": book, "not_by_same_author": True},
        {"found": random.randint(2, 40), "first": random.choice(BOOKS)},
    )
    yield _assistant("I put a copy aside for you at the library. It is there until Saturday.", random)


def _photo(random: Random, call: str) -> Iterator[Said]:
    yield {**_user("What plant is this? It grew behind the shed."), "media": ["uploads/2026/plant.jpg"]}
    yield _assistant(
        "That looks like **comfrey** (*Symphytum officinale*). The leaves make good compost.",
        random,
        confidence=0.62,
    )


def _booking(random: Random, call: str) -> Iterator[Said]:
    name, nights = random.choice(NAMES), random.randint(1, 6)
    yield _user(f"Hello, this is {name}. Do you have a double room for {nights} nights from Friday?")
    yield from _tool(
        call,
        "rooms.available",
        {"from": "Friday", "nights": nights, "beds": 2},
        {"rooms": [{"number": 204, "price": 118}, {"number": 310, "price": 142}]},
    )
    yield _assistant(
        f"Good day {name}. Two are free: **204** at 118 € and **310**, with the balcony, at 142 € a night.",
        random,
    )
    yield _user("310 please. We arrive late, around 23:00")
    yield from _tool(
        call + "b",
        "rooms.book",
        {"number": 310, "nights": nights, "name": name},
        {"booking": f"B-{random.randint(1000, 9999)}"},
    )
    yield _decision("Late arrival noted, night porter told", "Reception closes at 22:00.")
    yield _assistant("It is yours. The night porter knows and will be at the side entrance.", random)


def _complaint(random: Random, call: str) -> Iterator[Said]:
    yield _user("The heating in our room does not work and it is freezing.")
    yield {"kind": "tool_call", "tool": "heating.set", "args": {"room": 118, "celsius": 22}, "result": None}
    yield _error("502 from building control", "heating.set room 118")
    yield from _tool(
        call, "ticket.open", {"room": 118, "what": "heating"}, {"ticket": random.randint(400, 999)}
    )
    yield _assistant(
        "I am sorry. Somebody is on the way, and I have put an electric heater at your door. "
        "If it is not warm in half an hour we move you to 121.",
        random,
        confidence=0.38,
    )


def _incident(random: Random, call: str) -> Iterator[Said]:
    service, share = random.choice(SERVICES), random.randint(3, 38)
    yield _user(f"{service} is paging: {share} % errors since 14:02. What changed?")
    yield from _tool(
        call,
        "deploys.recent",
        {"service": service, "hours": 2},
        [{"sha": f"{random.getrandbits(28):07x}", "at": "13:58", "by": random.choice(NAMES).lower()}],
    )
    yield from _tool(
        call + "b",
        "logs.query",
        {"service": service, "level": "error", "limit": 3},
        ["KeyError: 'currency'", "KeyError: 'currency'", "upstream reset"],
    )
    yield _error(f"{service}: KeyError 'currency' ({share} % of requests)", "from the logs, 14:02 to 14:09")
    yield _decision(
        f"Roll {service} back to the release before 13:58",
        "The errors begin four minutes after the deploy and name a field that it added.",
    )
    yield from _tool(call + "c", "deploys.rollback", {"service": service}, {"ok": True, "seconds": 41})
    yield _assistant(
        f"Rolled **{service}** back at 14:11; errors are below 0.1 % again.\n\n"
        f"```\n14:02  {share:>3} %\n14:11    0 %\n```\n\n"
        "The new field `currency` is missing for accounts made before 2019. There is a ticket with examples.",
        random,
    )


def _capacity(random: Random, call: str) -> Iterator[Said]:
    service = random.choice(SERVICES)
    yield _user(f"Is {service} big enough for Friday's sale?")
    yield from _tool(
        call,
        "metrics.p99",
        {"service": service, "days": 14},
        {"p99_ms": random.randint(80, 900), "cpu": round(random.uniform(0.3, 0.9), 2)},
    )
    yield _assistant(
        "At twice the traffic it stays under its limit, at three times it does not. "
        "I suggest **two more replicas** from Thursday evening on.",
        random,
        confidence=0.71,
    )
    yield _user("ok do it, and remind me to take them down on Monday")
    yield from _tool(
        call + "b",
        "scale.schedule",
        {"service": service, "replicas": "+2", "from": "Thu 20:00"},
        {"scheduled": True},
    )
    yield _assistant("Scheduled. I will remind you on Monday at 9.", random)


def _question(random: Random, call: str) -> Iterator[Said]:
    yield _user("which runbook is for a stuck queue?")
    yield {
        "kind": "tool_call",
        "tool": "wiki.search",
        "args": {"q": "stuck queue"},
        "result": ["runbooks/queue"],
    }
    yield _assistant(
        "[Queue stands still](https://wiki.example.org/runbooks/queue), section 2. "
        "The short form: look at the oldest message first, then at the consumers.",
        random,
    )


SCENES: dict[str, tuple[Callable[[Random, str], Iterator[Said]], ...]] = {
    "main": (_weather, _calendar, _recipe, _book, _photo),
    "concierge": (_booking, _booking, _complaint, _weather),
    "ops-bot": (_incident, _capacity, _question),
}


def _user(text: str) -> Said:
    return {"role": "user", "content": text}


def _assistant(text: str, random: Random, confidence: float | None = None) -> Said:
    sure = round(random.uniform(0.78, 0.98), 2) if confidence is None else confidence
    return {"role": "assistant", "content": text, "confidence": sure}


def _tool(call: str, name: str, arguments: Said, result: Any) -> Iterator[Said]:
    function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
    yield {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]}
    yield {"role": "tool", "tool_call_id": call, "content": orjson.dumps(result).decode()}


def _error(error: str, context: str) -> Said:
    return {"kind": "error", "error": error, "context": context}


def _decision(decision: str, rationale: str) -> Said:
    return {"kind": "decision", "decision": decision, "rationale": rationale}
