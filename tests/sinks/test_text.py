import re
from typing import Any

import pytest

from tests.helpers.records import START_NS, Pair, Paper, Sample, a_gap, a_problem, a_record, an_other
from wiretool.codec.cursor import Span
from wiretool.codec.reference import annotate, encode
from wiretool.records import Record
from wiretool.sinks.printable import width_of
from wiretool.sinks.sink import Column
from wiretool.sinks.text import TextSink
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.line import duration
from wiretool.sinks.text.tree import tree_lines
from wiretool.sinks.text.values import short, short_data

SGR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b]0;owned\x07\r\u202e\x9b31m[bold red]"


def shown(*records: Record, **options: Any) -> list[str]:
    paper = Paper()
    sink = TextSink(paper, **options)
    sink.begin()
    for record in records:
        sink.write(record)
    sink.end()
    return paper.text.splitlines()


def spans_of(record: Record) -> list[Span]:
    return annotate(Sample, record.raw)[1]


def test_a_connection_is_introduced_once_and_each_record_has_its_line() -> None:
    lines = shown(a_record(), a_record(n=2, side="server", time_ns=START_NS + 1_500_000), a_record(n=3, connection=1))
    assert lines[0] == "── connection 0  10.0.0.1:40000 → 10.0.0.2:12345  pravega"
    assert lines[1].startswith("   1  0.000000  0 → pravega Sample         request_id=7 offset=0")
    assert lines[2].startswith("   2  0.001500  0 ← pravega Sample ")
    assert lines[3].startswith("── connection 1")
    assert len(lines) == 5


def test_a_reply_is_tied_to_its_request() -> None:
    request = a_record()
    reply = a_record(n=2, side="server", reply_to=1, time_ns=START_NS + 1_234_567)
    assert "↳#1 +1.23 ms request_id=7" in shown(request, reply)[2]
    assert "↳#1 request_id=7" in shown(reply)[1]


def test_the_time_of_a_request_that_is_not_shown_counts() -> None:
    paper = Paper()
    sink = TextSink(paper)
    sink.skip(a_record())
    sink.write(a_record(n=2, reply_to=1, time_ns=START_NS + 2_000))
    assert "0.000002" in paper.text
    assert "↳#1 +2.00 µs" in paper.text


def test_holes_problems_and_strangers_say_what_they_are() -> None:
    lines = shown(a_gap(), a_problem(), a_problem(length=12), an_other())
    assert lines[1].endswith("gap            1,448 bytes missing at 100")
    assert lines[2].endswith("problem        bad-count: a count of -1")
    assert lines[3].endswith("problem        bad-count: a count of -1 (12 bytes at 100)")
    assert lines[5].endswith("other          5,321 bytes at 100: TLS")


def test_a_problem_that_names_its_kind_does_not_say_it_twice() -> None:
    assert shown(a_problem(why="bad-count at byte 3: no"))[1].endswith("problem        bad-count at byte 3: no")


def test_what_completes_an_append_says_where_it_went() -> None:
    record = a_record(append={"segment": "s/t/0", "length": 1200}, events=[{}, {}], left_over=b"xyz")
    assert shown(record)[1].endswith("left_over=(3 B) to=s/t/0 events=2 (1,200 B)")


def test_the_type_of_an_event_is_not_told_twice() -> None:
    assert shown(a_record(message="REQUEST", fields={"type": "REQUEST", "count": 1}))[1].endswith(
        "REQUEST        count=1"
    )


def test_long_values_are_cut_with_their_length() -> None:
    line = shown(a_record(fields=Sample(request_id=1, segment="s" * 100, data=bytes(1000))))[1]
    assert f"segment={'s' * 40}…(100 characters)" in line
    assert "data=0000000000000000…(1,000 B)" in line
    assert short(list(range(9))) == "[0, 1, 2, 3, …(9)]"
    assert short({"a": {"b": [True, None, 1.5]}, "c": "two words"}) == '{a={b=[true, null, 1.5]} c="two words"}'
    assert short_data(b"") == '""'


def test_deep_values_are_cut() -> None:
    value: Any = 1
    for _ in range(200):
        value = {"a": [value]}
    assert len(short(value)) < 100


def test_a_frame_of_header_and_payload_shows_what_the_header_says() -> None:
    frame = {
        "frame_length": 90,
        "stream_id": 3,
        "is_response": True,
        "response_end": False,
        "system_error": True,
        "payload_length": 4,
        "header": {"table": "T", "fields": {"timeout_ms": 5}},
        "payload": {"hex": "00000000", "entries": []},
    }
    line = shown(a_record(message="FETCH", fields=frame))[1]
    assert line.endswith("stream_id=3 system_error=true response_end=false timeout_ms=5 payload=(4 B) entries=[]")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    fields = Sample(request_id=2**62, segment="日本語" * 30, data=bytes(100))
    records = [a_record(fields=fields, reply_to=1), a_problem(why="why " * 50), an_other(), a_gap()]
    lines = shown(*records, width=width)[1:]
    assert all(width_of(line) <= max(width, 50) for line in lines if "connection" not in line)


