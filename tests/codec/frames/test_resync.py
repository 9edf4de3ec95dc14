"""Which of several chains of frames is believed, on a toy protocol: 0xF0, a length, then that many bytes."""

import re
import time
from collections.abc import Iterator
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.frames.test_splitter import Toy as SummedToy
from tests.codec.frames.test_splitter import frame as summed
from wiretool import limits
from wiretool.codec.frames import resync
from wiretool.codec.frames import splitter as framing
from wiretool.codec.frames.resync import RIVAL_FRAMES, WINDOW_BYTES, Framing, chain_at_front, find_frame
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.registry import PROTOCOLS

MARK = 0xF0


class Toy:
    """A frame whose payload begins with 0xA is worth 4 points, any other 2."""

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        """Bytes of the frame."""
        if data[at] != MARK:
            raise DecodeError("no-mark", "a frame begins with 0xF0")
        return 0 if end - at < 2 else 2 + data[at + 1]

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        """Where a mark is."""
        return (found.start() for found in re.finditer(b"\xf0", data[:end]) if found.start() >= at)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        """Points."""
        return 4 if data[at + 2 : at + 3] == b"\x0a" else 2


def frame(payload: bytes) -> bytes:
    return bytes((MARK, len(payload))) + payload


def find(data: bytes, *, final: bool = False) -> int | None:
    return find_frame(Toy(), "client", data, 0, final=final, sure_points=100)


def test_a_chain_is_not_its_own_rival() -> None:
    """What begins where a long chain was followed no further has more points, and is the same chain."""
    poor, rich = frame(b"\x01"), frame(b"\x0a")
    assert find(b"tail" + poor * RIVAL_FRAMES + rich * 2 * RIVAL_FRAMES) == 4


def test_a_false_frame_that_leaps_onto_the_true_chain_does_not_win() -> None:
    """It jumps over forty frames, lands where a true one begins and goes on with richer ones."""
    first, poor, rich = frame(b"......"), frame(b"\x01"), frame(b"\x0a")
    true = first + poor * 40 + rich * 2 * RIVAL_FRAMES
    false_at = 4  # inside the payload of the first frame
    leap = len(first) - false_at - 2 + len(poor) * 40
    data = true[:false_at] + bytes((MARK, leap)) + true[false_at + 2 :]
    for final in (False, True):
        assert find(data, final=final) == 0


def test_too_little_to_tell() -> None:
    assert find(b"tail" + frame(b"\x01")) is None
    assert find(b"tail", final=True) is None
    assert find(b"tail" + frame(b"\x0a") * 2, final=True) == 4


#: On the toy of the splitter's tests, whose frames end in a sum of their bytes.
FRAMES = [summed(bytes((number,)) * 5) for number in range(1, 9)]
STREAM = b"".join(FRAMES)


def found(data: bytes, *, final: bool, at: int = 0, sure: int = 4) -> int | None:
    return find_frame(SummedToy(), "client", data, at, final=final, sure_points=sure)


@given(st.binary(max_size=30).map(lambda noise: noise.replace(b"\xaa", b"\xab")), st.booleans())
def test_frames_behind_noise_are_found(noise: bytes, final: bool) -> None:
    assert found(noise + STREAM, final=final) == len(noise)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_frames_are_believed_at_the_end_only(count: int) -> None:
    data = b"??" + b"".join(FRAMES[:count])
    assert found(data, final=False) is None
    assert found(data, final=True) == 2


def test_a_first_frame_that_is_sure_is_believed_at_once() -> None:
    assert found(FRAMES[0], final=False, sure=2) == 0
    assert found(FRAMES[0], final=False, sure=4) is None


def test_frames_inside_a_payload_are_not_taken_for_the_stream() -> None:
    inner = b"".join(FRAMES[:3])
    data = b"?" + summed(inner) + STREAM
    assert found(data, final=True) == 1


def test_a_header_that_promises_a_frame_holds_up_the_decision() -> None:
    assert found(b"?\xaa\xff" + STREAM, final=False) is None
    assert found(b"?\xaa\xff" + STREAM, final=True) == 3


def test_nothing_is_found_where_nothing_is() -> None:
    for data in (b"", b"?", b"\xaa", b"\xaa\x01\x01\x02", bytes(1_000)):
        assert found(data, final=True) is None
        assert found(data, final=False) is None


@given(st.integers(0, len(STREAM) - 30))
def test_what_is_found_is_a_joint(cut: int) -> None:
    joints = {0, *accumulate(map(len, FRAMES))}
    start = found(STREAM[cut:], final=True)
    assert start is not None
    assert cut + start in joints


# -- bytes made to take long -------------------------------------------------------------------------------------------

