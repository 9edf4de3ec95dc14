"""What is known of a live run of Pravega: bytes by their places, and acks that contradict each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.replay.test_known_differences import creating
from tests.protocols.pravega.replay.test_known_differences import recorded as recorded_with
from tests.protocols.pravega.replay.test_replay import told
from tests.replay.liars import Liar
from tests.replay.lies import changed, find_beside_honest, find_in_replay, play
from tests.replay.talks import SEGMENT, appending, recorded, setting_up, talk
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentAlreadyExists, SegmentIsSealed, WrongHost
from wiretool.protocols.pravega.messages import AppendSetup, DataAppended, ReadSegment
from wiretool.protocols.pravega.replay.answers import may_answer
from wiretool.protocols.pravega.replay.content import Contents
from wiretool.protocols.pravega.replay.live import LiveHistory
from wiretool.protocols.pravega.segments import GetStreamSegmentInfo, SealSegment
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Verdict
from wiretool.replay.judging.known_differences import ANOTHER, Case, KnownDifference, explain

_runs = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=5)


@given(_runs, st.integers(0, 30), st.integers(0, 20))
def test_only_bytes_that_were_added_are_known(runs: list[tuple[int, int]], offset: int, length: int) -> None:
    whole = bytes(range(1, 61))
    contents = Contents()
    known: set[int] = set()
    for start, size in runs:
        contents.add(SEGMENT, start, whole[start : start + size])
        known.update(range(start, start + size))
    unknown = contents.find_unknown(SEGMENT, offset, whole[offset : offset + length])
    assert unknown is not None
    found = {offset + at for part in unknown for at in range(part.start, part.stop)}
    assert found == set(range(offset, offset + length)) - known
    other = contents.find_unknown(SEGMENT, offset, bytes(length))
    assert (other is None) == bool(known & set(range(offset, offset + length)))


def history_of(*lengths: int) -> tuple[LiveHistory, list[Record]]:
    """Return the history of appends of 13 bytes, after each of which the segment is so long, and their acks."""
    said = talk(setting_up(), *(appending(n, request_id=n, length=each) for n, each in enumerate(lengths, 1)))
    history = LiveHistory()
    for record in recorded(said).dialogues[0].records:
        history.note(record)
    return history, [each for each in recorded(said).dialogues[0].records if each.message == "DataAppended"]


@pytest.mark.parametrize(
    ("lengths", "alone", "joined"),
    [
        ((13, 26, 39), (True, True, True), (True, True, True)),
        ((26, 13, 39), (True, True, True), (True, True, True)),
        ((13, 13, 26), (False, False, True), (True, True, True)),
        ((13, 20, 33), (False, False, True), (True, True, True)),
        ((13, 26, 100), (True, True, True), (True, True, False)),
        ((5, 18, 31), (False, True, True), (True, True, True)),
    ],
)
def test_acks_share_no_bytes_and_leave_none_out(
    lengths: tuple[int, ...], alone: tuple[bool, ...], joined: tuple[bool, ...]
) -> None:
    history, acks = history_of(*lengths)
    assert tuple(map(history.is_alone, acks)) == alone
    assert tuple(map(history.is_joined, acks)) == joined


def test_the_length_is_that_of_acks_so_far() -> None:
    history, acks = history_of(13, 26, 39)
    assert [history.length(SEGMENT, ack.n) for ack in acks] == [0, 13, 26]
    assert history.length(SEGMENT, acks[-1].n + 1) == 39
    assert history.is_inside(SEGMENT, 20)
    assert not history.is_inside(SEGMENT, 26)


# -- what a known difference covers ------------------------------------------------------------------------------------

WHY = Excuse(Verdict.EXPLAINED, "why")


def case_of(difference: Difference, recorded_: Message, live: Message) -> Case:
    """Return a difference between two replies."""

    def record(message: Message) -> Record:
        return Record(1, "frame", 0, 0, "", "", "server", (1, 1), 0, 0, fields=message)

    return Case(difference, record(recorded_), record(live), None)


SETUP = AppendSetup(request_id=1, segment=SEGMENT, writer_id="w", last_event_number=0)
HOST = WrongHost(request_id=1, segment=SEGMENT, correct_host="")


@pytest.mark.parametrize(
    ("fields", "steps", "is_covered"),
    [
        ({"last_event_number"}, ("last_event_number",), True),
        ({"last_event_number"}, ("segment",), False),
        ({"last_event_number"}, (), False),
        ({ANOTHER}, (), True),
        ({ANOTHER}, ("segment",), False),
        ({"merged.offset"}, ("merged", 0, "offset"), True),
        ({"merged.offset"}, ("merged", 0, "source"), False),
        ({"merged.offset"}, ("merged",), False),
        ({"merged"}, ("merged", 0, "source"), True),
    ],
)
def test_a_known_difference_covers_its_fields_only(
    fields: set[str], steps: tuple[str | int, ...], is_covered: bool
) -> None:
    known = KnownDifference(AppendSetup, AppendSetup, frozenset(fields), lambda case: WHY)
    found = explain([known], case_of(Difference(steps, 1, 2), SETUP, SETUP))
    assert found == (WHY if is_covered else None)


def test_a_known_difference_covers_its_messages_only() -> None:
    known = KnownDifference(WrongHost, (AppendSetup, DataAppended), frozenset({ANOTHER}), lambda case: WHY)
    difference = Difference((), "WrongHost", "AppendSetup")
    missing = NoSuchSegment(request_id=1, segment=SEGMENT)
    assert explain([known], case_of(difference, HOST, SETUP)) == WHY
    assert explain([known], case_of(difference, HOST, missing)) is None
    assert explain([known], case_of(difference, SETUP, HOST)) is None


# -- what may answer what ----------------------------------------------------------------------------------------------

ASKED = GetStreamSegmentInfo(request_id=1, segment_name=SEGMENT)
SEALED = SealSegment(request_id=1, segment=SEGMENT)


@pytest.mark.parametrize(
    ("request_", "reply", "may"),
    [
        (ASKED, NoSuchSegment(request_id=1, segment=SEGMENT, offset=-1), True),
        (ASKED, NoSuchSegment(request_id=1, segment=SEGMENT, offset=7), False),
        (ASKED, SegmentIsSealed(request_id=1, segment=SEGMENT, offset=-1), False),
        (SEALED, SegmentIsSealed(request_id=1, segment=SEGMENT, offset=-1), True),
        (SEALED, SegmentAlreadyExists(request_id=1, segment=SEGMENT), False),
        (
            ReadSegment(segment=SEGMENT, offset=7, suggested_length=9),
            NoSuchSegment(request_id=1, segment=SEGMENT, offset=7),
            True,
        ),
    ],
)
def test_a_failure_answers_only_requests_that_meet_it(request_: Message, reply: Message, may: bool) -> None:
    assert may_answer(request_, reply) == may


def test_an_unanswered_request_of_a_short_recording_is_not_answered_by_anything() -> None:
    recording = recorded_with([*creating(SEGMENT), ASKED], Liar("StreamSegmentInfo", lambda info: None))
    assert told(play(recording, PravegaMock())) == []
    for lie in (
        lambda info: NoSuchSegment(request_id=1, segment=SEGMENT, offset=7),
        lambda info: SegmentIsSealed(request_id=1, segment=SEGMENT, offset=-1),
        changed(segment_name="another"),
    ):
        (finding,) = find_in_replay(recording, "StreamSegmentInfo", lie)
        assert finding.verdict is Verdict.EXTRA
        assert find_beside_honest(recording, "StreamSegmentInfo", lie)
