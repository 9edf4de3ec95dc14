"""What becomes of a request of the batch style: its schema, whether it is served where it came, and its answer."""

from collections.abc import Callable, Mapping
from typing import Protocol

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp.framing import FrameReading
from wiretool.protocols.sbp.messages import SYSTEM_ERROR, SbpFrame, Schema
from wiretool.protocols.sbp.server.link import WHOLE, ConnectionPolicy, Role, SbpLink
from wiretool.protocols.sbp.server.reading import over_limit
from wiretool.protocols.sbp_0_1 import tables_s2
from wiretool.protocols.sbp_0_1.framing import only_fit
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.server import dialect_s1, dialect_s2
from wiretool.protocols.sbp_0_1.server.asking import Ask, Reply
from wiretool.protocols.sbp_0_1.server.codes import BAD_REQUEST, PM_INTERNAL_SERVER_ERROR, UNKNOWN_OPERATION
from wiretool.protocols.sbp_0_1.server.store import Refusal, Store
from wiretool.server.mock import Mock

#: Requests of one connection that are looked at for which schema it speaks.
DECIDED_BY = limits.RECOGNISE_FRAMES_MAX
Handlers = Mapping[int, Callable[[Ask], Reply]]


class Servers(Protocol):
    """What the servers of all connections share."""

    policy: ConnectionPolicy
    store: Store
    #: The schema that is spoken; None: S1 until a request can only be of S2.
    schema: Schema | None


class BatchLink(SbpLink):
    """A connection of the batch style. `place` is the role whose door it came through; None for both."""

    def __init__(self, mock: Mock, servers: Servers, number: int, place: Role | None, now_ns: int) -> None:
        self._servers = servers
        self._place = place
        self._looks_left = 0 if servers.schema else DECIDED_BY
        super().__init__(mock, number, servers.schema or S1, servers.policy, now_ns)

    @property
    def role(self) -> Role | None:
        """A placement manager treats connections as the later placement driver does; of data nodes nothing is known."""
        return Role.PLACEMENT_DRIVER if self._place is Role.PLACEMENT_DRIVER else None

    def take(self, data: bytes, now_ns: int) -> None:
        if self._looks_left:
            self._look_at(data)
        super().take(data, now_ns)

    def _look_at(self, data: bytes) -> None:
        """See whether a request can only be of one schema, which decides it; none is where its header is too much."""
        self._looks_left -= 1
        if any(over_limit(schema, data) is not None for schema in (S1, S2)):
            return
        fit = only_fit(data, 0, len(data))
        if fit is not None:
            self.schema, self._looks_left = fit, 0

    def serve(self, reading: FrameReading, now_ns: int) -> None:
        frame = reading.frame
        handler = self._handlers().get(frame.opcode)
        if handler is None:
            self.refuse(frame, UNKNOWN_OPERATION, "unknown operation")
        elif self.is_foreign(frame):
            self._foreign(frame, now_ns)
        else:
            self._answer(reading, handler, now_ns)

    def _handlers(self) -> Handlers:
        """The operations that are served where the connection came in."""
        if self.schema is S1:
            return dialect_s1.HANDLERS
        if self._place is Role.PLACEMENT_DRIVER:
            return dialect_s2.MANAGER
        if self._place is Role.RANGE_SERVER:
            return dialect_s2.DATA_NODE
        return {**dialect_s2.DATA_NODE, **dialect_s2.MANAGER}

    def _answer(self, reading: FrameReading, handler: Callable[[Ask], Reply], now_ns: int) -> None:
        frame = reading.frame
        request = frame.header if isinstance(frame.header, Table) else self._empty(reading)
        if request is None:
            self._unreadable(reading, now_ns)
            return
        is_data_node = self._place is Role.RANGE_SERVER
        ask = Ask(self._servers.store, request, frame.payload, now_ns, is_data_node)
        try:
            reply = handler(ask)
        except Refusal as why:
            self._refused(frame, why)
        else:
            self.reply(frame, reply.header, payload=reply.payload)

    def _empty(self, reading: FrameReading) -> Table | None:
        """In S1 no table lacks anything, so no header is one with nothing in it."""
        operation = reading.operation
        assert operation is not None
        assert operation.request is not None
        return operation.request() if self.schema is S1 and reading.frame.header is None else None

    # -- refusals --------------------------------------------------------------------------------------------------

    def _unreadable(self, reading: FrameReading, now_ns: int) -> None:
        """A header that is none: in S1 the response says so, where the real placement manager ends (§5, 24)."""
        frame = reading.frame
        if self.schema is S1:
            self._refused(frame, Refusal(BAD_REQUEST, "the header cannot be read"))
        elif self.policy.like_real and self._place is Role.PLACEMENT_DRIVER:
            self.crash(now_ns, "a header that the placement manager cannot read")
        else:
            self.refuse(frame, BAD_REQUEST)

    def _foreign(self, frame: SbpFrame, now_ns: int) -> None:
        """A header in another format is discarded (§5, 11); the real placement manager ends."""
        if self.policy.like_real and self._place is Role.PLACEMENT_DRIVER and self.schema is not S1:
            self.crash(now_ns, "a header in another format")

    def _refused(self, frame: SbpFrame, why: Refusal) -> None:
        """What failed as a whole: in S1 and by a placement manager in its own table, else with a system error."""
        if self.schema is S1:
            self.reply(frame, dialect_s1.refused(frame.opcode, why))
        elif frame.opcode in dialect_s2.MANAGER:
            self.reply(frame, dialect_s2.refused(frame.opcode, why))
        else:
            self.refuse(frame, why.code, why.message)

    def refuse(self, frame: SbpFrame, code: int, message: str | None = None) -> None:
        """Answer with a system error. S1 has none, and drops what it does not know (§5, 5 and 6)."""
        if self.schema is not S1:
            status = tables_s2.Status(code=code, message=message)
            self.reply(frame, tables_s2.SystemErrorResponse(status=status), flags=WHOLE | SYSTEM_ERROR)

    def refuse_goaway(self, frame: SbpFrame) -> None:
        self.refuse(frame, UNKNOWN_OPERATION)

    def too_large(self, frame: SbpFrame) -> None:
        why = Refusal(PM_INTERNAL_SERVER_ERROR, "the answer does not fit into a frame")
        if self.schema is S1:
            self._refused(frame, why)
        else:
            self.refuse(frame, why.code, why.message)
