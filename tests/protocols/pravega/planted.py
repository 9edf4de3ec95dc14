"""Planted defects of the mock segment store."""

from typing import Any

from tests.fuzz.planted.defects import Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.pravega.conformance.mutants.patches import rehandle
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    ConditionalCheckFailed,
    Hello,
    KeepAlive,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import MergeSegmentsBatch
from wiretool.protocols.pravega.server import reading
from wiretool.protocols.pravega.server.appending import Appending
from wiretool.protocols.pravega.server.chunks import Chunks
from wiretool.protocols.pravega.server.link import StoreLink
from wiretool.protocols.pravega.server.segments import Segments
from wiretool.protocols.pravega.server.store import SegmentStore
from wiretool.protocols.pravega.server.table_segment import TableSegment

DEFECTS = Defects()
_I32_MIN = -(2**31)


@DEFECTS.declare(
    "read-length-negated", "The lowest suggested length of 32 bits has no positive counterpart: it overflows."
)
def _read_length_negated(patcher: Patcher) -> None:
    def check(suggested_length: int) -> None:
        if suggested_length == _I32_MIN:
            raise OverflowError("signed integer is greater than maximum")

    run_before(patcher, reading, "read_bytes", check)


@DEFECTS.declare("batch-source-twice", "A batch merge that names a source twice looks it up after it is gone.")
def _batch_source_twice(patcher: Patcher) -> None:
    def check(self: SegmentStore, request: Any, now_ns: int) -> None:
        if isinstance(request, MergeSegmentsBatch):
            sources = request.source_segment_ids
            if len(set(sources)) < len(sources) and self.segments.exists(request.target_segment_id):
                raise KeyError(sources[0])

    run_before(patcher, SegmentStore, "answer", check)


@DEFECTS.declare("waiters-change", "Two reads that wait in a segment crash the store when the segment is deleted.")
def _waiters_change(patcher: Patcher) -> None:
    def check(self: Segments, segment: Any, **_: Any) -> None:
        if segment.is_gone and len(segment.waiters) > 1:
            raise RuntimeError("dictionary changed size during iteration")

    run_before(patcher, Segments, "wake", check)


@DEFECTS.declare(
    "block-outlives-connection",
    "A writer whose connection was lost inside its second block is busy for ever: its SetupAppend is not answered.",
)
def _block_outlives_connection(patcher: Patcher) -> None:
    def note(self: StoreLink, message: AppendBlock, now_ns: int) -> None:
        if state_of(self, "done", list):
            state_of(self._store, "busy", dict)[message.writer_id] = self

    def end(self: StoreLink, message: Any, now_ns: int) -> None:
        state_of(self, "done", list).append(message)
        state_of(self._store, "busy", dict).pop(message.writer_id, None)

    def wrap(append_setup: Any) -> Any:
        def set_up(self: Appending, setup: SetupAppend, now_ns: int) -> None:
            link: Any = self._replies
            owner = state_of(link._store, "busy", dict).get(setup.writer_id)
            if owner is None or owner is link:
                append_setup(self, setup, now_ns)

        return set_up

    patcher.wrap(Appending, "set_up", wrap)
    run_before(patcher, Appending, "begin", lambda self, block: note(self._replies, block, 0))
    run_before(patcher, Appending, "finish", lambda self, block, now_ns: end(self._replies, block, now_ns))


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, StoreLink, lambda link: link._store)


@DEFECTS.declare("delta-of-none", "A page of changes with no entries begins again at its own position for ever.")
def _delta_of_none(patcher: Patcher) -> None:
    def check(self: TableSegment, position: int, count: int) -> None:
        if count == 0 and 0 <= position < self.length:
            hang()

    run_before(patcher, TableSegment, "delta", check)


@DEFECTS.declare("ack-cut-after-condition", "The acknowledgement after a failed condition lacks its last 8 bytes.")
def _ack_cut_after_condition(patcher: Patcher) -> None:
    def note(self: StoreLink, message: Any) -> None:
        if isinstance(message, ConditionalCheckFailed):
            state_of(self, "failed", list).append(message)

    def wrap(reply_frame: Any) -> Any:
        def cut(self: StoreLink, name: str, frame: bytes) -> None:
            is_cut = name == "DataAppended" and len(state_of(self, "failed", list)) > 1
            reply_frame(self, name, frame[:4] + (len(frame) - 16).to_bytes(4, "big") + frame[8:-8] if is_cut else frame)

        return cut

    run_before(patcher, StoreLink, "reply", note)
    patcher.wrap(StoreLink, "reply_frame", wrap)


