"""Planted defects of the mock placement manager and the mock data node of the batch style."""

from typing import Any

from tests.fuzz.planted.defects import Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.sbp.messages import APPEND, GOAWAY
from wiretool.protocols.sbp.server.batches import Keeper
from wiretool.protocols.sbp.server.link import LinkPhase, SbpLink
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.server import asking, dialect_s1, dialect_s2
from wiretool.protocols.sbp_0_1.server.serving import BatchLink
from wiretool.protocols.sbp_0_1.server.store import Store

DEFECTS = Defects()


@DEFECTS.declare("batch-length-negative", "A batch length of less than -1 leads to bytes before the payload.")
def _batch_length_negative(patcher: Patcher) -> None:
    def check(schema: Any, payload: bytes, lengths: list[int]) -> None:
        if any(length < -1 for length in lengths):
            raise IndexError("index out of range")

    for module in (dialect_s1, dialect_s2):
        run_before(patcher, module, "batches_in", check)


@DEFECTS.declare(
    "replicas-below-zero", "A stream of fewer than -1 replicas takes its data nodes from the wrong end of a list."
)
def _replicas_below_zero(patcher: Patcher) -> None:
    def check(self: Store, replicas: int, now_ns: int) -> None:
        if replicas < -1:
            raise IndexError("list assignment index out of range")

    run_before(patcher, Store, "_chosen", check)


@DEFECTS.declare("trim-to-the-last", "A trim to an offset of 2**62 or more adds to it until it is reached, for ever.")
def _trim_to_the_last(patcher: Patcher) -> None:
    def check(self: Store, stream_id: int, offset: int) -> None:
        if offset >= 2**62:
            hang()

    run_before(patcher, Store, "trim", check)


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, SbpLink, lambda link: link.mock)


@DEFECTS.declare("describe-after-trim", "A range is described from memory that a trim of its stream has freed.")
def _describe_after_trim(patcher: Patcher) -> None:
    def check(self: Store, stream_id: int, index: int | None) -> None:
        if index is not None and stream_id in state_of(self, "trimmed", set):
            raise AttributeError("'NoneType' object has no attribute 'index'")

    run_before(patcher, Store, "trim", lambda self, stream_id, offset: state_of(self, "trimmed", set).add(stream_id))
    run_before(patcher, Store, "range_of", check)


@DEFECTS.declare("negative-node", "A data node with a number below 0 makes all later streams fail.")
def _negative_node(patcher: Patcher) -> None:
    def heard(self: Store, number: int, address: str | None, now_ns: int) -> None:
        if number < 0:
            self.silence_ns = 0

    run_before(patcher, Store, "heard", heard)


@DEFECTS.declare("list-of-many", "A request to list ranges of more than eight owners passes the end of an array.")
def _list_of_many(patcher: Patcher) -> None:
    def check(self: asking.Listing, node: int | None, stream_id: int | None) -> None:
        seen = state_of(self, "seen", list)
        seen.append(node)
        if len(seen) > 8:
            raise IndexError("list assignment index out of range")

    run_before(patcher, asking.Listing, "ranges", check)


@DEFECTS.declare("append-after-update", "An append to a stream that was updated after its deletion crashes.")
def _append_after_update(patcher: Patcher) -> None:
    def update(self: Store, stream: Any) -> None:
        if stream.stream_id in self._deleted:
            state_of(self, "revived", set).add(stream.stream_id)

    def check(self: Store, target: Any, data: bytes, records: int) -> None:
        if target.stream_id in state_of(self, "revived", set):
            raise KeyError(target.stream_id)

    run_before(patcher, Store, "update_stream", update)
    run_before(patcher, Store, "append", check)


@DEFECTS.declare(
    "append-after-goaway", "An APPEND on a connection that is being closed after a GOAWAY crashes the server."
)
def _append_after_goaway(patcher: Patcher) -> None:
    def check(self: SbpLink, data: bytes, now_ns: int) -> None:
        if self._phase is LinkPhase.LEAVING and int.from_bytes(data[5:7], "big") == APPEND:
            raise AttributeError("'NoneType' object has no attribute 'settle'")

    run_before(patcher, SbpLink, "take", check)


@DEFECTS.declare("goaway-at-once", "A GOAWAY on one connection while another is being closed gets a broken frame.")
def _goaway_at_once(patcher: Patcher) -> None:
    def wrap(reply: Any) -> Any:
        def cut(self: SbpLink, frame: Any, header: Any, **named: Any) -> None:
            others = [each for each in self.mock.links.values() if isinstance(each, SbpLink) and each._phase]
            if frame.opcode == GOAWAY and others:
                self.mock.outbox.send(self.number, b"\0\0\0\x10\x17")
                return
            reply(self, frame, header, **named)

        return cut

    patcher.wrap(SbpLink, "reply", wrap)


@DEFECTS.declare("schema-of-all", "The schema that one connection has shown is used for all later ones.")
def _schema_of_all(patcher: Patcher) -> None:
    def wrap(look_at: Any) -> Any:
        def take(self: BatchLink, data: bytes) -> None:
            known = state_of(self.mock, "schema", list)
            if known:
                self.schema, self._looks_left = known[-1], 0
                return
            look_at(self, data)
            if self.schema is not S1:
                known.append(self.schema)

        return take

    patcher.wrap(BatchLink, "_look_at", wrap)


DEFECTS.take("sbp-0.1", "pong-without-payload", "offset-swapped", "seal-opens-none", "fetch-unknown-empty")


@DEFECTS.declare(
    "batch-lost-interleaved",
    "Of two connections that append in turn, every third batch is acknowledged and not kept.",
)
def _batch_lost_interleaved(patcher: Patcher) -> None:
    def wrap(put: Any) -> Any:
        def lose(self: Any, batches: Any, base: int, data: bytes) -> None:
            kept = state_of(self, "kept", list)
            kept.append(id(batches))
            if len(kept) < 4 or kept[-1] == kept[-2] or kept[-3:-1] != kept[-4:-2][::-1]:
                put(self, batches, base, data)

        return lose

    patcher.wrap(Keeper, "put", wrap)
