"""Against a receiver on a real socket."""

import base64
import socket
import ssl
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import httpcore
import pytest
from standardwebhooks.webhooks import Webhook

from gateway_app import webhooks
from gateway_app.retries import Verdict
from gateway_app.webhooks import BadWebhook, Manner, Outcome, Post, address_of, send, signature

from .receiver import Receiver, answer, receiving

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
MANNER = Manner(seconds=30, allow_private=True)
HURRIED = Manner(seconds=0.2, allow_private=True)


def post(receiver: Receiver, *, url: str | None = None, secret: str = SECRET) -> Post:
    return Post(receiver.url if url is None else url, secret, "id-1", '{"content":"né"}'.encode())


def test_a_receiver_verifies_it_with_an_existing_library(receiver: Receiver) -> None:
    assert send(post(receiver), MANNER) == Outcome(Verdict.DELIVERED)

    [request] = receiver.requests
    assert Webhook(SECRET).verify(request.body, request.headers) == {"content": "né"}
    assert request.headers["webhook-id"] == "id-1"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


def test_the_signature_is_the_one_of_the_specification() -> None:
    # The example of the Standard Webhooks specification.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    signed = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("planned", "outcome"),
    [
        (answer(200, body="ok"), Outcome(Verdict.DELIVERED)),
        (answer(204), Outcome(Verdict.DELIVERED)),
        (answer(429, "Retry-After: 30"), Outcome(Verdict.AGAIN, "The webhook answered 429.", "30")),
        (answer(503), Outcome(Verdict.AGAIN, "The webhook answered 503.")),
        (answer(404), Outcome(Verdict.NEVER, "The webhook answered 404.")),
        (b"\x00\xff garbage\r\n\r\n", Outcome(Verdict.AGAIN, "The webhook did not answer in HTTP.")),
        (b"", Outcome(Verdict.AGAIN, "The webhook did not answer in HTTP.")),
        (b"HTTP/1.1 200 OK\r\nContent-", Outcome(Verdict.AGAIN, "The webhook did not answer in HTTP.")),
    ],
)
def test_each_answer_has_its_outcome(receiver: Receiver, planned: bytes, outcome: Outcome) -> None:
    receiver.will(planned)
    assert send(post(receiver), MANNER) == outcome


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.will(answer(301, f"Location: {receiver.url}/elsewhere"))
    assert send(post(receiver), MANNER) == Outcome(Verdict.NEVER, "The webhook answered 301.")
    assert [request.target for request in receiver.requests] == ["/hook"]


@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_one_deadline_holds_whatever_the_receiver_does(receiver: Receiver, how: str) -> None:
    receiver.will(getattr(receiver, how))
    assert send(post(receiver), HURRIED) == Outcome(Verdict.AGAIN, "The webhook did not answer within 0.2 s.")


def test_a_receiver_that_does_not_read_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        outcome = send(Post(url, SECRET, "id", b"x" * 20_000_000), HURRIED)
    assert outcome == Outcome(Verdict.AGAIN, "The webhook did not answer within 0.2 s.")


def test_the_status_counts_though_the_body_never_ends(receiver: Receiver) -> None:
    receiver.will(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 10_000)
    assert send(post(receiver), MANNER) == Outcome(Verdict.DELIVERED)


def test_the_status_counts_though_the_body_comes_too_slowly(receiver: Receiver) -> None:
    def slowly(wire: socket.socket) -> None:
        wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        receiver.trickle(wire)

    receiver.will(slowly)
    assert send(post(receiver), HURRIED) == Outcome(Verdict.DELIVERED)


