"""Every protocol by name, found through the entry points of the installed packages, ours as well as plugins.

Loading the registration of a protocol imports none of its parts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.base.plugin_code import failures, plugin_code
from wiretool.protocols.base.protocol import Protocol

GROUP = "wiretool.protocols"


#: The distribution whose protocols take precedence.
OWN = "wiretool"


class Broken(NamedTuple):
    """An entry point that does not load, and why."""

    name: str
    why: str


class Registered(NamedTuple):
    """The protocols by name, in the order of their rank, and the entry points without one."""

    protocols: Mapping[str, Protocol]
    broken: Sequence[Broken] = ()


@cache
def registered() -> Registered:
    """Load the registrations of all protocols, the built-in ones first."""
    found: dict[str, Protocol] = {}
    owners: dict[str, str] = {}
    broken: list[Broken] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (_package(entry) != OWN, _package(entry))):
        try:
            found[entry.name] = _registration(entry, owners)
            owners[entry.name] = _package(entry)
        except UsageError as err:
            broken.append(Broken(entry.name, str(err)))
    return Registered(dict(sorted(found.items(), key=lambda item: (item[1].rank, item[0]))), broken)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"


def _registration(entry: EntryPoint, owners: Mapping[str, str]) -> Protocol:
    """Return the protocol that an entry point names; UsageError with the reason where it names none.

    `owners`: the packages of the protocols so far, by name.
    """
    package = _package(entry)
    failure = f"protocol {entry.name!r}: the entry point {entry.value} of {package} does not load"
    with plugin_code(failure, package=package):
        if entry.name in owners:
            raise UsageError(f"{owners[entry.name]} has a protocol with this name")
        protocol = entry.load()
        if not isinstance(protocol, Protocol):
            raise UsageError(f"it is of the type {type(protocol).__name__}; expected Protocol")
        if protocol.name != entry.name:
            raise UsageError(f"its Protocol has the name {protocol.name!r}; expected {entry.name!r}")
        return protocol


#: The failures of plugins that were skipped, each once.
_SKIPPED: dict[str, None] = {}


def broken_plugins() -> tuple[str, ...]:
    """Return why each plugin is broken, of those that were looked for."""
    if not registered.cache_info().currsize:
        return ()
    return tuple(dict.fromkeys((*(each.why for each in registered().broken), *_SKIPPED, *failures())))


def plugin_with(module: str) -> str:
    """Return the name of a protocol one of whose parts is in the package of a module; empty for none."""
    package = module.partition(".")[0]
    for protocol in registered().protocols.values():
        places = (getattr(protocol, each.name) for each in fields(protocol))
        if any(re.match(rf"{re.escape(package)}[.:]", place) for place in places if isinstance(place, str)):
            return protocol.name
    return ""


def _is_usable(protocol: Protocol) -> bool:
    """Return whether messages and framing of a protocol load; a plugin is imported for that."""
    if protocol.failure:
        _SKIPPED[protocol.failure] = None
    return not protocol.failure


class _Protocols(Mapping[str, Protocol]):
    """The protocols that are registered and usable, looked up when they are first asked for."""

    def __getitem__(self, name: str) -> Protocol:
        protocol = registered().protocols[name]
        if not _is_usable(protocol):
            raise KeyError(name)
        return protocol

    def __iter__(self) -> Iterator[str]:
        return (name for name, protocol in registered().protocols.items() if _is_usable(protocol))

    def __len__(self) -> int:
        return len(list(iter(self)))


PROTOCOLS: Mapping[str, Protocol] = _Protocols()


@cache
def _owners() -> Mapping[type[Message], Protocol]:
    return {cls: protocol for protocol in reversed(tuple(PROTOCOLS.values())) for cls in protocol.messages}


def owner_of(cls: type[Message]) -> Protocol | None:
    """Which protocol declares a class; a structure of several belongs to the first. None for what is no message."""
    return _owners().get(cls)


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`; UsageError with the nearest name where there is none, or with why it is broken."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    unknown = f"no protocol is called {name!r}{nearest(name, PROTOCOLS)}; there are {', '.join(PROTOCOLS)}"
    raise UsageError(why_broken(name) or unknown)


def why_broken(name: str) -> str:
    """Return why the protocol called `name` cannot be used; empty where it can, or there is none."""
    known = registered()
    if name in known.protocols:
        return known.protocols[name].failure
    return next((each.why for each in known.broken if each.name == name), "")


def protocols_with(part: str) -> list[str]:
    """Return the names of the protocols that have a part, in order."""
    return [name for name, protocol in registered().protocols.items() if getattr(protocol, part)]


def parts_of(part: str, kind: type) -> Iterator[tuple[str, Any]]:
    """Yield a part of each protocol that has it, with the name of the protocol; a plugin's that fails is skipped."""
    for name in protocols_with(part):
        try:
            yield name, registered().protocols[name].part(part, kind)
        except UsageError as err:
            _SKIPPED[str(err)] = None


@lru_cache(maxsize=1024)
def expected_on(port: int) -> tuple[Protocol, ...]:
    """The protocols whose servers listen on `port`, newest first."""
    here = (protocol for protocol in registered().protocols.values() if port in protocol.ports)
    return tuple(filter(_is_usable, here))


def server_ports() -> frozenset[int]:
    """Return every port on which a server of a usable protocol is expected."""
    return frozenset(port for protocol in PROTOCOLS.values() for port in protocol.ports)
