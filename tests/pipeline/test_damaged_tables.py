"""Tables that are damaged, or not those of their manifest: one line with the file, and exit code 3."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import MANIFEST
from wiretool.pipeline.local import run_local
from wiretool.pipeline.report import report_on
from wiretool.pipeline.sql import asked
from wiretool.pipeline.views import ALWAYS

CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    root = tmp_path / "tables"
    job = Job([CAPTURES / "pravega-draft" / "blocks.pcap"], root)
    run_local(job, tell=lambda _: None, watch=lambda _: None)
    return root


def frames_of(root: Path) -> Path:
    (path,) = (root / "frames").rglob("*.parquet")
    return path


def query(root: Path) -> None:
    with asked(root, "SELECT * FROM frames") as found:
        found.read_all()


def report(root: Path) -> None:
    report_on(root, ALWAYS, 10)


READERS = [query, report]


def change(root: Path, edit: Callable[[Any], None]) -> None:
    path = root / MANIFEST
    manifest = json.loads(path.read_text())
    edit(manifest)
    path.write_text(json.dumps(manifest))


def garble_footer(data: bytearray) -> None:
    size = int.from_bytes(data[-8:-4], "little")
    for at in range(len(data) - 8 - size, len(data) - 8, 7):
        data[at] = 0x0F


def garble_pages(data: bytearray) -> None:
    size = int.from_bytes(data[-8:-4], "little")
    for at in range(4, len(data) - 8 - size, 3):
        data[at] ^= 0x5A


def cut(data: bytearray) -> None:
    del data[-20:]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("harm", [garble_footer, garble_pages, cut, bytearray.clear])
def test_a_damaged_part_is_named(tables: Path, read: Callable[[Path], None], harm: Callable[[bytearray], None]) -> None:
    path = frames_of(tables)
    data = bytearray(path.read_bytes())
    harm(data)
    path.write_bytes(data)
    with pytest.raises(CaptureError) as caught:
        read(tables)
    assert str(caught.value) == f"{path}: a damaged file; expected a whole Parquet file; make the tables again"


@pytest.mark.parametrize("read", READERS)
def test_a_missing_part_is_named(tables: Path, read: Callable[[Path], None]) -> None:
    path = frames_of(tables)
    path.unlink()
    with pytest.raises(CaptureError, match=r"no such file, though manifest\.json names it; make") as caught:
        read(tables)
    assert caught.value.name == str(path)


@pytest.mark.parametrize("read", READERS)
def test_rows_that_the_manifest_does_not_have(tables: Path, read: Callable[[Path], None]) -> None:
    change(tables, lambda manifest: manifest["tables"]["frames"][0].update(rows=7))
    with pytest.raises(CaptureError, match=r"has 24 rows; manifest\.json has 7") as caught:
        read(tables)
    assert caught.value.name == str(frames_of(tables))


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "edit",
    [
        lambda manifest: manifest["tables"]["frames"][0].update(rows=-5),
        lambda manifest: manifest["tables"]["frames"][0].update(bytes=2**70),
        lambda manifest: manifest.update(format=2),
        lambda manifest: manifest.update(connections=-1),
        lambda manifest: manifest["inputs"][0].update(first_ns=2**70),
        lambda manifest: manifest["total"].update(frames=-1),
    ],
    ids=["rows", "bytes", "format", "connections", "time", "total"],
)
def test_values_of_the_manifest_out_of_range(
    tables: Path, read: Callable[[Path], None], edit: Callable[[Any], None]
) -> None:
    change(tables, edit)
    with pytest.raises(CaptureError) as caught:
        read(tables)
    assert caught.value.name == str(tables / MANIFEST)


@pytest.mark.parametrize("select", ["SELECT nix FROM frames", "SELEC 1", "SELECT client::INT FROM frames"])
def test_mistakes_in_sql_stay_usage(tables: Path, select: str) -> None:
    with pytest.raises(UsageError) as caught, asked(tables, select) as found:
        found.read_all()
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
