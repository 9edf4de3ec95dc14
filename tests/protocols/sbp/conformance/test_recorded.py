"""Every kind of answer that a real server gave in the recordings is an accepted outcome of a case."""

import json
from pathlib import Path

import pytest

from tests.conftest import SHARED
from tests.helpers.examples import needs_protocol
from tests.protocols.sbp.conformance.answers import Kind, accepted_by, answers_in
from wiretool.conformance.registry import conformance_of

FOLDER = SHARED / "captures" / "sbp-server"
TRUTHS = sorted(FOLDER.glob("*.truth.json"))
#: Answers that depend on etcd, which a deadline has struck: no server has to give them (sbp.md §4.3).
BY_CHANCE: set[Kind] = {("CREATE_STREAM", 3, "CreateStreamResponse", 1500)}


def test_there_are_recordings() -> None:
    assert len(TRUTHS) == 40


@needs_protocol("sbp-0.1")
@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: str(path.name).partition(".")[0])
def test_what_a_real_server_answered_is_accepted(path: Path) -> None:
    truth = json.loads(path.read_text())
    protocol = "sbp-0.1" if truth["schema"].startswith("S2") else "sbp"
    assert answers_in(truth) - accepted_by(conformance_of(protocol)) - BY_CHANCE == set()
