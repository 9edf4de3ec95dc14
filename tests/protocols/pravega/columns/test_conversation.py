"""Pravega in bulk says what the session says frame by frame, and leaves the same state behind."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.bulk_readings import STEP, Said, by_bulk, by_together, harmed, slow_frames
from tests.protocols.pravega.talk import OTHER, SEGMENT, SET_UP, SETUP, SETUP_OTHER, WRITER, ack, block, end
from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.columns import conversation as bulk
from wiretool.protocols.pravega.columns import kinds as bulk_kinds
from wiretool.protocols.pravega.columns import turns as bulk_turns
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed, InvalidEventNumber, NoSuchSegment, WrongHost
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import (
    AppendSetup,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    Hello,
    KeepAlive,
    Padding,
    PartialEvent,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import (
    FlushToStorage,
    GetStreamSegmentInfo,
    SealSegment,
    SegmentSealed,
    StreamSegmentInfo,
)
from wiretool.protocols.pravega.session import PravegaConversation
from wiretool.protocols.pravega.structures import InnerEvent

Saying = tuple[Side, Message]
NEW = "00000000-0000-0003-0000-000000000004"
CUT = event_frame(b"cut in two")


class Speaker:
    """Both sides of a connection, as they like: mostly in order, with a part of `trouble` that is not."""

    def __init__(self, seed: int, trouble: float) -> None:
        self.luck = random.Random(seed)
        self.trouble = trouble
        self.number = 0
        self.asked: list[tuple[int, int]] = []
        self.doings: list[tuple[int, Callable[[], list[Saying]]]] = [
            (8, self.append),
            (8, self.acknowledge),
            (2, self.append_block),
            (2, self.read),
            (2, self.answer),
            (1, self.greet),
            (1, self.request),
            (1, self.condition),
            (1, self.fail),
            (1, self.set_up),
        ]

    def say(self, count: int) -> list[Said]:
        """So many sayings as frames."""
        said: list[Saying] = [("client", SETUP), ("client", SETUP_OTHER), ("server", SET_UP)]
        # Most talk is about little: long stretches of it are what goes as arrays.
        weights, doings = zip(*self.luck.sample(self.doings, self.luck.choice([2, 3, 10])), strict=True)
        while len(said) < count:
            said += self.luck.choices(doings, weights)[0]()
        return [self.frame(side, message) for side, message in said]

    def frame(self, side: Side, message: Message) -> Said:
        raw = encode(message, side)
        if self.is_odd():
            return (side, harmed(raw, self.luck)) if self.luck.random() < 0.8 else (self.luck.choice(SIDES), raw)
        return side, raw

    def is_odd(self) -> bool:
        return self.luck.random() < self.trouble

    def writer(self) -> str:
        return NEW if self.is_odd() else self.luck.choice([WRITER, WRITER, OTHER])

    def next_number(self) -> int:
        self.number += self.luck.choice([1, 1, 3])
        return self.number - (self.luck.randrange(9) if self.is_odd() else 0)

    def events(self) -> bytes:
        return b"".join(event_frame(self.luck.randbytes(self.luck.randrange(4))) for _ in range(self.luck.randrange(5)))

    def append(self) -> list[Saying]:
        data = self.events() if self.luck.random() < 0.5 else event_frame(b"one")
        if self.is_odd():
            data += self.luck.choice([b"odd", CUT[:9], event_frame(b"")[:7]])
        count = self.luck.choice([0, -1, 7]) if self.is_odd() else max(1, data.count(b"\0\0\0\0"))
        return [("client", end(self.next_number(), data, events=count, whole=len(data), writer=self.writer()))]

    def append_block(self) -> list[Saying]:
        writer, whole, tail, rest = self.writer(), self.events(), b"", b""
        kind = self.luck.choice(["whole", "cut", "padding", "odd" if self.is_odd() else "cut"])
        if kind == "cut":
            at = self.luck.randrange(len(CUT) + 1)
            tail, rest = encode(PartialEvent(data=CUT[:at]), "client"), CUT[at:]
        elif kind == "padding":
            tail = encode(Padding(length=self.luck.randrange(5)), "client")
            rest = b"?" if self.is_odd() else b""
        elif kind == "odd":
            tail, rest = self.luck.choice([b"\0\0\0", event_frame(b"x"), b"\xff\xff\xff\xfe\0\0\0\x99"]), b"rest"
        size = len(whole) + (self.luck.choice([1, -99, 99, 2**30]) if self.is_odd() else 0)
        ended = end(
            self.next_number(),
            rest,
            events=self.luck.randrange(1, 6),
            whole=size,
            writer=self.writer() if self.is_odd() else writer,
        )
        nothing: list[Saying] = []
        between = self.luck.choice([nothing, nothing, self.greet(), self.acknowledge(), self.request(), self.fail()])
        said: list[Saying] = [("client", block(whole + tail, writer)), *between, ("client", ended)]
        return said[: 1 if self.is_odd() else None]

    def acknowledge(self) -> list[Saying]:
        return [("server", ack(max(0, self.number - self.luck.randrange(4)), self.writer()))]

    def read(self) -> list[Saying]:
        request_id, offset = self.luck.randrange(3), self.luck.randrange(3)
        self.asked.append((request_id, offset))
        asked = ReadSegment(segment=SEGMENT, offset=offset, suggested_length=9, request_id=request_id)
        return [("client", asked)]

    def answer(self) -> list[Saying]:
        if not self.asked:
            return self.read()
        request_id, offset = self.asked.pop(self.luck.randrange(len(self.asked)))
        replied = SegmentRead(
            segment="ünïcode" if self.is_odd() else SEGMENT,
            offset=offset,
            at_tail=True,
            end_of_segment=False,
            data=b"read",
            request_id=request_id,
        )
        return [("server", replied)]

    def greet(self) -> list[Saying]:
        message: Message = self.luck.choice([KeepAlive(), Hello(high_version=17, low_version=5)])
        said: list[Saying] = [("client", message), ("server", message)]
        return said[: self.luck.choice([1, 2])]

    def request(self) -> list[Saying]:
        number = self.luck.randrange(3)
        sayings: Sequence[Saying] = [
            ("client", GetStreamSegmentInfo(request_id=number, segment_name=SEGMENT)),
            ("client", SealSegment(request_id=number, segment=SEGMENT)),
            ("server", SegmentSealed(request_id=number, segment=SEGMENT)),
            ("server", info(number)),
            ("client", FlushToStorage(container_id=1, request_id=number)),
        ]
        return [self.luck.choice(sayings)]

    def condition(self) -> list[Saying]:
        number, writer = self.next_number(), self.writer()
        sayings: Sequence[Saying] = [
            (
                "client",
                ConditionalBlockEnd(
                    writer_id=writer, event_number=number, expected_offset=5, data=b"all", request_id=number
                ),
            ),
            (
                "client",
                ConditionalAppend(
                    writer_id=writer, event_number=number, expected_offset=5, event=InnerEvent(data=b"e"), request_id=8
                ),
            ),
            ("server", ConditionalCheckFailed(writer_id=writer, event_number=number - 3, request_id=number)),
        ]
        return [self.luck.choice(sayings)]

    def fail(self) -> list[Saying]:
        request_id = self.luck.choice([0, 1, 2, self.number])
        failures: Sequence[Message] = [
            NoSuchSegment(request_id=request_id, segment=SEGMENT, offset=self.luck.choice([-1, 1, self.number])),
            WrongHost(request_id=request_id, segment=SEGMENT, correct_host=""),
            AuthTokenCheckFailed(request_id=request_id, error_code=1),
            InvalidEventNumber(writer_id=self.writer(), request_id=request_id, event_number=self.luck.choice([-1, 4])),
        ]
        return [("server", self.luck.choice(failures))]

    def set_up(self) -> list[Saying]:
        writer, segment = self.writer(), self.luck.choice([SEGMENT, "other"])
        sayings: Sequence[Saying] = [
            ("client", SetupAppend(request_id=2, writer_id=writer, segment=segment)),
            ("server", AppendSetup(request_id=2, writer_id=writer, segment=segment, last_event_number=0)),
        ]
        return [self.luck.choice(sayings)]


SIDES: tuple[Side, Side] = ("client", "server")


def info(request_id: int) -> StreamSegmentInfo:
    return StreamSegmentInfo(
        request_id=request_id,
        segment_name=SEGMENT,
        exists=True,
        is_sealed=False,
        is_deleted=False,
        last_modified=1,
        write_offset=2,
        start_offset=0,
    )


def state_of(talk: PravegaConversation) -> Any:
    """Everything that the session remembers, less what makes no difference: empty queues, numbers of another era."""
    appends, acks, requests = talk.appends, talk.acks, talk.requests
    era = vars(appends)["_era"]
    writers = {name: (one.segment, one.last if one.era == era else 0) for name, one in appends.writers.items()}
    waiting = {name: list(queue.items()) for name, queue in vars(acks)["_waiting"].items() if queue}
    return (
        *(vars(appends)[name] for name in ("is_whole", "phase", "_block", "_era", "_by_segment")),
        list(writers.items()),
        waiting,
        vars(acks)["_count"],
        list(vars(requests)["_by_id"].items()),
        vars(requests)["_count"],
        vars(talk)["_segments"],
        talk.is_main_port,
    )


def check(said: Sequence[Said], cuts: Sequence[int] = (), *, is_whole: bool = True) -> int:
    """AssertionError where the two ways differ; how many of the frames the session read itself."""
    rows, talk = PravegaConversation(is_whole), PravegaConversation(is_whole)
    return slow_frames(rows, talk, bulk.COLUMNS, state_of, said, cuts)


@contextmanager
def small() -> Iterator[None]:
    """Arrays for a handful of frames already, so that short talks try every way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "FRAMES_MIN", 1)
        patch.setattr(bulk_turns, "STRETCH_MIN", 3)
        patch.setattr(bulk_turns, "RETRY_FRAMES", 2)
        patch.setattr(bulk_kinds, "KIND_MIN", 1)
        patch.setattr(bulk_kinds, "KIND_FRAMES_MIN", 0)
        yield


