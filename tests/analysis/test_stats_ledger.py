"""The bytes of `stats` are those of the ledger, for every capture of the repository."""

from dataclasses import asdict
from pathlib import Path

import pytest

from wiretool.analysis.stats import Stats
from wiretool.dissect.dissector import read
from wiretool.ledger import Ledger
from wiretool.sinks.text.stats import stats_text

ROOT = Path(__file__).parents[2] / "captures"
CAPTURES = sorted(path for path in ROOT.rglob("*.pcap*") if ".truth" not in path.name)


def test_there_are_captures() -> None:
    assert len(CAPTURES) > 15


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_stats_have_every_byte_of_the_ledger(path: Path) -> None:
    stats, ledger = Stats(), Ledger()
    stats.add_all(read([path], ledger=ledger))
    booked, total = asdict(ledger.total), stats.as_json()["total"]
    del booked["payload_bytes"], booked["duplicate_bytes"]
    names = {"frame_bytes": "bytes"}
    assert {name: total[names.get(name, name)] for name in booked} == booked
    if booked["problem_bytes"]:
        assert f"; {booked['problem_bytes']:,} bytes in problems" in stats_text(stats).splitlines()[0]
