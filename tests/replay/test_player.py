"""How long a player waits for what does not come."""

from pathlib import Path

from tests.replay.stage import START_NS, Stage
from wiretool.capture.files import read_packets
from wiretool.replay.manners import manners
from wiretool.replay.manners.manner import Verdict
from wiretool.replay.player import LINGER_NS, Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import Hear, script_of, span_ns
from wiretool.servers.mock import Action
from wiretool.servers.pravega.mock import PravegaMock

WRITE = Path(__file__).parent.parent.parent / "captures" / "pravega" / "write.pcap"
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


def played(mock: PravegaMock) -> tuple[int, list[Verdict]]:
    """How long it took, and what came of it."""
    known = manners()
    recording = recording_of(read_packets([WRITE]))
    script = script_of(recording, known)
    assert sum(isinstance(step, Hear) for step in script.steps) > 50
    player = Player(script, known, patience_ns=PATIENCE_NS, prepare=recording)
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
