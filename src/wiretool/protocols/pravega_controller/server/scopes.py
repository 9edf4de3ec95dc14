"""Scopes, and what is in them by name."""

from dataclasses import dataclass, field

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.names import is_name, missing_entry, missing_scope
from wiretool.protocols.pravega_controller.server.paging import Catalogue
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.streams import KeyRange, Stream

#: The scope of a real controller's own streams; it is always there.
SYSTEM_SCOPE = "_system"


@dataclass
class ReaderGroup:
    """A reader group as it was configured last; its state is a stream."""

    config: pb.ReaderGroupConfiguration


@dataclass
class Table:
    """A key-value table and the key ranges of its segments."""

    config: pb.KeyValueTableConfig
    ranges: list[KeyRange]


@dataclass
class Scope:
    """A name space of streams, reader groups and key-value tables."""

    name: str
    streams: Catalogue[Stream] = field(default_factory=Catalogue)
    groups: Catalogue[ReaderGroup] = field(default_factory=Catalogue)
    tables: Catalogue[Table] = field(default_factory=Catalogue)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return not (self.streams or self.groups or self.tables)


class Scopes:
    """All scopes."""

    def __init__(self) -> None:
        self.all: Catalogue[Scope] = Catalogue()
        self.all.add(SYSTEM_SCOPE, Scope(SYSTEM_SCOPE))

    def create(self, name: str) -> None:
        """Make an empty scope."""
        if not is_name(name):
            raise Refused(Why.INVALID_SCOPE_NAME, name)
        if name in self.all:
            raise Refused(Why.SCOPE_EXISTS, name)
        self.all.add(name, Scope(name))
        self._list_system_later()

    def _list_system_later(self) -> None:
        """List the system scope behind the first scope of a client: a real controller does not list it first."""
        if len(self.all) == 2:
            system = self.find(SYSTEM_SCOPE)
            self.all.remove(SYSTEM_SCOPE)
            self.all.add(SYSTEM_SCOPE, system)

    def delete(self, name: str) -> None:
        """Remove an empty scope."""
        if not self.find(name).is_empty:
            raise Refused(Why.SCOPE_NOT_EMPTY, name)
        self.all.remove(name)

    def find(self, name: str) -> Scope:
        """The scope of that name."""
        scope = self.all.get(name)
        if scope is None:
            raise Refused(Why.SCOPE_NOT_FOUND, name, missing_scope(name))
        return scope

    def stream(self, scope: str, stream: str) -> Stream:
        """The stream of that name; a missing scope is a missing stream."""
        found = self.all.get(scope)
        known = None if found is None else found.streams.get(stream)
        if known is None:
            text = missing_scope(scope) if found is None else missing_entry(stream, f"{scope}/streamsInScope")
            raise Refused(Why.STREAM_NOT_FOUND, f"{scope}/{stream}", text)
        return known

    def has_stream(self, scope: str, stream: str) -> bool:
        """Return whether there is a stream of that name."""
        found = self.all.get(scope)
        return found is not None and stream in found.streams
