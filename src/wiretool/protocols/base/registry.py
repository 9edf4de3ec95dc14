"""Every protocol by name. Newer before older: where two fit alike, the first is taken."""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.processes import held_interrupts
from wiretool.protocols.base.conversation import Protocol
from wiretool.protocols.base.ports import PORTS


class _Protocols(Mapping[str, Protocol]):
    """The protocols, each loaded when it is first asked for: most captures speak one or two."""

    def __getitem__(self, name: str) -> Protocol:
        if name not in PORTS:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(PORTS)

    def __len__(self) -> int:
        return len(PORTS)

    def __contains__(self, name: object) -> bool:
        return name in PORTS


@cache
def load_part(module: str) -> ModuleType:
    """Import a module of this package, such as `pravega.bulk`.

    A stop signal waits for the end of the import, in which an exception that its handler raises may get lost.
    """
    with held_interrupts():
        return import_module(f"wiretool.protocols.{module}")


@cache
def _loaded(name: str) -> Protocol:
    """Return the protocol of the package that has its name."""
    protocol: Protocol = load_part(name.replace("-", "_").replace(".", "_")).PROTOCOL
    return protocol


PROTOCOLS: Mapping[str, Protocol] = _Protocols()


@cache
def _owners() -> Mapping[type[Message], Protocol]:
    return {cls: protocol for protocol in reversed(tuple(PROTOCOLS.values())) for cls in protocol.messages}


def owner_of(cls: type[Message]) -> Protocol | None:
    """Which protocol declares a class; a structure of several belongs to the first. None for what is no message."""
    return _owners().get(cls)


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`; UsageError with the nearest name where there is none."""
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"no protocol is called {name!r}{nearest(name, PROTOCOLS)}; there are {known}")
    return PROTOCOLS[name]


@lru_cache(maxsize=1024)
def expected_on(port: int) -> tuple[Protocol, ...]:
    """The protocols whose servers listen on `port`, newest first."""
    return tuple(PROTOCOLS[name] for name, ports in PORTS.items() if port in ports)


def server_ports() -> frozenset[int]:
    """Every port on which a server of ours is expected."""
    return frozenset(port for ports in PORTS.values() for port in ports)
