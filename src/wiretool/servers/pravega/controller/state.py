"""All that the controller knows, in no protocol's words but its configurations; see the modules of each part."""

from collections.abc import Sequence
from random import Random

from wiretool.servers.pravega.controller.lifecycle import Streams
from wiretool.servers.pravega.controller.reader_groups import ReaderGroups
from wiretool.servers.pravega.controller.scopes import Scopes
from wiretool.servers.pravega.controller.store import Ask, Store
from wiretool.servers.pravega.controller.streams import KeyRange, StreamSegment
from wiretool.servers.pravega.controller.tables import KeyValueTables
from wiretool.servers.pravega.controller.transactions import Transactions
from wiretool.servers.pravega.controller.watermarks import WriterMarks
from wiretool.servers.timers import Timers


class ControllerState:
    """The state of a controller, which `ask`s the store for segments and tables.

    Ids of reader groups that clients do not choose come from `random`. With `lease_timers`, transactions whose lease
    is over are aborted; real clients do not keep their leases well (see transactions.py).
    """

    def __init__(self, ask: Ask, random: Random, *, lease_timers: Timers | None = None) -> None:
        store = Store(ask)
        self.scopes = Scopes()
        self.transactions = Transactions(self.scopes, store, lease_timers)
        self.streams = Streams(self.scopes, store, self.transactions.abort_all)
        self.reader_groups = ReaderGroups(self.scopes, self.streams, random)
        self.tables = KeyValueTables(self.scopes, store)
        self.writer_marks = WriterMarks(self.scopes)

    def delete_scope_recursively(self, name: str, now_ns: int) -> None:
        """Remove a scope with all that is in it."""
        scope = self.scopes.find(name)
        for group in list(scope.groups):
            self.reader_groups.remove(scope, group, now_ns)
        for table in list(scope.tables):
            self.tables.remove(scope, table, now_ns)
        for stream in list(scope.streams):
            if stream.name in scope.streams:
                self.streams.remove(stream, now_ns)
        self.scopes.delete(name)

    def scale(
        self, scope: str, stream: str, sealed: Sequence[int], ranges: Sequence[KeyRange], now_ns: int
    ) -> list[StreamSegment]:
        """Put new segments in the place of active ones, given by id, that together have the same keys; the new ones."""
        return self.streams.scale(scope, stream, sealed, ranges, now_ns)

    def scale_to(self, scope: str, stream: str, count: int, now_ns: int) -> list[StreamSegment]:
        """Divide the keys of a stream evenly among `count` segments; the new ones."""
        return self.streams.scale_to(scope, stream, count, now_ns)
