"""Runs an interceptor in memory: what came out for each side, in what order, and when."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.bench.talk import Sent
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import Side
from wiretool.faults import Cut, Deliver, Effect, Finish, Interceptor, Standing, parse_rule
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

MS = 1_000_000


class Out(NamedTuple):
    """An effect and the time at which it was asked for."""

    now_ns: int
    effect: Effect


class Run:
    """One interceptor, one connection unless more are opened, and a clock that only moves when told."""

    def __init__(self, protocol: str, *rules: str, seed: int = 1, is_observed: bool = True) -> None:
        self.protocol = protocol
        self.records: list[Record] = []
        self.notes: list[str] = []
        self.struck: list[Standing] = []
        self.out: list[Out] = []
        self.now_ns = 1_000 * MS
        self.interceptor = Interceptor(
            [parse_rule(rule, protocols=[protocol]) for rule in rules],
            seed=seed,
            on_record=self.records.append if is_observed else None,
            on_note=self.notes.append,
            on_hit=self.struck.append,
        )
        self.open(0)

    def open(self, connection: int) -> None:
        """One connection more."""
        protocol = PROTOCOLS[self.protocol]
        self.interceptor.opened(connection, protocol, f"10.0.0.1:{40_000 + connection}", "10.0.0.2:1", self.now_ns)

    def say(self, side: Side, data: bytes, connection: int = 0) -> list[Effect]:
        """Bytes that a side has sent."""
        return self.keep(self.interceptor.feed(connection, side, data, self.now_ns))

    def end(self, side: Side, connection: int = 0) -> list[Effect]:
        """A side that has ended."""
        return self.keep(self.interceptor.end(connection, side, self.now_ns))

    def talk(self, sent: Iterable[Sent]) -> "Run":
        """All that was sent, and the ends of both sides."""
        for side, data in sent:
            self.say(side, data)
        self.end("client")
        self.end("server")
        return self

    def wait(self, duration_ms: float) -> list[Effect]:
        """Time goes by, and the interceptor is woken whenever it wants to be."""
        until_ns = self.now_ns + int(duration_ms * MS)
        effects: list[Effect] = []
        while (wake_ns := self.interceptor.wake_ns) is not None and wake_ns <= until_ns:
            self.now_ns = max(self.now_ns, wake_ns)
            effects += self.keep(self.interceptor.woken(self.now_ns))
        self.now_ns = until_ns
        return effects

    def keep(self, effects: Sequence[Effect]) -> list[Effect]:
        """Remember effects."""
        self.out += [Out(self.now_ns, effect) for effect in effects]
        return list(effects)

    def bytes_from(self, side: Side, connection: int = 0) -> bytes:
        """All that went on of what a side sent."""
        delivered = [out.effect for out in self.out if isinstance(out.effect, Deliver)]
        return b"".join(each.data for each in delivered if each.side == side and each.connection == connection)

    def frames_from(self, side: Side) -> list[bytes]:
        """The same, frame by frame."""
        return frames_of(self.protocol, side, self.bytes_from(side))

    @property
    def effects(self) -> list[Effect]:
        """All of them, in order."""
        return [out.effect for out in self.out]

    @property
    def endings(self) -> list[Finish | Cut]:
        """All ends, in order."""
        return [out.effect for out in self.out if isinstance(out.effect, Finish | Cut)]

    def hits(self, number: int = 1) -> int:
        """How often a rule has acted."""
        return self.interceptor.hits[number]


def frames_of(protocol: str, side: Side, data: bytes) -> list[bytes]:
    """The frames at the beginning of a stream; AssertionError where it is not all frames."""
    pieces = Splitter(PROTOCOLS[protocol].open(True), side).feed(data)
    frames = [piece.data[piece.at : piece.end] for piece in pieces if piece.kind == "frame"]
    assert b"".join(frames) == data, "not all of it is frames"
    return frames


def said(sent: Iterable[Sent], side: Side) -> list[bytes]:
    """What one side sent."""
    return [each.data for each in sent if each.side == side]


def chunked(sent: Iterable[Sent], sizes: Sequence[int]) -> list[Sent]:
    """The same bytes in the same order, cut at these sizes in turn."""
    out: list[Sent] = []
    turn = 0
    for side, data in sent:
        at = 0
        while at < len(data):
            size = sizes[turn % len(sizes)]
            turn += 1
            out.append(Sent(side, data[at : at + size]))
            at += size
    return out
