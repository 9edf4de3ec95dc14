"""Mutations of recorded sessions: bytes of either side, and packets that are lost, late, doubled or cut."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from wiretool.codec.cursor import Span
from wiretool.codec.frames.buffer import whole_frames
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.fuzz.decoder.capture import FuzzCapture, TcpPacket
from wiretool.fuzz.decoder.turns import Turn, TurnSession
from wiretool.fuzz.mutations.base import region_of
from wiretool.fuzz.mutations.numbers import boundaries
from wiretool.fuzz.sequences.sequence import Change
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.tcp import ACK, FIN, RST, SYN

#: Payload bytes of packets; few bytes put one frame into many packets, many put many frames into one.
SEGMENT_BYTES = (1460, 1460, 1460, 536, 100, 60, 9, 65_000)
#: Packets of one capture at most, and bytes of one turn that are looked at for fields.
PACKETS_MAX, FIELD_BYTES_MAX = 400, 64 * 1024
_SPANS_KEPT = 4096


class FieldPlaces:
    """Finds the frames and fields in the bytes of a turn, and remembers those of recorded turns."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._spans: dict[tuple[Side, bytes], list[Span]] = {}

    def spans(self, side: Side, data: bytes) -> list[Span]:
        """Return the fields of all whole frames at the start of `data`."""
        key = side, data
        found = self._spans.get(key)
        if found is None:
            found = self._annotated(side, data[:FIELD_BYTES_MAX])
            if len(self._spans) >= _SPANS_KEPT:
                self._spans.clear()
            self._spans[key] = found
        return found

    def _annotated(self, side: Side, data: bytes) -> list[Span]:
        conversation, frames = self._protocol.open(False), list[tuple[int, int]]()
        with suppress(DecodeError):
            frames.extend(whole_frames(data, partial(conversation.extent, side)))
        found = (each for at, end in frames for each in conversation.annotate(side, data, at, end))
        return [each for each in found if each.length > 0]


# -- bytes of a session ------------------------------------------------------------------------------------------------


def mutate_bytes(session: TurnSession, rng: random.Random, places: FieldPlaces) -> tuple[TurnSession, Change] | None:
    """Return the session with the bytes of one turn changed; None where nothing is sent."""
    choices = [at for at, turn in enumerate(session.turns) if turn.data]
    if not choices:
        return None
    at = rng.choice(choices)
    turn = session.turns[at]
    spans = places.spans(turn.side, turn.data)
    if spans and rng.random() < 0.7:
        data, change = _changed_field(turn, rng.choice(spans), rng)
    else:
        data, change = _changed_bytes(turn, rng)
    turns = (*session.turns[:at], turn._replace(data=data), *session.turns[at + 1 :])
    return replace(session, turns=tuple(each for each in turns if each.data or each is not turns[at])), change


