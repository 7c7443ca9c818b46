"""One process of the crew: reads a plan a line, sends it with a thread for each list, writes the answers.

In a path `{last}` stands for the last id that the thread was answered.
"""

import sys
import threading
from typing import Any

import django
import orjson

django.setup()

from django.db import connections  # noqa: E402

from tests.conftest import Api  # noqa: E402


def work(secret: str, plan: list[list[list[Any]]]) -> list[list[list[Any]]]:
    answers: list[list[list[Any]]] = [[] for _ in plan]
    start = threading.Barrier(len(plan))

    def send(calls: list[list[Any]], into: list[list[Any]]) -> None:
        api, last = Api(secret, None), ""
        try:
            start.wait()
            for method, path, body, headers in calls:
                answer = api.send(method, path.replace("{last}", last), body, **headers)
                said = orjson.loads(answer.content) if answer.content else None
                last = said.get("id", last) if said else last
                into.append([answer.status_code, said, "Idempotent-Replayed" in answer.headers])
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=pair) for pair in zip(plan, answers, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def main() -> None:
    sys.stdout.buffer.write(b"ready\n")
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(orjson.dumps(work(*orjson.loads(line))) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
