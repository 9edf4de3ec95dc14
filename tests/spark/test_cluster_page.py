"""What docs/cluster.md shows is so: its programs run as they stand there, but for where the captures and tables are."""

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.forked import run
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import read_manifest
from wiretool.pipeline.local import run_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text()
CAPTURES = ("pravega/read.pcap", "sbp/rs_append.pcap")


def program(heading: str, containing: str) -> str:
    """The one indented block under a heading that contains a text."""
    (section,) = (part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE) if part.startswith(f"{heading}\n"))
    found = [block for block in re.findall(r"(?:^ {4}.*\n|^\n)+", section, re.MULTILINE) if containing in block]
    assert len(found) == 1, f"docs/cluster.md has {len(found)} programs with {containing} under {heading}"
    return "\n".join(line.removeprefix("    ") for line in found[0].strip("\n").splitlines())


def adapted(text: str, places: Mapping[str, object]) -> str:
    """The text with other words in place of those; AssertionError where one is not there."""
    for before, after in places.items():
        assert before in text, f"docs/cluster.md does not say {before} any more: {text}"
        text = text.replace(before, str(after))
    return text


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with captures and their tables."""
    (tmp_path / "captures").mkdir()
    for name in CAPTURES:
        shutil.copy(ROOT / "captures" / name, tmp_path / "captures")
    run_local(Job([tmp_path / "captures"], tmp_path / "tables"), lambda note: None, lambda step: None)
    return tmp_path


class Shown:
    """What a notebook would show in a frame."""

    def __init__(self, path: str, **size: object) -> None:
        self.page = Path(path).read_text()


def test_the_notebook(spark: "SparkSession", place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines, and its command between them; the frame stands in for IPython's."""
    display = ModuleType("IPython.display")
    monkeypatch.setattr(display, "IFrame", Shown, raising=False)
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, display)
    monkeypatch.chdir(place)
    text = program("In a notebook", "!wiretool")
    # Spark's Java has a working folder of its own.
    text = adapted(text, {'"tables/exchanges"': repr(str(place / "tables" / "exchanges"))})
    before, command, after = re.fullmatch(r"(.*\n)!wiretool (.*?)\n(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    names: dict[str, Any] = {}
    exec(before, names)
    wanted = {
        row["request"]: row["count"]
        for row in spark.read.parquet(str(place / "tables" / "exchanges"))
        .where("latency_ns > 1000000")
        .groupBy("request")
        .count()
        .collect()
    }
    assert wanted
    assert dict(names["found"].itertuples(index=False)) == wanted
    ended = run(*command.split(), cwd=place)
    assert (ended.returncode, ended.stderr) == (0, b"")
    *statements, shown = after.splitlines()
    exec("\n".join(statements), names)
    assert eval(shown, names).page.startswith("<!DOCTYPE html>")


def test_the_program_for_spark_submit(spark: "SparkSession", place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program("The package as an archive", "run_spark")
    made = {"/mnt/captures": place / "captures", "/mnt/tables": place / "made"}
    exec(adapted(text, made), {})
    own, other = read_manifest(place / "tables"), read_manifest(place / "made")
    assert other.engine == "spark"
    assert (other.total, other.connections, other.tables.keys()) == (own.total, own.connections, own.tables.keys())
    assert "reading" in capsys.readouterr().out


def test_the_data_source(spark: "SparkSession", place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a session apart, as one where it has to be registered."""
    own = spark.newSession()
    names: dict[str, Any] = {"spark": own}
    exec(program("The package as an archive", "DefaultSource"), names)
    places = {"/mnt/captures": place / "captures", "2026-11-21 02:00:00": "2026-11-21 01:00:00"}
    text = adapted(program("The data source", "CREATE"), places)
    python, _, sql = text.partition("\n\nCREATE")
    exec(python, names)
    first, second = capsys.readouterr().out.split("request", 1)
    assert "127.0.0.1" in first
    assert "ReadSegment" in second
    own.sql(f"CREATE{sql}")
    manifest = read_manifest(place / "tables")
    assert own.table("packets").count() == sum(each.packets for each in manifest.inputs)
    (schema,) = re.findall(r"`spark\.read\.format\(\"wirecap\"\)\.schema\((.*?)\)\.load\(\.\.\.\)`", PAGE)
    few = own.read.format("wirecap").schema(eval(schema)).load(str(place / "captures"))
    assert few.count() == own.table("packets").count()
    assert few.columns == ["time", "src", "length"]