_talks = {
    "seed": st.integers(0, 2**32),
    "trouble": st.sampled_from([0, 0, 0.01, 0.1]),
    "count": st.integers(4, 200),
    "parts": st.lists(st.floats(0, 1), max_size=3),
    "is_whole": st.booleans(),
}


@given(**_talks)
def test_any_talk(seed: int, trouble: float, count: int, parts: list[float], is_whole: bool) -> None:
    said = Speaker(seed, trouble).say(count)
    with small():
        check(said, [int(part * len(said)) for part in parts], is_whole=is_whole)


@pytest.mark.parametrize("seed", range(12))
def test_a_long_talk(seed: int) -> None:
    said = Speaker(seed, 0.0005 * (seed % 3)).say(1500)
    check(said, [600])
    check(said, is_whole=False)


def appends(count: int, writers: Sequence[str] = (WRITER,)) -> list[Said]:
    """Appends that are acknowledged five later."""
    said: list[Said] = [("client", encode(setup, "client")) for setup in (SETUP, SETUP_OTHER)]
    for number in range(1, count + 1):
        data = event_frame(b"%d" % number)
        writer = writers[number % len(writers)]
        said.append(("client", encode(end(number, data, whole=len(data), writer=writer), "client")))
        if number > 5:
            said.append(("server", encode(ack(number - 5, writers[(number - 5) % len(writers)]), "server")))
    return said


