"""Progress of long work in steps: a line a second where stderr is not a terminal."""

from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import wiretool
from wiretool.commands import step_progress
from wiretool.commands.progress import LONG_S
from wiretool.commands.step_progress import STRIDE, StepProgress, with_progress

PLAIN = Path(__file__).parents[2] / "captures" / "offramp" / "plain.pcap"


class Clock:
    """A clock that goes as it is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(step_progress, "time", made)
    monkeypatch.setattr(step_progress, "is_watched", lambda: False)
    return made


def test_short_work_is_silent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with StepProgress("replaying", "steps") as progress:
        for done in range(100):
            clock.now_s += LONG_S / 101
            progress.update(done, 100)
    assert capsys.readouterr().err == ""


def test_long_work_reports_once_a_second(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with StepProgress("replaying", "steps") as progress:
        for done in range(80):
            progress.update(done, 2000)
            clock.now_s += 0.125
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"wiretool: replaying: {done} of 2,000 steps" for done in range(24, 80, 8)]


def test_steps_of_an_unknown_number_are_counted(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    steps = with_progress(range(3 * STRIDE), "reading", "packets")
    assert next(steps) == 0
    clock.now_s += LONG_S
    assert list(steps) == list(range(1, 3 * STRIDE))
    assert capsys.readouterr().err == "wiretool: reading: 256 packets\n"


@needs_protocol("offramp")
def test_a_replay_that_takes_seconds_says_where_it_is() -> None:
    ended = wiretool("replay", str(PLAIN), "--speed", "0.15")
    assert ended.returncode == 0
    lines = ended.stderr.splitlines()
    assert len(lines) >= 1
    assert all(line.startswith("wiretool: replaying: ") and line.endswith(" steps") for line in lines)
