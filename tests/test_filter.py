import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import needs_protocol
from tests.helpers.records import START_NS, WRITER, Pair, Sample, a_gap, a_record
from wiretool import limits
from wiretool.codec.types import NamedByte
from wiretool.dissect.dissector import read
from wiretool.errors import UsageError
from wiretool.filter import History, Selection, columns_of, names_for
from wiretool.filter.history import RequestValues
from wiretool.filter.names import Kind, Names, record_names
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

FIELDS = Names(Kind.OBJECT)
FIELDS.add_fields(Sample)
NAMES = record_names(FIELDS)
CAPTURES = Path(__file__).parents[1] / "captures"
ALL = names_for(PROTOCOLS.values())
RECORD = a_record(
    n=12,
    side="server",
    reply_to=5,
    fields=Sample(
        request_id=7,
        offset=100,
        at_tail=True,
        segment="scope/stream/0.#epoch.0",
        pairs=(Pair(key="a", value=b"\x01\xff"), Pair(key="b", value=b"")),
        data=b"hello",
    ),
)


def keeps(expression: str, record: Record = RECORD, names: Names = NAMES) -> bool:
    return Selection(names, History(), expression=expression)(record)


@pytest.mark.parametrize(
    "expression",
    [
        'message == "Sample" and fields.offset >= 100',
        "n == 12",
        "n == 0xc and n == 12.0 and n == 1.2e1",
        'kind == "frame"',
        "message == 'Sample'",
        "n != 13",
        "n < 13 and n <= 12 and n > 11 and n >= 12",
        "12 == n",
        "5 < n",
        "n in [1, 2, 12]",
        'side in ["server"]',
        '"scope" in fields.segment',
        'fields.segment contains "/stream/"',
        'client contains "10.0.0.1"',
        r'fields.segment ~ "0\.#epoch\.\d+$"',
        'message ~ "^sample" or message ~ "(?i)^sample"',
        "fields.at_tail",
        "fields.at_tail == true",
        "not (n == 13)",
        "not n == 13",
        "not not fields.at_tail",
        "reply_to == 5",
        'fields.pairs[1].key == "b"',
        'fields.pairs[0].value == "01ff"',
        'fields.data == "68656c6c6f"',
        f'fields.writer_id == "{WRITER}"',
        "packets[0] == 3",
        'fields.segment < "t"',
        "fields.request_id == -7 or fields.request_id == 7",
        "time == 0",
        f"time_ns == {START_NS}",
        'time == "2023-11-14T22:13:20Z"',
        'time >= "2023-11-14"',
        'time < "2023-11-14T23:13:20.000000001+01:00"',
        '"2023-11-15" > time',
        'time in ["2023-11-14T22:13:20Z"]',
        "error == null and append.segment == null",
        "n != null",
        "(n == 1 or n == 12) and (((side == 'server')))",
        "n == 1 or n == 12 and side == 'server'",
        '[1, "a", null] contains 1',
        "true",
    ],
)
def test_true(expression: str) -> None:
    assert keeps(expression)


@pytest.mark.parametrize(
    "expression",
    [
        'message == "Other"',
        "n == 1",
        "not fields.at_tail",
        'left_over == "00"',
        'left_over != "00"',
        'error ~ "."',
        'error contains ""',
        "append.length > 0",
        "append.length != 0",
        "append.is_whole",
        "fields.pairs[2].key == 'c'",
        "events[0].length == 1",
        "why == why",
        "[] contains n",
        "n in []",
        "reply_to == null",
        "false",
        "n == 12 and n == 13",
    ],
)
def test_false(expression: str) -> None:
    assert not keeps(expression)


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_a_record_without_the_field_is_not_kept(operator: str) -> None:
    assert not keeps(f"fields.offset {operator} 5", a_gap())
    assert not keeps(f"fields.offset {operator} 5", a_record(fields={"other": 5}))
    assert not keeps(f"fields.offset {operator} 5", a_record(fields={"offset": None}))


@pytest.mark.parametrize("value", ["text", True, None, [1], {"a": 1}, 1.5, 2**70])
def test_a_value_of_another_kind_than_declared_compares_without_harm(value: Any) -> None:
    record = a_record(fields={"offset": value})
    assert keeps("fields.offset == 5", record) is False
    assert keeps("fields.offset >= 5 or not fields.offset >= 5", record)


def test_time_counts_from_the_first_record_that_was_asked_about() -> None:
    select = Selection(NAMES, History(), expression="time > 1.5 and n > 0")
    records = [a_record(n=n, time_ns=START_NS + n * 500_000_000) for n in range(6)]
    assert [record.n for record in records if select(record)] == [4, 5]


