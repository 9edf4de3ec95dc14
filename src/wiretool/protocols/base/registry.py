"""Every protocol by name, found through the entry points of the installed packages, ours as well as plugins.

Loading the registration of a protocol imports none of its parts.
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.processes import held_interrupts
from wiretool.protocols.base.protocol import Protocol

GROUP = "wiretool.protocols"


class Registered(NamedTuple):
    """The protocols by name, in the order of their rank; and by name, why others could not be loaded."""

    protocols: Mapping[str, Protocol]
    broken: Mapping[str, str] = {}


@cache
def registered() -> Registered:
    """Load the registrations of all protocols."""
    found: dict[str, Protocol] = {}
    broken: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        try:
            protocol = _registration(entry)
        except UsageError as err:
            broken[entry.name] = str(err)
            continue
        found[protocol.name] = protocol
    return Registered(dict(sorted(found.items(), key=lambda item: (item[1].rank, item[0]))), broken)


def _registration(entry: EntryPoint) -> Protocol:
    """Return the protocol that an entry point names; UsageError with the reason where it does not."""
    package = f" of {entry.dist.name}" if entry.dist is not None else ""
    try:
        with held_interrupts():  # an exception that a signal handler raises in an import may get lost
            protocol = entry.load()
    except Exception as err:  # noqa: BLE001  (the code of a plugin may raise anything; the others go on)
        why = f"{type(err).__name__}: {err}"
    else:
        if isinstance(protocol, Protocol) and protocol.name == entry.name:
            return protocol
        why = f"it is not a Protocol with the name {entry.name!r}"
    raise UsageError(f"protocol {entry.name!r}: the entry point {entry.value}{package} does not load: {why}")


def broken_plugins() -> tuple[str, ...]:
    """Return why each plugin is broken, of those that were looked for."""
    return tuple(registered().broken.values()) if registered.cache_info().currsize else ()


class _Protocols(Mapping[str, Protocol]):
    """The protocols that are registered, looked up when they are first asked for."""

    def __getitem__(self, name: str) -> Protocol:
        return registered().protocols[name]

    def __iter__(self) -> Iterator[str]:
        return iter(registered().protocols)

    def __len__(self) -> int:
        return len(registered().protocols)

    def __contains__(self, name: object) -> bool:
        return name in registered().protocols


PROTOCOLS: Mapping[str, Protocol] = _Protocols()


@cache
def _owners() -> Mapping[type[Message], Protocol]:
    return {cls: protocol for protocol in reversed(tuple(PROTOCOLS.values())) for cls in protocol.messages}


def owner_of(cls: type[Message]) -> Protocol | None:
    """Which protocol declares a class; a structure of several belongs to the first. None for what is no message."""
    return _owners().get(cls)


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`; UsageError with the nearest name where there is none, or with why it is broken."""
    if name in registered().broken:
        raise UsageError(registered().broken[name])
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"no protocol is called {name!r}{nearest(name, PROTOCOLS)}; there are {known}")
    return PROTOCOLS[name]


def protocols_with(part: str) -> list[str]:
    """Return the names of the protocols that have a part, in order."""
    return [name for name, protocol in PROTOCOLS.items() if getattr(protocol, part)]


@lru_cache(maxsize=1024)
def expected_on(port: int) -> tuple[Protocol, ...]:
    """The protocols whose servers listen on `port`, newest first."""
    return tuple(protocol for protocol in PROTOCOLS.values() if port in protocol.ports)


def server_ports() -> frozenset[int]:
    """Every port on which a server of ours is expected."""
    return frozenset(port for protocol in PROTOCOLS.values() for port in protocol.ports)
