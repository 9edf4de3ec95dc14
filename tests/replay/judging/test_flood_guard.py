"""A server that says far more than it was asked is not listened to for ever."""

from pathlib import Path

import pytest

from tests.replay.stage import Stage
from wiretool import limits
from wiretool.capture.files.reading import read_packets
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import KeepAlive
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.judging.flood_guard import Surplus
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.mock import Action, Send

WRITE = Path(__file__).parents[3] / "captures" / "pravega" / "write.pcap"
KEEP_ALIVE = encode(KeepAlive(), "server")
RECORDING = recording_of(read_packets([WRITE]))
(DIALOGUE, *_) = RECORDING.of("pravega")


class Loud(PravegaMock):
    """Says `noise` behind each answer."""

    def __init__(self, noise: bytes) -> None:
        super().__init__(wire_version=17)
        self._noise = noise

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        return [*super().received(connection, data, now_ns), Send(connection, self._noise)]


def played(noise: bytes, *, is_prepared: bool = True) -> Player:
    known = {"pravega": manners()["pravega"]}
    player = Player(script_of(RECORDING, known), known, prepare=RECORDING if is_prepared else None)
    Stage(player, {"pravega": Loud(noise)}).play()
    return player


def told(outcomes: list[Outcome]) -> list[str]:
    return [reason for outcome in outcomes if outcome.request is None for reason in outcome.reasons]


def test_bytes_that_are_no_frame_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPLAY_STRANGE_BYTES_MAX", 10_000)
    outcomes = played(b"A" * 30_000, is_prepared=False).outcomes()
    why = "the server sent 10,000 bytes that are not pravega: replay closed the connection"
    assert told(outcomes).count(why) == len(RECORDING.of("pravega"))
    held = sum(live.length for outcome in outcomes for live in outcome.live)
    assert held <= 60_000 * len(RECORDING.of("pravega"))
    assert all(outcome.verdict is Verdict.MISSING for outcome in outcomes if outcome.request and not outcome.live)


def test_frames_that_nobody_asked_for_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPLAY_SURPLUS_FRAMES_MAX", 100)
    player = played(KEEP_ALIVE * 1_000)
    why = "the server sent 100 more frames than recorded: replay closed the connection"
    assert told(player.outcomes()).count(why) == len(RECORDING.of("pravega"))
    assert f"pravega: {why}" in player.remarks


def test_a_few_frames_beside_each_answer_are_no_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPLAY_SURPLUS_FRAMES_MAX", 20)
    player = played(KEEP_ALIVE * 10)
    assert player.remarks == []
    assert not any("closed the connection" in reason for reason in told(player.outcomes()))


def test_many_bytes_of_frames_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REPLAY_SURPLUS_BYTES_MAX", 100)
    surplus = Surplus(DIALOGUE)
    answers = [record for record in DIALOGUE.records if record.side == "server"]
    for record in [*answers, *answers]:
        assert not surplus.why
        surplus.hear(record.length)
        surplus.take(record, is_asked=False)
        surplus.weigh(is_lost=False)
        if surplus.why:
            break
    assert surplus.why.startswith("the server sent 100 more bytes than recorded")


def test_what_is_not_read_yet_counts_where_no_frame_begins() -> None:
    for is_lost in (False, True):
        surplus = Surplus(DIALOGUE)
        surplus.hear(limits.REPLAY_STRANGE_BYTES_MAX + 1)
        surplus.weigh(is_lost=is_lost)
        assert bool(surplus.why) is is_lost
