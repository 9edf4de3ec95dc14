"""Which of the two servers a request is for, where one address answers for both.

1. Most operations are served by one of them only; these are its own, and tell what the client takes us for.
2. On a connection that has asked one of them only, everything is for that one, but a CREATE_RANGE with the servers that
   the placement driver has chosen: that is meant for these.
3. Else the request itself says. CREATE_RANGE that names servers is of a range that was placed already, so it is for
   the range server, and so is SEAL_RANGE of kind RANGE_SERVER; the rest, and what nobody serves, is for the placement
   driver.
"""

from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame
from wiretool.protocols.sbp.server import placement, range_server
from wiretool.protocols.sbp.server.link import Role
from wiretool.protocols.sbp.tables import CreateRangeRequest, SealRangeRequest

#: What each server serves beside PING and GOAWAY.
SERVED = {
    Role.PLACEMENT_DRIVER: frozenset(placement.HANDLERS),
    Role.RANGE_SERVER: frozenset((APPEND, FETCH, *range_server.HANDLERS)),
}
SEAL_KIND_RANGE_SERVER = 1


def only_role(opcode: int) -> Role | None:
    """The one server that serves an operation; None where both do, or neither."""
    serving = [role for role, opcodes in SERVED.items() if opcode in opcodes]
    return serving[0] if len(serving) == 1 else None


def named_role(frame: SbpFrame) -> Role | None:
    """The server that a request names by what it holds, or by being what it is."""
    header = frame.header
    if isinstance(header, CreateRangeRequest) and header.range is not None and header.range.servers:
        return Role.RANGE_SERVER
    if isinstance(header, SealRangeRequest) and header.kind == SEAL_KIND_RANGE_SERVER:
        return Role.RANGE_SERVER
    return only_role(frame.opcode)


class Roles:
    """What one connection has taken us for so far."""

    def __init__(self, fixed: Role | None, placement: placement.PlacementDriver) -> None:
        self._fixed = fixed
        self._placement = placement
        self._asked: set[Role] = set()

    @property
    def role(self) -> Role | None:
        """The server that this connection is with; None while, or since, it may be either."""
        if self._fixed is not None:
            return self._fixed
        return next(iter(self._asked)) if len(self._asked) == 1 else None

    def of(self, frame: SbpFrame, *, is_sound: bool = False) -> Role:
        """The server that answers a request; what one shows that is sound is remembered."""
        if self._fixed is not None:
            return self._fixed
        only = only_role(frame.opcode)
        if only is None and self.role is not None and not self._is_placed(frame):
            return self.role
        named = named_role(frame)
        if named is not None and is_sound:
            self._asked.add(named)
        return named or Role.PLACEMENT_DRIVER

    def _is_placed(self, frame: SbpFrame) -> bool:
        """Whether it is the second CREATE_RANGE, which passes on what the placement driver answered to the first."""
        header = frame.header
        if not isinstance(header, CreateRangeRequest) or header.range is None:
            return False
        return self._placement.has_placed(header.range)
