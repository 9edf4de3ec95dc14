"""The engine that `--engine auto` selects, by the size of the captures and the destination of the output."""

from pathlib import Path

import pytest

from tests.bench.pravega_appends import make_capture
from wiretool.commands.engines import SMALL_BYTES, suits_columns, takes_columns
from wiretool.commands.options import DecodeFormat, Engine

NDJSON = DecodeFormat.NDJSON


@pytest.mark.parametrize("connections", [1, 300])
def test_files_are_read_as_columns_however_many_connections_they_have(connections: int, tmp_path: Path) -> None:
    capture, output = tmp_path / "c.pcap", tmp_path / "out.ndjson"
    make_capture(capture, packets=1_000, connections=connections)
    assert suits_columns([capture])
    assert takes_columns(Engine.AUTO, NDJSON, captures=[capture], output=output)
    assert takes_columns(Engine.COLUMNS, NDJSON, captures=[capture], output=output)
    assert not takes_columns(Engine.ROWS, NDJSON, captures=[capture], output=output)


def test_what_is_no_capture_has_its_reader_to_say_so(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no capture" * SMALL_BYTES)
    assert suits_columns([tmp_path / "text"])


def test_small_captures_are_read_by_rows(tmp_path: Path) -> None:
    capture = tmp_path / "c.pcap"
    make_capture(capture, packets=200, event_bytes=500)
    assert SMALL_BYTES / 2 < capture.stat().st_size <= SMALL_BYTES
    assert not suits_columns([capture])
    assert suits_columns([capture, capture])
