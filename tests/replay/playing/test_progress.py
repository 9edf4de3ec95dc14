"""A caller whose progress is reported while it plays."""

from pathlib import Path

from tests.helpers.examples import needs_protocol
from wiretool.capture.files.reading import read_packets
from wiretool.replay.adapters import manners
from wiretool.replay.playing.player import Player
from wiretool.replay.playing.player_group import Chorus
from wiretool.replay.playing.progress import TICK_NS, WatchedCaller
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of

PLAIN = Path(__file__).parents[3] / "captures" / "offramp" / "plain.pcap"


@needs_protocol("offramp")
def test_progress_is_reported_while_nothing_comes() -> None:
    """The server accepts and stays silent: the caller is woken for each report."""
    known = manners()
    script = script_of(recording_of(read_packets([PLAIN])), known)
    seen: list[tuple[int, int]] = []
    caller = WatchedCaller(Chorus([[Player(script, known)]]), lambda done, total: seen.append((done, total)))
    now_ns = 1_000
    caller.start(now_ns)
    caller.opened(1, now_ns)
    times = 0
    while not caller.is_over:
        assert caller.wake_ns is not None
        assert now_ns < caller.wake_ns <= now_ns + TICK_NS
        now_ns = caller.wake_ns
        caller.woken(now_ns)
        times += 1
    assert times > 10
    assert len(seen) > 10
    assert {total for _, total in seen} == {len(script.steps)}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] <= len(script.steps)
