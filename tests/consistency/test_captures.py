"""Clean captures of real programs have no anomaly; how many events of each protocol were judged is fixed here.

The models were built with every second capture of each protocol. The others were counted only.
"""

from pathlib import Path

import pytest

from tests.consistency.world import model_of_capture

CAPTURES = Path(__file__).parents[2] / "captures"
#: By protocol, the events that are judged in the captures that the model was built with, and in the others. Of SBP v0.1
#: there is no capture of a data node.
JUDGED = {
    "pravega": (4_076, 1_008),
    "pravega-draft": (1, 0),
    "sbp": (203, 100),
    "sbp-0.1": (0, 0),
    "offramp": (137, 83),
}


def captures_of(protocol: str) -> list[Path]:
    return sorted(path for path in (CAPTURES / protocol).iterdir() if ".pcap" in path.name)


@pytest.mark.parametrize("protocol", JUDGED)
def test_clean_captures_have_no_anomaly(protocol: str) -> None:
    counts = [0, 0]
    for index, path in enumerate(captures_of(protocol)):
        anomalies, judged = model_of_capture(protocol, path)
        assert anomalies == [], path.name
        counts[index % 2] += judged
    print(f"{protocol}: judged {counts[0]} events in captures that it was built with, {counts[1]} in others")
    assert tuple(counts) == JUDGED[protocol]


def test_every_protocol_with_captures_of_data_judges_some() -> None:
    assert [protocol for protocol, counts in JUDGED.items() if not sum(counts)] == ["sbp-0.1"]
