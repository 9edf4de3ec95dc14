"""The draft in bulk says what the session says frame by frame, and leaves the same state behind."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.bulk_readings import Said, harmed, slow_frames
from tests.protocols.pravega_draft.talk import ID, OTHER, SETUP, ack_level, begin, end, pieces
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega.columns import kinds as bulk_kinds
from wiretool.protocols.pravega_draft.columns import conversation as bulk
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    KeepAlive,
    NoSuchSegment,
    Padding,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.session import DraftConversation

Saying = tuple[Side, Message]
SIDES: tuple[Side, Side] = ("client", "server")


class Speaker:
    """Both sides of a connection: mostly in order, with a part of `trouble` that is not."""

    def __init__(self, seed: int, trouble: float) -> None:
        self.luck = random.Random(seed)
        self.trouble = trouble
        self.offsets = {ID: 0, OTHER: 0}
        self.offset = 0
        self.doings: list[Callable[[], list[Saying]]] = [
            self.block,
            self.block,
            self.acknowledge,
            self.read,
            self.answer,
            self.greet,
            self.fail,
            self.set_up,
            self.rush,
            self.cut,
        ]

    def say(self, count: int) -> list[Said]:
        """So many sayings as frames."""
        said: list[Saying] = [("client", SETUP), ("server", ack_level(0))]
        doings = self.luck.sample(self.doings, self.luck.choice([2, 4, 9]))
        while len(said) < count:
            said += self.luck.choice(doings)()
        return [self.frame(side, message) for side, message in said]

    def frame(self, side: Side, message: Message) -> Said:
        raw = encode(message)
        if self.is_odd():
            return (side, harmed(raw, self.luck)) if self.luck.random() < 0.8 else (self.luck.choice(SIDES), raw)
        return side, raw

    def is_odd(self) -> bool:
        return self.luck.random() < self.trouble

    def appender(self) -> str:
        return "00000000-0000-0003-0000-000000000004" if self.is_odd() else self.luck.choice([ID, ID, OTHER])

    def block(self) -> list[Saying]:
        events: list[Saying] = [
            ("client", Event(data=self.luck.randbytes(self.luck.randrange(5)))) for _ in range(self.luck.randrange(9))
        ]
        size = sum(len(encode(event)) for _, event in events)
        others: Sequence[Message] = [
            KeepAlive(data=b""),
            Padding(length=3),
            ReadSegment(segment="s", offset=1, suggested_length=2),
        ]
        inside: list[Saying] = [("client", self.luck.choice(others))] if self.luck.random() < 0.3 else []
        between = size + sum(len(encode(message)) for _, message in inside)
        writer = self.appender()
        at = self.offsets.get(writer, 0)
        off = self.luck.choice([1, -1]) if self.is_odd() else 0
        self.offsets[writer] = at + size
        acks = self.acknowledge() if self.luck.random() < 0.3 else []
        opened, closed = begin(at, between + off, writer), end(at + size, size, self.appender() if off else writer)
        said: list[Saying] = [("client", opened), *events, *inside, *acks, ("client", closed)]
        return said[: self.luck.randrange(len(said) + 1)] if self.is_odd() else said

    def acknowledge(self) -> list[Saying]:
        writer = self.appender()
        level = self.offsets.get(writer, 0)
        return [("server", DataAppended(connection_id=writer, connection_offset_ack_level=level))]

    def read(self) -> list[Saying]:
        return [("client", ReadSegment(segment="seg", offset=self.luck.randrange(4), suggested_length=9))]

    def answer(self) -> list[Saying]:
        offset = self.luck.randrange(4)
        replied = SegmentRead(segment="seg", offset=offset, at_tail=True, end_of_segment=False, data=b"ab")
        return [("server", replied)]

    def greet(self) -> list[Saying]:
        return [(self.luck.choice(SIDES), KeepAlive(data=self.luck.choice([b"", b"x"])))]

    def fail(self) -> list[Saying]:
        return [("server", NoSuchSegment(segment=self.luck.choice(["seg", "other"])))]

    def set_up(self) -> list[Saying]:
        writer = self.appender()
        asked = SetupAppend(connection_id=writer, segment="seg")
        return [("client", asked), ("server", ack_level(self.offsets.get(writer, 0), writer))]

    def rush(self) -> list[Saying]:
        """An appender that does not wait for the answer to its SetupAppend, and may begin at the wrong offset."""
        (asked, answered), at = self.set_up(), self.offsets[ID]
        off = self.luck.choice([0, 0, 5])
        block: list[Saying] = [
            ("client", begin(at + off, 8)),
            ("client", Event(data=b"")),
            ("client", end(at + off + 8, 8)),
        ]
        self.offsets[ID] = at + off + 8
        return [asked, *block, answered]

    def cut(self) -> list[Saying]:
        """A block whose last event is cut by its end."""
        event = Event(data=b"cut in two")
        size, at = len(encode(event)), self.offsets[ID]
        first, last = pieces(event, 7)
        self.offsets[ID] = at + size
        held = len(encode(first))
        return [
            ("client", begin(at, held)),
            ("client", first),
            ("client", end(at + size, size)),
            ("client", last),
        ]


def state_of(talk: DraftConversation) -> Any:
    """Everything that the session remembers, as text where it is objects of its own."""
    return _seen(vars(talk))


def _seen(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, _seen(each)) for key, each in value.items()]
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return [_seen(each) for each in value]
    names = getattr(type(value), "__slots__", ()) if not hasattr(value, "__dict__") else vars(value)
    if type(value).__module__.startswith("wiretool.protocols.pravega_draft") and not isinstance(value, Message):
        return [(name, _seen(getattr(value, name))) for name in names]
    return value


def check(said: Sequence[Said], cuts: Sequence[int] = (), *, is_whole: bool = True) -> int:
    """AssertionError where the two ways differ; how many of the frames the session read itself."""
    rows, talk = DraftConversation(is_whole), DraftConversation(is_whole)
    return slow_frames(rows, talk, bulk.COLUMNS, state_of, said, cuts)


@contextmanager
def small() -> Iterator[None]:
    """Columns for a handful of frames already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "FRAMES_MIN", 1)
        patch.setattr(bulk_kinds, "KIND_MIN", 1)
        yield


