"""The load generator of our own: keep-alive connections on raw sockets, for machines without wrk."""

import itertools
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import BenchError
from bench.crew import serve

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
TIMEOUT_SECONDS = 20


class Connection:
    """Sends its requests in turn, starting at its own place so that connections do not march in step."""

    def __init__(self, address: str, requests: Sequence[bytes], offset: int) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = itertools.cycle([*requests[offset:], *requests[:offset]])

    def exchange(self) -> None:
        self._socket.sendall(next(self._requests))
        answer = self._receive()
        status = answer[9:12]
        if not status.startswith(b"2"):
            raise BenchError(f"the server answered {answer[:2000].decode(errors='replace')}")

    def _receive(self) -> bytes:
        answer = self._some()
        while (head := answer.find(b"\r\n\r\n")) < 0:
            answer += self._some()
        length = LENGTH.search(answer, 0, head)
        if length is None:
            raise BenchError(f"an answer without a length: {answer[:head].decode(errors='replace')}")
        while len(answer) < head + 4 + int(length[1]):
            answer += self._some()
        return answer

    def _some(self) -> bytes:
        part = self._socket.recv(262_144)
        if not part:
            raise BenchError("the server closed a kept connection")
        return part


def read_requests(raw: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(raw):
        start = raw.index(b"\n", position) + 1
        position = start + int(raw[position:start])
        yield raw[start:position]


def main(address: str, file: str, connections: str, number: str, seconds: str) -> None:
    requests = list(read_requests(Path(file).read_bytes()))
    first = int(number) * int(connections)
    places = [(first + place) % len(requests) for place in range(int(connections))]
    serve([Connection(address, requests, place).exchange for place in places], float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
