"""Planted defects of the mock placement driver and the mock range server."""

from typing import Any

from tests.fuzz.planted.defects import Defects, hang, leak_buffers, run_before, state_of
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.sbp.framing import FIXED_BYTES, HEADER_LENGTH_AT
from wiretool.protocols.sbp.messages import APPEND, GOAWAY
from wiretool.protocols.sbp.server import link
from wiretool.protocols.sbp.server.codes import HEARTBEAT, OK
from wiretool.protocols.sbp.server.link import LinkPhase, SbpLink
from wiretool.protocols.sbp.server.placement import PlacementDriver
from wiretool.protocols.sbp.server.range_server import RangeServer
from wiretool.protocols.sbp.server.reading import OPCODE
from wiretool.protocols.sbp.server.serving import ServerLink

DEFECTS = Defects()
_CHECKSUM_BYTES = 4


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[HEADER_LENGTH_AT:FIXED_BYTES], "big")


@DEFECTS.declare("root-is-itself", "A root offset of 0, which leads to itself, is followed for ever.")
def _root_is_itself(patcher: Patcher) -> None:
    def check(schema: Any, data: bytes) -> None:
        length = _header_length(data)
        header = data[FIXED_BYTES : FIXED_BYTES + length]
        is_whole = 8 <= length <= len(data) - FIXED_BYTES - _CHECKSUM_BYTES
        if is_whole and not any(header[:4]) and any(header[4:]):
            hang()

    run_before(patcher, link, "read_request", check)


@DEFECTS.declare(
    "header-over-checksum", "The header of a HEARTBEAT that reaches into the checksum is read past the end."
)
def _header_over_checksum(patcher: Patcher) -> None:
    def check(schema: Any, data: bytes) -> None:
        is_heartbeat = data[OPCODE] == HEARTBEAT.to_bytes(2, "big")
        if is_heartbeat and 0 < _header_length(data) - (len(data) - FIXED_BYTES - _CHECKSUM_BYTES) <= _CHECKSUM_BYTES:
            raise IndexError("index out of range")

    run_before(patcher, link, "read_request", check)


@DEFECTS.declare("fetch-buffer", "A FETCH has a buffer made of the size that it asks for, however much that is.")
def _fetch_buffer(patcher: Patcher) -> None:
    def check(self: RangeServer, request: Any) -> None:
        bytearray(min(max(request.max_wait_ms, 0), 2**27))

    run_before(patcher, RangeServer, "fetch", check)


@DEFECTS.declare("frame-buffers-leak", "The buffer of an unfinished frame is kept when its connection is lost.")
def _frame_buffers_leak(patcher: Patcher) -> None:
    leak_buffers(patcher, SbpLink, lambda link: link.mock)


@DEFECTS.declare(
    "identifiers-of-all", "A stream identifier of 2**31 or more makes the server send GOAWAY to every client."
)
def _identifiers_of_all(patcher: Patcher) -> None:
    def wrap(take: Any) -> Any:
        def check(self: SbpLink, reading: Any, now_ns: int) -> None:
            seen = state_of(self.mock, "high", list)
            if seen and self not in seen:
                self._say_goaway()
                self._leave("out of identifiers", now_ns)
                return
            if reading.frame.stream_id >= 2**31:
                seen.append(self)
            take(self, reading, now_ns)

        return check

    patcher.wrap(SbpLink, "_take_request", wrap)


@DEFECTS.declare(
    "append-after-goaway", "An APPEND on a connection that is being closed after a GOAWAY crashes the server."
)
def _append_after_goaway(patcher: Patcher) -> None:
    def check(self: SbpLink, data: bytes, now_ns: int) -> None:
        if self._phase is LinkPhase.LEAVING and int.from_bytes(data[5:7], "big") == APPEND:
            raise AttributeError("'NoneType' object has no attribute 'accept'")

    run_before(patcher, SbpLink, "take", check)


