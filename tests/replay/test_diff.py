"""Two recordings compared: what is the same whatever ids stand in it, and what is not."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.helpers.examples import needs_protocol
from tests.replay.talks import (
    PLAIN,
    WRITER,
    alive,
    appending,
    differing,
    greeting,
    packets,
    reading,
    recorded,
    setting_up,
    talk,
)
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.errors import CaptureError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import Difference, ReplayAdapter, Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.diff.comparing import compare
from wiretool.replay.diff.varying import without_varying
from wiretool.replay.judging.accept import ignore
from wiretool.replay.judging.field_selector import Spot
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.recording import recording_of

OTHER_WRITER = str(UUID(int=8))
CAPTURES = Path(__file__).parent.parent.parent / "captures"
EVERY = {name: ReplayAdapter(protocol) for name, protocol in PROTOCOLS.items()} | dict(manners())


def of_file(path: Path) -> Recording:
    return recording_of(read_packets([path]))


def test_a_recording_is_as_itself() -> None:
    one = recorded(talk(setting_up(), appending(), reading(), alive()))
    outcomes = compare(one, one, PLAIN)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.SAME}
    assert [outcome.request.message for outcome in outcomes if outcome.request] == [
        "Hello",
        "SetupAppend",
        "AppendBlockEnd",
        "ReadSegment",
        "KeepAlive",
    ]


def test_ids_of_clients_are_another_in_each_run() -> None:
    one = recorded(talk(setting_up(), appending(), reading()))
    other = recorded(
        talk(
            setting_up(writer=OTHER_WRITER, request_id=101),
            appending(writer=OTHER_WRITER, request_id=102),
            reading(request_id=103),
        )
    )
    outcomes = compare(one, other, PLAIN)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.SAME, *[Verdict.MAPPED] * 3]


def test_an_id_that_is_not_that_of_the_request_is_found() -> None:
    one = recorded(talk(setting_up(), appending(1), appending(2, request_id=4)))
    wrong = setting_up(writer=OTHER_WRITER)[:1] + setting_up()[1:]
    other = recorded(talk(wrong, appending(1, writer=OTHER_WRITER), appending(2, request_id=4, writer=OTHER_WRITER)))
    (outcome,) = differing(one, other)
    assert outcome.differences == [Difference(("writer_id",), OTHER_WRITER, WRITER)]


def test_a_changed_field_of_a_reply_is_the_one_difference() -> None:
    one = recorded(talk(setting_up(), *(appending(n, request_id=n + 5) for n in range(20)), reading()))
    other = recorded(talk(setting_up(), *(appending(n, request_id=n + 5) for n in range(20)), reading(at_tail=False)))
    (outcome,) = differing(one, other)
    assert outcome.verdict is Verdict.DIFFERENT
    assert outcome.differences == [Difference(("at_tail",), True, False)]
    assert outcome.request is not None
    assert outcome.request.message == "ReadSegment"


def test_a_changed_field_of_a_request_is_found_in_the_request() -> None:
    one = recorded(talk(setting_up(), appending(event=b"hello")))
    other = recorded(talk(setting_up(), appending(event=b"jello")))
    (outcome,) = differing(one, other)
    assert [(difference.steps, difference.at) for difference in outcome.differences] == [(("data",), -1)]


def test_what_grows_may_have_begun_elsewhere_and_one_place_does_not_say_where() -> None:
    lengths = [13 * number for number in range(1, 9)]
    elsewhere = [lengths[0], *(length + 1000 for length in lengths[1:])]
    one, other = (
        recorded(talk(setting_up(), *(appending(n, request_id=n, length=each) for n, each in enumerate(all_of, 1))))
        for all_of in (lengths, elsewhere)
    )
    outcomes = compare(one, other, PLAIN)
    assert [outcome.verdict for outcome in outcomes[3:]] == [Verdict.MAPPED] * 7
    (wrong,) = [outcome for outcome in outcomes if outcome.verdict.is_finding]
    assert wrong.differences == [Difference(("current_segment_write_offset",), 1013, 13)]


def test_what_only_one_has_is_missing_or_extra_and_moves_nothing_else() -> None:
    events = [appending(n, request_id=n, event=b"%d" % n) for n in range(1, 6)]
    whole, less = recorded(talk(setting_up(), *events)), recorded(talk(setting_up(), *events[1:]))
    (missing,) = differing(whole, less)
    (extra,) = differing(less, whole)
    assert (missing.verdict, extra.verdict) == (Verdict.MISSING, Verdict.EXTRA)
    assert missing.differences == [Difference((), "AppendBlockEnd", ABSENT, -1)]
    assert extra.differences == [Difference((), ABSENT, "AppendBlockEnd", -1)]
    assert extra.dialogue is whole.dialogues[0]


def test_a_reply_that_does_not_come_is_missing() -> None:
    one = recorded(talk(setting_up(), appending(), reading()))
    other = recorded(talk(setting_up(), appending()[:1], reading()))
    assert [outcome.differences for outcome in differing(one, other)] == [[Difference((), "DataAppended", ABSENT, 0)]]
    assert [outcome.verdict for outcome in differing(other, one)] == [Verdict.EXTRA]


def test_signs_of_life_come_when_they_come() -> None:
    one, other = recorded(talk(reading(), alive(), alive())), recorded(talk(alive(), reading()))
    assert differing(one, other) == []
    assert [outcome.verdict for outcome in compare(one, other, PLAIN)].count(Verdict.EXPLAINED) == 1


def test_conversations_are_matched_by_what_they_say() -> None:
    first, second = talk(reading(segment="s/a/0")), talk(reading(segment="s/b/0"))
    assert differing(recorded(first, second), recorded(second, first)) == []


def test_a_conversation_without_a_counterpart_is_told() -> None:
    first, second = talk(reading()), talk(setting_up(), *(appending(n, request_id=n) for n in range(30)))
    (missing,) = differing(recorded(first, second), recorded(first))
    (extra,) = differing(recorded(first), recorded(first, second))
    assert missing.reasons == ["only in A; no conversation of B is like it: AppendBlockEnd 30, Hello 1, SetupAppend 1"]
    assert extra.reasons[0].startswith("only in B; no conversation of A is like it")
    assert (missing.verdict, extra.verdict) == (Verdict.MISSING, Verdict.EXTRA)


def test_nobody_can_say_what_was_in_a_hole() -> None:
    says = talk(setting_up(), *(appending(n, request_id=n, event=bytes(1000)) for n in range(1, 9)))
    whole = packets(says)
    big = [at for at, packet in enumerate(whole) if len(packet.data) > 1000]
    torn = recording_of(packet for at, packet in enumerate(whole) if at != big[3])
    outcomes = compare(recorded(says), torn, PLAIN)
    reasons = [outcome.reasons for outcome in outcomes if outcome.verdict is Verdict.UNKNOWN]
    assert reasons == [["bytes of this conversation are missing in B"]] * len(reasons) != []
    assert not [outcome for outcome in outcomes if outcome.verdict.is_finding]


def test_nobody_can_say_what_came_behind_the_end_of_a_damaged_capture() -> None:
    says = talk(setting_up(), *(appending(n, request_id=n) for n in range(1, 9)))
    whole = packets(says, talk(reading()))

    def broken() -> Iterator[Packet]:
        yield from whole[:20]
        raise CaptureError("b.pcap", "the record of packet 21 ends early", offset=1000)

    cut = recording_of(broken())
    assert str(cut.damage) == "b.pcap: byte 1000: the record of packet 21 ends early"
    outcomes = compare(recording_of(whole), cut, PLAIN)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.SAME, Verdict.UNKNOWN}
    outcomes = compare(cut, recording_of(whole), PLAIN)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.SAME, Verdict.UNKNOWN}


def test_broken_frames_are_a_difference() -> None:
    bad = ("server", bytes.fromhex("0000000b00000002ffff"))
    one, other = recorded(talk(reading())), recorded([*talk(reading()), bad])  # type: ignore[list-item]
    broken, extra = differing(one, other)
    assert broken.reasons[0].startswith("only B has this problem, A does not: truncated-field of the server: at byte 8")
    assert extra.verdict is Verdict.EXTRA


def test_what_is_ignored_is_noise() -> None:
    one, other = recorded(talk(reading())), recorded(talk(reading(at_tail=False, data=b"other")))
    outcomes = compare(one, other, PLAIN)
    ignore(outcomes, [Spot("SegmentRead", ("at_tail",))])
    (left,) = [outcome for outcome in outcomes if outcome.verdict.is_finding]
    assert [difference.steps for difference in left.differences] == [("data",)]
    ignore(outcomes, [Spot("SegmentRead", ())])
    assert left.verdict is Verdict.NOISE


def test_what_differs_between_two_of_the_same_is_noise() -> None:
    one = recorded(talk(reading(data=b"1"), reading(offset=5)))
    other = recorded(talk(reading(data=b"2"), reading(offset=5, at_tail=False)))
    like_one = recorded(talk(reading(data=b"3"), reading(offset=5)))
    outcomes = compare(one, other, PLAIN)
    without_varying(outcomes, compare(one, like_one, PLAIN))
    (left,) = [outcome for outcome in outcomes if outcome.verdict.is_finding]
    assert [difference.steps for difference in left.differences] == [("at_tail",)]


def test_a_missing_request_is_noise_where_another_run_lacks_it_too() -> None:
    one = recorded(talk(reading(), reading(offset=5), appending()))
    other = recorded(talk(reading(), appending()))
    for like_one, count in ((other, 0), (recorded(talk(reading(offset=5), appending())), 1)):
        outcomes = compare(one, other, PLAIN)
        without_varying(outcomes, compare(one, like_one, PLAIN))
        assert sum(outcome.verdict.is_finding for outcome in outcomes) == count


def test_what_no_protocol_of_ours_says_is_no_conversation() -> None:
    assert compare(recorded(greeting()), Recording(), PLAIN)[0].verdict is Verdict.MISSING
    assert compare(Recording(), Recording(), PLAIN) == []


# -- captures --------------------------------------------------------------------------------------------------------


def test_every_capture_is_as_itself(own_capture: tuple[Path, object]) -> None:
    path, _ = own_capture
    recording = of_file(path)
    outcomes = compare(recording, recording, EVERY)
    heard = [each for each in recording.dialogues if each.is_heard]  # a server may just have ended a connection
    both = {each for each in heard if any(record.side == "client" for record in each.records)}
    assert {outcome.verdict for outcome in outcomes if outcome.dialogue in both} <= {Verdict.SAME, Verdict.NOISE}
    assert {outcome.verdict for outcome in outcomes if outcome.dialogue not in both} <= {Verdict.UNKNOWN}
    frames = [record for dialogue in recording.dialogues for record in dialogue.records if record.kind == "frame"]
    assert bool(outcomes) == bool(frames)


@needs_protocol("offramp")
@pytest.mark.parametrize("name", ["plain_ipv6.pcap", "plain_nano.pcap", "plain_any_sll2.pcap", "plain_dumpcap.pcapng"])
def test_another_run_of_the_same_client_is_the_same(name: str) -> None:
    """Each with a server, an address, a key and a time of its own."""
    outcomes = compare(of_file(CAPTURES / "offramp/plain.pcap"), of_file(CAPTURES / "offramp" / name), EVERY)
    assert [outcome for outcome in outcomes if outcome.verdict.is_finding] == []
    assert sum(outcome.verdict is Verdict.SAME for outcome in outcomes) > 10


@needs_protocol("offramp")
@pytest.mark.parametrize("name", ["u2k_drop5.pcap", "u2k_snap96.pcap"])
def test_what_is_lost_makes_no_finding(name: str) -> None:
    outcomes = compare(of_file(CAPTURES / "offramp/u2k_gzip.pcap.gz"), of_file(CAPTURES / "offramp" / name), EVERY)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.SAME, Verdict.UNKNOWN}


def test_other_clients_say_other_things() -> None:
    one, other = of_file(CAPTURES / "pravega/read.pcap"), of_file(CAPTURES / "pravega/java_conditional.pcap")
    found = [outcome for outcome in compare(one, other, EVERY) if outcome.verdict.is_finding]
    assert len(found) > 10
