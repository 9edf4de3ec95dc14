"""What a part of the flows has come to, and what of it is told."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.pipeline.test_stream import Streamed
from wiretool.pipeline.flows import task as part
from wiretool.pipeline.flows.task import Done
from wiretool.pipeline.job import Job
from wiretool.pipeline.local import run_local

CAPTURES = Path(__file__).parents[3] / "captures"


def told(done: Done) -> list[str]:
    lines: list[str] = []
    done.tell_notes(lines.append)
    return lines


def test_few_notes_are_told_as_they_are() -> None:
    done = Done()
    assert told(done) == []
    for number in range(part.NOTES_MAX):
        done.note(f"note {number}")
    assert told(done) == done.notes
    assert len(done.notes) == part.NOTES_MAX


def test_of_many_notes_those_that_were_not_kept_are_counted() -> None:
    done = Done()
    for number in range(part.NOTES_MAX + 1234):
        done.note(f"note {number}")
    assert told(done) == [*(f"note {number}" for number in range(100)), *[part.LEFT_OUT] * 1234]


@needs_protocol("sbp-0.1")
def test_who_makes_tables_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def notes(name: str) -> list[str]:
        lines: list[str] = []
        job = Job([CAPTURES / "sbp" / "pd_malformed.pcap"], tmp_path / name)
        run_local(job, lines.append, lambda step: None)
        return lines

    every = notes("all")
    assert len(every) == 10
    monkeypatch.setattr(part, "NOTES_MAX", 4)
    assert notes("few") == [*every[:4], *[part.LEFT_OUT] * 6]


@needs_protocol("sbp-0.1")
def test_who_watches_a_stream_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "NOTES_MAX", 4)
    streamed = Streamed(tmp_path)
    shutil.copy(CAPTURES / "sbp" / "pd_malformed.pcap", streamed.captures)
    streamed.go_on(splits=1)
    assert streamed.notes[4:] == [part.LEFT_OUT] * 6