def test_time_counts_on_while_another_connection_is_asked_for() -> None:
    select = Selection(NAMES, History(), expression="time == 2", connection=1)
    assert not select(a_record())
    assert not select(a_record(time_ns=START_NS + 2_000_000_000))
    assert select(a_record(connection=1, time_ns=START_NS + 2_000_000_000))


# -- requests ----------------------------------------------------------------------------------------------------------


def test_a_reply_knows_its_request() -> None:
    request = a_record(n=5, fields=Sample(request_id=9, offset=77))
    reply = a_record(n=6, side="server", reply_to=5, time_ns=START_NS + 3_000)
    for expression in (
        "request.fields.offset == 77",
        'request.side == "client" and side == "server"',
        "latency == 3us",
        "3us >= latency and latency > 2.9us",
        "request != null",
        "request.time_ns < time_ns",
    ):
        select = Selection(NAMES, History(), expression=expression)
        assert [select(record) for record in (request, reply)] == [False, True], expression
        assert not Selection(NAMES, History(), expression=expression)(reply), "its request was not seen"


def test_a_request_that_is_too_far_back_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 100)
    select = Selection(NAMES, History(), expression="latency == 0")
    for n in range(1, 101):
        assert not select(a_record(n=n))
    assert not select(a_record(n=101, reply_to=1))
    assert select(a_record(n=101, reply_to=2))


