"""Answers that the recording lacks must still be such as the protocol has: a replay and a comparison find others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.census.lie import Lie
from tests.bench.census.play import Played, Reply, Rewrite, encoded, play
from tests.bench.census.telling import teller
from tests.conftest import SHARED
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Message
from wiretool.faults.actions import Change
from wiretool.faults.adapter import FaultAdapter
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega import failures, messages, segments
from wiretool.protocols.pravega.replay.answers import may_answer
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.compare_servers import grid
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.recording import recording_of

CAPTURES = SHARED / "captures"
PROBES = CAPTURES / "pravega-server" / "probes"
SBP = CAPTURES / "sbp-server"
Fields = dict[tuple[str, ...], Any]


def recording(path: Path) -> Recording:
    return recording_of(read_packets([path]))


def say(name: str, fields: Fields, *, skip: int = 0, times: int = 1) -> tuple[Rewrite, Callable[[], bool]]:
    """Return what changes the reply that comes after `skip` others of its name, and whether it has."""
    seen: list[Reply] = []

    def rewrite(reply: Reply, dialect: FaultAdapter, conversation: Conversation) -> bytes:
        if reply.record.message != name:
            return reply.record.raw
        seen.append(reply)
        if len(seen) != skip + 1:
            return reply.record.raw
        form = dialect.changed(reply.form, [Change(steps, value) for steps, value in fields.items()])
        made = encoded(reply, form, dialect, conversation)
        assert made is not None
        return made * times

    return rewrite, lambda: len(seen) > skip


def check_found(path: Path, name: str, fields: Fields, *, skip: int = 0, times: int = 1) -> tuple[Played, Played]:
    """Check that a replay finds it, and a comparison with an honest server."""
    honest = play(recording(path), seed=1)
    assert not any(each.verdict.is_finding for each in honest.outcomes)
    rewrite, has_lied = say(name, fields, skip=skip, times=times)
    lying = play(recording(path), rewrite, seed=2)
    assert has_lied()
    assert any(each.verdict.is_finding for each in lying.outcomes)
    assert list(grid(honest.outcomes, lying.outcomes))
    return honest, lying


# -- Pravega -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probe", "name", "fields"),
    [
        ("frame_good_then_unknown", "Hello", {("low_version",): 13, ("high_version",): 8}),
        ("frame_info_then_unknown", "StreamSegmentInfo", {("is_deleted",): True}),
        ("frame_info_then_unknown", "StreamSegmentInfo", {("write_offset",): 12345}),
        ("auth_expired", "NoSuchSegment", {("offset",): -1}),
    ],
)
def test_an_answer_of_which_the_recording_has_none_is_judged(probe: str, name: str, fields: Fields) -> None:
    check_found(PROBES / f"{probe}.pcap", name, fields)


def test_an_ack_comes_once_though_its_append_outran_the_setup() -> None:
    check_found(PROBES / "setup_no_wait.pcap", "DataAppended", {}, times=2)


def test_an_append_to_a_sealed_segment_is_refused_with_its_own_event_number() -> None:
    path = PROBES / "append_sealed_midway.pcap"
    told = [each.form for each in play(recording(path)).replies if each.record.message == "SegmentIsSealed"]
    assert [form["offset"] for form in told] == [2, 3]
    check_found(path, "SegmentIsSealed", {("offset",): 2}, skip=1)


def test_no_two_transient_segments_have_one_name() -> None:
    """The recorded store refused both: nothing shows the names that it would have made up."""
    path = PROBES / "auth_bad.pcap"
    names = [each.form["segment"] for each in play(recording(path), seed=2).replies if "Created" in each.record.message]
    assert len(set(names)) == len(names) > 1
    check_found(path, "SegmentCreated", {("segment",): names[0]}, skip=1)


@pytest.mark.parametrize(
    ("request_", "reply", "may"),
    [
        (messages.Hello(high_version=17, low_version=5), messages.Hello(high_version=16, low_version=5), True),
        (messages.Hello(high_version=17, low_version=5), messages.Hello(high_version=4, low_version=5), False),
        (messages.Hello(high_version=17, low_version=5), messages.Hello(high_version=17, low_version=4), False),
    ],
)
def test_servers_speak_the_versions_of_the_reference(request_: Message, reply: Message, may: bool) -> None:
    assert may_answer(request_, reply) is may


@pytest.mark.parametrize(("start", "end", "may"), [(0, 9, True), (9, 9, True), (10, 9, False), (-1, 9, False)])
def test_a_segment_begins_before_its_end(start: int, end: int, may: bool) -> None:
    asked = segments.GetStreamSegmentInfo(request_id=1, segment_name="s/t/0", delegation_token="")
    told = segments.StreamSegmentInfo(
        request_id=1,
        segment_name="s/t/0",
        exists=True,
        is_sealed=False,
        is_deleted=False,
        last_modified=1,
        write_offset=end,
        start_offset=start,
    )
    assert may_answer(asked, told) is may


def test_a_missing_segment_is_told_with_the_offset_that_was_read() -> None:
    asked = messages.ReadSegment(segment="s/t/0", offset=5, suggested_length=9, delegation_token="", request_id=1)

    def told(offset: int) -> Message:
        return failures.NoSuchSegment(request_id=1, segment="s/t/0", server_stack_trace="", offset=offset)

    assert may_answer(asked, told(5))
    assert not may_answer(asked, told(4))


# -- SBP ---------------------------------------------------------------------------------------------------------------

HEADER = ("header", "fields")


@pytest.mark.parametrize(
    "fields",
    [
        {(*HEADER, "throttle_time_ms"): -8},
        {(*HEADER, "status", "code"): 1463},
        {(*HEADER, "status", "code"): 1200},
        {("header_format",): 2},
    ],
    ids=lambda fields: "-".join(next(iter(fields))),
)
def test_an_answer_that_the_recorded_range_server_kept_back_is_judged(fields: Fields) -> None:
    check_found(SBP / "rs_too_large.pcap", "FETCH", fields)


def test_an_answer_to_another_operation_is_found() -> None:
    path = SBP / "rs_too_large.pcap"
    honest = play(recording(path), seed=1)
    fetch, ping = (next(x for x in honest.replies if x.record.message == name) for name in ("FETCH", "PING"))
    lying = play(recording(path), teller(Lie("replace", fetch, other=ping)), seed=1)
    assert any(each.verdict.is_finding for each in lying.outcomes)


# -- two servers -------------------------------------------------------------------------------------------------------


def test_two_servers_are_compared_in_all_fields_of_an_answer_that_the_recording_has_otherwise() -> None:
    """Both say NoSuchSegment, where the recorded store asked for another token; of another segment is a difference."""
    path = PROBES / "auth_bad.pcap"
    honest, lying = check_found(path, "NoSuchSegment", {("segment",): "probe/other/0.#epoch.0"})
    (row,) = grid(honest.outcomes, lying.outcomes)
    assert row.says_one.startswith("NoSuchSegment: segment 'probe/none/0.#epoch.0'")
    assert row.says_other.startswith("NoSuchSegment: segment 'probe/other/0.#epoch.0'")


def test_two_servers_are_compared_in_more_fields_than_a_row_shows() -> None:
    replayed = play(recording(PROBES / "read_normal.pcap"))
    (found,) = (each for each in replayed.outcomes if each.request and each.request.message == "ReadSegment")

    def outcome(last: int) -> Outcome:
        made = Outcome(found.dialogue, found.request, found.recorded, list(found.live))
        made.note(Verdict.DIFFERENT, "", [Difference((name,), 0, 1) for name in "abcd"])
        made.note(Verdict.DIFFERENT, "", [Difference(("e",), 0, last)])
        return made

    assert not list(grid([outcome(1)], [outcome(1)]))
    (row,) = grid([outcome(1)], [outcome(2)])
    assert (row.says_one, row.says_other) == (
        "SegmentRead: e 1, a 1, b 1, c 1, 1 more",
        "SegmentRead: e 2, a 1, b 1, c 1, 1 more",
    )


@pytest.mark.parametrize(
    "path", [PROBES / "cond_pipelined.pcap", SBP / "pd_crash_no_header.pcap"], ids=lambda p: p.stem
)
def test_two_honest_servers_answer_alike_though_several_things_are_unasked_on_a_connection(path: Path) -> None:
    assert not list(grid(play(recording(path), seed=1).outcomes, play(recording(path), seed=2).outcomes))