def test_appends_and_acks_are_arrays() -> None:
    assert check(appends(300)) == 2  # the set-ups
    assert check(appends(300, (WRITER, OTHER))) == 2


def test_a_foreign_frame_takes_no_other_with_it() -> None:
    said = appends(300)
    said[100:100] = [("client", encode(KeepAlive(), "client")), ("server", b"\0\0\3\xe7\0\0\0\0")] * 4
    assert check(said) == 2 + 4


def test_blocks_and_their_ends_are_arrays() -> None:
    said = appends(1)
    for number in range(2, 102):
        whole = event_frame(b"whole") * 3
        opened = block(whole + encode(PartialEvent(data=CUT[:5]), "client"))
        ended = end(number, CUT[5:], events=4, whole=len(whole))
        said += [("client", encode(opened, "client")), ("client", encode(ended, "client"))]
    assert check(said) == 2


def test_a_block_that_is_refused_late() -> None:
    """Its number goes back, which only shows once the frames before it are read."""
    said: list[Said] = appends(40)
    data = event_frame(b"back")
    said += [("client", encode(block(data), "client")), ("client", encode(end(3, whole=len(data)), "client"))]
    for _ in range(4):
        said += [("client", encode(block(data), "client")), ("client", encode(end(90, whole=len(data)), "client"))]
    assert check(said) == 2 + 2


