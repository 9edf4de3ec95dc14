"""One fault of a server is told once, wherever it shows."""

from typing import Any

import msgspec
import pytest

from tests.conftest import HERE
from tests.replay.liars import Liar
from tests.replay.mutants import Spot, mutated
from tests.replay.stage import replay
from wiretool.capture.files.reading import read_packets
from wiretool.replay.adapter import Verdict
from wiretool.replay.recording import recording_of

OWN = HERE.parent / "captures"
WRITE = OWN / "pravega" / "write.pcap"
SDK = OWN / "sbp" / "sdk_main.pcap"


@pytest.mark.parametrize(
    ("name", "field", "skip"),
    [("DataAppended", "request_id", 3), ("DataAppended", "event_number", 500), ("AppendSetup", "request_id", 0)],
)
def test_a_reply_that_names_another_request_is_the_one_that_lacks(name: str, field: str, skip: int) -> None:
    def lie(message: Any) -> Any:
        return msgspec.structs.replace(message, **{field: getattr(message, field) + 1_000_000})

    liar = Liar(name, lie, skip=skip, wire_version=17)
    (finding,) = replay(WRITE, mocks={"pravega": liar}).findings
    assert finding.verdict is Verdict.DIFFERENT
    assert [difference.steps for difference in finding.differences] == [(field,)]


def test_a_reply_in_which_more_is_wrong_is_none_that_lacks() -> None:
    def lie(message: Any) -> Any:
        return msgspec.structs.replace(message, request_id=77, segment="another")

    liar = Liar("AppendSetup", lie, wire_version=17)
    verdicts = {each.verdict for each in replay(WRITE, mocks={"pravega": liar}).findings}
    assert verdicts == {Verdict.MISSING, Verdict.EXTRA}


def test_a_wrong_checksum_is_told_with_its_frame() -> None:
    recording = recording_of(read_packets([SDK]))
    told = mutated(recording, Spot("sbp", "FETCH", ("checksum",)), 9)
    (finding,) = told.findings
    assert [difference.steps for difference in finding.differences] == [("checksum",)]
    assert finding.reasons[0].startswith("checksum_mismatch: ")
