"""Checking stored events: what is right passes, each defect is found, and the way through arrays says the same."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.load.segments import FILLER, HEAD, RUN, Event, checked, last_of, numbers, segment_of, stored, writer
from wiretool import limits
from wiretool.load.events import Head, Maker, tag_of, writer_of
from wiretool.load.verify import event as judging
from wiretool.load.verify import rows as checking_rows
from wiretool.load.verify import stored_events as checking
from wiretool.load.verify.findings import Outcome
from wiretool.load.verify.stored_events import Checker

SIZE = 60
STRIDE = HEAD.width + SIZE
#: Enough for the way through arrays, before and behind what is amiss.
COUNT = 120
WHOLE = segment_of(numbers(*range(1, COUNT + 1)))
ALL = {writer(0): COUNT}
ONE_BY_ONE_OR_BULK = pytest.mark.parametrize("is_bulk", [False, True], ids=["one by one", "bulk"])


def replaced(at: int, raw: bytes, data: bytes = WHOLE) -> bytes:
    return data[:at] + raw + data[at + len(raw) :]


def flipped(at: int, data: bytes = WHOLE) -> bytes:
    return replaced(at, bytes([data[at] ^ 0x10]), data)


@ONE_BY_ONE_OR_BULK
def test_what_is_right_is_no_finding(is_bulk: bool) -> None:
    outcome = checked(WHOLE, ALL, is_bulk=is_bulk)
    assert outcome == Outcome(acknowledged=COUNT, checked=COUNT)


@ONE_BY_ONE_OR_BULK
@pytest.mark.parametrize(
    ("place", "finding"),
    [
        (8, "from byte 0 of its 60 on {there} is there, {was} was written"),
        (8 + 39, "from byte 39 of its 60 on {there} is there, {was} was written"),
        # Run, process and index of the writer; its number; the digest.
        (8 + 40, "from byte 40 of its 60 on"),
        (8 + 45, "from byte 45 of its 60 on"),
        (8 + 47, "from byte 47 of its 60 on"),
        (8 + 48, "from byte 48 of its 60 on"),
        (8 + 55, "from byte 55 of its 60 on"),
        (8 + 56, "from byte 56 of its 60 on"),
        (8 + 59, "from byte 59 of its 60 on"),
    ],
)
def test_a_changed_event_is_one_finding_that_shows_where(is_bulk: bool, place: int, finding: str) -> None:
    at = 70 * STRIDE + place
    data = flipped(at)
    outcome = checked(data, ALL, is_bulk=is_bulk)
    last = 71 * STRIDE
    wanted = finding.format(there=data[at : min(at + 8, last)].hex(" "), was=WHOLE[at : min(at + 8, last)].hex(" "))
    assert (outcome.found, outcome.checked, outcome.kinds) == (1, COUNT - 1, {"changed": 1})
    assert outcome.findings[0].startswith(
        f"changed: segment seg, byte {70 * STRIDE:,}: event 71 of writer 0.0: {wanted}"
    )


@ONE_BY_ONE_OR_BULK
@pytest.mark.parametrize("place", range(HEAD.width))
@pytest.mark.parametrize("bit", [0, 4])
def test_a_damaged_head_is_one_finding(is_bulk: bool, place: int, bit: int) -> None:
    at = 70 * STRIDE + place
    outcome = checked(replaced(at, bytes([WHOLE[at] ^ 1 << bit])), ALL, is_bulk=is_bulk)
    assert (outcome.found, outcome.checked) == (1, COUNT - 1)
    assert outcome.findings[0].startswith(f"broken: segment seg, byte {70 * STRIDE:,}: no event begins here, ")
    assert outcome.findings[0].endswith(f"; the next one is at byte {71 * STRIDE:,}")


@ONE_BY_ONE_OR_BULK
@pytest.mark.parametrize("count", [1, 7, 30])
def test_bytes_that_are_missing_are_one_finding(is_bulk: bool, count: int) -> None:
    at = 70 * STRIDE + 12
    outcome = checked(WHOLE[:at] + WHOLE[at + count :], ALL, is_bulk=is_bulk)
    assert (outcome.found, outcome.kinds, outcome.checked) == (1, {"broken": 1}, COUNT - 1)


@ONE_BY_ONE_OR_BULK
def test_bytes_that_are_too_many_are_one_finding(is_bulk: bool) -> None:
    at = 70 * STRIDE
    strange = b"\xffstrange"
    outcome = checked(WHOLE[:at] + strange + WHOLE[at:], ALL, is_bulk=is_bulk)
    assert outcome.findings == [
        f"broken: segment seg, byte {at:,}: no event begins here, {strange.hex(' ')} is there; "
        f"the next one is at byte {at + 8:,}"
    ]
    assert outcome.checked == COUNT


@ONE_BY_ONE_OR_BULK
def test_zeros_in_place_of_events_are_no_events(is_bulk: bool) -> None:
    outcome = checked(replaced(70 * STRIDE, bytes(3 * STRIDE)), ALL, is_bulk=is_bulk)
    assert (outcome.kinds, outcome.foreign) == ({"broken": 1, "lost": 1}, 0)
    assert "events 71 to 73 of writer 0.0: acknowledged and not there" in outcome.findings[1]


@ONE_BY_ONE_OR_BULK
@pytest.mark.parametrize("left", [1, 7, 8, 9, 50, STRIDE - 1])
def test_an_end_within_an_event_is_a_finding(is_bulk: bool, left: int) -> None:
    at = (COUNT - 1) * STRIDE
    outcome = checked(WHOLE[: at + left], {writer(0): COUNT - 1}, ALL, is_bulk=is_bulk)
    shown = WHOLE[at : at + min(left, 8)].hex(" ")
    whole = STRIDE if left >= HEAD.width else HEAD.width
    assert outcome.findings == [
        f"cut: segment seg, byte {at:,}: the segment ends within an event: {left} of {whole} bytes are there, {shown}"
    ]


@ONE_BY_ONE_OR_BULK
def test_a_segment_that_never_is_one_again_is_one_finding(is_bulk: bool) -> None:
    at = 70 * STRIDE
    outcome = checked(WHOLE[:at] + b"\xff" * 5_000, {writer(0): 70}, ALL, is_bulk=is_bulk)
    assert outcome.findings == [
        f"broken: segment seg, byte {at:,}: no event begins here, {'ff ' * 7}ff is there; none follows"
    ]


@ONE_BY_ONE_OR_BULK
def test_events_of_others_are_counted_and_no_finding(is_bulk: bool) -> None:
    other_run = Maker(writer_of("run-2", 0, 0), head=HEAD, filler=FILLER).batch([SIZE] * 3, 1)
    plain = HEAD.of(5) + b"hello" + HEAD.of(200) + b"x" * 200
    at = 70 * STRIDE
    outcome = checked(WHOLE[:at] + other_run + plain + WHOLE[at:], ALL, is_bulk=is_bulk)
    assert outcome == Outcome(acknowledged=COUNT, checked=COUNT, foreign=5)


@ONE_BY_ONE_OR_BULK
def test_a_writer_of_this_run_that_sent_nothing_here_is_a_finding(is_bulk: bool) -> None:
    outcome = checked(WHOLE + stored((3, 1)), ALL, is_bulk=is_bulk)
    assert outcome.findings == [
        f"never sent: segment seg, byte {len(WHOLE):,}: event 1 of writer 1.1: "
        "there, though its writer sent nothing here"
    ]


@ONE_BY_ONE_OR_BULK
def test_a_number_that_no_writer_comes_to_is_a_finding(is_bulk: bool) -> None:
    at = 70 * STRIDE
    outcome = checked(WHOLE[:at] + stored((0, 2**63 + 7)) + WHOLE[at:], ALL, is_bulk=is_bulk)
    # What belongs before it comes late, all of it in one.
    assert outcome.kinds == {"out of order": 1, "never sent": 1}
    assert "event 9,223,372,036,854,775,815 of writer 0.0: there, though its writer sent 120" in outcome.findings[0]


def test_an_event_whose_mark_tells_nothing_shows_its_digests() -> None:
    event = bytearray(stored((0, 1)))
    event[-1] ^= 1  # the digest, and no event before tells which number is next
    event[-12:-4] = (77).to_bytes(8, "big")
    outcome = checked(bytes(event), {}, ALL)
    assert outcome.findings[0].startswith(
        "changed: segment seg, byte 0: an event of 60 bytes, by its mark number 77 of writer "
        f"{writer(0):016x}: its digest"
    )


def test_what_a_mark_tells_right_away_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "RIDDLES_MAX", 0)
    for place in (8, 8 + 48, 8 + 59):  # body, number, digest
        assert checked(flipped(70 * STRIDE + place), ALL).found == 1
    assert checked(flipped(70 * STRIDE + 8 + 47), ALL).kinds == {"changed": 1, "lost": 1}  # writer


def test_a_damaged_event_that_nothing_is_missing_for_takes_nobodys_place() -> None:
    again = flipped(8 + 47, stored((0, 5)))  # the fifth once more, its writer damaged
    assert checked(WHOLE + again, ALL).kinds == {"changed": 1}
    nobodys = flipped(8 + 59, flipped(8 + 47, stored((0, 1))))  # writer and digest damaged
    assert checked(nobodys, {writer(0): 1}).kinds == {"changed": 1, "lost": 1}


UNEVEN_SIZES = [20 + 7 * number % 50 for number in range(1, COUNT + 1)]
UNEVEN_EVENTS = [stored((0, number), size) for number, size in enumerate(UNEVEN_SIZES, 1)]


def test_sizes_that_vary_are_checked_as_one_by_one() -> None:
    data = b"".join(UNEVEN_EVENTS)
    assert checked(data, ALL) == Outcome(acknowledged=COUNT, checked=COUNT)
    at = len(b"".join(UNEVEN_EVENTS[:70]))
    for place in range(at + HEAD.width, at + len(UNEVEN_EVENTS[70])):
        outcome = checked(flipped(place, data), ALL)
        assert (outcome.found, outcome.checked) == (1, COUNT - 1)
        assert outcome == checked(flipped(place, data), ALL, is_bulk=False)
    for cut in range(at, at + 60):
        assert checked(data, ALL, cuts=[cut]).found == 0
        assert checked(data[:cut], ALL) == checked(data[:cut], ALL, is_bulk=False)


def test_beginnings_of_events_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking_rows, "BEGINS_BYTES_MAX", 300)
    reader = checking_rows.RowsReader(HEAD, FILLER, tag_of(RUN))
    data = b"".join(UNEVEN_EVENTS)
    reader.note(checking_rows.Rows(np.zeros(2, int), np.zeros(1, np.uint64), np.zeros(1, int), [0]), 0)
    rows = reader.read(data, 0)
    assert rows is not None
    assert (rows.count, rows.bad) == (COUNT, [])
    assert sum(len(raw) for raw, _ in reader._begins.values()) <= 300


@pytest.mark.parametrize("place", range(HEAD.width))
@pytest.mark.parametrize("bit", [0, 5])
def test_where_a_damaged_segment_is_cut_does_not_matter(place: int, bit: int) -> None:
    data = bytearray(WHOLE[: 5 * STRIDE])
    data[2 * STRIDE + place] ^= 1 << bit
    truth = checked(bytes(data), {writer(0): 5})
    assert truth.found == 1
    for cut in range(len(data)):
        assert checked(bytes(data), {writer(0): 5}, cuts=[cut]) == truth


def test_a_large_event_in_small_pieces_is_put_together_once() -> None:
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER)
    data = stored((0, 1), 100_000)
    for start in range(0, len(data), 1_000):
        assert len(checker._parts) >= start // 1_000 - 1
        checker.feed(data[start : start + 1_000])
    assert checker.end({writer(0): 1}, {writer(0): 1}) == Outcome(acknowledged=1, checked=1)


@pytest.mark.parametrize(
    "raw", [b"\0\0\0\0\0\x7f\xff\xff", b"\0\0\0\0\0\x80\0\1", b"\0\0\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\0", b"\1"]
)
def test_lengths_that_lie_hold_nothing_up(raw: bytes) -> None:
    outcome = checked(raw + WHOLE, ALL, cuts=range(0, len(WHOLE), 1_000))
    assert (outcome.found, outcome.checked) == (1, COUNT)
    assert outcome.findings[0].endswith(f"the next one is at byte {len(raw)}")


def test_strange_bytes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BENCH_EVENT_BYTES_MAX", 1_000)
    monkeypatch.setattr(checking, "_LOOK_BYTES", 100)
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER)
    for _ in range(300):
        checker.feed(b"\xff" * 50)
        assert checker._held < 4_000
    checker.feed(WHOLE)
    assert checker.end(ALL, ALL).checked == COUNT


def test_events_that_are_apart_already_are_taken_one_by_one() -> None:
    checker = Checker("road", run=RUN, head=HEAD, filler=FILLER)
    for number in (1, 2, 4, 3):
        checker.take(FILLER.event(SIZE, writer(0), number), number)
    damaged = bytearray(FILLER.event(SIZE, writer(0), 5))
    damaged[3] ^= 1
    checker.take(bytes(damaged), 5)
    checker.take(b"short", 6)
    assert checker.found == 2
    outcome = checker.end({writer(0): 5}, {writer(0): 5})
    assert (outcome.kinds, outcome.checked, outcome.foreign) == ({"out of order": 1, "changed": 1}, 4, 1)


def test_nothing_at_all_is_right_where_nothing_was_acknowledged() -> None:
    assert checked(b"", {}) == Outcome()
    assert checked(b"", {writer(0): 2}).kinds == {"lost": 1}


@pytest.mark.parametrize("size", [20, 21, 27, 28, 29, 5_000])
@pytest.mark.parametrize("head", [HEAD, Head()], ids=["pravega", "length"])
def test_any_size_is_found_again(size: int, head: Head) -> None:
    data = b"\xff" * 3 + b"".join(stored((0, number), size, head=head) for number in range(1, 41))
    outcome = checked(data, {writer(0): 40}, head=head)
    assert (outcome.found, outcome.checked) == (1, 40)


@st.composite
def segments(draw: st.DrawFn) -> tuple[list[bytes], dict[int, int]]:
    """Events of several writers as they should be, mostly of one size, and the last of each."""
    turns = draw(st.lists(st.integers(0, 4), min_size=1, max_size=150))
    size = draw(st.sampled_from([20, 24, 60, 100]))
    odd = draw(st.lists(st.integers(20, 90), max_size=150) if draw(st.booleans()) else st.just([]))
    sizes = [*odd, *[size] * len(turns)]
    events: list[Event] = []
    for index in turns:
        events.append((index, 1 + sum(index == other for other, _ in events)))
    return [stored(event, sizes[at]) for at, event in enumerate(events)], last_of(events)


Damage = Callable[[list[bytes]], st.SearchStrategy[list[bytes]]]


@st.composite
def moved(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events) - 1))
    rest = events[:at] + events[at + 1 :]
    rest.insert(draw(st.integers(0, len(rest))), events[at])
    return rest


@st.composite
def dropped(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events) - 1))
    return events[:at] + events[at + draw(st.integers(1, 4)) :]


@st.composite
def doubled(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events) - 1))
    return events[: at + draw(st.integers(1, 4))] + events[at:]


@st.composite
def with_strange_bytes(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events)))
    plain = draw(st.binary(min_size=1, max_size=200))
    return [*events[:at], HEAD.of(len(plain)) + plain if draw(st.booleans()) else plain, *events[at:]]


@st.composite
def with_flips(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events) - 1))
    raw = bytearray(events[at])
    raw[draw(st.integers(0, len(raw) - 1))] ^= 1 << draw(st.integers(0, 7))
    return [*events[:at], bytes(raw), *events[at + 1 :]]


@st.composite
def with_cut(draw: st.DrawFn, events: list[bytes]) -> list[bytes]:
    at = draw(st.integers(0, len(events) - 1))
    start = draw(st.integers(0, len(events[at]) - 1))
    return [*events[:at], events[at][:start] + events[at][start + draw(st.integers(1, 60)) :], *events[at + 1 :]]


DAMAGES: list[Damage] = [moved, dropped, doubled, with_strange_bytes, with_flips, with_cut]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, dict[int, int]]:
    """A segment to which several things have happened."""
    events, last = draw(segments())
    for damage in draw(st.lists(st.sampled_from(DAMAGES), max_size=4)):
        events = [raw for raw in draw(damage(events)) if raw] or events
    return b"".join(events), last


@settings(max_examples=150)
@given(damaged(), st.lists(st.integers(0, 10_000), max_size=8))
def test_bulk_and_any_chunks_say_what_one_by_one_says(given: tuple[bytes, dict[int, int]], cuts: list[int]) -> None:
    data, last = given
    known = {writer: number - number // 5 for writer, number in last.items()}
    truth = checked(data, known, last, is_bulk=False)
    assert checked(data, known, last) == truth
    assert checked(data, known, last, cuts=cuts) == truth
    assert checked(data, known, last, cuts=cuts, is_bulk=False) == truth


@given(segments(), st.lists(st.integers(0, 10_000), max_size=8))
def test_segments_as_they_should_be_pass(given: tuple[list[bytes], dict[int, int]], cuts: list[int]) -> None:
    events, last = given
    outcome = checked(b"".join(events), last, cuts=cuts)
    assert outcome == Outcome(acknowledged=sum(last.values()), checked=len(events))


@given(segments(), st.sampled_from([dropped, doubled, with_flips, with_cut]), st.data())
def test_no_damage_passes(given: tuple[list[bytes], dict[int, int]], damage: Damage, data: st.DataObject) -> None:
    events, last = given
    broken = data.draw(damage(events))
    outcome = checked(b"".join(broken), last)
    assert outcome.found >= 1
    assert len(outcome.findings) == outcome.found


@given(segments(), st.data())
def test_one_flipped_bit_is_one_finding(given: tuple[list[bytes], dict[int, int]], data: st.DataObject) -> None:
    events, last = given
    broken = b"".join(data.draw(with_flips(events)))
    outcome = checked(broken, last)
    # Too little is left of the shortest events to tell a damaged one from somebody else's: it is lost, then.
    assert outcome.found == 1
    assert outcome.checked == len(events) - 1


@given(st.binary(max_size=3_000), st.lists(st.integers(0, 3_000), max_size=5))
def test_any_bytes_are_checked(data: bytes, cuts: list[int]) -> None:
    truth = checked(data, {}, is_bulk=False)
    assert checked(data, {}, cuts=cuts) == truth
    assert truth.checked == 0
