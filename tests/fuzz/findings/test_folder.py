"""Folders of findings: their numbers, and the expected behaviour in their pages."""

from itertools import count
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from wiretool.fuzz.findings.finding import whole_folder
from wiretool.fuzz.findings.folder import expected_line, next_number
from wiretool.fuzz.oracles import Bucket, Oracles
from wiretool.fuzz.sequences.run import Exchanged, Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.registry import PROTOCOLS


def test_numbers_continue_after_the_highest(tmp_path: Path) -> None:
    assert next_number(tmp_path / "absent") == 1
    for name in ("001-died-a", "012-slow-b", "notes", "7-x"):
        (tmp_path / name).mkdir()
    assert next_number(tmp_path) == 13
    with pytest.raises(FileExistsError), whole_folder(tmp_path / "001-died-a"):
        pass


@needs_protocol("offramp")
def test_each_finding_names_the_expected_behaviour_and_its_source() -> None:
    protocol = PROTOCOLS["offramp"]
    line = expected_line(Bucket("undecodable", reply="Pong: bad"), protocol)
    assert line.startswith(
        "- expected (RFC 6455 §5.5.3; oracle `undecodable` in docs/fuzzing.md): the bytes of the server"
    )
    assert "acknowledged event" in expected_line(Bucket("lost-event"), protocol)


@needs_protocol("offramp")
def test_bytes_that_are_no_message_have_no_name_in_a_finding() -> None:
    connection = FuzzConnection(PROTOCOLS["offramp"], 1, count(1))
    outcome = Outcome(FuzzSequence((Sending(1, b"x"),), ""))
    received = [*connection.received(b'{"a": 1}', 1), *connection.end()]
    outcome.exchanged = [Exchanged(each, 0, "", connection, 0) for each in received]
    (suspicion,) = Oracles().judge(outcome)
    assert suspicion.why.startswith("bad_frame_header: ")
    assert suspicion.bucket.reply.startswith("bad_frame_header: ")


def test_buckets_of_earlier_versions_are_known() -> None:
    new = Bucket("undecodable", "", "Pong", "", "bad_frame_header")
    assert Bucket.from_form(["undecodable", "", "Pong", "", ": bad_frame_header"]) == new
