"""Questions in SQL: every form of answer, and nothing else that can be done with them."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.helpers.records import Paper
from tests.pipeline.test_stream import Streamed
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline import layout, sql
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import EXCHANGES, FRAMES, GAPS, TABLES, read_manifest, schema_of, write_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.sql import asked, write_answer, write_parquet
from wiretool.pipeline.views import Times, endings, named_in, opened

CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of two captures, in a folder whose name is a pattern and has a quote in it."""
    root = tmp_path_factory.mktemp("odd") / "a[1]*? 'b" / "tables"
    captures = [CAPTURES / "pravega-draft" / "blocks.pcap", CAPTURES / "sbp" / "pd_malformed.pcap"]
    run_local(Job(captures, root), tell=lambda _: None, watch=lambda _: None)
    return root


def told(tables: Path, question: str, form: str) -> str:
    paper = Paper()
    with asked(tables, question) as found:
        write_answer(found, paper, form)
    return paper.text


def answer_parquet(tables: Path, question: str, path: Path) -> None:
    with asked(tables, question) as found:
        write_parquet(found, path)


def rows(tables: Path, question: str) -> Any:
    return json.loads(told(tables, question, "json"))


VALUES = r"""SELECT 1 AS a, 2 AS a, 2.50::DECIMAL(9, 2) AS b, 'x, "y"' AS c, [1, 2] AS d, {'q': 'w'} AS e,
    DATE '2024-05-01' AS f, 'NaN'::DOUBLE AS g, true AS h, NULL AS i, '\x01'::BLOB AS j,
    TIMESTAMP '2024-05-01 12:00:00.5' AS k, 12345678901234567890123::HUGEINT AS l, INTERVAL 3 SECONDS AS m"""
PLAIN = {
    "a": 1,
    "a_2": 2,
    "b": 2.5,
    "c": 'x, "y"',
    "d": [1, 2],
    "e": {"q": "w"},
    "f": "2024-05-01",
    "g": None,
    "h": True,
    "i": None,
    "j": "01",
    "k": "2024-05-01T12:00:00.500000",
    "l": 12345678901234567890123,
}


def test_values_in_every_form(tables: Path) -> None:
    (row,) = rows(tables, VALUES)
    assert row.pop("m") == "P0M0DT3S"
    assert row == PLAIN
    assert json.loads(told(tables, VALUES, "ndjson")).items() >= PLAIN.items()
    (line,) = csv.DictReader(io.StringIO(told(tables, VALUES, "csv")))
    assert (line["c"], line["d"], line["e"], line["h"], line["i"]) == ('x, "y"', "[1,2]", '{"q":"w"}', "true", "")
    head, shown = told(tables, VALUES, "text").splitlines()
    assert head.split()[:4] == ["a", "a_2", "b", "c"]
    assert "null" in shown


@pytest.mark.parametrize("text", ["=cmd|x!A0", "+1+1", "-2+3", "@SUM(1)", "\tx"])
def test_no_cell_is_a_formula(tables: Path, text: str) -> None:
    """As in the CSV of decode: a text from the wire gets a quote in front; a number stays one."""
    head, line = told(tables, f"SELECT '{text}' AS a, -1 AS b, '=x' AS \"=c\"", "csv").splitlines()
    assert not any(cell.startswith(("=", "+", "@", "\t")) for cell in (*head.split(","), *line.split(",")))
    assert line.split(",")[1] == "-1"


ODD = r"""SELECT unnest([DATE '99999-01-01', DATE '2024-01-01', NULL]) AS a, TIMESTAMP 'infinity' AS b,
    [TIMESTAMP '-infinity', NULL] AS c, {'x': DATE '99999-01-01', 'y': NULL::DATE} AS d,
    MAP {'k': DATE 'infinity'} AS e, MAP {'k': '\xff'::BLOB} AS f,
    '101'::BIT AS g, '12:00:00+02'::TIMETZ AS h, 3 AS h"""


def test_values_that_python_has_none_of(tables: Path) -> None:
    found = rows(tables, ODD)
    assert [row.pop("a") for row in found] == ["99999-01-01", "2024-01-01", None]
    assert found == 3 * [
        {
            "b": "infinity",
            "c": ["-infinity", None],
            "d": {"x": "99999-01-01", "y": None},
            "e": [["k", "infinity"]],
            "f": [["k", "ff"]],
            "g": "101",
            "h": "12:00:00+02",
            "h_2": 3,
        }
    ]
    assert "99999-01-01  infinity" in told(tables, ODD, "text")


