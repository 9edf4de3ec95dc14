"""How long a player waits, for what does not come and for its time."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.replay.stage import START_NS, Stage
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.replay.adapter import PravegaReplayAdapter
from wiretool.protocols.pravega.replay.prepare import HELLO
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.replay.adapter import Excuse, Talk, Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.judging.outcomes import End
from wiretool.replay.mocks import mocks_for
from wiretool.replay.playing.id_map import Values
from wiretool.replay.playing.patience import LEAST_WAIT_NS, SHORTENED, TIMEOUTS_MAX
from wiretool.replay.playing.player import LINGER_NS, STOPPED_EARLY, Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import NOT_ASKED, Hear, Leave, Part, Say, Script, script_of, span_ns
from wiretool.server.mock import Action, Close, Mock, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

WRITE = Path(__file__).parents[3] / "captures" / "pravega" / "write.pcap"
PATIENCE_NS = 1_000_000_000


class Mute(PravegaMock):
    """Hears everything, and says nothing after `words` answers save each `every`th, if any."""

    def __init__(self, words: int, every: int = 0) -> None:
        super().__init__(wire_version=17)
        self._words = words
        self._every = every
        self._count = 0

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        actions = list(super().received(connection, data, now_ns))
        self._count += bool(actions)
        is_spoken = self._count <= self._words or (self._every and self._count % self._every == 0)
        return actions if is_spoken else []


def player_of(path: Path = WRITE, wanted: str = "") -> tuple[Player, Script]:
    """Who says the requests of that name, or all, to a store that is prepared."""
    known = {"pravega": manners()["pravega"]}
    recording = recording_of(read_packets([path]))
    script = script_of(recording, known, is_wanted=lambda record: not wanted or record.message == wanted)
    return Player(script, known, patience_ns=PATIENCE_NS, prepare=recording), script


def played(mock: PravegaMock) -> tuple[int, list[Verdict]]:
    """How long it took, and what came of it."""
    player, script = player_of()
    assert sum(isinstance(step, Hear) for step in script.steps) > 50
    stage = Stage(player, {"pravega": mock})
    stage.play()
    taken_ns = stage.now_ns - START_NS - LINGER_NS - span_ns(script.steps)
    return taken_ns, [outcome.verdict for outcome in player.outcomes()]


def test_a_server_that_answers_is_not_waited_for() -> None:
    taken_ns, verdicts = played(Mute(1_000_000))
    assert taken_ns < 0
    assert Verdict.MISSING not in verdicts


def test_patience_with_a_silent_server_comes_to_its_end() -> None:
    """However many replies it owes, they are waited for twice the patience in all, and each is missed."""
    taken_ns, verdicts = played(Mute(8))
    assert taken_ns < 2 * PATIENCE_NS
    assert verdicts.count(Verdict.MISSING) > 50


def test_a_word_restores_the_patience() -> None:
    taken_ns, verdicts = played(Mute(8, every=10))
    assert taken_ns > 4 * PATIENCE_NS
    assert Verdict.MISSING in verdicts


def test_a_server_that_owes_many_replies_between_others_is_waited_for_in_bounded_time() -> None:
    """After six times the patience nothing more is sent; what was waited for is missing, the rest is not judged."""
    player, script = player_of()
    stage = Stage(player, {"pravega": Mute(8, every=2)})
    stage.play()
    assert stage.now_ns - START_NS < (TIMEOUTS_MAX + 1) * PATIENCE_NS + span_ns(script.steps)
    outcomes = player.outcomes()
    verdicts = [outcome.verdict for outcome in outcomes]
    assert verdicts.count(Verdict.MISSING) >= TIMEOUTS_MAX
    assert verdicts.count(Verdict.DIFFERENT) == verdicts.count(Verdict.EXTRA) == 0
    unsent = [outcome for outcome in outcomes if outcome.verdict is Verdict.UNKNOWN]
    assert len(unsent) > 900
    assert {reason for outcome in unsent for reason in outcome.reasons} == {STOPPED_EARLY}
    assert len(outcomes) == sum(isinstance(step, Say) for step in script.steps)
    (remark,) = player.remarks
    assert remark.startswith(STOPPED_EARLY)
    assert "a shorter --timeout replays more" in remark


def test_ends_that_do_not_come_are_waited_for_in_bounded_time() -> None:
    """The replay goes on without them: all replies are judged, but not the ends that had less than the patience."""

    class Strict(PravegaReplayAdapter):
        def excuse_end(self, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
            return None

    known = {"pravega": Strict(PROTOCOLS["pravega"])}
    recording = recording_of(read_packets([WRITE.with_name("reconnect.pcap")]))
    script = script_of(recording, known)
    at = next(at for at, step in enumerate(script.steps) if isinstance(step, Leave))
    left = script.steps[at]
    script.steps[at:at] = [Part(left.time_ns, left.dialogue)] * 100
    player = Player(script, known, patience_ns=PATIENCE_NS, prepare=recording)
    stage = Stage(player, {"pravega": PravegaMock(wire_version=17)})
    stage.play()
    assert stage.now_ns - START_NS < (TIMEOUTS_MAX + 1) * PATIENCE_NS + 100 * LEAST_WAIT_NS + span_ns(script.steps)
    outcomes = player.outcomes()
    assert STOPPED_EARLY not in {reason for outcome in outcomes for reason in outcome.reasons}
    ends = [outcome for outcome in outcomes if outcome.end is not None]
    assert len(ends) >= 100
    assert {end.verdict for end in ends[:TIMEOUTS_MAX]} == {Verdict.DIFFERENT}
    assert {end.verdict for end in ends[TIMEOUTS_MAX:]} == {Verdict.UNKNOWN}
    assert {reason for end in ends[TIMEOUTS_MAX:] for reason in end.reasons} == {SHORTENED}
    assert not [outcome for outcome in outcomes if outcome.end is None and SHORTENED in outcome.reasons]
    (remark,) = player.remarks
    assert remark.startswith(SHORTENED)


class Slow(Stage):
    """Carries out ends that mocks ask for a time later, and the first ones not at all."""

    def __init__(self, player: Player, mocks: Mapping[str, Mock], swallowed: int, delay_ns: int) -> None:
        super().__init__(player, mocks)
        self._swallowed = swallowed
        self._delay_ns = delay_ns
        self._delayed: set[int] = set()

    def _answer(self, mock: Mock, actions: Iterable[Action]) -> None:
        super()._answer(mock, [action for action in actions if self._is_due(mock, action)])

    def _is_due(self, mock: Mock, action: Action) -> bool:
        if not isinstance(action, Close) or action.connection in self._delayed:
            return True
        if self._swallowed:
            self._swallowed -= 1
            return False
        self._delayed.add(action.connection)
        mock.timers.at(self.now_ns + self._delay_ns, lambda _: mock.outbox.close(action.connection))
        return False


@pytest.mark.parametrize(("swallowed", "is_short"), [(6, False), (7, True)])
def test_late_ends_are_no_findings_after_those_that_never_came(swallowed: int, is_short: bool) -> None:
    """One of the ends that never come is awaited by no step; the sixth wait in vain is the last long one."""
    path = Path(__file__).parents[3] / "captures" / "sbp" / "pd_malformed.pcap"
    known = manners()
    recording = recording_of(read_packets([path]))
    script = script_of(recording, known)
    names = {dialogue.protocol for dialogue in script.dialogues}
    mocks = mocks_for(recording, {name: known[name] for name in names}, MockOptions())
    player = Player(script, known, patience_ns=5 * PATIENCE_NS, prepare=recording)
    Slow(player, mocks, swallowed, PATIENCE_NS).play()
    outcomes = player.outcomes()
    found = [outcome for outcome in outcomes if outcome.verdict.is_finding]
    assert [outcome.end for outcome in found] == [End("closed", "open")] * (swallowed - 1)
    unknown = [outcome for outcome in outcomes if SHORTENED in outcome.reasons]
    assert bool(unknown) == is_short
    assert all(outcome.verdict is Verdict.UNKNOWN and outcome.end == End("closed", "open") for outcome in unknown)
    assert [remark.startswith(f"{SHORTENED} (from step ") for remark in player.remarks] == [True] * is_short


@needs_protocol("offramp")
@pytest.mark.parametrize(("ends", "verdict"), [(0, Verdict.MISSING), (TIMEOUTS_MAX, Verdict.UNKNOWN)])
def test_messages_are_missing_only_if_they_were_waited_for(ends: int, verdict: Verdict) -> None:
    """The server is not prepared, and has none of them."""
    known = {"offramp": manners()["offramp"]}
    recording = recording_of(read_packets([Path(__file__).parents[3] / "captures" / "offramp" / "plain.pcap"]))
    script = script_of(recording, known)
    at, first = next(
        (at, step) for at, step in enumerate(script.steps) if isinstance(step, Hear) and step.record.reply_to is None
    )
    script.steps[at:at] = [Part(first.time_ns, first.dialogue)] * ends
    player = Player(script, known, patience_ns=PATIENCE_NS)
    Stage(player, {"offramp": mock_for("offramp", MockOptions())}).play()
    pushed = [each for each in player.outcomes() if each.request is None and each.recorded and not each.live]
    assert pushed
    assert {each.verdict for each in pushed} == {verdict}
    assert {SHORTENED in each.reasons for each in pushed} == {bool(ends)}
    assert len(player.remarks) == bool(ends)


def test_what_is_not_replayed_after_too_many_waits_is_judged_on_no_connection() -> None:
    """Connections that were to be made later are not made, and their ends are no findings."""
    known = {"pravega": manners()["pravega"]}
    recording = recording_of(read_packets([WRITE.with_name("reconnect.pcap")]))
    script = script_of(recording, known)
    assert len(script.dialogues) > 1
    player = Player(script, known, patience_ns=PATIENCE_NS, prepare=recording)
    Stage(player, {"pravega": Mute(8, every=2)}).play()
    outcomes = player.outcomes()
    assert {outcome.dialogue for outcome in outcomes} == set(script.dialogues)
    assert {outcome.verdict for outcome in outcomes if outcome.dialogue is script.dialogues[-1]} == {Verdict.UNKNOWN}


def test_a_server_that_never_answers_is_not_waited_for_while_it_is_prepared() -> None:
    player, script = player_of()
    stage = Stage(player, {"pravega": Mute(0)})
    stage.play()
    assert stage.now_ns - START_NS < 4 * PATIENCE_NS + span_ns(script.steps)
    assert player.remarks == ["pravega: the server sends no reply to any of the preparing requests"]


def test_a_server_that_ends_the_connection_in_place_of_its_last_reply_is_not_prepared() -> None:
    class Brief(PravegaReplayAdapter):
        def prepare(self, recording: Recording, values: Values) -> Talk:
            yield [HELLO]

    class Leaving(PravegaMock):
        def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
            return [Close(connection)]

    known = {"pravega": Brief(PROTOCOLS["pravega"])}
    recording = recording_of(read_packets([WRITE]))
    player = Player(script_of(recording, known), known, patience_ns=PATIENCE_NS, prepare=recording)
    Stage(player, {"pravega": Leaving()}).play()
    assert not player.is_prepared
    assert player.remarks == ["pravega: the preparation is not complete: the server closed the connection"]


def test_a_server_that_never_answers_may_be_told_any_number_of_things() -> None:
    class Talkative(PravegaReplayAdapter):
        def prepare(self, recording: Recording, values: Values) -> Talk:
            for _ in range(sys.getrecursionlimit()):
                yield [HELLO]

    known = {"pravega": Talkative(PROTOCOLS["pravega"])}
    recording = recording_of(read_packets([WRITE]))
    player = Player(script_of(recording, known), known, patience_ns=PATIENCE_NS, prepare=recording)
    Stage(player, {"pravega": Mute(0)}).play()
    assert player.is_over


def test_a_controller_that_speaks_no_http_2_is_not_asked_for_ever() -> None:
    class Garbling(PravegaMock):
        def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
            return [Send(connection, b"\0\0\1\6\0\0\0\0\0a")]  # a PING of one byte

    recording = recording_of(read_packets([WRITE.with_name("txn.pcap")]))
    part = recording.between(recording.events[0].time_ns + 10_000_000, recording.events[-1].time_ns)
    known = {"pravega-controller": manners()["pravega-controller"]}
    player = Player(script_of(part, known), known, patience_ns=PATIENCE_NS, prepare=part)
    Stage(player, {"pravega": Garbling()}).play()
    silence, refusal = player.remarks
    assert silence == "pravega-controller: the server sends no reply to any of the preparing requests"
    why = "the server violates HTTP/2 (FRAME_SIZE_ERROR)"
    assert refusal == f"pravega-controller: a preparing request cannot be sent: {why}"
    assert player.outcomes()


def test_the_recorded_gaps_begin_when_the_server_is_prepared() -> None:
    """However long that takes, nothing is said sooner behind the first connection than it was."""
    known = {"pravega": manners()["pravega"]}
    recording = recording_of(read_packets([WRITE]))
    script = script_of(recording, known)
    player = Player(script, known, speed=1e-3, patience_ns=PATIENCE_NS, prepare=recording)
    stage = Stage(player, {"pravega": Mute(0)})
    stage.play()
    assert stage.now_ns - START_NS > 1_000 * span_ns(script.steps) + PATIENCE_NS


def test_why_nothing_came_is_not_that_we_left() -> None:
    player, _ = player_of()
    stage = Stage(player, {"pravega": Mute(8)})
    stage.play()
    for number in list(player._lines.by_number):
        player.lost(number, "", stage.now_ns)
    reasons = {reason for each in player.outcomes() if each.verdict is Verdict.MISSING for reason in each.reasons}
    assert reasons == {"no answer in time"}


def test_what_has_not_come_when_it_is_stopped_is_not_missed() -> None:
    player, _ = player_of()
    stage = Stage(player, {"pravega": Mute(8)})
    stage.play_until(START_NS + PATIENCE_NS // 2)
    assert not player.is_over
    player.stop()
    for number in list(player._lines.by_number):
        assert player.lost(number, "", stage.now_ns) == []
    found = player.outcomes()
    assert not [each for each in found if each.verdict.is_finding]
    assert {"the run was stopped before it came"} == {
        reason for each in found if each.verdict is Verdict.UNKNOWN for reason in each.reasons
    }


@pytest.mark.parametrize("wanted", ["AppendBlockEnd", "SetupAppend", "Hello"])
def test_what_later_frames_stand_on_is_said_whatever_is_wanted(wanted: str) -> None:
    player, script = player_of(wanted=wanted)
    Stage(player, {"pravega": PravegaMock(wire_version=17)}).play()
    said = {step.record.message for step in script.steps if isinstance(step, Say)}
    assert said == {"Hello", "SetupAppend", wanted}
    assert not [each for each in player.outcomes() if each.verdict.is_finding]


def test_connections_of_which_nothing_is_wanted_are_left_out() -> None:
    _, script = player_of(WRITE.with_name("read.pcap"), "ReadTableEntriesDelta")
    assert 0 < len(script.dialogues) < len(player_of(WRITE.with_name("read.pcap"))[1].dialogues)
    assert NOT_ASKED in {each.why for each in script.left_out if each.record is None}