def test_a_receiver_may_refuse_before_it_has_read_everything() -> None:
    """It answers and closes with the rest unread, so that the sender's writing breaks off."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def refuse() -> None:
            wire, _ = door.accept()
            with wire:
                wire.recv(1000)
                wire.sendall(answer(413))

        refusing = threading.Thread(target=refuse)
        refusing.start()
        url = f"http://127.0.0.1:{door.getsockname()[1]}/"
        outcome = send(Post(url, SECRET, "id", b"x" * 20_000_000), MANNER)
        refusing.join()
    assert outcome == Outcome(Verdict.NEVER, "The webhook answered 413.")


def test_nobody_at_the_port_is_tried_again() -> None:
    with receiving() as gone:
        pass
    assert send(post(gone), MANNER) == Outcome(Verdict.AGAIN, "The connection failed: Connection refused.")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f000001", "127.1"])
def test_private_addresses_are_refused_however_they_are_written(receiver: Receiver, host: str) -> None:
    outcome = send(post(receiver, url=f"http://{host}:{receiver.port}/"), Manner(30, allow_private=False))
    assert outcome.verdict is Verdict.NEVER
    assert outcome.error.endswith("which is no public address.")
    assert receiver.requests == []


def test_what_was_checked_is_what_is_connected_to(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is checked, and ours when it is looked up again."""
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    dialled: list[str] = []

    class Dialling(httpcore.SyncBackend):
        def connect_tcp(self, host: str, *args: object, **kwargs: object) -> httpcore.NetworkStream:
            dialled.append(host)
            raise httpcore.ConnectError

    monkeypatch.setattr(httpcore, "SyncBackend", Dialling)
    manner = Manner(30, allow_private=False, resolver=lambda host, port: next(answers))
    outcome = send(post(receiver, url=f"http://rebinding.example:{receiver.port}/"), manner)
    assert outcome.verdict is Verdict.AGAIN
    assert dialled == ["8.8.8.8"]


def test_the_next_address_is_tried_when_the_first_is_closed(receiver: Receiver) -> None:
    manner = replace(MANNER, resolver=lambda host, port: ["::1", "127.0.0.1"])
    assert send(post(receiver, url=f"http://both.example:{receiver.port}/"), manner).error == ""
    assert receiver.requests[0].headers["host"] == f"both.example:{receiver.port}"


def test_proxy_variables_are_passed_over(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert send(post(receiver), MANNER) == Outcome(Verdict.DELIVERED)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.org/",
        "http://",
        "http:///x",
        "http://u:p@example.org/",
        "http://example.org:99999/",
    ],
)
def test_what_is_no_address_is_never_tried_again(receiver: Receiver, url: str) -> None:
    assert send(post(receiver, url=url), MANNER).verdict is Verdict.NEVER


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64!"])
def test_without_a_secret_nothing_is_sent(receiver: Receiver, secret: str) -> None:
    assert send(post(receiver, secret=secret), MANNER).verdict is Verdict.NEVER
    assert receiver.requests == []


def test_an_address_keeps_its_path_query_and_international_host() -> None:
    url = address_of("https://bücher.example/a b/%C3%A9?token=x&y=ü")
    assert bytes(url) == b"https://xn--bcher-kva.example:443/a%20b/%C3%A9?token=x&y=%C3%BC"
    with pytest.raises(BadWebhook):
        address_of("https://" + "ü" * 80 + ".example/")


def test_errors_do_not_tell_the_address(receiver: Receiver) -> None:
    receiver.will(answer(500), b"junk with token-123\r\n\r\n")
    for _ in range(2):
        outcome = send(post(receiver, url=f"{receiver.url}?key=token-123"), MANNER)
        assert "token-123" not in outcome.error
        assert SECRET not in outcome.error


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {key} "
        f"-out {made} -days 2 -subj /CN=hook.example -addext subjectAltName=DNS:hook.example".split(),
        check=True,
        capture_output=True,
    )
    return key, made


@pytest.mark.parametrize(
    ("host", "trusted", "error"),
    [
        ("hook.example", True, ""),
        ("other.example", True, "certificate is not trusted"),
        ("hook.example", False, "certificate is not trusted"),
    ],
)
def test_tls_is_verified_for_the_name_not_the_address(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, host: str, *, trusted: bool, error: str
) -> None:
    key, made = certificate
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made, key)
    names: list[str | None] = []
    server.sni_callback = lambda wire, name, context: names.append(name)
    client = ssl.create_default_context(cafile=str(made) if trusted else None)
    monkeypatch.setattr(webhooks, "_tls", lambda: client)
    manner = replace(MANNER, resolver=lambda host, port: ["127.0.0.1"])
    with receiving(server) as receiver:
        outcome = send(post(receiver, url=f"https://{host}:{receiver.port}/"), manner)
    assert error in outcome.error
    assert (outcome.verdict is Verdict.DELIVERED) is (error == "")
    assert names == [host]