@given(
    seed=st.integers(0, 2**32),
    trouble=st.sampled_from([0, 0, 0.01, 0.1]),
    count=st.integers(4, 150),
    parts=st.lists(st.floats(0, 1), max_size=3),
    is_whole=st.booleans(),
)
def test_any_talk(seed: int, trouble: float, count: int, parts: list[float], is_whole: bool) -> None:
    said = Speaker(seed, trouble).say(count)
    with small():
        check(said, [int(part * len(said)) for part in parts], is_whole=is_whole)


@pytest.mark.parametrize("seed", range(6))
def test_a_long_talk(seed: int) -> None:
    check(Speaker(seed, 0.001 * (seed % 3)).say(1000), [300])


def test_whole_blocks_need_no_session() -> None:
    said: list[Saying] = [("client", SETUP), ("server", ack_level(0))] * 4
    for at in range(0, 2_100, 21):
        events: list[Saying] = [("client", Event(data=b"first")), ("client", Event(data=b""))]
        said += [("client", begin(at, 21)), *events, ("client", end(at + 21, 21))]
        said.append(("server", DataAppended(connection_id=ID, connection_offset_ack_level=at)))
    assert check([(side, encode(message)) for side, message in said]) == 0


def test_each_block_tells_the_segment_of_its_appender() -> None:
    appenders = [(f"{ID[:-4]}{at:04x}", f"scope/stream/{at // 3}") for at in range(600)]
    said: list[Saying] = []
    for appender, segment in appenders:
        said.append(("client", SetupAppend(connection_id=appender, segment=segment)))
    for appender, _ in appenders:
        said.append(("client", BeginAppendBlock(connection_id=appender, connection_offset=0, length=9)))
        said.append(("client", Event(data=b"x")))
        said.append(("client", EndAppendBlock(connection_id=appender, connection_offset=9, block_length=9)))
    assert check([(side, encode(message)) for side, message in said]) == 0
