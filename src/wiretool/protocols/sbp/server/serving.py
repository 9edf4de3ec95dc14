"""What becomes of a request: which server it is for, whether that can read it, and its answer."""

from collections.abc import Sequence
from typing import Protocol

from wiretool.codec.flatbuffers.declaration import Table, slots_of
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.framing import FrameReading
from wiretool.protocols.sbp.messages import APPEND, FLATBUFFERS, SYSTEM_ERROR, SbpFrame
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.codes import (
    ALLOCATE_ID,
    BAD_REQUEST,
    PD_INTERNAL_SERVER_ERROR,
    RS_INTERNAL_SERVER_ERROR,
    UNKNOWN_OPERATION,
    UNSUPPORTED_OPERATION,
)
from wiretool.protocols.sbp.server.link import WHOLE, ConnectionPolicy, Role, SbpLink
from wiretool.protocols.sbp.server.placement import PlacementDriver
from wiretool.protocols.sbp.server.range_server import Accepted, RangeServer, Refused
from wiretool.protocols.sbp.server.roles import SERVED, Roles
from wiretool.server.mock import Mock

#: Bytes in front of the meta of a batch, and behind it, that the real range server takes without looking.
_BEFORE_META, _PAYLOAD_LENGTH = 5, 4


class Servers(Protocol):
    """The two servers that a connection may be with."""

    policy: ConnectionPolicy
    placement: PlacementDriver
    range_server: RangeServer
    #: How long an append takes to be durable.
    commit_ns: int


