"""Properties of a comparison: what was changed is what is told, and all else is the same."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.forms import PLAIN_MANNERS, changed, is_declared, leaves_of
from tests.replay.talks import PLAIN, STORE, Says, appending, packets, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.capture.files.reading import read_packets
from wiretool.replay.adapter import Difference, Steps, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.recording import recording_of

ALIKE = {Verdict.SAME, Verdict.NOISE}


def of_file(path: Path) -> Recording:
    return recording_of(read_packets([path]))


def with_records(recording: Recording, others: Mapping[int, object]) -> Recording:
    """The recording with other records under these numbers; None takes one out."""
    made = Recording()
    for each in recording.dialogues:
        copy = Dialogue(each.number, each.client, each.server, each.protocol, each.is_opened)
        kept = [others.get(record.n, record) for record in each.records]
        copy.records = [record for record in kept if record is not None]  # type: ignore[misc]
        made.dialogues.append(copy)
    return made


def findings(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.verdict.is_finding]


# -- captures --------------------------------------------------------------------------------------------------------


def test_every_capture_is_as_itself_in_whatever_order(own_capture: tuple[Path, object]) -> None:
    recording = of_file(own_capture[0])
    shuffled = random.Random(5).sample(recording.dialogues, len(recording.dialogues))
    outcomes = compare(recording, Recording(shuffled, recording.events), PLAIN_MANNERS)
    assert {outcome.verdict for outcome in outcomes if not is_one_sided(outcome.dialogue)} <= ALIKE
    assert {outcome.verdict for outcome in outcomes if is_one_sided(outcome.dialogue)} <= {Verdict.UNKNOWN}


def is_one_sided(dialogue: Dialogue) -> bool:
    """Return whether the capture has one direction of a connection only; a server may just have ended it."""
    return not (dialogue.is_heard and any(record.side == "client" for record in dialogue.records))


def place_without_a_role(recording: Recording) -> tuple[int, Steps, object]:
    """Number of a reply that was asked for, a place in it, and the reply with another value there."""
    asked = {each.n for dialogue in recording.dialogues for each in dialogue.records if each.side == "client"}
    for dialogue in recording.dialogues:
        for record in dialogue.records:
            if record.side == "client" or record.reply_to not in asked or not is_declared(record):
                continue
            manner = PLAIN_MANNERS[record.protocol]
            form = manner.form(record)
            if manner.dialect.is_carriage(record):
                continue
            taken = [place.steps[0] for place in manner.places(record, form)]
            ids = [pattern[0] for pattern in manner.dialect.client_ids((record.side, record.message))]
            for steps, value in leaves_of(form) if form else ():
                other = changed(record, steps, value)
                if other is not None and steps[0] not in taken + ids:
                    return record.n, steps, other
    raise LookupError("no reply that can be changed")


@pytest.mark.parametrize(
    "name",
    [
        "pravega/read.pcap",
        "pravega/java_pool4.pcap",
        "sbp/rs_fetch.pcap",
        "sbp/pd_ranges.pcap",
        "sbp-0.1/pm_s2_batch.pcap",
        "offramp/plain.pcap",
        "pravega-draft/blocks.pcap",
    ],
)
def test_one_changed_reply_of_a_capture_is_the_one_difference(name: str) -> None:
    recording = of_file(Path(__file__).parents[2] / "captures" / name)
    n, steps, other = place_without_a_role(recording)
    (found,) = findings(compare(recording, with_records(recording, {n: other}), PLAIN_MANNERS))
    assert n in [record.n for record in found.recorded]
    (difference,) = found.differences
    assert steps[: len(difference.steps)] == difference.steps
    assert found.recorded[difference.at].n == n


# -- conversations ---------------------------------------------------------------------------------------------------

#: None of them like another.
TALKS: list[Says] = [
    talk(*(reading(segment="s/a/0", offset=n, request_id=n) for n in range(1, 7))),
    talk(setting_up(segment="s/b/0"), *(appending(n, request_id=n) for n in range(5))),
    talk(setting_up(segment="s/c/0"), reading(segment="s/c/0")),
]
#: Those on which nothing else hangs, as appends do on the setup of their writer.
EXCHANGES = [(at, number) for at, says in enumerate(TALKS) for number in range(2, len(says) // 2)]


@given(st.permutations(range(len(TALKS))), st.sampled_from(EXCHANGES), st.booleans())
def test_an_exchange_that_one_lacks_is_told_whoever_lacks_it(
    order: list[int], place: tuple[int, int], is_reply_left: bool
) -> None:
    """In whatever order the connections are; a reply that only its request is left of is missing by itself."""
    at, number = place
    less = [TALKS[each] for each in order]
    keep = 2 * number + is_reply_left
    less[order.index(at)] = TALKS[at][:keep] + TALKS[at][2 * number + 2 :]
    whole, lacking = recorded(*TALKS), recorded(*less)
    (missing,) = findings(compare(whole, lacking, PLAIN))
    (extra,) = findings(compare(lacking, whole, PLAIN))
    assert (missing.verdict, extra.verdict) == (Verdict.MISSING, Verdict.EXTRA)
    asked = missing.request
    assert asked is not None
    assert missing.dialogue.number == at
    assert asked.raw == TALKS[at][2 * number][1]
    (difference,) = missing.differences
    assert difference.live is ABSENT
    assert difference.at == (0 if is_reply_left else -1)
    assert extra.differences == [Difference((), ABSENT, difference.expected, difference.at)]


@given(st.permutations(range(len(TALKS))), st.sampled_from(range(len(TALKS))))
def test_a_conversation_that_was_removed_is_the_one_that_is_missing(order: list[int], removed: int) -> None:
    whole, less = recorded(*TALKS), recorded(*(TALKS[at] for at in order if at != removed))
    outcomes = compare(whole, less, PLAIN)
    (missing,) = findings(outcomes)
    assert (missing.verdict, missing.dialogue.number, missing.request) == (Verdict.MISSING, removed, None)
    assert {outcome.verdict for outcome in outcomes if outcome is not missing} == {Verdict.SAME}
    (extra,) = findings(compare(less, whole, PLAIN, ("old", "new")))
    assert extra.reasons[0].startswith("only in new; no conversation of old is like it: ")


def test_of_a_damaged_capture_nothing_is_missing() -> None:
    whole, less = recorded(*TALKS), recorded(*TALKS[:2])
    less.is_cut = True
    outcomes = compare(whole, less, PLAIN)
    assert not findings(outcomes)
    (unknown,) = [outcome for outcome in outcomes if outcome.verdict is Verdict.UNKNOWN]
    assert unknown.dialogue.number == 2
    assert [outcome.verdict for outcome in findings(compare(whole, recorded(*TALKS[:2]), PLAIN))] == [Verdict.MISSING]


def test_ids_that_are_exchanged_between_connections_are_each_their_own() -> None:
    """Request 1 of one connection is not that of another: in each they are learnt anew."""
    one = recorded(talk(reading(request_id=1), reading(offset=4, request_id=2)), talk(reading(segment="s/b/0")))
    other = recorded(talk(reading(request_id=2), reading(offset=4, request_id=1)), talk(reading(segment="s/b/0")))
    assert findings(compare(one, other, PLAIN)) == []
    crossed = talk(reading(request_id=1), reading(offset=4, request_id=2))
    wrong = crossed[:3] + reading(request_id=2)[1:] + crossed[4:5] + reading(offset=4, request_id=1)[1:]
    assert findings(compare(one, recorded(wrong, talk(reading(segment="s/b/0"))), PLAIN))


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_side_that_was_not_captured_has_not_failed_to_speak(side: str) -> None:
    says = talk(setting_up(), *(appending(n, request_id=n) for n in range(1, 9)), reading())
    port = STORE[1].to_bytes(2, "big")
    half = recording_of(packet for packet in packets(says) if (packet.data[34:36] == port) == (side == "client"))
    for outcomes in (compare(recorded(says), half, PLAIN), compare(half, recorded(says), PLAIN)):
        assert [outcome for outcome in outcomes if outcome.verdict.is_finding] == []
        assert any(outcome.verdict is Verdict.UNKNOWN and outcome.reasons for outcome in outcomes)
    if side == "server":
        reasons = {reason for outcome in compare(recorded(says), half, PLAIN) for reason in outcome.reasons}
        assert reasons == {"B has nothing that the server of this conversation sent"}


def test_a_changed_request_is_found_where_the_server_was_not_captured() -> None:
    half = recording_of(
        packet
        for packet in packets(talk(setting_up(), appending(event=b"jello")))
        if packet.data[34:36] != STORE[1].to_bytes(2, "big")
    )
    found = findings(compare(recorded(talk(setting_up(), appending(event=b"hello"))), half, PLAIN))
    assert [difference.steps for each in found for difference in each.differences] == [("data",)]