@given(st.lists(st.integers(0, 90), min_size=1, max_size=8), st.lists(st.integers(0, 130), min_size=1))
def test_values_of_requests_are_the_same_by_record_and_by_batch(sizes: list[int], distances: list[int]) -> None:
    """With room for 100 records; every record answers another, so many before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REQUESTS_OPEN_MAX", 100)
        single, batched = (RequestValues(lambda record: record.n) for _ in range(2))
    n = 1
    for size in sizes:
        batched.begin_batch(n, size, range(n, n + size).__getitem__)
        for each in range(n, n + size):
            single.note(a_record(n=each))
            reply_to = each - distances[each % len(distances)]
            if reply_to > 0:
                expected = single.of(each, reply_to)
                assert batched.of(each, reply_to) == expected == (reply_to if each - reply_to < 100 else None)
        n += size


def test_an_address_has_a_host_and_a_port() -> None:
    assert keeps('client.host == "10.0.0.1" and client.port == 40000 and server.port in [12345, 12378]')
    assert keeps('client.host == "::1" and client.port > 1', a_record(client="[::1]:40000"))
    assert columns_of("client.host,server.port", NAMES, History()) is not None


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('message == "SegmentRed"', r"no message is called 'SegmentRed' \(did you mean SegmentRead\?\)"),
        ('request.message in ["Hello", "Helo"]', r"no message is called 'Helo' \(did you mean Hello\?\)"),
        ('protocol == "pravga"', r"no protocol is called 'pravga' \(did you mean pravega\?\)"),
        ('fields.status == "SUCESS"', r"fields.status is never 'SUCESS' \(did you mean SUCCESS\?\)"),
        ('"servr" == side', r"side is never 'servr' \(did you mean server\?\): client, server"),
        ('fields.checkType == "x"', "no record has fields.checkType"),
        ("request.latency > 1", "no record has request.latency"),
        ("client.prt == 1", r"did you mean client.port\?"),
        ("fields.offset > 5ms", "a duration, which only time and latency are"),
    ],
)
def test_a_value_that_nothing_has_is_a_slip(expression: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        keeps(expression, names=ALL)


@pytest.mark.parametrize(
    ("expression", "suggested"),
    [
        ("latncy > 1ms", "latency"),  # not the duration is wrong here
        ("5ms < latancy", "latency"),
        ("replyto == 1", "reply_to"),
        ("clinet.host == 'x'", "client"),
        ("client.hst == 'x'", "client.host"),
        ("client.prt > 1ms", "client.port"),
        ("client_host == 'x'", "client.host"),
        ("segmnt == 'x'", "fields.segment"),
        ("requst.message == 'x'", "request"),
        ("request.mesage == 'x'", "request.message"),
        ("request.clint.host == 'x'", "request.client"),
        ("request.segment == 'x'", "request.fields.segment"),
        ("request.fields.ofset == 1", "request.fields.offset"),
        ("latenxxx > 1ms", None),
        ("banana.host == 'x'", None),
        ("client.address == 'x'", None),
        ("request.latency > 1ms", None),  # a name is not close because the path before it is the same
        ("request.sxyzmnt == 'x'", None),
    ],
)
def test_a_name_that_is_close_is_suggested(expression: str, suggested: str | None) -> None:
    hint = f" (did you mean {suggested}?)" if suggested else ""
    with pytest.raises(UsageError, match=rf"no record has [a-z_.]+{re.escape(hint)}$"):
        keeps(expression, names=ALL)


def test_the_values_of_a_byte_with_names_are_known() -> None:
    names = Names(Kind.OBJECT)
    names.member("check").add(NamedByte({0: "NoEntry", 1: "AnyVersion"}, kind="bad-check"))
    with pytest.raises(
        UsageError, match=r"fields.check is never 'NoEntri' \(did you mean NoEntry\?\): AnyVersion, NoEntry"
    ):
        keeps('fields.check == "NoEntri"', names=record_names(names))
    names.member("check").add_kind(Kind.TEXT)
    assert not keeps('fields.check == "NoEntri"', names=record_names(names))


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.iterdir() if path.is_dir()))
def test_every_message_in_a_capture_is_known_by_name(name: str) -> None:
    known = {each.name: each.message_names for each in PROTOCOLS.values()}
    seen = {
        (record.protocol, record.message)
        for path in sorted((CAPTURES / name).glob("*.pcap*"))
        for record in read([path])
        if record.kind == "frame"
    }
    assert seen
    assert [each for each in seen if each[1] not in known[each[0]]] == []


def test_escapes_in_texts() -> None:
    record = a_record(message='a"b\\c\n\x1b€')
    assert keeps(r'message == "a\"b\\c\n\x1b\u20ac"', record)
    assert keeps(r"message ~ 'a\"b\\\\c\s'", record)


@needs_protocol("offramp")
def test_a_member_with_any_name_is_reached_in_brackets() -> None:
    record = a_record(protocol="offramp", fields={"payload": {"a b": {'"': [1, 2]}}})
    assert keeps(r'fields.payload["a b"]["\""][1] == 2', record, ALL)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", None),
        ("massage == 'x'", r"column 1: no record has massage \(did you mean message\?\)"),
        ("n == 1 and fields.ofset > 3", r"column 12: no record has fields\.ofset \(did you mean fields\.offset\?\)"),
        ("segment == 's'", r"column 1: no record has segment \(did you mean fields\.segment\?\)"),
        ("fields.pairs[0].kee == 'a'", r"did you mean fields\.pairs\[0\]\.key\?"),
        ("fields.segment.x == 1", r"fields\.segment is text, it has no 'x' in it"),
        ("fields.segment[0] == 1", r"fields\.segment is not a list"),
        ("fields.segment == 5", r"column 16: fields\.segment \(text\) == a number is never true"),
        ('fields.offset == "5"', r"fields\.offset \(a number\) == text is never true"),
        ('fields.offset < "5"', "is never true"),
        ("fields.offset ~ 'x'", "is never true"),
        ("fields.at_tail < 3", r"true or false\) < a number is never true"),
        ("fields.pairs == 3", r"a list\) == a number"),
        ("fields == 3", "a structure"),
        ('n in ["a"]', "is never true"),
        ("n contains 3", "is never true"),
        ("fields.segment in 5", "is never true"),
        ("n", "n is a number: compare it with something"),
        ("5", "this is a number: compare it with something"),
        ("kind == 'fram'", r"column 9: kind is never 'fram' \(did you mean frame\?\): frame, gap, other, problem"),
        ("side in ['client', 'sever']", "did you mean server"),
        ("n = 1", r"column 3: '=' means nothing here \(did you mean ==\?\)"),
        ("n == 1 && n == 2", r"column 8: '&' means nothing here \(did you mean and\?\)"),
        ("!n", r"did you mean not\?"),
        ("n == 1 or", "column 10: the end; expected a field or a value"),
        ("n ==", "the end; expected"),
        ("and", "'and'; expected a field or a value"),
        ("(n == 1", r"column 8: the end; expected '\)' \(opened in 1\)"),
        ("n == 1)", r"column 7: '\)'; expected and, or, or the end"),
        ("n in [1 2]", r"'2'; expected ','"),
        ("n in [side]", "column 7: side in a list, which takes numbers and texts only"),
        ("1 < n < 5", "column 7: a second '<': comparisons are joined with and, or"),
        ("n == 'x", "column 6: a text without its closing quote"),
        ("message ~ '('", "not a regular expression: a group without its closing parenthesis at character 1$"),
        ("message ~ 'a{99999999999}'", "not a regular expression: a repetition that is too large$"),
        ("message ~ 'a[b'", "not a regular expression: a character set without its closing bracket at character 2$"),
        ("message ~ '*'", "not a regular expression: nothing before it that can be repeated at character 1$"),
        ("message ~ side", "~ without a regular expression; expected one in quotes"),
        ("n == 5ms", "column 6: a duration, which only time and latency are: give a number"),
        ("latency in [5ms]", "a duration in a list"),
        ("n == 5x", "5x… is not a number"),
        ("n == 1.2.3", r"1\.2\.… is not a number"),
        (f"n == {'9' * 5000}", "a number of 5000 characters"),
        ("time > 'yesterday'", "'yesterday' is not a time"),
        ("time > '0001-01-01T00:00:00+14:00' and time > '9999-99-99'", "is not a time"),
        ("(" * 100 + "n == 1" + ")" * 100, "nested more than 64 deep"),
        ("not " * 100 + "true", "nested more than 64 deep"),
        ("\x00", r"column 1: '\\x00' means nothing here"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_column(expression: str, why: str | None) -> None:
    if why is None:
        assert keeps(expression)
        return
    with pytest.raises(UsageError, match=why):
        keeps(expression)


SIGNS = ["==", "!=", "<", "<=", ">", ">=", "~", "(", ")", "[", "]", ","]
TERMS = ["and", "or", "not", "in", "contains", "true", "null", "0x1f", "-5", "1e400", '"a"', "'['"]
PATHS = [
    "n",
    "time",
    "kind",
    "fields",
    "packets[1]",
    "fields.offset",
    "fields.segment",
    "fields.pairs[0].key",
    "append.x",
]
WORDS = st.sampled_from(SIGNS + TERMS + PATHS)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text() | st.text(alphabet="()[]nfields.\"'\\=<>~0123e-,x "))
def test_any_text_is_a_filter_or_a_usage_error(expression: str) -> None:
    try:
        select = Selection(NAMES, History(), expression=expression)
    except UsageError:
        return
    for record in (RECORD, a_gap(), a_record(fields={"offset": "x", "pairs": 3})):
        assert select(record) in (True, False)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.integers(-5, 5))
def test_numbers_compare_as_in_python(value: int, operator: str, delta: int) -> None:
    record = a_record(fields=Sample(request_id=value))
    assert keeps(f"fields.request_id {operator} {value + delta}", record) == eval(f"{value} {operator} {value + delta}")


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_can_be_asked_for(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert keeps(f'message == "{escaped}"', a_record(message=text)) is (text != "")


@needs_protocol("offramp")
def test_the_fields_of_every_protocol_are_known() -> None:
    for expression in (
        "fields.suggested_length > 0",
        "fields.connection_offset >= 0",
        'fields.opcode_name == "FETCH"',
        "fields.response_end",
        'fields.header.table == "FetchRequest"',
        "fields.header.fields.timeout_ms > 5",
        "fields.header.fields.range.start == 0",
        'fields.header.fields.range.servers[0].advertise_addr contains "127"',
        "fields.payload.entries[0].meta.stream_id == 1",
        "fields.payload.hotel.name == 'x'",
        'fields.correlationId == "x"',
        "fields.status == 101",
        'fields.headers[0][1] ~ "x"',
    ):
        Selection(ALL, History(), expression=expression)
    for expression in (
        "fields.sugested_length > 0",
        "fields.header.tabel == 'x'",
        "fields.header.fields.timeout == 1",
        "fields.suggested_length == 'x'",
    ):
        with pytest.raises(UsageError):
            Selection(ALL, History(), expression=expression)


@needs_protocol("offramp")
def test_a_protocol_alone_has_only_its_own_fields() -> None:
    names = names_for([PROTOCOLS["offramp"]])
    Selection(names, History(), expression="fields.partition == 1")
    with pytest.raises(UsageError, match=r"no record has fields\.request_id"):
        Selection(names, History(), expression="fields.request_id == 1")


def test_columns_give_values_by_the_same_names() -> None:
    columns = columns_of("n, fields.pairs[0].value,fields.pairs,time,fields, why", NAMES, History())
    assert columns is not None
    values = {name: value_in(RECORD) for name, value_in in columns}
    assert values["n"] == 12
    assert values["fields.pairs[0].value"] == "01ff"
    assert values["fields.pairs"] == [{"key": "a", "value": "01ff"}, {"key": "b", "value": ""}]
    assert values["fields"]["offset"] == 100
    assert math.isclose(values["time"], 0)
    assert values["why"] is None
    assert columns_of("", NAMES, History()) is None


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        ("n,,side", "field '': column 1: the end"),
        ("n == 1", "field 'n == 1': not a field"),
        ("5", "field '5': not a field"),
        ("n,ofset", r"field 'ofset': column 1: no record has ofset \(did you mean offset\?\)"),
    ],
)
def test_a_column_that_no_record_has_is_refused(paths: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        columns_of(paths, NAMES, History())
