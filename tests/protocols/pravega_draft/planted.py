"""Planted defects of the mock of the draft."""

from typing import Any

from tests.fuzz.planted.defects import Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.pravega_draft.conformance.mutants.patches import rehandle
from wiretool.protocols.pravega_draft.messages import KeepAlive, Padding, SegmentRead
from wiretool.protocols.pravega_draft.server import reads
from wiretool.protocols.pravega_draft.server.appends import Appends
from wiretool.protocols.pravega_draft.server.link import DraftLink
from wiretool.protocols.pravega_draft.server.reads import Reads

DEFECTS = Defects()


@DEFECTS.declare("empty-event-loop", "An event of no bytes in a block is looked at again for ever.")
def _empty_event_loop(patcher: Patcher) -> None:
    def check(self: Appends, frame: bytes) -> None:
        if len(frame) == 8:
            hang()

    run_before(patcher, Appends, "store", check)


@DEFECTS.declare(
    "block-length-overflow", "A block length of the whole 32 bits overflows when the header is added to it."
)
def _block_length_overflow(patcher: Patcher) -> None:
    def check(self: Appends, begin: Any) -> None:
        if begin.length > 2**31 - 9:
            raise OverflowError("signed integer is greater than maximum")

    run_before(patcher, Appends, "begin", check)


@DEFECTS.declare(
    "setup-in-block-elsewhere", "An appender that is set up again while its block is open elsewhere crashes."
)
def _setup_in_block_elsewhere(patcher: Patcher) -> None:
    def begin(self: Appends, message: Any) -> None:
        state_of(self._segments, "open", dict)[message.connection_id] = self

    def set_up(self: Appends, setup: Any, segment: Any) -> None:
        owner = state_of(self._segments, "open", dict).get(setup.connection_id)
        if owner is not None and owner is not self and owner._blocks.phase == "block":
            raise KeyError(setup.connection_id)

    def lost(self: DraftLink, now_ns: int) -> None:
        owners = state_of(self._appends._segments, "open", dict)
        for name in [name for name, owner in owners.items() if owner is self._appends]:
            del owners[name]

    run_before(patcher, Appends, "begin", begin)
    run_before(patcher, Appends, "set_up", set_up)
    run_before(patcher, DraftLink, "lost", lost)


@DEFECTS.declare(
    "block-buffers-leak", "The buffer of a block or frame that was begun is kept when its connection is lost."
)
def _block_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, DraftLink, lambda link: link._appends._segments)


@DEFECTS.declare(
    "pieces-outlive-connection",
    "A message in pieces that a lost connection did not finish is still open for the next one.",
)
def _pieces_outlive_connection(patcher: Patcher) -> None:
    def lost(self: DraftLink, now_ns: int) -> None:
        if self._appends._partial.is_open:
            state_of(self._appends._segments, "pieces", list).append(self._appends._partial)

    def join(self: Appends, piece: Any, frame: bytes) -> None:
        left = state_of(self._segments, "pieces", list)
        if left and not self._partial.is_open and piece.part == "BEGIN":
            self._partial = left[-1]

    run_before(patcher, DraftLink, "lost", lost)
    run_before(patcher, Appends, "join", join)


@DEFECTS.declare(
    "negative-length-read", "A read of a negative length is answered with a frame that lacks its last bytes."
)
def _negative_length_read(patcher: Patcher) -> None:
    def wrap(answer: Any) -> Any:
        def cut(segment: Any, offset: int, suggested_length: int) -> Any:
            reply = answer(segment, offset, suggested_length)
            if isinstance(reply, SegmentRead) and suggested_length < -1:
                raise ValueError("negative count")
            return reply

        return cut

    patcher.wrap(reads, "answer", wrap)


@DEFECTS.declare("keep-alive-buffer", "A KeepAlive with 1,024 bytes or more overruns the buffer for its data.")
def _keep_alive_buffer(patcher: Patcher) -> None:
    def wrap(handle: Any) -> Any:
        def check(self: DraftLink, message: KeepAlive, now_ns: int) -> None:
            if len(message.data) >= 1024:
                raise IndexError("bytearray index out of range")
            handle(self, message, now_ns)

        return check

    rehandle(patcher, KeepAlive, wrap)


@DEFECTS.declare("padding-in-later-block", "Padding in the second or a later block of a connection crashes the store.")
def _padding_in_later_block(patcher: Patcher) -> None:
    def wrap(handle: Any) -> Any:
        def check(self: DraftLink, message: Padding, now_ns: int) -> None:
            if len(state_of(self._appends, "begun", list)) > 1 and self._appends._blocks.phase == "block":
                raise ZeroDivisionError("integer modulo by zero")
            handle(self, message, now_ns)

        return check

    run_before(patcher, Appends, "begin", lambda self, begin: state_of(self, "begun", list).append(begin))
    rehandle(patcher, Padding, wrap)


@DEFECTS.declare("read-after-refusal", "A read on a connection whose block was refused is not answered.")
def _read_after_refusal(patcher: Patcher) -> None:
    def wrap(read: Any) -> Any:
        def forget(self: Reads, request: Any, now_ns: int) -> None:
            link: Any = self._replies
            if not state_of(link._appends, "refused", list):
                read(self, request, now_ns)

        return forget

    def wrap_complete(complete: Any) -> Any:
        def noted(self: Appends, now_ns: int) -> Any:
            refusal = complete(self, now_ns)
            if refusal is not None:
                state_of(self, "refused", list).append(refusal)
            return refusal

        return noted

    patcher.wrap(Appends, "complete", wrap_complete)
    patcher.wrap(Reads, "read", wrap)


DEFECTS.take("pravega-draft", "read-one-less", "tail-not-woken", "partial-middles-lost", "ack-of-the-block")


@DEFECTS.declare(
    "event-doubled-reconnected",
    "A block whose connection was lost inside it is stored once more when its appender comes back.",
)
def _event_doubled_reconnected(patcher: Patcher) -> None:
    def begin(self: Appends, message: Any) -> None:
        state_of(self._segments, "begun", set).add(message.connection_id)

    def wrap(set_up: Any) -> Any:
        def again(self: Appends, setup: Any, segment: Any) -> Any:
            reply = set_up(self, setup, segment)
            begun = state_of(self._segments, "begun", set)
            if segment is not None and setup.connection_id in begun:
                begun.discard(setup.connection_id)
                self._segments.append(segment, b"\0\0\0\0\0\0\0\0", 0)
            return reply

        return again

    run_before(patcher, Appends, "begin", begin)
    patcher.wrap(Appends, "set_up", wrap)
