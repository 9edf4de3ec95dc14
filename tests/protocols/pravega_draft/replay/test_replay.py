"""Conversations of the 2017 draft, recorded from its mock, are spoken again to others that are in another state."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.captures import tcp_packets
from tests.protocols.pravega_draft.talk import ID, OTHER, begin, end
from tests.replay.stage import Replayed, Stage, check_no_finding, counts, replay
from wiretool.analysis.dialogues import Recording, Told
from wiretool.capture.tcp.stream_events import Side
from wiretool.codec.message import Message
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import (
    EndAppendBlock,
    Event,
    KeepAlive,
    Padding,
    PartialMessage,
    ReadSegment,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.server.mock import DraftMock, SegmentStart
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.mock import Mock, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

OWN = Path(__file__).parents[4] / "captures" / "pravega-draft"
STORE = ("10.0.0.2", 12345)
EVENT = Event(data=b"hello")
SIZE = len(encode(EVENT))


def block(offset: int, *events: Event, connection_id: str = ID) -> list[Message]:
    """An append block of whole events."""
    size = sum(len(encode(event)) for event in events)
    return [begin(offset, size, connection_id), *events, end(offset + size, size, connection_id)]


def cut_block(offset: int) -> list[Message]:
    """An append block whose only event comes in pieces, the last ones behind its end, with padding."""
    raw = encode(EVENT)
    pieces = [PartialMessage(part="BEGIN", data=raw[:4]), Padding(length=3)]
    size = sum(len(encode(piece)) for piece in pieces)
    return [
        begin(offset, size),
        *pieces,
        end(offset + len(raw), len(raw)),
        PartialMessage(part="MIDDLE", data=raw[4:9]),
        PartialMessage(part="END", data=raw[9:]),
    ]


def setup(segment: str = "seg", connection_id: str = ID) -> SetupAppend:
    return SetupAppend(connection_id=connection_id, segment=segment)


def read(offset: int, segment: str = "seg", length: int = 1_024) -> ReadSegment:
    return ReadSegment(segment=segment, offset=offset, suggested_length=length)


def recorded(
    says: Iterable[Message], mock: DraftMock | None = None, *, drop: Sequence[int] = (), opens: bool = True
) -> Recording:
    """A conversation with a mock, as a capture has it."""
    server = mock or DraftMock()
    server.opened(1, "store", 0)
    said: list[tuple[Side, bytes]] = []
    for message in says:
        raw = encode(message)
        said.append(("client", raw))
        said += [("server", action.data) for action in server.received(1, raw, 0) if isinstance(action, Send)]
    return recording_of(tcp_packets(said, server=STORE, drop=drop, begin=opens))


def played(recording: Recording, mock: Mock | None = None) -> Replayed:
    """The recording, spoken to a mock that is such a server, or to another one."""
    known = manners()
    script = script_of(recording, known)
    server = mock or mock_for("pravega-draft", known["pravega-draft"].mock_options(recording, MockOptions()))
    player = Player(script, known, prepare=recording)
    Stage(player, {"pravega-draft": server}).play()
    return Replayed(recording, script, player.outcomes(), player)


EVERYTHING = [
    setup(),
    *block(0, EVENT, EVENT),
    *cut_block(2 * SIZE),
    setup("other", OTHER),
    *block(0, EVENT, connection_id=OTHER),
    read(0),
    read(SIZE),
    read(0, "other"),
    KeepAlive(data=b"x"),
]


@pytest.mark.parametrize("path", sorted(OWN.glob("*.pcap*")), ids=lambda path: path.name)
def test_a_capture_replays_without_a_finding(path: Path) -> None:
    check_no_finding(replay(path))


def test_a_fresh_mock_says_the_same() -> None:
    assert counts(played(recorded(EVERYTHING))).keys() == {Verdict.SAME}


def test_what_was_there_before_the_recording_is_there_again() -> None:
    mock = DraftMock(starts={"seg": SegmentStart(data=encode(EVENT) * 3, levels={ID: 3 * SIZE})})
    says = [read(0), setup(), *block(3 * SIZE, Event(data=b"later")), read(2 * SIZE), read(0)]
    replayed = played(recorded(says, mock))
    assert counts(replayed).keys() == {Verdict.SAME}


def test_an_appender_that_is_elsewhere_goes_on_there() -> None:
    mock = DraftMock(starts={"seg": SegmentStart(levels={ID: 1_000}), "other": SegmentStart(levels={OTHER: 7})})
    replayed = played(recorded(EVERYTHING), mock)
    assert not replayed.findings
    assert counts(replayed)[Verdict.MAPPED] == 5
    segment = mock.segments.find("seg")
    assert segment is not None
    assert segment.attributes[ID] == 1_000 + 3 * SIZE


def test_a_sealed_segment_and_one_that_is_not_there_are_so_again() -> None:
    mock = DraftMock(segments=["seg"], starts={"old": SegmentStart(data=encode(EVENT), is_sealed=True)})
    says = [setup("none"), read(0, "none"), read(0, "old"), setup("old"), *block(0, EVENT), setup(), *block(0, EVENT)]
    replayed = played(recorded(says, mock))
    assert counts(replayed).keys() == {Verdict.SAME}


def test_a_segment_that_is_sealed_meanwhile_is_explained() -> None:
    mock = DraftMock()
    first = recorded([setup(), *block(0, EVENT)], mock)
    assert not played(first).findings
    mock = DraftMock()
    mock.opened(1, "store", 0)
    said: list[tuple[Side, bytes]] = []
    for at, message in enumerate([setup(), *block(0, EVENT), *block(SIZE, EVENT)]):
        if at == 4:
            mock.operate("seal", {"segment": "seg"}, 0)
        said.append(("client", encode(message)))
        said += [("server", each.data) for each in mock.received(1, encode(message), 0) if isinstance(each, Send)]
    replayed = played(recording_of(tcp_packets(said, server=STORE)))
    assert not replayed.findings
    assert counts(replayed)[Verdict.EXPLAINED]


def test_a_recording_that_begins_in_the_middle_binds_its_appenders() -> None:
    mock = DraftMock()
    mock.opened(9, "store", 0)
    mock.received(9, b"".join(map(encode, [setup(), *block(0, EVENT)])), 0)
    whole = recorded([setup(), *block(SIZE, EVENT), *block(2 * SIZE, EVENT)], mock)
    events = [event for event in whole.events if isinstance(event, Told) and event.record.n > 2]
    part = whole.between(events[0].time_ns, whole.events[-1].time_ns)
    replayed = played(part)
    assert not replayed.findings
    assert counts(replayed)[Verdict.SAME] >= 6


@pytest.mark.parametrize("lost", range(3, 16))
def test_a_block_with_a_hole_is_left_out_whole(lost: int) -> None:
    says = [setup(), *block(0, EVENT), *block(SIZE, EVENT), *block(2 * SIZE, EVENT), KeepAlive(data=b"")]
    replayed = played(recorded(says, drop=[lost]))
    assert not replayed.findings


def test_a_reply_that_is_another_is_found() -> None:
    mock = DraftMock(starts={"other": SegmentStart(data=b"x")})
    (finding,) = (each for each in played(recorded(EVERYTHING), mock).findings)
    assert finding.request is not None
    assert finding.request.fields == read(0, "other")
    assert {difference.steps[0] for difference in finding.differences} == {"data"}


def test_an_acknowledgement_that_lags_is_found() -> None:
    class Lagging(DraftMock):
        def received(self, connection, data, now_ns):  # type: ignore[no-untyped-def]
            actions = super().received(connection, data, now_ns)
            return [
                replace_level(each) if isinstance(each, Send) and each.data[:4] == b"\0\0\0\x05" else each
                for each in actions
            ]

    def replace_level(send: Send) -> Send:
        return Send(send.connection, send.data[:-1] + bytes([send.data[-1] - 1]))

    findings = played(recorded([setup(), *block(0, EVENT)]), Lagging()).findings
    assert findings
    assert findings[0].request is None or isinstance(findings[0].request.fields, EndAppendBlock)


def test_options_that_were_given_stay() -> None:
    recording = recorded(EVERYTHING)
    given = replace(MockOptions(), segments=["mine"], segment_starts={"seg": SegmentStart(data=b"mine")})
    made = manners()["pravega-draft"].mock_options(recording, given)
    assert made.segments == ["mine"]
    assert made.segment_starts is not None
    assert made.segment_starts["seg"].data == b"mine"


def test_of_a_capture_of_one_direction_nobody_knows_what_was_answered() -> None:
    said: list[tuple[Side, bytes]] = [("client", encode(message)) for message in EVERYTHING]
    replayed = played(recording_of(tcp_packets(said, server=STORE, end="")))
    assert {each.verdict for each in replayed.outcomes} == {Verdict.UNKNOWN}
    assert any(each.live for each in replayed.outcomes)
    assert {reason for each in replayed.outcomes for reason in each.reasons} == {
        "nothing that the server sent on the connection is in the recording"
    }
