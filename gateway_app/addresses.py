"""Which addresses a webhook may have. An agent must not reach, through us, what only we can reach."""

import ipaddress
import queue
import socket
import threading
from collections.abc import Callable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Sequence[str]]

# "Not global" in the library leaves these out, or lets the address inside them pass unseen.
_REFUSED = (
    ipaddress.ip_network("64:ff9b::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
    ipaddress.ip_network("2002::/16"),
    ipaddress.ip_network("2001::/32"),
    ipaddress.ip_network("::/96"),
    ipaddress.ip_network("fec0::/10"),
    ipaddress.ip_network("192.88.99.0/24"),
    # The metadata service of a cloud that puts it on a public address.
    ipaddress.ip_network("168.63.129.16/32"),
)


class RefusedAddress(Exception):
    """The address is one of ours to protect."""


class UnknownHost(Exception):
    """Nobody knows the name, or nobody says so in time."""


def is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return False
    special = address.is_multicast or address.is_reserved or address.is_link_local or address.is_unspecified
    return address.is_global and not special and not any(address in network for network in _REFUSED)


def checked(found: Sequence[str], *, allow_private: bool) -> list[str]:
    """All of them, or none: a name that leads to both worlds is not trusted with either."""
    addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in found]
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                raise RefusedAddress(f"The webhook leads to {address}, which is no public address.")
    return list(dict.fromkeys(str(address) for address in addresses))


def system_resolver(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def resolve(host: str, port: int, seconds: float, resolver: Resolver = system_resolver) -> list[str]:
    """The system's resolver knows no deadline, so that a thread waits for it which nobody waits for."""
    answer: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answer.put(resolver(host, port))
        except (OSError, UnicodeError) as error:
            answer.put(error)

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    try:
        found = answer.get(timeout=seconds)
    except queue.Empty:
        raise UnknownHost("The name of the webhook's host was not resolved in time.") from None
    if isinstance(found, Exception) or not found:
        raise UnknownHost("The name of the webhook's host is not known.") from None
    return list(found)