@DEFECTS.declare(
    "name-without-end", "The first character of the last part of a segment name is read where it has none."
)
def _name_without_end(patcher: Patcher) -> None:
    def check(self: Segments, name: str, *_: Any) -> None:
        if name.endswith("/"):
            raise IndexError("string index out of range")

    run_before(patcher, Segments, "create_segment", check)


@DEFECTS.declare("version-of-all", "The wire version of a client that is old is used for all connections from then on.")
def _version_of_all(patcher: Patcher) -> None:
    def wrap(handle: Any) -> Any:
        def greet(self: StoreLink, hello: Hello, now_ns: int) -> None:
            handle(self, hello, now_ns)
            if hello.high_version == 7:
                self._store.wire_version = hello.high_version

        return greet

    rehandle(patcher, (Hello,), wrap)


@DEFECTS.declare("keep-alive-in-block", "A KeepAlive between two blocks of a writer makes the next block lose its end.")
def _keep_alive_in_block(patcher: Patcher) -> None:
    def wrap_keep_alive(handle: Any) -> Any:
        def keep_alive(self: StoreLink, message: KeepAlive, now_ns: int) -> None:
            handle(self, message, now_ns)
            vars(self)["planted_alive"] = state_of(self, "blocks", list)[:]

        return keep_alive

    def wrap_finish(finish: Any) -> Any:
        def finished(self: Appending, end: Any, now_ns: int) -> None:
            blocks = state_of(self._replies, "blocks", list)
            is_lost = len(blocks) > 0 and vars(self._replies).get("planted_alive") == blocks
            blocks.append(end)
            if not is_lost:
                finish(self, end, now_ns)

        return finished

    rehandle(patcher, (KeepAlive,), wrap_keep_alive)
    patcher.wrap(Appending, "finish", wrap_finish)


@DEFECTS.declare(
    "attribute-of-deleted", "After a segment was deleted and made again, asking for its attribute crashes."
)
def _attribute_of_deleted(patcher: Patcher) -> None:
    def check(self: Segments, name: str, attribute: str) -> None:
        if name in state_of(self, "deleted", set) and self.exists(name):
            raise AttributeError("'NoneType' object has no attribute 'attributes'")

    run_before(patcher, Segments, "delete", lambda self, name, now_ns: state_of(self, "deleted", set).add(name))
    run_before(patcher, Segments, "attribute", check)


@DEFECTS.declare(
    "index-of-chunk", "A read that begins in a chunk which a truncation has cut passes the end of the list."
)
def _index_of_chunk(patcher: Patcher) -> None:
    def check(self: Chunks, at: int, size: int) -> None:
        if self.start and self._starts and self._starts[0] < self.start < at < self.end:
            raise IndexError("list index out of range")

    run_before(patcher, Chunks, "read", check)


DEFECTS.take("pravega", "tail-one-reader", "names-in-plain-utf-8", "block-stored-whole", "append-twice")


# -- defects that show only in data that is read back ------------------------------------------------------------------


@DEFECTS.declare(
    "append-lost-interleaved",
    "Of two writers that append in turn, every third append is acknowledged and not stored.",
)
def _append_lost_interleaved(patcher: Patcher) -> None:
    def check(self: Appending, writer_id: str, *_: Any) -> None:
        last = state_of(self._segments, "last", list)
        last.append((writer_id, id(self)))
        if len(last) > 2 and last[-1] == last[-3] and last[-1][0] != last[-2][0] and last[-1][1] != last[-2][1]:
            self.keeps = "nothing"

    run_before(patcher, Appending, "_append", check)


@DEFECTS.declare(
    "append-twice-reconnected",
    "A writer that comes back after it was lost inside a block has its next append stored twice.",
)
def _append_twice_reconnected(patcher: Patcher) -> None:
    def lost(self: StoreLink, now_ns: int) -> None:
        if self._appending.appends.held_bytes:
            state_of(self._store.segments, "cut", list).append(self)

    def check(self: Appending, *_: Any) -> None:
        cut = state_of(self._segments, "cut", list)
        if cut:
            cut.clear()
            self.keeps = "twice"

    run_before(patcher, StoreLink, "lost", lost)
    run_before(patcher, Appending, "_append", check)
