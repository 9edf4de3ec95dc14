import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import Paper, a_gap, a_problem, a_record, an_other
from wiretool.codec.json_text import json_text
from wiretool.records import Record
from wiretool.sinks.ndjson import HEADS_MAX, WAITING_CHARACTERS_MAX, JsonSink, NdjsonSink, RecordText, json_record
from wiretool.sinks.sink import Column

EVERYTHING = a_record(
    reply_to=1, error="e", why="w", append={"segment": "s"}, events=[{"data": "00"}], left_over=b"\x01", raw=b"raw"
)


def lines(*records: Record) -> list[dict[str, Any]]:
    paper = Paper()
    sink = NdjsonSink(paper)
    for record in records:
        sink.write(record)
    sink.end()
    return [json.loads(line) for line in paper.text.splitlines()]


def test_a_record_has_its_keys_in_order_and_no_absent_ones() -> None:
    assert " ".join(json_record(a_record())) == (
        "n kind time_ns connection client server side protocol message fields packets offset length"
    )
    assert list(json_record(EVERYTHING))[-6:] == ["reply_to", "error", "why", "append", "events", "left_over"]
    assert json_record(EVERYTHING)["left_over"] == "01"
    assert json_record(an_other())["why"] == "TLS"
    assert "protocol" not in json_record(an_other())
    assert "fields" not in json_record(a_gap())


def test_fields_may_be_a_message_or_already_json() -> None:
    assert json_record(a_record())["fields"]["request_id"] == 7
    assert json_record(a_record(fields={"count": 1}))["fields"] == {"count": 1}


def test_each_line_is_the_json_form_of_its_record() -> None:
    records = [a_record(), EVERYTHING, a_gap(), a_problem(), an_other(), a_record(fields={"a": "\x7f"}), a_record(n=2)]
    records += [a_record(fields=None), a_record(protocol="", message=""), a_record(side="server", message="Söhne\x1b")]
    assert lines(*records) == [json_record(record) for record in records]


@given(
    st.integers(1, 2**63 - 1),
    st.sampled_from(["client", "server"]),
    st.none() | st.integers(1, 2**63 - 1),
    st.text(),
    st.text(),
    st.binary(max_size=4),
)
def test_the_fast_text_is_the_slow_text(
    n: int, side: str, reply_to: int | None, client: str, message: str, left_over: bytes
) -> None:
    record = a_record(n=n, side=side, reply_to=reply_to, client=client, message=message, left_over=left_over)
    assert RecordText().of(record) == json_text(json_record(record))


def test_heads_of_lines_are_forgotten_before_they_fill_memory() -> None:
    text = RecordText()
    for connection in range(HEADS_MAX + 10):
        text.of(a_record(connection=connection))
    assert len(text._heads) <= HEADS_MAX
    assert json.loads(text.of(a_record(connection=5)))["connection"] == 5


def test_chosen_columns_are_keys_as_they_were_asked_for() -> None:
    paper = Paper()
    columns = [Column("n", lambda record: record.n), Column("fields.x", lambda record: None)]
    sink = NdjsonSink(paper, columns)
    sink.write(a_record(n=12))
    sink.end()
    assert paper.text == '{"n":12}\n'


def test_json_is_one_array() -> None:
    for count in (0, 1, 3):
        paper = Paper()
        sink = JsonSink(paper)
        sink.begin()
        for n in range(count):
            sink.write(a_record(n=n + 1))
        sink.end()
        assert [record["n"] for record in json.loads(paper.text)] == list(range(1, count + 1))


def test_long_lines_do_not_wait_for_others() -> None:
    paper = Paper()
    sink = NdjsonSink(paper)
    sink.write(a_record())
    assert paper.text == ""
    sink.write(a_record(fields={"data": "x" * WAITING_CHARACTERS_MAX}))
    assert paper.text.count("\n") == 2
    sink.write(a_record())
    assert paper.text.count("\n") == 2
    sink.end()
    assert paper.text.count("\n") == 3
