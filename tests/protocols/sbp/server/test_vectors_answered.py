"""Every malformed frame of the vectors gets what the reference decides (sbp.md §4.3 and §5), at each door."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.sbp_frames import schemas
from tests.protocols.sbp.server.talk import SECOND, Client, code_of
from tests.protocols.sbp.vectors import protocol_of
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import GOAWAY
from wiretool.protocols.sbp.schema import LATEST
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

VECTORS = Path(__file__).parents[3] / "vectors" / "sbp.json"
#: No frame can be made of these: the connection is given up.
GIVEN_UP = {
    *("length_too_small", "length_too_large", "bad_magic", "header_length_overflow", "checksum_mismatch"),
}


def broken() -> list[dict[str, Any]]:
    """The vectors of whole or broken frames that a client may send."""
    found = [record for record in json.loads(VECTORS.read_text()) if protocol_of(record) in PROTOCOLS]
    return [
        record
        for record in found
        if "error" in record and "kind" not in record and not record.get("frame", {}).get("is_response")
    ]


@pytest.mark.parametrize("record", broken(), ids=lambda record: str(record["name"]))
def test_what_is_broken_is_answered_as_decided(record: dict[str, Any]) -> None:
    is_latest = record["version"] == "sbp-latest"
    mock: Mock = mock_for(protocol_of(record), MockOptions())
    schema = LATEST if is_latest else schemas()["S1"]
    client = Client(mock, schema=schema)
    answers = client.send(bytes.fromhex(record["hex"]))
    error = record["error"]
    if error == "incomplete":
        assert not answers
        assert client.closed is None
    elif error in GIVEN_UP:
        assert [(answer.opcode, answer.flags) for answer in answers] == [(GOAWAY, 0)]
        client.wait(SECOND)
        assert client.closed is not None
    elif is_latest:
        check_latest(answers, error)
    else:
        check_s1(answers, error)
    assert len(Client(mock, 1, schema=schema).send(bytes.fromhex("00000010170001000000000101000000" + "00000000"))) == 1


def check_latest(answers: list[Any], error: str) -> None:
    """A system error that says BAD_REQUEST. SEAL_RANGE of another kind is for the range server behind this door."""
    (answer,) = answers
    if error == "bad_request":
        assert (answer.flags, code_of(answer)) == (3, 1200)
    else:
        assert (answer.flags, code_of(answer)) == (7, 1400)


def check_s1(answers: list[Any], error: str) -> None:
    """What is not known is dropped; what cannot be done has the code of an invalid request in each result."""
    if error == "unknown_opcode":
        assert answers == []
        return
    (answer,) = answers
    assert answer.flags == 3
    assert [result.error_code for result in answer.header.append_responses] == [2]
