"""The server part of a protocol: how its mock server is made, and which options it has."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS, parts_of, protocol_named, protocols_with
from wiretool.server.mock import Mock
from wiretool.server.options import COMMON, MockOptions, spelling


class ServerPart(NamedTuple):
    """What `Protocol.server` names."""

    make: Callable[[MockOptions], Mock]
    #: The names of the options that its mock has, beside those of every mock.
    options: frozenset[str] = frozenset()
    #: Read the lines of a feed, for a mock with the option `feed`. InputError names the line that is wrong.
    read_feed: Callable[[Iterable[str]], Iterator[Any]] | None = None
    #: Modules of Python clients that keep all threads waiting while they call: their server needs its own process.
    blocking_clients: frozenset[str] = frozenset()


def server_part(protocol: str) -> ServerPart | None:
    """Return the server part of a protocol, None where it has no mock."""
    part: ServerPart | None = PROTOCOLS[protocol].part("server", ServerPart) if protocol in PROTOCOLS else None
    return part


def required_part(protocol: str) -> ServerPart:
    """Return the server part of a protocol. UsageError for one without, and if no protocol has this name."""
    part = server_part(protocol_named(protocol).name)
    if part is None:
        known = ", ".join(protocols_with("server"))
        why = f"{protocol}: it has no mock server; expected one of {known}"
        raise UsageError(f"{why}; use --target ADDRESS with commands that have it")
    return part


def mock_for(protocol: str, options: MockOptions) -> Mock:
    """A new mock server of a protocol. UsageError for a protocol without one, or options that are not its."""
    part = required_part(protocol)
    check_options(protocol, part, options)
    mock: Mock = PROTOCOLS[protocol].run_part("server", partial(part.make, options), Mock)
    return mock


def check_options(protocol: str, part: ServerPart, options: MockOptions) -> None:
    """UsageError for an option that the protocol's mock does not have."""
    plain = MockOptions()
    for field in fields(options):
        is_known = field.name in COMMON or field.name in part.options
        if not is_known and getattr(options, field.name) != getattr(plain, field.name):
            homes = [name for name, other in parts_of("server", ServerPart) if field.name in other.options]
            where = f"; only with {', '.join(homes)}" if homes else ", nor with another protocol"
            raise UsageError(f"{spelling(field.name)}: not allowed with {protocol}{where}")
