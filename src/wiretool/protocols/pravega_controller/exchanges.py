"""Which frames wait for an answer: calls, settings and pings; and how a call says that it failed."""

from wiretool.codec.message import SIDES
from wiretool.protocols.base.exchanges import Exchanges, Fields, value_in
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.messages import (
    Continuation,
    Data,
    GoAway,
    Headers,
    Ping,
    RstStream,
    Settings,
)

_RESET = RstStream.declaration.name
#: Statuses in answers that are no failure; the others say that nothing was done, if only because it was before.
_FINE = frozenset({"SUCCESS", "OK", "COMMITTED", "STARTED", "IN_PROGRESS"})


def failure(name: str, fields: Fields) -> str | None:
    """The code of a reset, the gRPC status of what ends a call, or the status in an answer that is no good one."""
    if name == _RESET:
        return str(value_in(fields, "error_code"))
    if name in METHODS:
        status = value_in(fields, "status")
        return status if isinstance(status, str) and status not in _FINE else None
    status = value_in(fields, "grpc_status")
    return None if status in (None, "OK") else str(status)


EXCHANGES = Exchanges(
    asks=frozenset(
        {
            *((method, "client") for method in METHODS),
            *((cls.declaration.name, side) for cls in (Settings, Ping) for side in SIDES),
        }
    ),
    # What opens a call is its request where its message was not seen whole.
    may_ask=frozenset((cls.declaration.name, "client") for cls in (Headers, Continuation, Data)),
    unless="ack",
    failure=failure,
    farewells=frozenset({GoAway.declaration.name}),
)