def test_more_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are forgotten as when they are read one by one."""
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 100)
    acked = appends(400)
    check([one for one in acked if one[0] == "client"])
    check(acked, [200])
    check([one for one in acked if one[0] == "client"] + [one for one in acked if one[0] == "server"])


def test_the_count_of_what_waits_is_kept() -> None:
    said = appends(300)
    talk = PROTOCOL.open(True)
    assert isinstance(talk, PravegaConversation)
    by_bulk(talk, talk, bulk.COLUMNS, said, ())
    assert talk.acks.room == limits.REQUESTS_OPEN_MAX - 5


def test_classes_with_columns_need_no_session() -> None:
    """Requests, replies, reads, failures, conditions: none of them is read one by one."""
    speaker = Speaker(5, 0)
    said: list[Saying] = [("client", SETUP), ("server", SET_UP)] * 4
    for number in range(30):
        said += speaker.read() + speaker.answer()
        said.append(("client", GetStreamSegmentInfo(request_id=number, segment_name=SEGMENT)))
        said.append(("server", info(number)))
        said.append(("server", NoSuchSegment(request_id=number, segment=SEGMENT)))
        said.append(
            (
                "client",
                ConditionalBlockEnd(
                    writer_id=WRITER, event_number=number, expected_offset=5, data=b"all", request_id=number
                ),
            )
        )
        said.append(("server", DataAppended(writer_id=WRITER, event_number=number)))
    assert check([(side, encode(message, side)) for side, message in said]) == 0


# -- many connections --------------------------------------------------------------------------------------------------


def check_together(saids: Sequence[Sequence[Said]], *, is_whole: bool = True) -> int:
    """Return how many frames the session read itself; AssertionError where readings or states differ from rows."""
    talks = [PravegaConversation(is_whole) for _ in saids]
    readings, owners, singles = by_together(talks, bulk.COLUMNS, saids, random.Random(1))
    for index, said in enumerate(saids):
        alone = PravegaConversation(is_whole)
        rows = [row for row, owner in enumerate(owners) if owner == index]
        for row, (side, data) in zip(rows, said, strict=True):
            n = 1 + row * STEP
            expected = alone.read(side, data, 0, len(data), n)
            assert readings[index][n][:2] == (expected.message, expected.fields)
            assert readings[index][n][3] == expected.reply_to
            assert [each[1] for each in readings[index][n][2]] == [str(each) for each in expected.defects]
            assert readings[index][n][4:] == (expected.append, expected.events, expected.left_over)
        assert state_of(talks[index]) == state_of(alone)
    return singles


@given(
    talks=st.lists(st.tuples(st.integers(0, 2**32), st.integers(1, 60)), min_size=1, max_size=5),
    trouble=st.sampled_from([0, 0.01, 0.1]),
    together=st.sampled_from([1, 20, 256]),
    is_whole=st.booleans(),
)
def test_any_talks_together(talks: list[tuple[int, int]], trouble: float, together: int, is_whole: bool) -> None:
    saids = [Speaker(seed, trouble).say(count) for seed, count in talks]
    with small(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_turns, "CONNECTION_FRAMES_MIN", together)
        check_together(saids, is_whole=is_whole)


def test_other_commands_of_several_connections_are_columns() -> None:
    beats: list[Said] = [("client", encode(KeepAlive(), "client")), ("server", encode(KeepAlive(), "server"))] * 20
    mixed = appends(30, (WRITER, OTHER))
    mixed[40:40] = beats
    assert check_together([appends(30), mixed, beats, appends(9)]) == 0


def test_a_foreign_frame_of_one_connection_is_read_by_itself() -> None:
    odd: list[Said] = [*appends(30), ("server", b"\0\0\3\xe7\0\0\0\0"), *appends(30)]
    assert check_together([appends(30), odd, appends(30)]) == 1
