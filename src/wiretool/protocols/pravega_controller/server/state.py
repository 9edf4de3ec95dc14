"""All that the controller knows, in no protocol's words but its configurations; see the modules of each part."""

from collections.abc import Sequence
from random import Random

from wiretool.protocols.pravega_controller.server.lifecycle import Streams
from wiretool.protocols.pravega_controller.server.reader_groups import ReaderGroups
from wiretool.protocols.pravega_controller.server.scopes import SYSTEM_SCOPE, Scopes
from wiretool.protocols.pravega_controller.server.store import Append, Ask, DroppedBefore, Store
from wiretool.protocols.pravega_controller.server.streams import KeyRange, StreamSegment
from wiretool.protocols.pravega_controller.server.system import system_streams
from wiretool.protocols.pravega_controller.server.tables import KeyValueTables
from wiretool.protocols.pravega_controller.server.transactions import Transactions
from wiretool.protocols.pravega_controller.server.watermarks import WriterMarks
from wiretool.server.timers import Timers


class ControllerState:
    """The state of a controller, which `ask`s the store for segments and tables and `append`s events of its own.

    A stream begins no earlier than its segments have been `dropped_before` by the store.

    Ids of reader groups that clients do not choose come from `random`. With `has_leases`, transactions whose lease is
    over are aborted, which takes `abort_ns`.
    """

    def __init__(
        self,
        ask: Ask,
        append: Append,
        dropped_before: DroppedBefore,
        random: Random,
        timers: Timers,
        *,
        has_leases: bool = True,
        abort_ns: int = 0,
    ) -> None:
        store = Store(ask, append, dropped_before)
        self.scopes = Scopes()
        self.transactions = Transactions(self.scopes, store, timers, has_leases=has_leases, abort_ns=abort_ns)
        self.streams = Streams(self.scopes, store, self.transactions.abort_all, self.transactions.keep_completed)
        self.reader_groups = ReaderGroups(self.scopes, self.streams, random)
        self.tables = KeyValueTables(self.scopes, store)
        self.writer_marks = WriterMarks(self.scopes, store, timers)

    def make_system_streams(self, now_ns: int) -> None:
        """Make the controller's own streams, unless they are there.

        This waits until a client asks about them: a controller that is replayed against the mock makes them itself.
        """
        if self.scopes.find(SYSTEM_SCOPE).streams:
            return
        for config in system_streams():
            self.streams.create(config, now_ns)

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
