import threading
from ipaddress import ip_address

import pytest

from gateway_app.addresses import RefusedAddress, UnknownHost, checked, is_public, resolve

REFUSED = [
    "0.0.0.0",  # noqa: S104 - nobody listens there
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "168.63.129.16",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "100.63.255.255", "172.32.0.1", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1"]


@pytest.mark.parametrize("text", REFUSED)
def test_what_only_we_can_reach_is_refused(text: str) -> None:
    assert not is_public(ip_address(text.partition("%")[0]))
    with pytest.raises(RefusedAddress):
        checked([text], allow_private=False)
    assert checked([text], allow_private=True) == [str(ip_address(text.partition("%")[0]))]


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_pass(text: str) -> None:
    assert checked([text, text], allow_private=False) == [text]


@pytest.mark.parametrize("found", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "::1"]])
def test_one_private_address_among_public_ones_refuses_all(found: list[str]) -> None:
    with pytest.raises(RefusedAddress, match=r"10\.0\.0\.1|::1"):
        checked(found, allow_private=False)


def test_a_name_that_nobody_knows_is_told() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError

    with pytest.raises(UnknownHost, match="not known"):
        resolve("nobody.invalid", 80, 10, unknown)
    with pytest.raises(UnknownHost, match="not known"):
        resolve("nobody.invalid", 80, 10, lambda host, port: [])


def test_a_resolver_that_hangs_is_not_waited_for() -> None:
    end = threading.Event()

    def hanging(host: str, port: int) -> list[str]:
        end.wait(60)
        return ["8.8.8.8"]

    with pytest.raises(UnknownHost, match="in time"):
        resolve("slow.example", 80, 0.01, hanging)
    end.set()
