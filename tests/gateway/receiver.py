"""A webhook receiver: a real server whose next answers a test writes down beforehand."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import BinaryIO

Answer = bytes | Callable[[socket.socket], None]


def answer(status: int, *headers: str, body: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@dataclass(frozen=True)
class Request:
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers 204 when nothing else was written down."""

    port: int
    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    answers: SimpleQueue[Answer] = field(default_factory=SimpleQueue)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def will(self, *answers: Answer) -> None:
        for each in answers:
            self.answers.put(each)

    def hang(self, wire: socket.socket) -> None:
        """Until the test lets go."""
        self.released.wait(60)

    def hang_then_accept(self, wire: socket.socket) -> None:
        self.released.wait(60)
        wire.sendall(answer(204))

    def trickle(self, wire: socket.socket) -> None:
        while not self.released.wait(0.02):
            wire.sendall(b"X")

    def serve(self, wire: socket.socket) -> None:
        if self.tls is not None:
            try:
                wire = self.tls.wrap_socket(wire, server_side=True)
            except OSError:
                wire.close()
                return
        with wire, wire.makefile("rb") as stream:
            self.requests.append(_request(stream))
            planned = answer(204) if self.answers.empty() else self.answers.get()
            self.arrived.release()
            if isinstance(planned, bytes):
                wire.sendall(planned)
            else:
                _ignoring_a_closed_wire(planned, wire)


def _ignoring_a_closed_wire(planned: Callable[[socket.socket], None], wire: socket.socket) -> None:
    try:
        planned(wire)
    except OSError:
        # The sender has given up, which is what such a test is about.
        return


def _request(stream: BinaryIO) -> Request:
    target = stream.readline().split()[1].decode()
    headers: dict[str, str] = {}
    while line := stream.readline().strip():
        name, _, value = line.decode("latin-1").partition(": ")
        headers[name.lower()] = value
    return Request(target, headers, stream.read(int(headers["content-length"])))


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        receiver = Receiver(door.getsockname()[1], tls)
        threads: list[threading.Thread] = []

        def take() -> None:
            while True:
                try:
                    wire, _ = door.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=receiver.serve, args=[wire], daemon=True))
                threads[-1].start()

        taking = threading.Thread(target=take, daemon=True)
        taking.start()
        yield receiver
        receiver.released.set()
        door.shutdown(socket.SHUT_RDWR)
        for thread in [taking, *threads]:
            thread.join(10)
