"""Clean captures of real programs have no anomaly; how many events of each protocol were judged is fixed here.

The models were built with every second capture of each protocol; the others were only counted, and had no anomaly at
once. Later runs without some packets, and with mutated clients, used all of them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SHARED
from tests.consistency.world import model_of_capture, model_of_records
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError
from wiretool.records import Record

CAPTURES = Path(__file__).parents[2] / "captures"
#: By protocol, the events that are judged in the captures that the model was built with, and in the others. Of SBP v0.1
#: no capture has a data node.
JUDGED = {
    "pravega": (4_076, 1_008),
    "pravega-draft": (1, 0),
    "sbp": (203, 100),
    "sbp-0.1": (0, 0),
    "offramp": (137, 83),
}


#: The same of all recordings of real programs (tests/recorded), by folder and protocol.
JUDGED_RECORDINGS = {
    ("offramp", "offramp"): (6_390, 138),
    ("pravega-rust-client", "pravega"): (1_005, 3_001),
    ("pravega-server", "pravega"): (7_435, 4_551),
    ("sbp-server", "sbp"): (996, 519),
    ("sbp-server", "sbp-0.1"): (0, 0),
}


def captures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if ".pcap" in path.name)


def readable(capture: Path) -> Iterator[Record]:
    """The records up to the end, or to where the file is cut."""
    records = read(capture)
    if "cutfile" not in capture.name:
        yield from records
        return
    with pytest.raises(CaptureError, match="ends early"):
        yield from records


@pytest.mark.parametrize("protocol", JUDGED)
def test_clean_captures_have_no_anomaly(protocol: str) -> None:
    counts = [0, 0]
    own = [path for path in captures_in(CAPTURES / protocol) if "_clear" not in path.name]  # those are of TLS, too
    for index, path in enumerate(own):
        anomalies, judged = model_of_capture(protocol, path)
        assert anomalies == [], path.name
        counts[index % 2] += judged
    print(f"{protocol}: judged {counts[0]} events in captures that it was built with, {counts[1]} in others")
    assert tuple(counts) == JUDGED[protocol]


@pytest.mark.parametrize(("folder", "protocol"), JUDGED_RECORDINGS)
def test_recordings_of_real_programs_have_no_anomaly(folder: str, protocol: str) -> None:
    counts = [0, 0]
    for index, path in enumerate(captures_in(SHARED / "captures" / folder)):
        anomalies, judged = model_of_records(protocol, readable(path))
        assert anomalies == [], path.name
        counts[index % 2] += judged
    assert tuple(counts) == JUDGED_RECORDINGS[folder, protocol]


def test_every_protocol_with_captures_of_data_judges_some() -> None:
    assert [protocol for protocol, counts in JUDGED.items() if not sum(counts)] == ["sbp-0.1"]