def _changed_field(turn: Turn, span: Span, rng: random.Random) -> tuple[bytes, Change]:
    """Overwrite one field: with a boundary of its type, other bytes of its length, or bytes of another length."""
    old = turn.data[span.offset : span.offset + span.length]
    kind = rng.randrange(5)
    if kind <= 2 and len(old) <= 8:
        order = rng.choice(("big", "big", "little"))
        value = rng.choice(boundaries(8 * len(old), int.from_bytes(old, "big")) or [0])
        new, name = value.to_bytes(len(old), "little" if order == "little" else "big"), "field/boundary"
    elif kind == 3:
        new, name = rng.choice((b"", old[: len(old) // 2], old * 2, old + rng.randbytes(3))), "field/length"
    else:
        new, name = _noise(len(old), rng), "field/bytes"
    data = turn.data[: span.offset] + new + turn.data[span.offset + span.length :]
    return data, Change(name, f"{turn.side}: {region_of(span)}")


def _noise(size: int, rng: random.Random) -> bytes:
    """Return bytes that parsers mishandle: all alike, not UTF-8, digits, or any."""
    kind = rng.randrange(4)
    if kind == 0:
        return bytes((rng.choice((0, 0x7F, 0x80, 0xFF)),)) * size
    if kind == 1:
        return (b"\xc3\x28\xed\xa0\x80\xf0\x9f" * (size // 7 + 1))[:size]
    if kind == 2:
        return bytes(rng.choice(b'0123456789eE+-."{}[],:\\') for _ in range(min(size, 4096))).ljust(size, b"9")
    return rng.randbytes(size)


def _changed_bytes(turn: Turn, rng: random.Random) -> tuple[bytes, Change]:
    """Flip, insert, remove, repeat or cut bytes wherever they are."""
    data = turn.data
    at = rng.randrange(len(data))
    size = rng.choice((1, 1, 2, 4, 8, 40, 300))
    name = rng.choice(("flip", "insert", "remove", "repeat", "cut"))
    if name == "flip":
        made = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            made[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        new = bytes(made)
    elif name == "insert":
        new = data[:at] + _noise(size, rng) + data[at:]
    elif name == "remove":
        new = data[:at] + data[at + size :]
    elif name == "repeat":
        new = data[: at + size] + data[at : at + size] * rng.choice((1, 1, 2, 30)) + data[at + size :]
    else:
        new = data[:at]
    return new, Change(f"bytes/{name}", f"{turn.side}: byte {at}")


# -- order of turns ----------------------------------------------------------------------------------------------------


def mutate_turns(session: TurnSession, rng: random.Random) -> tuple[TurnSession, Change] | None:
    """Return the session with one turn left out, sent twice, or moved; None for a session of one turn."""
    if len(session.turns) < 2:
        return None
    turns = list(session.turns)
    at, name = rng.randrange(len(turns)), rng.choice(("drop", "double", "move", "other side"))
    turn = turns[at]
    if name == "drop":
        del turns[at]
    elif name == "double":
        turns.insert(rng.randrange(len(turns) + 1), turn)
    elif name == "move":
        turns.insert(rng.randrange(len(turns)), turns.pop(at))
    else:
        turns[at] = turn._replace(side="client" if turn.side == "server" else "server")
    return replace(session, turns=tuple(turns)), Change(f"turn/{name}", f"{turn.side}: turn {at}")


# -- packets -----------------------------------------------------------------------------------------------------------

_PacketMutation = Callable[[list[TcpPacket], int, random.Random], None]


def _lose(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    del packets[at : at + rng.choice((1, 1, 1, 2, 5))]


def _double(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    packets.insert(min(len(packets), at + rng.choice((1, 1, 2, 9))), packets[at])


def _swap(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    packets[at : at + 2] = packets[at : at + 2][::-1]


def _delay(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    packets.insert(rng.randrange(len(packets)), packets.pop(at))


def _begin_late(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    del packets[: min(at, rng.choice((1, 3, 4, 8)))]


def _end_early(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    del packets[at + 1 :]


def _snap(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    size = rng.choice((0, 8, 42, 242))
    for index, each in enumerate(packets):
        if (index == at or size == 242) and len(each.payload) > size:
            packets[index] = each._replace(cut=len(each.payload) - size)


def _overlap(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    """Send bytes again, some of them other ones, in a segment that begins or ends elsewhere."""
    each = packets[at]
    if each.payload:
        back = rng.choice((0, 1, 3, len(each.payload) // 2))
        data = rng.choice((each.payload, each.payload[::-1], each.payload + each.payload[:5]))
        packets.insert(at + 1, each._replace(seq=each.seq - back, payload=data, cut=0))


def _shift(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    delta = rng.choice((1, -1, 5, 1000, 70_000, -70_000, 2**31 - 1, -(2**31)))
    packets[at] = packets[at]._replace(seq=packets[at].seq + delta)


def _reset(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    each = packets[at]
    data = rng.choice((b"", b"", b"no more of this"))
    packets.insert(at + 1, TcpPacket(each.connection, each.side, RST | ACK, each.seq + len(each.payload), data))


def _finish(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    packets[at] = packets[at]._replace(flags=packets[at].flags | FIN)


def _reopen(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    each = packets[at]
    seq = rng.choice((0, each.seq, each.seq + 100_000))
    packets.insert(at + 1, TcpPacket(each.connection, each.side, rng.choice((SYN, SYN | ACK)), seq))


def _probe(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    each = packets[at]
    packets.insert(at + 1, TcpPacket(each.connection, each.side, ACK, each.seq - 1, rng.choice((b"", b"\0"))))


def _set_clock(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    packets[at] = packets[at]._replace(
        step_ns=rng.choice((0, -5_000_000, 700_000_000, 6_000_000_000, 10**14, -(10**18)))
    )


def _overwrite(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    each = packets[at]
    if each.payload:
        start = rng.randrange(len(each.payload))
        data = _noise(min(rng.choice((1, 1, 2, 4, 40)), len(each.payload) - start), rng)
        payload = each.payload[:start] + data + each.payload[start + len(data) :]
        packets[at] = each._replace(payload=payload)


def _join(packets: list[TcpPacket], at: int, rng: random.Random) -> None:
    """Put the payload of several packets of a side into one."""
    first = packets[at]
    while at + 1 < len(packets):
        following = packets[at + 1]
        is_next = following[:2] == first[:2] and following.seq == first.seq + len(first.payload)
        if not (is_next and first.payload and following.payload) or first.cut or following.cut:
            return
        first = packets[at] = first._replace(payload=first.payload + following.payload)
        del packets[at + 1]


#: By name. Each changes a list of packets in place, at one of them.
_PACKET_MUTATIONS: dict[str, _PacketMutation] = {
    "lose": _lose, "double": _double, "swap": _swap, "delay": _delay, "begin late": _begin_late,
    "end early": _end_early, "snap": _snap, "overlap": _overlap, "shift": _shift, "reset": _reset, "finish": _finish,
    "reopen": _reopen, "probe": _probe, "clock": _set_clock, "overwrite": _overwrite, "join": _join,
}  # fmt: skip


def mutate_packets(capture: FuzzCapture, rng: random.Random) -> FuzzCapture:
    """Return the capture with one mutation of its packets."""
    packets = list(capture.packets)
    if not packets:
        return capture
    name, at = rng.choice(tuple(_PACKET_MUTATIONS)), rng.randrange(len(packets))
    _PACKET_MUTATIONS[name](packets, at, rng)
    return capture.changed(packets[:PACKETS_MAX], Change(f"packet/{name}", f"packet {at + 1}"))


def interleaved(sessions: Sequence[list[TcpPacket]], rng: random.Random) -> list[TcpPacket]:
    """Return the packets of several sessions side by side, each in its order."""
    order = [index for index, packets in enumerate(sessions) for _ in packets]
    rng.shuffle(order)
    waiting = [iter(packets) for packets in sessions]
    return [next(waiting[index]) for index in order]
