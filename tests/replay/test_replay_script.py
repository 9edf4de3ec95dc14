"""Recordings as scripts: all that the client said is said again, or is left out for a reason; never half a frame."""

import itertools
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import Talk, packets_of
from tests.replay.talks import CLIENT, PLAIN, STORE, Says, appending, packets, reading, recorded, setting_up, talk
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter
from wiretool.replay.adapters import manners
from wiretool.replay.recording import recording_of
from wiretool.replay.script import PAUSE_MAX_NS, Hear, Leave, Open, Part, Say, Script, script_of, span_ns

SAYS = talk(setting_up(), appending(event=b"x" * 500), appending(2, event=b"y" * 90, request_id=5), reading())
FRAMES = [data for side, data in SAYS if side == "client"]


def of_packets(some: Collection[Packet]) -> Script:
    return script_of(recording_of(some), PLAIN)


def said(script: Script) -> list[bytes]:
    return [step.record.raw for step in script.steps if isinstance(step, Say)]


def reasons(script: Script) -> list[str]:
    return [each.why for each in script.left_out]


# -- captures --------------------------------------------------------------------------------------------------------


def test_every_frame_of_every_capture_is_said_or_left_out_for_a_reason(own_capture: tuple[Path, object]) -> None:
    recording = recording_of(read_packets([own_capture[0]]))
    known = manners()
    script = script_of(recording, known)
    whole = {each.dialogue for each in script.left_out if each.record is None}
    assert {*script.dialogues, *whole} == {dialogue for dialogue in recording.dialogues if dialogue.protocol}
    assert not whole & {*script.dialogues}
    assert all(reasons(script))
    done = [step.record.n for step in script.steps if isinstance(step, Say)]
    left = [each.record.n for each in script.left_out if each.record is not None]
    heard = {step.record.n for step in script.steps if isinstance(step, Hear)}
    assert len({*done, *left}) == len(done) + len(left)
    for dialogue in script.dialogues:
        is_carriage = known[dialogue.protocol].is_carriage
        frames = [each for each in dialogue.records if each.kind == "frame" and not is_carriage(each)]
        assert {each.n for each in frames if each.side == "client"} <= {*done, *left}
        assert {each.n for each in frames if each.side == "server"} <= heard


def test_steps_are_in_the_order_of_the_recording(own_capture: tuple[Path, object]) -> None:
    script = script_of(recording_of(read_packets([own_capture[0]])), manners())
    times = [step.time_ns for step in script.steps]
    assert span_ns(script.steps) == (times[-1] - times[0] if times else 0)
    for dialogue in script.dialogues:  # what a server did late is said late, and what its connection does then
        own = [step.time_ns for step in script.steps if step.dialogue is dialogue]
        assert own == sorted(own)
        mine = [type(step) for step in script.steps if step.dialogue is dialogue]
        assert mine[0] is Open
        assert mine.count(Open) == 1
        assert mine.count(Leave) <= 1


# -- holes -----------------------------------------------------------------------------------------------------------


@given(st.integers(20, 300), st.sets(st.integers(3, 60), max_size=6), st.sampled_from(["fin", "rst", ""]), st.data())
def test_with_holes_no_half_frame_is_said(mtu: int, lost: set[int], end: str, data: st.DataObject) -> None:
    way = Talk(CLIENT, STORE)
    way.open()
    for side, raw in SAYS:
        way.say(side, raw, mtu=mtu)
    if end:
        way.close(end)
    # What a server has acknowledged was said, so that the sniffer's losses are seen as holes.
    kept = [frame for at, frame in enumerate(way.frames) if at not in lost]
    script = of_packets(packets_of(kept))
    spoken = said(script)
    assert all(raw in FRAMES for raw in spoken)
    assert spoken == [raw for raw in FRAMES if raw in spoken]
    assert all(reasons(script))
    if len(spoken) < len(FRAMES):
        assert script.left_out


@given(st.integers(0, 200))
def test_half_a_frame_in_which_the_recording_ends_is_left_out(length: int) -> None:
    whole = packets(SAYS)
    sizes = [len(raw) for raw in FRAMES]
    script = of_packets(whole[: length % len(whole)])
    assert [len(raw) for raw in said(script)] == sizes[: len(said(script))]


def half_of_a_frame(*ends: int) -> Script:
    """The client stops within a frame; then sides end with these flags, the client where there is a FIN alone."""
    way = Talk(CLIENT, STORE)
    way.open()
    for side, raw in talk(setting_up()):
        way.say(side, raw)
    way.say("client", appending()[0][1][:-3])
    for flags in ends:
        way.send("client" if flags == FIN | ACK else "server", flags)
    return of_packets(packets_of(way.frames))


@pytest.mark.parametrize("flags", [FIN | ACK, RST | ACK])
def test_half_a_frame_that_was_all_the_client_said_is_said(flags: int) -> None:
    script = half_of_a_frame(flags)
    assert said(script)[-1] == appending()[0][1][:-3]
    assert not script.left_out


def test_half_a_frame_is_not_said_where_nobody_saw_its_end() -> None:
    script = half_of_a_frame()
    assert len(said(script)) == 2
    assert reasons(script) == ["the recording ends inside it"]


