"""Frames are annotated by the schema of their connection, which their own bytes may not show."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wiretool.dissect.dissector import annotate, read
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

CAPTURES = Path(__file__).parents[3] / "captures" / "sbp-0.1"


def names_decoded(value: Any) -> Iterator[str]:
    """Yield the names of the fields of tables, at any depth."""
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from names_decoded(each)
    elif isinstance(value, list):
        for each in value:
            yield from names_decoded(each)


def names_annotated(record: Record, table: str) -> set[str]:
    """Return the names of the fields of tables that have bytes; a slot may be there for one that has none."""
    paths = [span.path for span in annotate(record) if span.path.startswith(f"{table}.") and "(slot)" not in span.path]
    return {name for path in paths for name in re.sub(r"\[\d+\]|\(.*\)", "", path).split(".")[1:] if name}


@pytest.mark.parametrize(
    ("name", "count"), [("pm_s2_batch.pcap", 25), ("pm_s2_seal.pcap", 35), ("s1_streams.pcap", 10)]
)
def test_a_frame_is_annotated_with_the_fields_that_it_was_decoded_with(name: str, count: int) -> None:
    ports = dict.fromkeys(PROTOCOLS["sbp-0.1"].ports, "sbp-0.1")
    checked = 0
    for record in read(CAPTURES / name, ports=ports):
        assert record.fields is None or isinstance(record.fields, dict)
        header = record.fields and record.fields["header"]
        if record.kind == "frame" and header:
            assert names_annotated(record, header["table"]) <= set(names_decoded(header["fields"])), record.packets
            checked += 1
    assert checked >= count
