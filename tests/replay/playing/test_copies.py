"""Copies of recordings: the same but for the names that clients gave themselves."""

from pathlib import Path
from uuid import UUID

import pytest

from tests.replay.stage import Stage
from tests.replay.talks import WRITER, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Recording, Told
from wiretool.capture.files.reading import read_packets
from wiretool.replay.adapters import manners
from wiretool.replay.judging.judge import differences
from wiretool.replay.mocks import mocks_for
from wiretool.replay.playing.copies import copy_of
from wiretool.replay.playing.player import Player
from wiretool.replay.playing.player_group import Chorus
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.options import MockOptions

KNOWN = manners()
OTHER = str(UUID(int=8))


def writers(recording: Recording) -> set[str]:
    records = (record for dialogue in recording.dialogues for record in dialogue.records)
    return {each for record in records if (each := getattr(record.fields, "writer_id", None))}


def test_copy_0_is_the_recording() -> None:
    recording = recorded(talk(setting_up(), appending()))
    assert copy_of(recording, KNOWN, 0) is recording


def test_a_copy_differs_in_names_alone(own_capture: tuple[Path, object]) -> None:
    recording = recording_of(read_packets([own_capture[0]]))
    copy = copy_of(recording, KNOWN, 3)
    assert len(copy.dialogues) == len(recording.dialogues)
    assert [type(event) for event in copy.events] == [type(event) for event in recording.events]
    for dialogue, other in zip(recording.dialogues, copy.dialogues, strict=True):
        assert other is not dialogue
        assert (other.number, other.name, other.protocol, other.is_opened) == (
            (dialogue.number, dialogue.name, dialogue.protocol, dialogue.is_opened)
        )
        assert len(other.records) == len(dialogue.records)
        for record, renamed in zip(dialogue.records, other.records, strict=True):
            if renamed == record:
                continue
            manner = KNOWN[record.protocol]
            found = list(differences(manner.form(record), manner.form(renamed)))
            assert all(isinstance(each.expected, str) and isinstance(each.live, str) for each in found)
            assert (renamed.n, renamed.reply_to, renamed.time_ns) == (record.n, record.reply_to, record.time_ns)


def test_events_of_a_copy_are_of_its_own_connections() -> None:
    recording = recorded(talk(setting_up(), appending()), talk(reading()))
    copy = copy_of(recording, KNOWN, 1)
    records = {id(record) for dialogue in copy.dialogues for record in dialogue.records}
    assert {event.dialogue for event in copy.events} == {*copy.dialogues}
    assert all(id(event.record) in records for event in copy.events if isinstance(event, Told))
    assert [event.time_ns for event in copy.events] == [event.time_ns for event in recording.events]


@pytest.mark.parametrize("number", [1, 2, 77])
def test_names_of_a_copy_are_nobody_elses(number: int) -> None:
    one = talk(setting_up(), appending(), setting_up(writer=OTHER, request_id=4))
    recording = recorded(one)
    before = recorded(one)
    copies = [copy_of(recording, KNOWN, each) for each in (number, number + 1)]
    names = [writers(recording), *map(writers, copies)]
    assert names[0] == {WRITER, OTHER}
    assert [len(each) for each in names] == [2, 2, 2]
    assert len(set().union(*names)) == 6
    assert writers(copy_of(recording, KNOWN, number)) == names[1]
    assert [each.records for each in recording.dialogues] == [each.records for each in before.dialogues]


def test_what_is_renamed_is_renamed_on_all_connections_alike() -> None:
    copy = copy_of(recorded(talk(setting_up(), appending()), talk(setting_up(), appending())), KNOWN, 5)
    assert len(writers(copy)) == 1
    messages = [record.message for each in copy.dialogues for record in each.records if WRITER in repr(record.fields)]
    assert messages == []
    (name,) = writers(copy)
    said = [record for record in copy.dialogues[1].records if hasattr(record.fields, "writer_id")]
    assert [UUID(name).bytes in record.raw for record in said] == [True] * 4


def test_a_protocol_without_a_manner_is_as_it_was() -> None:
    recording = recorded(talk(setting_up(), appending()))
    copy = copy_of(recording, {}, 1)
    assert [each.records for each in copy.dialogues] == [each.records for each in recording.dialogues]
    assert copy.events != recording.events


OWN = Path(__file__).parents[3] / "captures"
SHARING = ["offramp/plain.pcap", "offramp/plain_resume.pcap", "offramp/framing.pcap", "pravega-draft/blocks.pcap"]


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("rounds", [[[0, 1, 2]], [[0], [1]], [[2, 1], [3]]])
def test_copies_share_a_mock_and_hear_what_was_recorded(name: str, rounds: list[list[int]]) -> None:
    recording = recording_of(read_packets([OWN / name]))
    protocols = {dialogue.protocol for dialogue in recording.dialogues}
    copies = {number: copy_of(recording, KNOWN, number) for each in rounds for number in each}
    players: dict[int, Player] = {}
    for number, copy in copies.items():
        own = {protocol: manner for protocol, manner in manners().items() if protocol in protocols}
        numbers = iter(range(100 * number + 1, 100 * number + 100))
        players[number] = Player(script_of(copy, own), own, prepare=copy, numbers=numbers)
    known = {protocol: manner for protocol, manner in manners().items() if protocol in protocols}
    first, *others = copies.values()
    mocks = mocks_for(first, known, MockOptions(), others)
    Stage(Chorus([[players[number] for number in each] for each in rounds]), mocks).play()  # type: ignore[arg-type]
    told = [sorted(each.verdict for each in player.outcomes()) for player in players.values()]
    assert told[0]
    assert all(each == told[0] for each in told)
    assert not any(verdict.is_finding for each in told for verdict in each)