@pytest.mark.parametrize("form", ["text", "csv", "json", "ndjson"])
def test_nothing_moves_a_terminal(tables: Path, form: str) -> None:
    """Neither in a value nor in a name: no escape, no control character of the upper half, no turned writing."""
    given = told(tables, 'SELECT chr(27) || chr(155) || chr(8238) AS "\x1b[31m", [chr(155)] AS b', form)
    assert given.replace("\n", "").isprintable()
    assert "[31m" in given
    assert given.count("9b") == 2


def test_parquet(tables: Path, tmp_path: Path) -> None:
    answer_parquet(tables, "SELECT protocol, count(*) AS n FROM frames GROUP BY ALL ORDER BY 1", tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pydict()["protocol"] == ["pravega-draft", "sbp"]
    with pytest.raises(UsageError, match="cannot write"):
        answer_parquet(tables, "SELECT 1", tmp_path / "no" / "x.parquet")
    with pytest.raises(UsageError, match="boom"):
        answer_parquet(tables, "SELECT error('boom')", tmp_path / "y.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


def test_no_rows(tables: Path) -> None:
    none = "SELECT n FROM frames WHERE false"
    assert [told(tables, none, form) for form in ("json", "ndjson", "csv")] == ["[]\n", "", "n\n"]


def test_a_person_sees_the_first_of_many(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "ROWS_SHOWN", 3)
    last, more = told(tables, "SELECT * FROM range(4)", "text").splitlines()[-2:]
    assert last.strip() == "2"
    assert more == "these are the first 3 rows: --format csv or ndjson gives all"
    assert "first" not in told(tables, "SELECT * FROM range(3)", "text")
    assert len(told(tables, "SELECT * FROM range(50000)", "csv").splitlines()) == 50_001


def test_tables_by_their_names(tables: Path) -> None:
    manifest = read_manifest(tables)
    for name in (FRAMES, EXCHANGES, GAPS):
        assert rows(tables, f"SELECT count(*) AS n FROM {name}") == [{"n": manifest.rows(name)}]
    names = '"pravega-draft.SetupAppend"', '"pravega-draft".SetupAppend', "sbp.ping"
    assert [rows(tables, f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in names] == [
        manifest.rows(name) for name in ("pravega-draft.SetupAppend", "pravega-draft.SetupAppend", "sbp.PING")
    ]
    listed = {row["name"] for row in rows(tables, "SHOW ALL TABLES")}
    assert {"frames", "sbp.PING", "PING", "minutes"} <= listed
    messages = {name + ending for name, ending in endings(manifest.tables).items() if "." in name}
    assert {row["name"] for row in rows(tables, "SHOW TABLES")} == {*TABLES, *messages}
    assert rows(tables, "SELECT DISTINCT typeof(date) AS d, typeof(protocol) AS p FROM frames") == [
        {"d": "DATE", "p": "VARCHAR"}
    ]


def test_only_tables_are_listed_also_where_one_has_no_rows(tmp_path: Path) -> None:
    manifest = run_local(Job([CAPTURES / "sbp" / "rs_append.pcap"], tmp_path), lambda note: None, lambda step: None)
    assert GAPS not in manifest.tables
    assert {row["name"] for row in rows(tmp_path, "SHOW TABLES")} == {*TABLES, *manifest.tables}
    described = rows(tmp_path, f"SELECT column_name FROM (DESCRIBE {GAPS})")
    assert [row["column_name"] for row in described] == [*schema_of(GAPS).names, "date", "protocol"]
    assert rows(tmp_path, f"SELECT * FROM {GAPS}") == []


def test_of_a_stream_also_the_batch_can_be_asked(tmp_path: Path) -> None:
    """And only of a stream: what a run has made is as it was."""
    streamed = Streamed(tmp_path)
    for name in ("rs_append.pcap", "pd_malformed.pcap"):
        shutil.copy(CAPTURES / "sbp" / name, streamed.captures)
        manifest = streamed.go_on()
    once = tmp_path / "once"
    run_local(Job([streamed.captures], once, has_events=True), lambda note: None, lambda step: None)
    for name in (FRAMES, GAPS, "sbp.APPEND"):
        counts = [
            {"batch": batch, "n": sum(file.rows for file in files)}
            for batch in range(2)
            if (files := [file for file in manifest.tables.get(name, ()) if f"/batch={batch:08d}/" in file.path])
        ]
        asked = f'SELECT batch, count(*) AS n FROM "{name}" GROUP BY batch ORDER BY batch'
        assert rows(streamed.tables, asked) == counts
        columns = [row["column_name"] for row in rows(once, f'SELECT column_name FROM (DESCRIBE "{name}")')]
        assert "batch" not in columns
        kinds = rows(streamed.tables, f'SELECT column_name, column_type FROM (DESCRIBE "{name}")')
        assert [row["column_name"] for row in kinds] == [*columns[:-2], "batch", *columns[-2:]]
        assert kinds[-3]["column_type"] == "INTEGER"
    assert len(rows(streamed.tables, "SELECT DISTINCT batch FROM frames")) == 2


def test_names_that_differ_in_capitals_alone(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL takes Unknown for UNKNOWN: neither is there by that name, each is by one of its own."""
    root = tmp_path / "tables"
    shutil.copytree(tables, root)
    manifest = read_manifest(root)
    monkeypatch.setattr(layout, "message_tables", lambda: frozenset({*manifest.tables, "sbp.Ping"}))
    more = {"sbp.Ping": manifest.tables["sbp.DESCRIBE_STREAM"]}
    write_manifest(root, msgspec.structs.replace(manifest, tables={**manifest.tables, **more}))
    for name, view in (("sbp.PING", "sbp.ping_1"), ("sbp.DESCRIBE_STREAM", "sbp.ping_2")):
        assert rows(root, f"SELECT count(*) AS n FROM {view}") == [{"n": manifest.rows(name)}]
    called = "sbp.PING is sbp.PING_1, sbp.Ping is sbp.Ping_2 here"
    for view in ("sbp.PING", "sbp.Ping", '"sbp.Ping"', '"sbp"."PING"'):
        with pytest.raises(UsageError, match=f"there is no table .*: {called}; SHOW ALL TABLES names all$"):
            rows(root, f"SELECT count(*) AS n FROM {view}")


def test_real_names_that_differ_in_capitals_alone(tmp_path: Path) -> None:
    """SBP has an operation UNKNOWN, and Unknown is what no operation has."""
    manifest = run_local(Job([CAPTURES / "sbp"], tmp_path), lambda note: None, lambda step: None)
    for name, view in (("sbp.UNKNOWN", "sbp.UNKNOWN_1"), ("sbp.Unknown", "sbp.Unknown_2")):
        assert manifest.rows(name)
        assert rows(tmp_path, f"SELECT count(*) AS n FROM {view}") == [{"n": manifest.rows(name)}]
    assert manifest.rows("sbp.UNKNOWN") != manifest.rows("sbp.Unknown")
    listed = {row["name"] for row in rows(tmp_path, "SHOW TABLES")}
    assert {"sbp.UNKNOWN_1", "sbp.Unknown_2"} <= listed
    assert not {"sbp.UNKNOWN", "sbp.Unknown"} & listed


def test_a_name_stays_what_it_is_whether_or_not_the_other_one_is_there(tmp_path: Path) -> None:
    manifest = run_local(Job([CAPTURES / "sbp" / "pd_malformed.pcap"], tmp_path), lambda _: None, lambda _: None)
    assert "sbp.UNKNOWN" not in manifest.tables
    assert rows(tmp_path, "SELECT count(*) AS n FROM sbp.unknown_2") == [{"n": manifest.rows("sbp.Unknown")}]
    for view in ("sbp.UNKNOWN", "sbp.Unknown"):
        with pytest.raises(UsageError, match=r"there is no table .*: sbp\.Unknown is sbp\.Unknown_2 here"):
            rows(tmp_path, f"SELECT count(*) AS n FROM {view}")


def test_endings_tell_names_apart() -> None:
    """Also where a name is taken already by another with its number; and in whatever order they come."""
    names = ["b", "a.X", "a.x", "a.X_2", "A.x"]
    found = {"A.x": "_1", "a.X": "_3", "a.X_2": "", "a.x": "_4", "b": ""}
    assert endings(names) == endings(names[::-1]) == found
    assert endings(["sbp.Unknown", "sbp.APPEND"]) == {"sbp.Unknown": "_2", "sbp.APPEND": ""}


def test_named_in() -> None:
    said = named_in("SELECT * FROM sbp.ping")
    assert [said(name) for name in ("sbp.PING", "sbp.Ping", "sbp.APPEND")] == [True, True, False]
    for question in (
        "SHOW TABLES",
        "FROM query_table('a' || 'b')",
        "FROM Identifier ('a' || 'b')",
        "FROM query('a' || b)",
    ):
        assert named_in(question)("sbp.APPEND"), "it may be about any table"


@pytest.mark.parametrize("folder", ["year=5/date=today/protocol=x", r"a[1]\b"])
def test_folders_whose_names_say_something(tmp_path: Path, tables: Path, folder: str) -> None:
    root = tmp_path / folder / "tables"
    shutil.copytree(tables, root)
    for question in (
        "SELECT date, protocol, count(*) AS n FROM frames GROUP BY ALL ORDER BY ALL",
        "SELECT * FROM sbp.ping ORDER BY ALL",
        "SELECT column_name, column_type FROM (DESCRIBE frames)",
    ):
        assert rows(root, question) == rows(tables, question)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("SELEC 1", 'not SQL: unexpected "SELEC"; expected'),
        ("SELECT nope FROM frames", "no column is called nope; similar columns: .*; DESCRIBE TABLE"),
        ("SELECT * FROM nope", "^there is no table nope; SHOW ALL TABLES names all$"),
        ("SELECT * FROM question", "there is no table question;"),
        ("SELECT * FROM nope WHERE 'unknown' = 'show'", "^there is no table nope; SHOW"),
        ("SELECT * FROM frame AS query", r"^there is no table frame \(did you mean frames\?\); SHOW ALL"),
        ("SELECT * FROM minutes", r"^there is no table minutes \(did you mean gold.minutes\?\)"),
        ("SELECT * FROM sbp.PIN", r"^there is no table sbp.PIN \(did you mean sbp.PING\?\)"),
        ("SELECT * FROM sbp.PING JOIN sbp.PIN USING (n)", r"^there is no table PIN \(did you mean sbp.PING\?\)"),
        ("SELECT * FROM SetupApend", r'no table SetupApend \(did you mean "pravega-draft".SetupAppend\?\)'),
        (
            "SELECT * FROM '{root}/manifest.json'",
            "files other than the tables cannot be read",
        ),
        ("SELECT error('boom') FROM frames", "boom"),
        ("", "only a single read-only statement"),
        ("SELECT 1; SELECT 2", "only a single read-only statement"),
        ("COPY frames TO '{root}/x.parquet'", "only a single read-only statement"),
        ("EXPLAIN ANALYZE COPY frames TO '{root}/x.parquet'", "only a single read-only statement"),
        ("CREATE TABLE t AS SELECT 1", "only a single read-only statement"),
        ("ATTACH '{root}/x.db'", "only a single read-only statement"),
        ("SET enable_external_access = true", "only a single read-only statement"),
        ("PRAGMA version", "only a single read-only statement"),
        ("INSTALL httpfs", "only a single read-only statement"),
        (
            "SELECT * FROM read_text('/etc/hostname')",
            "files other than the tables cannot be read",
        ),
        (
            "SELECT * FROM read_text('{root}/manifest.json')",
            "files other than the tables cannot be read",
        ),
        ("SELECT * FROM glob('/*')", "files other than the tables cannot be read"),
        ("SELECT * FROM query('DROP VIEW frames')", "SELECT"),
    ],
)
def test_what_is_refused(tables: Path, question: str, why: str) -> None:
    before = sorted(tables.rglob("*"))
    with pytest.raises(UsageError, match=why) as caught:
        told(tables, question.format(root=str(tables).replace("'", "''")), "text")
    assert "\n" not in str(caught.value)
    assert sorted(tables.rglob("*")) == before


def test_where_there_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no tables"):
        told(tmp_path, "SELECT 1", "text")


def test_a_file_that_is_gone_or_damaged(tmp_path: Path) -> None:
    root = tmp_path / "tables"
    job = Job([CAPTURES / "pravega-draft" / "blocks.pcap"], root)
    (file,) = run_local(job, tell=lambda _: None, watch=lambda _: None).tables[FRAMES]
    (root / file.path).write_bytes(b"PAR1 no parquet at all PAR1")
    with pytest.raises(
        CaptureError, match=r"frames/.*: a damaged file; expected a whole Parquet file; make the tables again"
    ):
        told(root, "SELECT 1", "text")
    (root / file.path).unlink()
    with pytest.raises(CaptureError, match=r"frames/.*: no such file, though manifest.json names it"):
        told(root, "SELECT 1", "text")


def test_stretches_of_time(tables: Path) -> None:
    def count(times: Times) -> list[int]:
        with opened(tables, times, messages=lambda _: False) as part:
            found = part.database.execute("SELECT (SELECT count(*) FROM frames), (SELECT count(*) FROM ledger)")
            return list(found.fetchone() or ())

    with opened(tables) as whole:
        found = whole.database.execute("SELECT min(time_ns), max(time_ns) FROM frames").fetchone()
    assert found is not None
    middle = sum(found) // 2
    before, behind, every = count(Times(None, middle)), count(Times(middle, None)), count(Times())
    assert before[0] > 0 < behind[0]
    assert before[0] + behind[0] == every[0]
    assert before[1] + behind[1] >= every[1], "connections are in both times that they were in"
    assert count(Times(middle, middle))[0] == 0
