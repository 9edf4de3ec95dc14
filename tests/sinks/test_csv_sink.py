import csv
import io
import json

from tests.helpers.records import Paper, a_gap, a_record
from wiretool.records import Record
from wiretool.sinks.csv import NAMES, CsvSink
from wiretool.sinks.sink import Column, Columns


def rows(*records: Record, columns: Columns | None = None) -> list[dict[str, str]]:
    paper = Paper()
    sink = CsvSink(paper, columns)
    sink.begin()
    for record in records:
        sink.write(record)
    sink.end()
    return list(csv.DictReader(io.StringIO(paper.text)))


def test_common_columns_and_the_fields_as_json() -> None:
    row, gap = rows(a_record(reply_to=1), a_gap())
    assert tuple(row) == NAMES
    assert (row["n"], row["message"], row["first_packet"], row["last_packet"]) == ("1", "Sample", "3", "4")
    assert json.loads(row["fields"])["request_id"] == 7
    assert (gap["kind"], gap["fields"], gap["length"]) == ("gap", "", "1448")


def test_chosen_columns_are_the_only_ones() -> None:
    columns = [Column("side", lambda record: record.side), Column("fields.a", lambda record: [1, True])]
    assert rows(a_record(), columns=columns) == [{"side": "client", "fields.a": "[1,true]"}]


def test_what_a_terminal_would_obey_is_escaped() -> None:
    (row,) = rows(a_record(message="a\x1b[31m\r\n"))
    assert row["message"] == "a\\x1b[31m\\x0d\\x0a"


def test_no_records_leave_the_line_of_names() -> None:
    paper = Paper()
    CsvSink(paper).begin()
    assert paper.text == ",".join(NAMES) + "\n"


def test_a_cell_is_no_formula_and_a_number_stays_one() -> None:
    columns = [Column("fields.name", lambda record: record.message), Column("fields.offset", lambda record: -1)]
    for text in ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)"):
        assert rows(a_record(message=text), columns=columns) == [{"fields.name": f"'{text}", "fields.offset": "-1"}]
    assert rows(a_record(message="\t=1"), columns=columns)[0]["fields.name"] == "\\x09=1"
    assert rows(a_record(message="a=1"), columns=columns)[0]["fields.name"] == "a=1"
