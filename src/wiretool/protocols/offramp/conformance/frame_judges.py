"""Judges of the requirements of WebSocket on both sides of Offramp."""

from collections.abc import Iterable

from wiretool.codec.message import Side
from wiretool.conformance.recorded.observed import Closing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Judge, Observation, is_overdue
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.framing import Header

#: Seconds after which a reply is missing.
REPLY_S_MAX = 5.0
_HTTP = ("HandshakeRequest", "HandshakeResponse")
_TYPE_FIRST = b'{"type":'


def header_of(message: Observed) -> Header | None:
    """Return the header of the frame that a message is, or ends with; None where it is not a frame."""
    if message.name in _HTTP or framing.is_http(message.side, message.raw, 0, len(message.raw)):
        return None
    return framing.read_header(message.raw, 0, len(message.raw))


def writes_type_first(side: Side, events: Iterable[str]) -> Judge:
    """Return a judge of events that are in one frame without compression: the first member is `type`."""
    names = frozenset(events)

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            header = header_of(message) if message.name in names else None
            if header is None or not header.opcode or not header.is_final or header.is_compressed:
                continue
            text = framing.payload_of(header, message.raw, 0, len(message.raw))
            start = b"".join(text[:100].split())[: len(_TYPE_FIRST)]
            yield Observation(message.n, "" if start == _TYPE_FIRST else f"{message.name} begins with {text[:20]!r}")

    return judge


def answers_pings(side: Side) -> Judge:
    """Return a judge that a side answers pings. A Pong may answer several; RFC 6455 §5.5.3 asks for the last one."""
    peer: Side = "client" if side == "server" else "server"

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        if connection.has_gap or not connection.is_whole:
            return
        open_pings: list[Observed] = []
        for message in connection.messages:
            if message.name == "Ping" and message.side == peer:
                open_pings.append(message)
            elif message.name == "Pong" and message.side == side:
                payloads = [each.fields["payload"] for each in open_pings]
                if message.fields["payload"] in payloads:
                    at = payloads.index(message.fields["payload"])
                    open_pings = open_pings[at + 1 :]
                    yield Observation(message.n)
                elif open_pings and message.fields["payload"]:
                    yield Observation(message.n, f"a Pong with {message.fields['payload']}, which no open Ping has")
        late = [each for each in open_pings if is_overdue(connection, each.time_ns, within_s=REPLY_S_MAX)]
        for ping in late:
            yield Observation(ping.n, f"no Pong came within {REPLY_S_MAX:g} s")

    return judge


def first_close(connection: ObservedConnection) -> Observed | None:
    """Return the Close that was sent first."""
    return next((message for message in connection.messages if message.name == "Close"), None)


def ends_after(connection: ObservedConnection, side: Side, message: Observed) -> bool:
    """Return whether a side ends its half of the connection after a message."""
    items = connection.items
    return any(isinstance(item, Closing) and item.side == side for item in items[items.index(message) :])
