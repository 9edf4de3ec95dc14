"""`wiretool pipeline report` and `sql`: where what is asked for goes, and what is wrong in one line."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.helpers.forked import run

CAPTURES = Path(__file__).parents[3] / "captures"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tables")
    ended = run("pipeline", "run", CAPTURES / "sbp" / "rs_append.pcap", "-o", root)
    assert ended.returncode == 0
    return root


def test_a_report_for_people_with_a_page_and_numbers_beside_it(tables: Path, tmp_path: Path) -> None:
    page, numbers = tmp_path / "report.html", tmp_path / "report.json"
    ended = run("pipeline", "report", tables, "-o", page, "--json", numbers, "--top", "2")
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"Slowest exchanges (2 of 29)" in ended.stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert len(json.loads(numbers.read_text())["figures"]["errors"]["rows"]) == 2


def test_what_goes_to_stdout_goes_there_alone(tables: Path) -> None:
    told = json.loads(run("pipeline", "report", tables, "--json", "-", "--until", "2020-01-01").stdout)
    assert told["until_ns"] == 1_577_836_800_000_000_000
    assert told["figures"]["protocols"]["rows"] == []
    assert run("pipeline", "report", tables, "--html", "-").stdout.startswith(b"<!DOCTYPE html>")


def test_answers(tables: Path, tmp_path: Path) -> None:
    question = "SELECT error, count(*) AS n FROM exchanges WHERE error IS NOT NULL GROUP BY ALL ORDER BY n DESC, error"
    told = json.loads(run("pipeline", "sql", tables, question, "--format", "json").stdout)
    assert told[0] == {"error": "BAD_REQUEST", "n": 7}
    ended = run("pipeline", "sql", tables, question, "--format", "parquet", "-o", tmp_path / "x.parquet")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("report", "{tables}", "--since", "yesterday"),
            "--since: 'yesterday' is not a time; expected 2024-05-01T12:00",
        ),
        (
            ("report", "{tables}", "--since", "2027-01-01", "--until", "2026-01-01"),
            "--since 2027-01-01 is not before --until 2026-01-01; expected an earlier time",
        ),
        (("report", "{empty}/\udcff"), "/\\xff is not UTF-8; expected UTF-8, as SQL and Parquet require"),
        (("sql", "{tables}", "SELECT '\udcff'"), "the question SELECT '\\xff' is not UTF-8"),
        (("sql", "{tables}", "SELECT 1", "--format", "parquet", "-o", "{empty}/\udcff"), "/\\xff is not UTF-8"),
        (("report", "{empty}"), "holds no tables of wiretool pipeline"),
        (("sql", "{tables}", "SELECT nope"), "nope"),
        (("sql", "{tables}", "SELECT 1", "--format", "parquet"), "--format parquet: missing file; expected -o FILE"),
        (("sql", "{tables}", "DROP TABLE frames"), "only a single read-only statement"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tables: Path, tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    ended = run("pipeline", *(word.format(tables=tables, empty=tmp_path) for word in words))
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.count(b"\n") == 1
    assert why in ended.stderr.decode()
