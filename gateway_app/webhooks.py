"""One attempt to hand a delivery to a platform's webhook, signed in the way of Standard Webhooks."""

import base64
import binascii
import hashlib
import hmac
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

import httpcore

from gateway_app.addresses import RefusedAddress, Resolver, UnknownHost, checked, resolve, system_resolver
from gateway_app.retries import Verdict, verdict

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with
ANSWER_BYTES = 4096
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: Verdict
    error: str = ""
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """`id` is the same at each attempt, so that the receiver can drop what it has already."""

    url: str
    secret: str
    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is sent: for how long, and whether private addresses are allowed."""

    seconds: float
    allow_private: bool
    resolver: Resolver = system_resolver
    clock: Callable[[], float] = time.time


class BadWebhook(Exception):
    """The connection cannot be used as it is set; no attempt would go better."""


def send(post: Post, manner: Manner) -> Outcome:
    """No redirect is followed, no proxy is asked, and what is resolved is what is connected to."""
    try:
        url = address_of(post.url)
        headers = signed_headers(post, int(manner.clock()))
        return _sent(url, headers, post.body, manner)
    except (BadWebhook, RefusedAddress) as error:
        return Outcome(Verdict.NEVER, str(error))
    except UnknownHost as error:
        return Outcome(Verdict.AGAIN, str(error))
    except (httpcore.TimeoutException, TimeoutError):
        return Outcome(Verdict.AGAIN, f"The webhook did not answer within {manner.seconds:g} s.")
    except httpcore.ProtocolError:
        return Outcome(Verdict.AGAIN, "The webhook did not answer in HTTP.")
    except (httpcore.NetworkError, OSError) as error:
        return Outcome(Verdict.AGAIN, f"The connection failed: {_reason(error)}.")


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise BadWebhook("The webhook's secret cannot be read; make a new one.") from None
    if not key:
        raise BadWebhook("The webhook has no secret; make one.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def signed_headers(post: Post, timestamp: int) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "user-agent": "Daybook",
        "webhook-id": post.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(post.secret, post.id, timestamp, post.body),
    }


def address_of(url: str) -> httpcore.URL:
    try:
        parts = urlsplit(url)
        host = _ascii_host(parts.hostname or "")
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise BadWebhook("The webhook's address is no http or https address.") from None
    if not host or parts.username is not None or parts.password is not None:
        raise BadWebhook("The webhook's address needs a host, and may hold no user name or password.")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._")
    return httpcore.URL(scheme=parts.scheme, host=host, port=port, target=target)


def _ascii_host(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()


def _sent(url: httpcore.URL, headers: dict[str, str], body: bytes, manner: Manner) -> Outcome:
    network = _CheckedNetwork(manner, time.monotonic() + manner.seconds)
    given = [("host", _host_header(url)), ("content-length", str(len(body))), *headers.items()]
    with (
        httpcore.ConnectionPool(
            ssl_context=_tls(), network_backend=network, max_connections=1, max_keepalive_connections=0
        ) as pool,
        pool.stream("POST", url, headers=[*given, ("connection", "close")], content=body) as response,
    ):
        retry_after = next(
            (value.decode("latin-1") for name, value in response.headers if name.lower() == b"retry-after"),
            None,
        )
        # The status has decided; the rest is read a little only so that the receiver can finish its answer.
        with suppress(TimeoutError, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
            _drain(response.iter_stream())
    decided = verdict(response.status)
    error = "" if decided is Verdict.DELIVERED else f"The webhook answered {response.status}."
    return Outcome(decided, error, retry_after)


def _drain(chunks: Iterable[bytes]) -> None:
    read = 0
    for chunk in chunks:
        read += len(chunk)
        if read > ANSWER_BYTES:
            return


def _host_header(url: httpcore.URL) -> str:
    host = url.host.decode("ascii")
    shown = f"[{host}]" if ":" in host else host
    return shown if url.port == PORTS[url.scheme.decode()] else f"{shown}:{url.port}"


def _reason(error: Exception) -> str:
    """A word about it that holds nothing of the address, which may carry a token."""
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return "no TLS connection"
    return (isinstance(cause, OSError) and cause.strerror) or "it was closed"


@cache
def _tls() -> ssl.SSLContext:
    return httpcore.default_ssl_context()


class _CheckedNetwork(httpcore.NetworkBackend):
    """Looks a name up once, refuses what is not public and connects to exactly what was checked."""

    def __init__(self, manner: Manner, deadline: float) -> None:
        self._manner = manner
        self._deadline = deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        found = resolve(host, port, left(self._deadline), self._manner.resolver)
        addresses = checked(found, allow_private=self._manner.allow_private)
        for index, address in enumerate(addresses):
            # Those that are still to be tried get their share of the time.
            share = left(self._deadline) / (len(addresses) - index)
            try:
                stream = self._system.connect_tcp(address, port, share, None, socket_options or ())
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if index + 1 == len(addresses):
                    raise
            else:
                return _TimedStream(stream, self._deadline)
        raise httpcore.ConnectError("no address")


class _TimedStream(httpcore.NetworkStream):
    """One deadline for everything: a receiver that trickles bytes gains nothing by each of them."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Piece by piece, because the library's own loop gives each piece the whole time anew.
        wire = self._stream.get_extra_info("socket")
        rest = memoryview(buffer)
        while rest:
            wire.settimeout(left(self._deadline))
            try:
                rest = rest[wire.send(rest) :]
            except TimeoutError:
                raise
            except OSError as error:
                # The library then looks for an answer: a receiver may refuse before it has read everything.
                raise httpcore.WriteError from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, left(self._deadline))
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def left(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
