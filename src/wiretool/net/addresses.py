"""Addresses as people write them."""

from collections.abc import Collection
from ipaddress import ip_address
from typing import NamedTuple

from wiretool.errors import UsageError

LOOPBACK = "127.0.0.1"
#: Addresses that stand for all of a machine's, and the loopback of each family.
EVERYWHERE = {"0.0.0.0": LOOPBACK, "::": "::1"}
PORT_MAX = 65_535


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_from(text: str, *, option: str, host: str = LOOPBACK, port: int | None = None) -> Address:
    """The address in `HOST:PORT`, `[IPV6]:PORT`, `:PORT`, `PORT` or, where a port is given here, `HOST`.

    UsageError, with the option's name, for anything else.
    """
    if "://" in text:
        raise UsageError(f"{option} {text!r}: expected HOST:PORT, got a URL")
    name, number = _parted(text)
    if ":" in name and not text.startswith("["):
        raise UsageError(f"{option} {text!r}: an IPv6 address without brackets; expected brackets, as in [::1]:12345")
    if number is None and name and port is not None:
        return Address(name, port)
    if number is None or not (number.isascii() and number.isdigit() and int(number) <= PORT_MAX):
        raise UsageError(f"{option} {text!r}: not an address; expected HOST:PORT with a port of 0 to {PORT_MAX}")
    return Address(name or host, int(number))


def _parted(text: str) -> tuple[str, str | None]:
    """The host, empty if there is none, and the text of the port."""
    if text.startswith("["):
        name, _, rest = text[1:].partition("]")
        return name, rest[1:] if rest.startswith(":") else rest or None
    if text.isdigit():
        return "", text
    name, colon, number = text.rpartition(":")
    return (name, number) if colon else (text, None)


def reachable(host: str, *, is_tls: bool) -> str:
    """What clients on this machine may call a host that a socket is bound to; certificates are for names."""
    if is_tls and host in (LOOPBACK, *EVERYWHERE):
        return "localhost"
    return EVERYWHERE.get(host, host)


def is_loopback(host: str) -> bool:
    """Whether a host, by name or number, is this machine and nobody else's."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_allowed(address: Address, allowed: Collection[str], name: str) -> None:
    """Refuse an address on another machine that is not allowed: UsageError, which begins with `name`."""
    if not is_loopback(address.host) and address.host not in allowed:
        raise UsageError(f"{name}: another machine; --allow-remote {address.host} allows it")


def named_address(text: str, allowed: Collection[str], *, option: str) -> tuple[str, Address]:
    """Return the name, empty for none, and the address of `[NAME=]HOST:PORT`.

    UsageError for a bad address, and for one on another machine that is not allowed. It begins with the option.
    """
    name, equals, place = text.partition("=")
    address = address_from(place if equals else text, option=option)
    check_allowed(address, allowed, f"{option} {address}")
    return name if equals else "", address