@DEFECTS.declare(
    "append-after-two-seals", "An APPEND to a range that was sealed twice looks for a replica that is gone."
)
def _append_after_two_seals(patcher: Patcher) -> None:
    def seal(self: RangeServer, replica: Any) -> None:
        state_of(self, "sealed", list).append(id(replica))

    def check(self: RangeServer, entry: Any, data: bytes) -> None:
        replica = self.replicas.get((entry.meta.stream_id, entry.meta.range_index))
        if replica is not None and state_of(self, "sealed", list).count(id(replica)) > 1:
            raise KeyError((entry.meta.stream_id, entry.meta.range_index))

    run_before(patcher, RangeServer, "seal", seal)
    run_before(patcher, RangeServer, "_place", check)


@DEFECTS.declare("range-of-lost-maker", "A FETCH of a range whose maker has gone away crashes the server.")
def _range_of_lost_maker(patcher: Patcher) -> None:
    def answer(self: ServerLink, frame: Any, role: Any, request: Any, now_ns: int) -> None:
        server = self._servers.range_server
        wanted = getattr(request, "range", None)
        if wanted is None:
            return
        makers = state_of(server, "makers", dict)
        key = (wanted.stream_id, wanted.index)
        if key not in server.replicas:
            makers[key] = self
        elif type(request).__name__ == "FetchRequest" and makers.get(key, self)._phase is LinkPhase.GONE:
            raise AttributeError("'NoneType' object has no attribute 'number'")

    run_before(patcher, ServerLink, "_answer", answer)


@DEFECTS.declare(
    "replicas-below-zero", "A stream of fewer than -1 replicas is taken, and its first range crashes the driver."
)
def _replicas_below_zero(patcher: Patcher) -> None:
    def check(self: PlacementDriver, count: int, now_ns: int) -> None:
        if count < -1:
            raise IndexError("list index out of range")

    run_before(patcher, PlacementDriver, "_chosen", check)


@DEFECTS.declare("ping-after-refusal", "A PING on a connection whose APPEND was refused is not answered.")
def _ping_after_refusal(patcher: Patcher) -> None:
    def refuse(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
        if frame.opcode == APPEND:
            state_of(self, "refused", list).append(code)

    def wrap(pong: Any) -> Any:
        def drop(self: SbpLink, frame: Any) -> None:
            if not state_of(self, "refused", list):
                pong(self, frame)

        return drop

    run_before(patcher, ServerLink, "refuse", refuse)
    patcher.wrap(SbpLink, "_pong", wrap)


@DEFECTS.declare(
    "goaway-twice", "Two GOAWAYs on two connections at one time make the answer to the second a broken frame."
)
def _goaway_twice(patcher: Patcher) -> None:
    def wrap(reply: Any) -> Any:
        def cut(self: SbpLink, frame: Any, header: Any, **named: Any) -> None:
            leaving = [each for each in self.mock.links.values() if isinstance(each, SbpLink) and each._phase]
            if frame.opcode == GOAWAY and leaving:
                self.mock.outbox.send(self.number, b"\0\0\0\x10\x17")
                return
            reply(self, frame, header, **named)

        return cut

    patcher.wrap(SbpLink, "reply", wrap)


DEFECTS.take("sbp", "pong-without-payload", "next-one-short", "seal-forgotten", "results-reversed")


@DEFECTS.declare(
    "batch-doubled-reconnected", "The next batch after a connection was lost inside a frame is stored twice."
)
def _batch_doubled_reconnected(patcher: Patcher) -> None:
    def lost(self: SbpLink, now_ns: int) -> None:
        if self.held_bytes:
            state_of(self.mock, "cut", list).append(self.number)

    def opened(self: ServerLink, frame: Any, role: Any, request: Any, now_ns: int) -> None:
        vars(self._servers.range_server)["planted_cut"] = state_of(self.mock, "cut", list)

    def wrap(commit: Any) -> Any:
        def twice(self: RangeServer, batch: Any) -> Any:
            code = commit(self, batch)
            cut = state_of(self, "cut", list)
            if batch.records and cut and code == OK:
                cut.clear()
                self.keeper.put(batch.replica.batches, batch.base, batch.data + batch.data)
            return code

        return twice

    run_before(patcher, SbpLink, "lost", lost)
    run_before(patcher, ServerLink, "_answer", opened)
    patcher.wrap(RangeServer, "_commit", wrap)
