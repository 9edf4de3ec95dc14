"""The slowest exchanges as a capture: how their connections began, and of all that came behind that, only they."""

from collections.abc import Iterator
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.load.part import load_part
from wiretool.load.slow import SlowConnection, SlowExchange, SlowOnes
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import Recording
from wiretool.sinks.printable import printable

#: Where a message says how many bytes came before it, what is left out there has to be missing. Nobody counted it, so
#: one byte stands for all of it.
HOLE_BYTES = 1
#: Characters of what an exchange is about that a comment has; names may be very long.
ABOUT_MAX = 1_000


class Packet(NamedTuple):
    """What one side sent on a connection."""

    at_ns: int
    connection: int
    side: Side
    data: bytes
    comment: str = ""
    is_request: bool = False


def write_slow(slow: SlowOnes, output: Output, protocol: str) -> None:
    """Write them as pcapng, in the order in which they went over the wire, each with a comment; also if there are none.

    What was said between them is not there, as if it had not been: sequence numbers go on without a gap, but where the
    protocol would not let that pass.
    """
    is_positional = load_part(protocol).is_positional
    recording = Recording(output)
    recording.begin()
    connections = connections_of(slow)
    packets: list[Packet] = []
    for number, (connection, ranked) in enumerate(connections):
        packets += packets_of(number, connection, ranked, len(slow))
    is_open: set[int] = set()
    for packet in sorted(packets, key=lambda packet: packet.at_ns):
        if packet.connection not in is_open:
            is_open.add(packet.connection)
            connection = connections[packet.connection][0]
            recording.opened(packet.connection, connection.client, connection.server, packet.at_ns)
        if packet.is_request and is_positional:
            recording.missed(packet.connection, packet.side, HOLE_BYTES)
        recording.sent(packet.connection, packet.side, packet.data, packet.at_ns, comment=packet.comment)


Ranked = list[tuple[int, SlowExchange]]


def connections_of(slow: SlowOnes) -> list[tuple[SlowConnection, Ranked]]:
    """Each connection with its exchanges and their ranks, 1 for the slowest, in the order of their sending."""
    found: dict[int, tuple[SlowConnection, Ranked]] = {}
    for rank, (connection, exchange) in enumerate(slow, 1):
        found.setdefault(id(connection), (connection, []))[1].append((rank, exchange))
    for connection, ranked in found.values():
        ranked.sort(key=lambda each: connection.exchanges.index(each[1]))
    return list(found.values())


def packets_of(number: int, connection: SlowConnection, ranked: Ranked, count: int) -> Iterator[Packet]:
    """What went over one connection, requests in their order and replies in theirs; nothing when it was opened."""
    yield Packet(connection.opened_ns, number, "client", b"")
    for piece in connection.opening:
        yield Packet(piece.at_ns, number, piece.side, piece.data)
    for rank, exchange in ranked:
        yield Packet(exchange.sent_ns, number, "client", exchange.request, comment_on(exchange, rank, count), True)
    answered: dict[int, Ranked] = {}
    for rank, exchange in ranked:
        answered.setdefault(exchange.reply_number, []).append((rank, exchange))
    for together in answered.values():
        ranks = ", ".join(str(rank) for rank, _ in together)
        exchange = together[0][1]
        comment = f"answers {exchange.operation} {ranks} of {count}"
        yield Packet(exchange.answered_ns, number, "server", exchange.reply, comment)


def comment_on(exchange: SlowExchange, rank: int, count: int) -> str:
    """What there is to know of an exchange, in a line."""
    service_ms, response_ms = exchange.service_ms, exchange.response_ms
    waited_ms = response_ms - service_ms
    due = f" (due {waited_ms:.3g} ms before it was sent)" if waited_ms else ""
    about = printable(exchange.about[:ABOUT_MAX])
    took = f"service {service_ms:.3g} ms, response {response_ms:.3g} ms{due}"
    return f"{exchange.operation} {rank} of {count}: {took}, {about}"


def line_on(slow: SlowOnes) -> str:
    """How many there are, how slow, and how far apart, in a line."""
    exchanges = [place.exchange for place in slow]
    if not exchanges:
        return "no exchange was answered"
    took = f"{exchanges[-1].response_ms:.3g} to {exchanges[0].response_ms:.3g} ms"
    sent = [exchange.sent_ns for exchange in exchanges]
    many = "the slowest exchange" if len(exchanges) == 1 else f"the slowest {len(exchanges)} exchanges"
    left = f"; {slow.left_out} more had no room" if slow.left_out else ""
    return f"{many}, of {took}, sent within {(max(sent) - min(sent)) / 1e9:.3g} s{left}"
