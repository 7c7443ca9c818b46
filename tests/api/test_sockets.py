"""Requests that no well-meaning client sends, over a socket, against the web server itself."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.operations.daybook import ROOT, clean_environment, free_port, until

AUTH = "Authorization: Bearer "


@dataclass(frozen=True)
class Web:
    port: int
    key: str
    log: Path

    def says(
        self, raw: bytes, *, then: bytes = b"", half_close: bool = False
    ) -> tuple[int, dict[str, str], bytes]:
        """Send the bytes as they are and read the whole answer; status 0 where the server just hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as wire:
            try:
                wire.sendall(raw + then)
                if half_close:
                    wire.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # It may have answered and closed before it took everything.
            received = b""
            try:
                while chunk := wire.recv(65536):
                    received += chunk
            except ConnectionResetError:
                pass
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        if not lines[0]:
            return 0, {}, b""
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        return int(lines[0].split()[1]), headers, body

    def request(
        self, method: str, path: bytes, *headers: bytes, body: bytes = b"", half_close: bool = False
    ) -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} ".encode() + path + b" HTTP/1.1", b"Connection: close"]
        if not any(header.lower().startswith(b"host:") for header in headers):
            lines.append(b"Host: daybook")
        if not any(header.lower().startswith(b"authorization:") for header in headers):
            lines.append(f"{AUTH}{self.key}".encode())
        raw = b"\r\n".join([*lines, *headers]) + b"\r\n\r\n"
        return self.says(raw, then=body, half_close=half_close)

    def entries(self) -> int:
        """How many there are: proof that the server still answers, and that nothing was stored."""
        status, _, body = self.request("GET", b"/api/v1/messages/recent?limit=500")
        assert status == 200, body
        return len(json.loads(body)["items"])


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("web")
    port, log = free_port(), folder / "web.log"
    environment = clean_environment(
        DAYBOOK_DATA_DIR=str(folder / "data"),
        DAYBOOK_PORT=str(port),
        DAYBOOK_WEB_WORKERS="1",
        REDIS_URL=os.environ["REDIS_URL"],
    )

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    manage("migrate", "--verbosity=0")
    key = manage("create_api_key", "test", "--scope", "write")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.web"], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    found = Web(port, key, log)
    try:
        until(lambda: _answers(found), "the web server")
        yield found
    finally:
        process.terminate()
        process.wait(30)


def _answers(web: Web) -> bool:
    try:
        return web.request("GET", b"/healthz")[0] == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def path(web: Web) -> bytes:
    """Where messages of a session are appended."""
    body = b'{"key": "k"}'
    length = b"Content-Length: %d" % len(body)
    status, _, answer = web.request(
        "POST", b"/api/v1/sessions", b"Content-Type: application/json", length, body=body
    )
    assert status == 201, answer
    return f"/api/v1/sessions/{json.loads(answer)['id']}/messages".encode()


@pytest.mark.parametrize(
    ("target", "statuses"),
    [
        (b"/api/v1/sessions/\xff\xfe", {400, 404}),
        (b"/api/v1/sessions/%FF%FE", {404}),
        (b"/api/v1/sessions/%00", {404}),
        (b"/api/v1/sessions?q=\xff", {200, 400}),
        (b"/api/v1/sessions?q=%FF", {200}),
        (b"/api/v1/sessions?q=%00", {422}),
        (b"/api/v1/sessions?q=%ED%A0%80", {200}),
        (b"/api/v1/sessions/" + b"x" * 5000, {404}),
        (b"/api/v1/%2e%2e/%2e%2e/etc/passwd", {404}),
    ],
)
def test_an_odd_address_is_answered(web: Web, target: bytes, statuses: set[int]) -> None:
    status, _, body = web.request("GET", target)
    assert status in statuses, body
    assert web.entries() == 0


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"Authorization: Bearer \xff\xfe\x80", 401),
        (b"Authorization: \xff", 401),
        (b"Host: \xff junk / <x>", 200),
        (b"Host: " + b"x" * 3000, 200),
        (b"X-Request-ID: \xff\xfe", 200),
        (b"X-Junk: " + b"x" * 20_000, 200),
        (b"Cookie: \xff=\xff; ;;==", 200),
        (b"X-Daybook-Agent: \xff", 404),
    ],
)
def test_an_odd_header_is_answered(web: Web, header: bytes, status: int) -> None:
    assert web.request("GET", b"/api/v1/sessions", header)[0] == status


