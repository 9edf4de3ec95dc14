"""What a replay says that it would do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.replay.talks import PLAIN, SEGMENT, Says, alive, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Recording
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Issued, Message, Position
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import Hello, KeepAlive
from wiretool.replay import plan
from wiretool.replay.adapter import ReplayAdapter, Talk
from wiretool.replay.adapters import manners
from wiretool.replay.plan import Exchanged, exchanged_in, plan_lines, prepared_for
from wiretool.replay.playing.id_map import Values
from wiretool.replay.recording import recording_of
from wiretool.replay.script import Hear, Say, Script, script_of


def planned(recording: Recording, *, is_prepared: bool = False, **options: Any) -> list[str]:
    script = script_of(recording, PLAIN, **options)
    return list(plan_lines(recording, script, PLAIN, is_prepared=is_prepared))


def exchanged(recording: Recording) -> list[Exchanged]:
    return exchanged_in(script_of(recording, PLAIN), PLAIN)


# -- connections -----------------------------------------------------------------------------------------------------


def test_each_connection_is_told_with_what_is_said_on_it() -> None:
    half = talk() + reading()[:1]
    half[-1] = (half[-1][0], half[-1][1][:-4])
    lines = planned(recorded(talk(setting_up(), alive(), alive()), half))
    first, second = lines[:2]
    assert first.split("  ")[-1] == (
        "connection 0 (10.0.0.1:40000 -> 10.0.0.2:12345), pravega: 1 Hello, 1 SetupAppend, 2 KeepAlive"
    )
    assert first.startswith(" 0.000000 s  ")
    assert second.endswith("pravega: 1 Hello, 1 bytes outside frames")


def test_a_connection_on_which_nothing_is_wanted_is_told_to_be_left_out() -> None:
    heading, why = planned(recorded(talk()), is_wanted=lambda record: False)
    assert heading == "skipped:"
    assert why.endswith(": not asked for")


def test_of_nothing_there_is_nothing_to_tell() -> None:
    assert planned(Recording()) == []
    assert list(plan_lines(Recording(), Script(), PLAIN, is_prepared=True)) == []


# -- values ----------------------------------------------------------------------------------------------------------


def test_what_clients_say_of_places_is_one_entry_for_each_thing() -> None:
    every = exchanged(recorded(talk(reading(offset=0), reading(offset=5), reading(segment="s/b/0"))))
    found = [each for each in every if isinstance(each.role, Position)]
    assert [(each.within, each.value, len(each.used)) for each in found] == [(SEGMENT, None, 2), ("s/b/0", None, 1)]


def test_what_only_the_server_says_is_not_exchanged() -> None:
    says = talk(setting_up(), appending(length=13))
    assert not [each for each in exchanged(recorded(says)) if isinstance(each.role, Position)]


def test_every_value_of_every_capture_is_said_by_a_client(own_capture: tuple[Path, object]) -> None:
    """And where it was told, that was before."""
    recording = recording_of(read_packets([own_capture[0]]))
    known = manners()
    script = script_of(recording, known)
    said = {step.record.n: at for at, step in enumerate(script.steps) if isinstance(step, Say)}
    heard = {step.record.n: at for at, step in enumerate(script.steps) if isinstance(step, Hear)}
    seen = set()
    for each in exchanged_in(script, known):
        assert (each.role.kind, each.within, each.value) not in seen
        seen.add((each.role.kind, each.within, each.value))
        assert each.used
        first = min(said[record.n] for record, _ in each.used)
        assert each.issued is None or heard[each.issued[0].n] < first
        assert each.value not in each.role.besides
    lines = list(plan_lines(recording, script, known, is_prepared=False))
    assert sum(" s  connection " in line for line in lines) == len(script.dialogues)


class Numbering(ReplayAdapter):
    """Takes the number of a request for one that the server has told."""

    def roles(self, record: Any) -> Any:
        return [(("request_id",), Issued("ticket", besides=(-1,)))] if record.message != "Hello" else []


TICKETS = {"pravega": Numbering(PROTOCOLS["pravega"])}


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (reading(request_id=3), "known before the recording; used in ReadSegment.request_id (record 3)"),
        (
            [*reading(request_id=3)[::-1], *reading(request_id=3)],
            "returned by SegmentRead.request_id (record 3); used in ReadSegment.request_id (record 4) and 1 more",
        ),
        (reading(request_id=-1), ""),
    ],
)
def test_a_value_is_told_with_who_issued_it(says: Says, told: str) -> None:
    """A reply to the request that says it first has not told it before."""
    recording = recorded(talk(says))
    lines = list(plan_lines(recording, script_of(recording, TICKETS), TICKETS, is_prepared=False))
    wanted = ["server-generated values, replaced by those of the live server:", f"  ticket 3: {told}"] if told else []
    assert lines[1:] == wanted


def test_long_values_are_cut() -> None:
    name = "s/" + "x" * 400 + "/0"
    lines = planned(recorded(talk(reading(segment=name))))
    (line,) = [each for each in lines if "relative to its start" in each]
    assert "... (404 characters): relative" in line
    assert len(line) < 320


# -- prepared --------------------------------------------------------------------------------------------------------


class Preparing(ReplayAdapter):
    """Says the given lists of messages first, whatever is answered."""

    def __init__(self, every: Sequence[Sequence[Message]]) -> None:
        super().__init__(PROTOCOLS["pravega"])
        self._every = every
        self.replies: list[Any] = []

    def prepare(self, recording: Recording, values: Values) -> Talk:
        for messages in self._every:
            self.replies.append((yield messages))


HELLO = Hello(high_version=17, low_version=5)


def test_what_is_prepared_is_told_before_the_values() -> None:
    recording = recorded(talk(reading()))
    every = {"pravega": Preparing([[HELLO, KeepAlive()], [], [KeepAlive()]])}
    script = script_of(recording, every)
    lines = list(plan_lines(recording, script, every, is_prepared=True))
    at = lines.index("prepared first on pravega, as far as the server has it not:")
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["Hello", "KeepAlive", "KeepAlive"]
    assert lines[at + 4].startswith("server-generated values")
    assert every["pravega"].replies == [(), (), ()]
    assert not any("prepared" in line for line in plan_lines(recording, script, every, is_prepared=False))


def test_talks_without_an_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TALK_MESSAGES_MAX", 5)
    assert len(prepared_for(Recording(), Preparing([[KeepAlive()]] * 1000))) == 5


def test_a_manner_that_prepares_nothing_is_not_told() -> None:
    assert prepared_for(Recording(), Preparing([])) == []
    assert not any("prepared" in line for line in planned(recorded(talk(reading())), is_prepared=True))


# -- left out --------------------------------------------------------------------------------------------------------


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    recording = recorded(talk(reading(), alive(), alive()))
    lines = planned(recording, is_wanted=lambda record: record.message == "Hello")
    assert lines[-2:] == ["skipped:", "  3 times: not asked for"]
    lines = list(plan_lines(recording, script_of(recording, {}), {}, is_prepared=False))
    assert lines == ["skipped:", "  connection 0 (10.0.0.1:40000 -> 10.0.0.2:12345): pravega is not replayed"]