def test_colours_come_only_when_asked_for_and_change_no_text() -> None:
    records = [a_record(raw=encode(Sample(request_id=7))), a_problem(), a_gap(), an_other()]
    options: dict[str, Any] = {"annotate": spans_of, "tree": True}
    plain = shown(*records, **options)
    painted = shown(*records, colour=True, **options)
    assert not any("\x1b" in line for line in plain)
    assert any("\x1b[" in line for line in painted)
    assert [SGR.sub("", line) for line in painted] == plain


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_the_text_of_a_problem_wraps(width: int) -> None:
    why = "the checksum is 0x1234 and that of the bytes is 0x4321, of 日本 and " + "x" * 70
    whole = shown(a_problem(why=why, length=12), width=width)
    lines = whole[next(at for at, line in enumerate(whole) if "problem" in line) :]  # after that of the connection
    assert len(lines) > 1
    assert all(width_of(line) <= max(width, 36) for line in lines)
    assert all(line.startswith("  ") for line in lines)
    said = "".join("".join(lines).split())
    assert said.endswith("".join(f"bad-count: {why} (12 bytes at 100)".split()))


@pytest.mark.parametrize("options", [{}, {"width": 80}, {"tree": True, "dump": True, "annotate": spans_of}])
def test_text_from_the_wire_never_reaches_a_terminal_raw(options: dict[str, Any]) -> None:
    fields = Sample(request_id=1, segment=HOSTILE, pairs=(Pair(key=HOSTILE, value=HOSTILE.encode()),))
    records = [
        a_record(fields=fields, raw=encode(fields), client=HOSTILE, message=HOSTILE),
        a_record(fields={HOSTILE: {HOSTILE: [HOSTILE]}}, connection=1),
        a_problem(why=HOSTILE, connection=2),
        an_other(why=HOSTILE, connection=3),
    ]
    text = "\n".join(shown(*records, **options))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\x1b]0;owned\\x07" in text


def test_chosen_columns_stand_under_their_names() -> None:
    columns = [
        Column("n", lambda record: record.n),
        Column("segment", lambda record: getattr(record.fields, "segment", None)),
    ]
    assert shown(a_record(), a_record(n=22), columns=columns) == [
        "n       segment",
        "1       scope/stream/0",
        "22      scope/stream/0",
    ]


def test_the_tree_has_every_field_with_its_place_and_meaning() -> None:
    fields = Sample(request_id=7, pairs=(Pair(key="k", value=b"\x01"), Pair(key="l", value=b"")), data=b"ab")
    lines = shown(a_record(fields=fields, raw=encode(fields)), annotate=spans_of, tree=True)
    assert lines[2:] == [
        "          at   bytes  field                 type                    value",
        "           0       8  request_id            i64                     7  chosen by the client",
        "           8       4  offset                i32                     0  bytes · where to begin",
        "          12      16  writer_id             uuid                    01234567-89ab-cdef-fedc-ba9876543210",
        "          28       1  at_tail               bool                    false",
        "          29      16  segment               string                  scope/stream/0",
        "          45      19  pairs",
        "          45       4  ├ count               i32                     2",
        "          49       8  ├ [0]",
        "          49       3  │ ├ key               string                  k",
        "          52       5  │ └ value             i32 count + bytes       01",
        "          57       7  └ [1]",
        "          57       3    ├ key               string                  l",
        '          60       4    └ value             i32 count + bytes       ""',
        "          64       2  data                  bytes to the end        6162",
        "",
    ]


def test_paths_that_come_again_stand_beside_each_other_however_many_and_deep() -> None:
    spans = [Span(n, 1, "part", "u8", n) for n in range(5_000)] + [Span(5_000, 1, "a." * 5_000 + "b", "u8", 1)]
    lines = list(tree_lines(spans, "", None, Colour(False)))
    assert len(lines) > 5_000
    assert lines[1].split() == ["0", "1", "part", "u8", "0"]
    assert lines[5_000].split() == ["4999", "1", "part", "u8", "4999"]
    assert max(map(len, lines)) < 200


def test_the_dump_has_every_byte_and_a_legend() -> None:
    raw = encode(Sample(request_id=7, segment="seg", data=b"\x00\x1b~"))
    lines = shown(a_record(raw=raw), annotate=spans_of, dump=True)[2:]
    assert lines[0] == "           0  00 00 00 00 00 00 00 07 00 00 00 00 01 23 45 67  ·············#Eg"
    assert lines[2] == "          32  65 67 00 00 00 00 00 1b 7e                       eg······~"
    assert lines[3] == "        0..7  Sample.request_id = 7"
    assert lines[-2] == "      38..40  Sample.data = 001b7e"


def test_bytes_of_a_problem_can_be_dumped_without_fields() -> None:
    lines = shown(a_problem(length=3, raw=b"abc"), annotate=spans_of, dump=True, tree=True)
    assert lines[2].endswith("61 62 63                                         abc")


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_340, "12.3 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (1_234_567, "1.23 ms"),
        (9_996_000, "10.0 ms"),
        (59_000_000_000, "59.0 s"),
        (-1_500, "-1.50 µs"),
    ],
)
def test_durations_have_three_digits(time_ns: int, text: str) -> None:
    assert duration(time_ns) == text


def test_a_narrow_terminal_says_once_that_the_protocol_has_no_column() -> None:
    for width, is_left_out in ((0, False), (60, True), (109, True), (110, False)):
        sink = TextSink(Paper(), width=width)
        assert sink.notice == ""
        sink.write(a_record())
        sink.write(a_record(n=2))
        notice = f"protocol column hidden: the terminal has {width} columns, 110 are needed"
        assert (notice in sink.notice) is is_left_out
