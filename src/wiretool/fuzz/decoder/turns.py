"""Recorded sessions: the bytes that each side sent at a time, and their way into packets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.fuzz.decoder.capture import TcpPacket
from wiretool.sinks.tcp import ACK, FIN, PSH, SYN


class Turn(NamedTuple):
    """A side sends bytes; without bytes, its last one was sent before."""

    connection: int
    side: Side
    data: bytes


@dataclass(slots=True)
class TurnLog:
    """Takes the place of a recording in a file. Connections are numbered from 0, in the order in which they open."""

    turns: list[Turn] = field(default_factory=list)
    ports: dict[int, int] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)

    def opened(self, connection: int, client: tuple[str, int], server: tuple[str, int], now_ns: int) -> None:
        """Note a new connection."""
        number = self._numbers[connection] = len(self.ports)
        self.ports[number] = server[1]

    def sent(self, connection: int, side: Side, data: bytes, now_ns: int, *, comment: str = "") -> None:
        """Note bytes of a side."""
        if data:
            self.turns.append(Turn(self._numbers[connection], side, data))

    def finished(self, connection: int, side: Side, now_ns: int) -> None:
        """Note that a side has sent its last byte."""
        self.turns.append(Turn(self._numbers[connection], side, b""))


@dataclass(frozen=True, slots=True)
class TurnSession:
    """A session as it was recorded, or with mutated bytes."""

    turns: tuple[Turn, ...]
    ports: Mapping[int, int]
    origin: str
    #: The setup of the server, which selects the revision of the protocol.
    setup: str


def packets_of(session: TurnSession, segment_bytes: int, *, has_handshake: bool = True) -> list[TcpPacket]:
    """Return the packets of a session, each with `segment_bytes` of payload at most."""
    out: list[TcpPacket] = []
    next_seq: dict[tuple[int, Side], int] = {}
    for turn in session.turns:
        if (turn.connection, turn.side) not in next_seq:
            next_seq[turn.connection, "client"] = next_seq[turn.connection, "server"] = 1
            if has_handshake:
                out += _handshake(turn.connection)
        seq = next_seq[turn.connection, turn.side]
        if not turn.data:
            out.append(TcpPacket(turn.connection, turn.side, FIN | ACK, seq))
            next_seq[turn.connection, turn.side] = seq + 1
        for at in range(0, len(turn.data), segment_bytes):
            part = turn.data[at : at + segment_bytes]
            out.append(TcpPacket(turn.connection, turn.side, PSH | ACK, seq, part))
            seq += len(part)
            next_seq[turn.connection, turn.side] = seq
    return out


def _handshake(connection: int) -> Sequence[TcpPacket]:
    return (
        TcpPacket(connection, "client", SYN, 0),
        TcpPacket(connection, "server", SYN | ACK, 0),
        TcpPacket(connection, "client", ACK, 1),
    )
