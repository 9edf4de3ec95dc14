"""Losses of a recording explain what was lost there, and nothing elsewhere in the conversation."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import a_record
from tests.replay.talks import PLAIN, Says, appending, packets, recorded, setting_up, talk
from wiretool.analysis.dialogues import Recording
from wiretool.capture.packets import Packet
from wiretool.errors import CaptureError
from wiretool.replay.adapter import Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.diff.losses import neighbours
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.recording import recording_of

BIG = 1000


def says(*numbers: int) -> Says:
    """Appends of these numbers, each in a packet of its own that is known by its size."""
    return talk(setting_up(), *(appending(n, request_id=n, event=bytes([n]) * BIG) for n in numbers))


def torn(numbers: tuple[int, ...], lost: int) -> Recording:
    """A recording of these appends, without the packet of one of them."""
    whole = packets(says(*numbers))
    big = [at for at, packet in enumerate(whole) if len(packet.data) > BIG]
    return recording_of(packet for at, packet in enumerate(whole) if at != big[numbers.index(lost)])


def cut(numbers: tuple[int, ...], left: int) -> Recording:
    """A recording of these appends that breaks off before the packet of the one that has that number."""
    whole = packets(says(*numbers))
    big = [at for at, packet in enumerate(whole) if len(packet.data) > BIG]

    def broken() -> Iterator[Packet]:
        yield from whole[: big[numbers.index(left)]]
        raise CaptureError("b.pcap", "ends early", offset=1)

    return recording_of(broken())


def requests_with(outcomes: list[Outcome], *verdicts: Verdict) -> list[int]:
    return [each.request.fields.request_id for each in outcomes if each.request and each.verdict in verdicts]  # type: ignore[union-attr]


@pytest.mark.parametrize(("absent", "lost"), [(7, 3), (2, 6), (8, 1)])
def test_a_gap_explains_nothing_elsewhere(absent: int, lost: int) -> None:
    every = tuple(range(1, 9))
    other = tuple(number for number in every if number != absent)
    one = recorded(says(*every))
    there, here = compare(one, torn(other, lost), PLAIN), compare(torn(other, lost), one, PLAIN)
    assert requests_with(there, Verdict.MISSING) == requests_with(here, Verdict.EXTRA) == [absent]
    for outcomes in (there, here):
        assert lost in requests_with(outcomes, Verdict.UNKNOWN)


@pytest.mark.parametrize("absent", [1, 3])
def test_the_cut_of_a_capture_explains_nothing_before_it(absent: int) -> None:
    every = tuple(range(1, 9))
    other = tuple(number for number in every if number != absent)
    outcomes = compare(recorded(says(*every)), cut(other, 6), PLAIN)
    assert requests_with(outcomes, Verdict.MISSING) == [absent]
    assert requests_with(outcomes, Verdict.UNKNOWN) == [6, 7, 8]


def test_a_conversation_before_the_cut_is_missed_and_one_after_it_is_not() -> None:
    first, second, third = says(1, 2), says(3, 4), says(5, 6)
    whole = recorded(first, second, third)
    part = packets(second)

    def broken() -> Iterator[Packet]:
        yield from part
        raise CaptureError("b.pcap", "ends early", offset=1)

    outcomes = compare(whole, recording_of(broken()), PLAIN)
    alone = {each.dialogue.number: each.verdict for each in outcomes if each.request is None}
    assert alone == {0: Verdict.MISSING, 2: Verdict.UNKNOWN}


@given(st.data())
def test_neighbours_are_the_nearest_with_a_counterpart(data: st.DataObject) -> None:
    many, other_many = data.draw(st.integers(0, 8)), data.draw(st.integers(0, 8))
    others = [a_record(n=100 + at) for at in range(other_many)]
    shared = min(many, other_many)
    count = data.draw(st.integers(0, shared))
    ones = sorted(data.draw(st.sets(st.integers(0, max(many - 1, 0)), min_size=count, max_size=count)))
    theirs = sorted(data.draw(st.sets(st.integers(0, max(other_many - 1, 0)), min_size=count, max_size=count)))
    pairs = list(zip(ones, theirs, strict=True))
    found = {at: (before, after) for at, before, after in neighbours(pairs, many, others)}
    assert sorted(found) == [at for at in range(many) if at not in ones]
    for at, (before, after) in found.items():
        earlier = [others[other] for one, other in pairs if one < at]
        later = [others[other] for one, other in pairs if one > at]
        assert before is (earlier[-1] if earlier else None)
        assert after is (later[0] if later else None)
