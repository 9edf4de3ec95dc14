"""Defects in reader groups, key-value tables and the notes of writers."""

from collections.abc import Callable
from dataclasses import replace as replaced
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.conformance.mutants.scopes import _answers, _fine_where, _nothing
from wiretool.protocols.pravega_controller.server import reader_groups, tables
from wiretool.protocols.pravega_controller.server.reader_groups import ReaderGroups
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.streams import Stream
from wiretool.protocols.pravega_controller.server.tables import KeyValueTables
from wiretool.protocols.pravega_controller.server.watermarks import WriterMarks


def _made_anew(patcher: Patcher) -> None:
    def replace(create: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, config: pb.ReaderGroupConfiguration, now_ns: int) -> Any:
            kept = create(self, config, now_ns)
            kept.CopyFrom(config)
            return kept

        return wrong

    patcher.wrap(ReaderGroups, "create", replace)


def _update(change: Callable[[Any, pb.ReaderGroupConfiguration], None]) -> Callable[[Patcher], None]:
    """Return a patch of what an update compares."""

    def apply(patcher: Patcher) -> None:
        def replace(update: Callable[..., int]) -> Callable[..., int]:
            def wrong(self: Any, config: pb.ReaderGroupConfiguration) -> int:
                other = pb.ReaderGroupConfiguration()
                other.CopyFrom(config)
                change(self._find(config.scope, config.readerGroupName).config, other)
                return update(self, other)

            return wrong

        patcher.wrap(ReaderGroups, "update", replace)

    return apply


def _any_generation(known: pb.ReaderGroupConfiguration, config: pb.ReaderGroupConfiguration) -> None:
    config.generation = known.generation


def _generation_not_counted(patcher: Patcher) -> None:
    def replace(update: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, config: pb.ReaderGroupConfiguration) -> int:
            generation = update(self, config) - 1
            self._find(config.scope, config.readerGroupName).config.generation = generation
            return generation

        return wrong

    patcher.wrap(ReaderGroups, "update", replace)


def _any_id(patcher: Patcher) -> None:
    def replace(delete: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, name: str, group_id: str, now_ns: int) -> None:
            delete(self, scope, name, self._find(scope, name).config.readerGroupId, now_ns)

        return wrong

    patcher.wrap(ReaderGroups, "delete", replace)


def _everybody_subscribes(patcher: Patcher) -> None:
    patcher.set(
        reader_groups,
        "_subscribed",
        lambda group: {(cut.streamInfo.scope, cut.streamInfo.stream) for cut in group.config.startingStreamCuts},
    )


def _note_of(change: Callable[[Any, Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch by which a refusal of a note of a subscriber or writer is another one, or none."""

    def apply(patcher: Patcher) -> None:
        def replace(note: Callable[..., None]) -> Callable[..., None]:
            def wrong(self: Any, *given: Any) -> None:
                try:
                    note(self, *given)
                except Refused as refused:
                    change(self, refused)

            return wrong

        patcher.wrap(ReaderGroups, "note_cut", replace)

    return apply


def _stale_is_fine(self: Any, refused: Refused) -> None:
    if refused.why is not Why.GENERATION_MISMATCH:
        raise refused


def _nobody_is_fine(self: Any, refused: Refused) -> None:
    if refused.why is not Why.SUBSCRIBER_NOT_FOUND:
        raise refused


def _without_id(patcher: Patcher) -> None:
    patcher.wrap(
        ReaderGroups,
        "create",
        lambda create: lambda self, config, now_ns: _cleared(create(self, config, now_ns), config),
    )


def _cleared(kept: pb.ReaderGroupConfiguration, given: pb.ReaderGroupConfiguration) -> pb.ReaderGroupConfiguration:
    kept.readerGroupId = given.readerGroupId
    return kept


def _one_partition(patcher: Patcher) -> None:
    patcher.wrap(tables, "even_ranges", lambda even: lambda count: even(min(count, 1)))


def _table_made_anew(patcher: Patcher) -> None:
    def replace(create: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, config: pb.KeyValueTableConfig, now_ns: int) -> None:
            scope = self._scopes.all.get(config.scope)
            if scope is not None and config.kvtName in scope.tables:
                self.delete(config.scope, config.kvtName, now_ns)
            create(self, config, now_ns)

        return wrong

    patcher.wrap(KeyValueTables, "create", replace)


def _position_unchecked(patcher: Patcher) -> None:
    def replace(note: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, stream: str, writer: str, timestamp: int, cut: Any, now_ns: int) -> None:
            found: Stream = self._scopes.stream(scope, stream)
            last = found.marks.get(writer)
            if last is not None:
                found.marks[writer] = replaced(last, cut={})
            known = {segment: offset for segment, offset in cut.items() if segment in found}
            note(self, scope, stream, writer, timestamp, known, now_ns)

        return wrong

    patcher.wrap(WriterMarks, "note", replace)


def _writer_stays(patcher: Patcher) -> None:
    def replace(remove: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, stream: str, writer: str) -> None:
            remove(self, scope, stream, writer)
            marks = self._scopes.stream(scope, stream).marks
            marks[writer] = replaced(marks[writer], is_last=False)

        return wrong

    patcher.wrap(WriterMarks, "remove", replace)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("group-made-anew", "Creating an existing group replaces its configuration.", _made_anew),
    Mutant("group-any-generation", "An update may name any generation.", _update(_any_generation)),
    Mutant("group-generation-stays", "An update does not count the generation up.", _generation_not_counted),
    Mutant("group-any-id", "A group is deleted by any id.", _any_id),
    Mutant("group-stays", "A group that is deleted stays.", _nothing(ReaderGroups, "delete")),
    Mutant("group-without-id", "A group that is made without an id has none.", _without_id),
    Mutant(
        "group-refresh-lost",
        "The configuration of a group lacks its refresh time.",
        _answers("getReaderGroupConfig", lambda answer: answer.config.ClearField("groupRefreshTimeMillis")),
    ),
    Mutant("subscribers-stay", "A deleted group is still a subscriber.", _nothing(ReaderGroups, "_unsubscribe")),
    Mutant("subscribers-all", "Groups that retain no data are subscribers, too.", _everybody_subscribes),
    Mutant("subscriber-stale-fine", "A subscriber may name any generation.", _note_of(_stale_is_fine)),
    Mutant("subscriber-unknown-fine", "A stream cut of an unknown subscriber is accepted.", _note_of(_nobody_is_fine)),
    Mutant("table-made-anew", "Creating an existing table replaces the old one.", _table_made_anew),
    Mutant(
        "table-again-fine",
        "Creating an existing table succeeds.",
        _fine_where(Why.TABLE_EXISTS, KeyValueTables, "create"),
    ),
    Mutant("table-one-segment", "Every table has one segment.", _one_partition),
    Mutant("table-stays", "A table that is deleted stays.", _nothing(KeyValueTables, "delete")),
    Mutant(
        "table-key-length-lost",
        "The configuration of a table lacks its key lengths.",
        _answers("getKeyValueTableConfiguration", lambda answer: answer.config.ClearField("primaryKeyLength")),
    ),
    Mutant("writer-time-back", "The time of a writer may go back.", _fine_where(Why.INVALID_TIME, WriterMarks, "note")),
    Mutant("writer-position-unchecked", "The position of a writer is not checked.", _position_unchecked),
    Mutant("writer-stays", "A writer that is removed stays.", _writer_stays),
)