class ServerLink(SbpLink):
    """A connection of the newest schema."""

    def __init__(self, mock: Mock, servers: Servers, number: int, asked: Roles, now_ns: int) -> None:
        self._servers = servers
        self._roles = asked
        super().__init__(mock, number, LATEST, servers.policy, now_ns)

    @property
    def role(self) -> Role | None:
        return self._roles.role

    def serve(self, reading: FrameReading, now_ns: int) -> None:
        frame = reading.frame
        role = self._roles.of(frame, is_sound=not reading.defects)
        if frame.opcode not in SERVED[role]:
            self._unserved(reading, role)
        elif frame.opcode == APPEND:
            self._append(reading, now_ns)
        else:
            request = self._request(reading, role, now_ns)
            if request is not None:
                self._answer(frame, role, request, now_ns)

    def _answer(self, frame: SbpFrame, role: Role, request: Table, now_ns: int) -> None:
        if role is Role.PLACEMENT_DRIVER:
            self.reply(frame, self._servers.placement.answer(frame.opcode, request, now_ns))
        elif isinstance(request, tables.FetchRequest):
            header, payload = self._servers.range_server.fetch(request)
            self.reply(frame, header, payload=payload)
        else:
            try:
                self.reply(frame, self._servers.range_server.answer(frame.opcode, request, now_ns))
            except Refused as refused:
                self.refuse(frame, refused.code, refused.message)

    # -- headers ---------------------------------------------------------------------------------------------------

    def _request(self, reading: FrameReading, role: Role, now_ns: int) -> Table | None:
        """The header of a request that is served, or None where it is refused here (sbp.md §4.3 and §5, 11 and 24).

        A placement driver does not look whether something required is missing, and crashes on what it cannot read.
        """
        frame = reading.frame
        is_driver = role is Role.PLACEMENT_DRIVER
        kinds = {defect.kind for defect in reading.defects}
        header = frame.header if isinstance(frame.header, Table) else _empty_table(reading)
        like_real = self.policy.like_real
        is_foreign = self.is_foreign(frame) and not (like_real and not is_driver)
        if header is not None and not is_foreign and (is_driver or not _lacks_something(header, kinds)):
            return header
        if is_driver and like_real:
            self.crash(now_ns, "a header that the placement driver cannot read")
        else:
            self.refuse(frame, BAD_REQUEST)
        return None

    def _unserved(self, reading: FrameReading, role: Role) -> None:
        frame = reading.frame
        is_driver = role is Role.PLACEMENT_DRIVER
        if is_driver and self.policy.like_real and frame.header_format != FLATBUFFERS:
            return
        is_known = reading.operation is not None and frame.opcode != 0
        if not is_driver:
            self.refuse(frame, UNSUPPORTED_OPERATION)
        elif is_known:
            self.refuse(frame, UNSUPPORTED_OPERATION, "unsupported operation")
        else:
            self.refuse(frame, UNKNOWN_OPERATION, "unknown operation")

    # -- appends ---------------------------------------------------------------------------------------------------

    def _append(self, reading: FrameReading, now_ns: int) -> None:
        """Give each batch its place; the answer goes out when they are durable. The header is not looked at."""
        frame = reading.frame
        if self.policy.like_real and _ends_in_meta(frame.payload):
            self.crash(now_ns, "a payload that ends behind the meta of its first batch")
            return
        try:
            accepted = self._servers.range_server.accept(frame.payload, reading.batches)
        except Refused as refused:
            self.refuse(frame, refused.code, refused.message)
            return
        if not accepted:
            self.reply(frame, None)
        elif self._servers.commit_ns and any(isinstance(result, Accepted) for result in accepted):
            self.defer()
            self.mock.timers.at(now_ns + self._servers.commit_ns, lambda later: self._commit(frame, accepted, later))
        else:
            self.reply(frame, self._servers.range_server.commit(accepted, now_ns))

    def _commit(self, frame: SbpFrame, accepted: Sequence[Accepted | int], now_ns: int) -> None:
        self.reply(frame, self._servers.range_server.commit(accepted, now_ns))
        self.settle(now_ns)

    # -- refusals --------------------------------------------------------------------------------------------------

    def refuse(self, frame: SbpFrame, code: int, message: str | None = None) -> None:
        """Answer with a system error, which names the operation again."""
        status = tables.Status(code=code, message=message)
        self.reply(frame, tables.SystemError(status=status), flags=WHOLE | SYSTEM_ERROR)

    def refuse_goaway(self, frame: SbpFrame) -> None:
        self.refuse(frame, UNSUPPORTED_OPERATION)

    def too_large(self, frame: SbpFrame) -> None:
        """Say so; a real placement driver says nothing, and a real range server never again anything."""
        is_driver = self._roles.of(frame) is Role.PLACEMENT_DRIVER
        if not self.policy.like_real:
            code = PD_INTERNAL_SERVER_ERROR if is_driver else RS_INTERNAL_SERVER_ERROR
            self.refuse(frame, code, "the answer does not fit into a frame")
        elif not is_driver:
            self.mute()


def _lacks_something(header: Table, kinds: set[str]) -> bool:
    """Whether a reader that verifies refuses the header."""
    if "missing_required_field" in kinds:
        return True
    return any(wire.is_required and getattr(header, name) is None for name, wire, _ in slots_of(type(header)))


def _empty_table(reading: FrameReading) -> Table | None:
    """The table that zeros alone are to real readers: one with nothing in it. ALLOCATE_ID may have no header at all."""
    frame, operation = reading.frame, reading.operation
    if operation is None or operation.request is None:
        return None
    if isinstance(frame.header, bytes):
        return None if any(frame.header) else operation.request()
    return operation.request() if frame.opcode == ALLOCATE_ID else None


def _ends_in_meta(payload: bytes) -> bool:
    """Whether one to three bytes follow the meta of the first batch, which no real range server survives."""
    meta_length = int.from_bytes(payload[1:_BEFORE_META], "big", signed=True)
    left = len(payload) - _BEFORE_META - meta_length
    is_long_enough = len(payload) >= _BEFORE_META + _PAYLOAD_LENGTH
    return is_long_enough and meta_length >= 0 and 0 < left < _PAYLOAD_LENGTH
