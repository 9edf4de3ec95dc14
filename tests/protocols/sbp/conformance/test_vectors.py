"""Every error vector is a case: the case sends, or accepts, a message with the error of the vector."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.protocols.sbp.vectors import protocol_of
from wiretool.codec.message import Side
from wiretool.conformance.active.case_connection import CaseConnection
from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Case
from wiretool.conformance.registry import conformance_of
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.framing import extent
from wiretool.protocols.sbp.session import SbpConversation

VECTORS = Path(__file__).parents[3] / "vectors" / "sbp.json"
#: The case of each error vector.
CASES = {
    "go_read_short_fixed_header": "sbp-0.1/frame/13",
    "go_read_too_small": "sbp-0.1/frame/4",
    "go_read_short_body": "sbp-0.1/frame/14",
    "go_read_bad_checksum": "sbp-0.1/frame/12",
    "rust_min_length_10": "sbp-0.1/frame/4",
    "rust_header_length_10_of_9": "sbp-0.1/frame/10",
    "length_counts_itself": "sbp-0.1/frame/15",
    "length_without_checksum": "sbp-0.1/frame/6",
    "length_zero": "sbp-0.1/frame/5",
    "length_little_endian": "sbp-0.1/frame/8",
    "length_negative": "sbp-0.1/frame/9",
    "header_length_one_too_many": "sbp-0.1/frame/10",
    "header_length_max": "sbp-0.1/frame/11",
    "unknown_opcode_0x7777": "sbp-0.1/opcode/1",
    "opcode_0": "sbp-0.1/opcode/2",
    "v01_append_batch_length_overrun": "sbp-0.1/append/5",
    "v01_append_garbage_header": "sbp-0.1/header/3",
    "v01_append_no_payload": "sbp-0.1/append/6",
    "l_list_range_resp_missing_ranges": "sbp/list/4",
    "rust_flat_record_decode_error": "sbp/append/13",
    "l_append_bad_record_magic": "sbp/append/12",
    "l_append_entry_short": "sbp/append/13",
    "l_append_entry_truncated_payload": "sbp/append/14",
    "l_append_second_entry_bad": "sbp/append/15",
    "l_append_meta_len_negative": "sbp/append/16",
    "l_append_meta_not_flatbuffer": "sbp/append/17",
    "l_append_cut_inside_payload_len": "sbp/append/18",
    "l_seal_pd_wrong_kind": "sbp/seal/2",
    "l_header_garbage": "sbp/header/1",
    "l_header_empty_where_required": "sbp/header/2",
    "l_header_format_json": "sbp/header/3",
}


def error_vectors() -> list[dict[str, Any]]:
    records = json.loads(VECTORS.read_text())
    return [record for record in records if "error" in record and protocol_of(record) in PROTOCOLS]


def kinds_of_lengths(data: bytes) -> Iterator[str]:
    """Yield why no frame begins with what was sent, where none does."""
    try:
        length = extent(data, 0, len(data))
    except DecodeError as err:
        yield err.kind
    else:
        if not length or length > len(data):
            yield "incomplete"


def errors_in(case: Case, protocol: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Run a case, and return the errors of the messages of both sides."""
    found: set[str] = set()
    note_sent, read = CaseConnection.note_sent, SbpConversation.read

    def note(self: CaseConnection, data: bytes) -> None:
        found.update(kinds_of_lengths(data))
        note_sent(self, data)

    def read_and_note(self: SbpConversation, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        reading = read(self, side, data, at, end, n)
        found.update(defect.kind for defect in reading.defects)
        return reading

    monkeypatch.setattr(CaseConnection, "note_sent", note)
    monkeypatch.setattr(SbpConversation, "read", read_and_note)
    run = run_on_mock(conformance_of(protocol), [case])
    assert [result.why for result in run.results] == [""]
    return found


def test_every_error_vector_has_a_case() -> None:
    cases = {name for name, id in CASES.items() if id.partition("/")[0] in PROTOCOLS}
    assert cases == {record["name"] for record in error_vectors()}


@pytest.mark.parametrize("record", error_vectors(), ids=lambda record: str(record["name"]))
def test_the_case_of_a_vector_has_its_error(record: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    id = CASES[record["name"]]
    protocol = id.partition("/")[0]
    (case,) = (each for each in conformance_of(protocol).cases if each.id == id)
    assert record["error"] in errors_in(case, protocol, monkeypatch)
