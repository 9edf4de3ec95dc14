"""Key-value tables: table segments with keys of a fixed length, divided by key ranges that never change."""

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.names import (
    TABLE,
    is_user_name,
    missing_entry,
    missing_scope,
    segment_name,
)
from wiretool.protocols.pravega_controller.server.paging import Page
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scaling import even_ranges
from wiretool.protocols.pravega_controller.server.scopes import Scope, Scopes, Table
from wiretool.protocols.pravega_controller.server.store import Store


class KeyValueTables:
    """The key-value tables of all scopes."""

    def __init__(self, scopes: Scopes, store: Store) -> None:
        self._scopes = scopes
        self._store = store

    def create(self, config: pb.KeyValueTableConfig, now_ns: int) -> None:
        """Make a table; each key has its primary part and behind it the secondary one."""
        if not is_user_name(config.kvtName):
            raise Refused(Why.INVALID_TABLE_NAME, config.kvtName)
        scope = self._scopes.find(config.scope)
        if config.kvtName in scope.tables:
            raise Refused(Why.TABLE_EXISTS, f"{scope.name}/{config.kvtName}")
        if config.primaryKeyLength < 1 or config.secondaryKeyLength < 0:
            raise Refused(Why.FAILURE, f"keys of {config.primaryKeyLength} and {config.secondaryKeyLength} bytes")
        table = Table(pb.KeyValueTableConfig(), even_ranges(config.partitionCount))
        table.config.CopyFrom(config)
        for name in _segments(table):
            key_length = config.primaryKeyLength + config.secondaryKeyLength
            self._store.create_table(name, key_length, config.rolloverSizeBytes, now_ns)
        scope.tables.add(config.kvtName, table)

    def find(self, scope: str, name: str) -> Table:
        """The table of that name."""
        found = self._scopes.all.get(scope)
        table = None if found is None else found.tables.get(name)
        if table is None:
            text = missing_scope(scope) if found is None else missing_entry(name, f"{scope}/kvTablesInScope")
            raise Refused(Why.TABLE_NOT_FOUND, f"{scope}/{name}", text)
        return table

    def page(self, scope: str, token: str) -> Page:
        """Names of the tables in a scope."""
        return self._scopes.find(scope).tables.page(token)

    def delete(self, scope: str, name: str, now_ns: int) -> None:
        """Remove a table with all its entries."""
        table = self.find(scope, name)
        self.remove(self._scopes.find(scope), table, now_ns)

    def remove(self, scope: Scope, table: Table, now_ns: int) -> None:
        """Remove a table of a scope."""
        for segment in _segments(table):
            self._store.delete_table(segment, now_ns)
        scope.tables.remove(table.config.kvtName)


def _segments(table: Table) -> list[str]:
    """What the store calls the segments of a table."""
    stream = table.config.kvtName + TABLE
    return [segment_name(table.config.scope, stream, number, 0) for number in range(len(table.ranges))]