@pytest.mark.parametrize("header", [b"Idempotency-Key: \xff\xfe", b"Content-Type: \xff/\xfe"])
def test_an_odd_header_of_a_post_is_a_refusal(web: Web, path: bytes, header: bytes) -> None:
    status, _, body = web.request("POST", path, header, b"Content-Length: 2", body=b"{}")
    assert status in (400, 415, 422), body
    assert web.entries() == 0


def test_far_too_many_headers_are_refused(web: Web) -> None:
    status, _, _ = web.request("GET", b"/api/v1/sessions", *(b"X-%d: y" % n for n in range(5000)))
    assert 400 <= status < 500 or status == 0
    assert web.entries() == 0


MESSAGE = b'{"role": "user", "content": "hi"}'


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((b"Transfer-Encoding: chunked",), b"zz\r\n" + MESSAGE),
        ((b"Transfer-Encoding: chunked",), b"%x\r\n" % len(MESSAGE) + MESSAGE[:-1]),
        ((b"Transfer-Encoding: chunked",), b'5\r\n{"rol\r\n'),
        ((b"Content-Length: %d" % (len(MESSAGE) + 10),), MESSAGE),
        ((b"Content-Length: -5",), MESSAGE),
        ((b"Content-Length: abc",), MESSAGE),
        ((b"Content-Length: 5", b"Content-Length: 6"), MESSAGE),
        ((b"Content-Length: %d" % (len(MESSAGE) - 1),), MESSAGE),
    ],
)
def test_a_body_that_breaks_off_or_lies_about_its_length_stores_nothing(
    web: Web, path: bytes, headers: tuple[bytes, ...], body: bytes
) -> None:
    status, _, answer = web.request(
        "POST", path, b"Content-Type: application/json", *headers, body=body, half_close=True
    )
    assert 400 <= status < 500 or status == 0, answer
    assert web.entries() == 0


def test_a_body_over_the_limit_is_413(web: Web, path: bytes) -> None:
    body = b"x" * (9 * 1024 * 1024)
    length = b"Content-Length: %d" % len(body)
    status, headers, _ = web.request("POST", path, b"Content-Type: application/json", length, body=body)
    assert (status, headers["content-type"]) == (413, "application/problem+json")
    chunked = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    status, headers, _ = web.request(
        "POST", path, b"Content-Type: application/json", b"Transfer-Encoding: chunked", body=chunked
    )
    assert (status, headers["content-type"]) == (413, "application/problem+json")
    assert web.entries() == 0


def test_a_body_sent_in_chunks_is_taken_like_any_other(web: Web) -> None:
    body = b'{"key": "in chunks"}'
    chunked = b"5\r\n" + body[:5] + b"\r\n%x\r\n" % len(body[5:]) + body[5:] + b"\r\n0\r\n\r\n"
    status, _, answer = web.request(
        "POST",
        b"/api/v1/sessions",
        b"Content-Type: application/json",
        b"Transfer-Encoding: chunked",
        body=chunked,
    )
    assert status == 201, answer
    assert json.loads(answer)["key"] == "in chunks"


def test_no_odd_request_left_a_stack_trace_behind(web: Web) -> None:
    web.request("GET", b"/api/v1/sessions/\xff\xfe")
    assert web.request("GET", b"/api/v1/nothing")[0] == 404
    assert "Traceback" not in web.log.read_text()