HELLO = bytes.fromhex("ffffff81 00000008 00000009 00000005")
#: Bytes of the longer stream; where frames are so short that many may be looked at, fewer do.
LONG, SHORT = 128 * 1024, 32 * 1024
#: How much shorter the other stream is.
TIMES = 8
#: Protocol, side, what is repeated behind eight bad bytes (LENGTH is half of all), and how many bytes of it.
HOSTILE: list[tuple[str, Side, bytes, int]] = [
    ("pravega-draft", "client", b"\0\0\0\x64LENGTH", LONG),
    ("pravega-draft", "server", b"\0\0\0\x64LENGTH", LONG),
    ("pravega", "client", b"\0\0\0\x01", SHORT),
    ("pravega", "client", b"\0\0\0\x01LENGTH", LONG),
    ("pravega", "client", HELLO * 4 + b"\xff" * 8, SHORT),
    ("sbp", "client", b"LENGTH\x17\0\x01" + bytes(7), LONG),
    ("sbp-0.1", "client", b"LENGTH\x17\0\x01" + bytes(7), LONG),
    ("offramp", "server", b'\x81\x7f\0\0\0\0LENGTH{"}', LONG),
]


class Counted:
    """A framing that counts what it is asked for."""

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self.extents = self.claimed = self.begun = 0

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        self.extents += 1
        return self._framing.extent(side, data, at, end)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        for start in self._framing.candidates(side, data, at, end):
            self.begun += 1
            yield start

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        self.claimed += end - at
        return self._framing.trust(side, data, at, end)


def split_s(protocol: str, side: Side, pattern: bytes, length: int) -> float:
    """Processor seconds that such a stream takes; AssertionError where it is looked at more often than its bytes."""
    repeated = pattern.replace(b"LENGTH", (length // 2).to_bytes(4, "big"))
    data = b"\xff" * 8 + repeated * (length // len(repeated))
    counted = Counted(PROTOCOLS[protocol].open(False))
    splitter = Splitter(counted, side, from_start=False)
    begun_s = time.process_time()
    pieces = splitter.feed(data) + splitter.end()
    taken_s = time.process_time() - begun_s
    assert sum(piece.length for piece in pieces) == len(data)
    # It is looked at twice: when it comes, and when nothing more will.
    assert counted.extents < 2 * len(data)
    assert counted.begun < 2 * len(data)
    assert counted.claimed < 2 * (limits.RESYNC_CLAIMED_BYTES + (limits.RESYNC_OVERLAP_MAX + 2) * len(data))
    return taken_s


@pytest.mark.parametrize(("protocol", "side", "pattern", "length"), HOSTILE)
def test_hostile_bytes_take_no_longer_than_their_number(
    protocol: str, side: Side, pattern: bytes, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight times as many, eight times as long; what grows with the square would take sixty-four times that.

    The bounds are as much smaller as the streams are than a mebibyte, so each of them is met. A machine that is busy
    with other things tells badly what takes how long: one good time of three is enough.
    """
    monkeypatch.setattr(limits, "RESYNC_CLAIMED_BYTES", limits.RESYNC_CLAIMED_BYTES // 8)
    for module in (framing, resync):
        monkeypatch.setattr(module, "WINDOW_BYTES", WINDOW_BYTES // 8)
    ratios = (
        split_s(protocol, side, pattern, length) / split_s(protocol, side, pattern, length // TIMES) for _ in range(3)
    )
    assert any(ratio < 4 * TIMES for ratio in ratios)


class CountedToy(SummedToy):
    """With a length of four bytes; counts what is handed to `trust`, and trusts only what is short."""

    claimed = 0

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        if data[at] != 0xAA:
            raise DecodeError("bad-mark", "a frame begins with 0xAA")
        return 5 + int.from_bytes(data[at + 1 : at + 5], "big") if end - at > 4 else 0

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        self.claimed += end - at
        return 4 if end - at < 100 else 0


def test_what_is_claimed_over_and_over_is_not_looked_at_but_what_comes_behind_is() -> None:
    begins = b"\xaa" + (200_000).to_bytes(4, "big")
    bad = begins * 60_000
    good = (b"\xaa" + (20).to_bytes(4, "big") + bytes(20)) * 100
    toy, data = CountedToy(), bad + good
    assert find_frame(toy, "client", data, 0, final=True, sure_points=100) == len(bad)
    assert toy.claimed < limits.RESYNC_CLAIMED_BYTES + (limits.RESYNC_OVERLAP_MAX + 2) * len(data)


def test_no_other_chain_is_walked_where_the_first_frame_is_sure() -> None:
    asked: list[int] = []

    class Noted(Toy):
        def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
            asked.append(at)
            return super().trust(side, data, at, end)

    inner = frame(b"\xf0\x01\xf0\x01")
    data = frame(b"\x0a") + inner * 3
    assert find_frame(Noted(), "client", data, 0, final=False, sure_points=4) == 0
    assert asked == [0, *range(3, len(data), len(inner))]


def test_the_chain_at_the_front_is_one_that_is_believed_at_once() -> None:
    rich, poor = frame(b"\x0a"), frame(b"\x01")
    for data in (rich, rich + poor * 3, poor * 2, rich + b"?", b"?" + rich, rich + poor[:2], b""):
        chain = chain_at_front(Toy(), "client", data, 4)
        assert (chain is not None) == (find_frame(Toy(), "client", data, 0, final=False, sure_points=4) == 0)
    ends = [rich, rich + poor[:2], rich + poor[:1], rich * 2 * RIVAL_FRAMES]
    chains = [chain_at_front(Toy(), "client", data, 4) for data in ends]
    assert [chain is not None and chain.is_read_to_end for chain in chains] == [True, True, False, False]