def test_bytes_that_are_no_frame_are_said_where_nothing_is_missing() -> None:
    bad: Says = [("client", bytes.fromhex("0000000b00000002ffff"))]
    script = of_packets(packets(talk(reading()) + bad))
    assert b"".join(said(script)) == b"".join(raw for _, raw in [*talk(reading()), *bad] if _ == "client")
    assert not script.left_out


def test_what_stands_before_the_first_trusted_frame_is_left_out() -> None:
    way = Talk(CLIENT, STORE)
    way.say("client", FRAMES[1][20:])
    for side, raw in SAYS[4:]:
        way.say(side, raw)
    script = of_packets(packets_of(way.frames))
    assert said(script) == FRAMES[2:]
    assert [why.split(":")[0] for why in reasons(script)] == ["after a gap of the recording"]


# -- what is not spoken again ----------------------------------------------------------------------------------------


def test_what_is_not_asked_for_is_left_out() -> None:
    recording = recorded(SAYS)
    script = script_of(recording, PLAIN, is_wanted=lambda record: record.message != "AppendBlockEnd")
    assert said(script) == [FRAMES[0], FRAMES[1], FRAMES[4]]
    assert [(each.record and each.record.message, each.why) for each in script.left_out] == [
        ("AppendBlockEnd", "not asked for"),
        ("AppendBlockEnd", "not asked for"),
    ]
    assert sum(isinstance(step, Hear) for step in script.steps) == 5


class Reserved(ReplayAdapter):
    """Says no Hello by itself."""

    def is_said(self, record: Record) -> bool:
        return record.message != "Hello"


def test_what_a_manner_does_not_say_is_left_out() -> None:
    script = script_of(recorded(SAYS), {"pravega": Reserved(PROTOCOLS["pravega"])})
    assert said(script) == FRAMES[1:]
    assert reasons(script) == ["none of the client's own"]


def test_a_protocol_without_a_manner_is_left_out_by_its_name() -> None:
    recording = recorded(SAYS, [("client", b"GET / HTTP/1.0\r\n\r\n" * 3)])
    script = script_of(recording, {})
    assert not script.steps
    assert [(each.dialogue.number, each.record, each.why) for each in script.left_out] == [
        (0, None, "pravega is not replayed")
    ]


# -- ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((("client", FIN | ACK), ("server", FIN | ACK)), [(Leave, "fin")]),
        ((("server", FIN | ACK), ("client", FIN | ACK)), [(Part, ""), (Leave, "fin")]),
        ((("client", RST | ACK),), [(Leave, "rst")]),
        ((("server", RST | ACK),), [(Part, "")]),
        ((("server", FIN | ACK), ("client", RST | ACK)), [(Part, ""), (Leave, "rst")]),
        ((), []),
    ],
)
def test_who_ended_first_parts_or_leaves(ends: list[tuple[str, int]], told: list[tuple[type, str]]) -> None:
    way = Talk(CLIENT, STORE)
    way.open()
    for side, raw in SAYS:
        way.say(side, raw)
    for who, flags in ends:
        side = "client" if who == "client" else "server"
        way.send(side, flags)
        way.next[side] += 1
    script = of_packets(packets_of(way.frames))
    found = [step for step in script.steps if isinstance(step, Leave | Part)]
    assert [(type(step), step.how if isinstance(step, Leave) else "") for step in found] == told


# -- pauses ------------------------------------------------------------------------------------------------------------

PAUSE_S = 100
PAUSE_NS = PAUSE_S * 10**9


def with_pause(talks: Collection[Packet], behind: int) -> Script:
    """Return the script of the packets, with a pause after the one of that number."""
    return of_packets([each._replace(time_ns=each.time_ns + PAUSE_NS * (each.number > behind)) for each in talks])


def test_a_pause_that_no_connection_lasts_through_is_shortened() -> None:
    talks = packets(SAYS, SAYS)
    usual = of_packets(talks)
    paused = with_pause(talks, len(talks) // 2)
    assert paused.skipped_ns == pytest.approx(PAUSE_NS - PAUSE_MAX_NS, abs=1e8)
    assert span_ns(paused.steps) == pytest.approx(span_ns(usual.steps) + PAUSE_MAX_NS, abs=1e8)
    assert len(paused.steps) == len(usual.steps)


def test_a_pause_of_a_connection_stays() -> None:
    talks = packets(SAYS, SAYS)
    paused = with_pause(talks, talks[len(talks) // 4].number)
    assert paused.skipped_ns == 0
    assert span_ns(paused.steps) > PAUSE_NS


def test_several_captures_leave_no_pause_longer_than_the_longest() -> None:
    captures = Path(__file__).parents[2] / "captures" / "sbp"
    script = script_of(
        recording_of(read_packets([captures / "rs_append.pcap", captures / "sdk_main.pcap"])), {"sbp": manners()["sbp"]}
    )
    pauses = [later.time_ns - earlier.time_ns for earlier, later in itertools.pairwise(script.steps)]
    assert max(pauses) == PAUSE_MAX_NS
    assert script.skipped_ns > 0
