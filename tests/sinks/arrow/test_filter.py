"""The filter of batches keeps just what the filter of records keeps."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import ABSENT, needs_protocol
from tests.helpers.records import START_NS, a_gap, a_problem, a_record
from wiretool.batches.batch import Batch, Ends, FrameRun
from wiretool.batches.rows import records_of
from wiretool.codec.columns import Choice, Column, Lists, Made, Numbers, Objects, Spans, Sparse, Struct, Uuids
from wiretool.codec.message import Message, message
from wiretool.codec.nested import Nested
from wiretool.codec.types import I32, I64, Bytes32, Flag, ListOf, Rest, Text, UuidText
from wiretool.dissect.columns.read import read_batches
from wiretool.errors import UsageError
from wiretool.filter import History, Names, Selection, names_for
from wiretool.filter.names import Kind, record_names
from wiretool.protocols.base.columns import NO_REPLY, Events, Frames, Group
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.sinks.arrow.filter import BatchFilter
from wiretool.sinks.ndjson import json_record

CAPTURES = Path(__file__).parents[3] / "captures"
WRITERS = ["01234567-89ab-cdef-fedc-ba9876543210", "00000000-0000-0000-0000-000000000000"]


class Pair(Message, frozen=True, kw_only=True):
    """A key and its value."""

    key: Text
    value: Bytes32


@message(type_id=9, spec="a test", sender="both")
class Everything(Message, frozen=True, kw_only=True):
    """A field of every kind of column."""

    request_id: I64
    offset: I32 = 0
    limit: I64 = 0
    at_tail: Flag = False
    writer_id: UuidText = WRITERS[0]
    segment: Text = ""
    state: Text = ""
    pairs: Annotated[tuple[Pair, ...], ListOf(Nested(Pair))] = ()
    data: Rest = b""


@message(type_id=10, spec="a test", sender="both")
class Other(Message, frozen=True, kw_only=True):
    """A message that has few of these fields, and one of them as something else."""

    request_id: Text


class Header(Message, frozen=True, kw_only=True):
    """What is inside a message that has no class of its own."""

    open: I32
    name: Text


def made_names() -> Names:
    fields = Names(Kind.OBJECT)
    for cls in (Everything, Other):
        fields.add_fields(cls)
    header = fields.member("header")
    header.kind = Kind.OBJECT
    header.add_fields(Header)
    return record_names(fields)


NAMES = made_names()
#: Bytes that texts and data of the batch below are spans of.
DATA = b"scope/stream/0.#epoch.0" + bytes(range(200, 256)) + b"Aa" * 20


def a_batch() -> Batch:
    """Columns of every kind beside records, in two connections; the first record is one by itself."""
    count, at = 12, np.arange(12)
    numbers = np.arange(2, 2 + count)
    frames = Frames(DATA, at * 2, at * 2 + 3, at % 3 == 0, numbers)
    everything = Group(
        Everything,
        "Everything",
        at[at % 4 != 3],
        {
            "request_id": Numbers(np.array([-(2**63), -5, 0, 1, 7, 2**53 + 1, 2**62, 2**63 - 2, 2**63 - 1])),
            "offset": Numbers(np.arange(-4, 5) * 100),
            "limit": Numbers(np.arange(9) % 4, np.arange(9) % 3 != 0),
            "at_tail": Numbers(np.arange(9) % 2 == 0),
            "writer_id": Uuids(
                np.frombuffer((bytes(16) + bytes.fromhex(WRITERS[0].replace("-", ""))) * 5, np.uint8).reshape(-1, 16)[
                    :9
                ]
            ),
            "segment": Spans(np.zeros(9, np.int64), np.arange(9) * 2, True),
            "state": Choice(np.arange(9) % 3 - 1, ["open", "sealed"]),
            "pairs": Objects([tuple(Pair(key=str(k), value=bytes([k])) for k in range(n % 3)) for n in range(9)]),
            "data": Spans(np.arange(9) * 7, np.arange(9), False),
        },
        np.where(np.arange(9) % 2, np.arange(9), NO_REPLY),
        {"segment": Choice(np.arange(9) % 2, ["a/b/0", None]), "length": Numbers(np.arange(9))},
        Events(np.array([0, 0, 4]), {"length": Numbers(np.array([1, 2, 3]))}, Spans(np.arange(3), np.arange(3), False)),
    )
    other = Group(
        Other, "Other", at[at % 4 == 3], {"request_id": Spans(np.array([0, 5, 30]), np.array([5, 6, 0]), True)}
    )
    first_packets = at + 10
    times = START_NS + (at + 1) * 333_333_333
    ends = "10.0.0.1:40000", "10.0.0.2:12345"
    both = [Ends(0, *ends), Ends(3, "10.0.0.3:40001", ends[1])]
    packets = first_packets, first_packets + at % 2
    run = FrameRun(both, at // 3 % 2, "pravega", frames, at * 100, *packets, times, [everything, other])
    few = at[:3]
    strangers = Group(Other, "Other", few, {"request_id": Objects(["x", "y", "é\n"])})
    frames = Frames(DATA, few, few + 1, few < 1, few + 14)
    foreign = FrameRun([Ends(1, *ends)], few * 0, "", frames, few, few, few, times[:3] - 10**9, [strangers])
    bare = Sparse(Struct({"open": Numbers(few[:2]), "name": Spans(few[:2], few[:2] + 1, True)}, 2), few > 0)
    headers: dict[str, Column] = {
        "offset": Sparse(Numbers(few[:2] * 100), few < 2),
        "state": Sparse(Choice(few[:1] - 1, ["open"]), few == 1),
        "segment": Sparse(Sparse(Spans(few[:1], few[:1] + 5, True), few[:2] == 1), few != 1),
        "pairs": Lists(
            few, Struct({"key": Spans(few, few, True), "value": Made(Spans(few, few, False), bytes.hex)}, 3)
        ),
        "header": bare,
        "data": Made(Spans(few + 20, few + 10, False), bytes.hex),
        "writer_id": Made(Numbers(few), "{:08x}".format),
    }
    frames = Frames(DATA, few, few + 1, few < 1, few + 19)
    groups = [Group(None, "HEADER", few, headers)]
    bare_run = FrameRun([Ends(2, *ends)], few * 0, "sbp", frames, few, few, few, times[3:6], groups)
    records = [a_record(n=1, fields={"offset": "text", "state": 5}), a_gap(n=17), a_problem(n=18, connection=1)]
    return Batch(1, 21, [run, foreign, bare_run], records)


PATHS = """
    n kind time time_ns connection client server side protocol message packets packets[0] packets[1] packets[2] offset
    length reply_to error why left_over append append.segment append.length append.no events events[1].length
    fields.request_id fields.offset fields.limit fields.at_tail fields.writer_id fields.segment fields.state
    fields.pairs fields.pairs[0].key fields.pairs[1].value fields.data fields.header.open fields.header.name
""".split()  # noqa: SIM905
NUMBERS = (
    "0 1 -1 2 3 5 7 12 100 -100 -5 1.5 -0.5 2.0 0.333333333 1e3 1e400 -1e400 9.3e18 -9.3e18 0x7fffffffffffffff "
    "9223372036854775807 9223372036854775806 9223372036854775808 -9223372036854775808 -9223372036854775809 "
    f"9007199254740993 9007199254740992 9007199254740992.0 {10**30} {START_NS} {START_NS + 333_333_333}"
).split()
TEXTS = (
    "'' 'a' 'scope' 'scope/stream/0' 'open' 'sealed' 'frame' 'gap' 'client' 'server' 'pravega' 'Everything' 'Other' "
    r"'é' '\ud800' '00' 'cf' 'A' '10.0.0.1:40000' '2023-11-14T22:13:21Z' '/s' '^s.*\\d$' '(?i)^E' '.' 'e$' 'a/b/0' "
    f"'{WRITERS[0]}' '{WRITERS[1]}' '{WRITERS[1].upper()}'"
).split()
OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "in", "contains", "~"]


def is_sound(expression: str, names: Names) -> bool:
    try:
        Selection(names, History(), expression=expression)
    except UsageError:
        return False
    return True


@cache
def sound_leaves() -> list[str]:
    """Comparisons of a path with a path, a number or a text that make sense; a part of them with sides swapped."""
    values = [*PATHS, *NUMBERS, *TEXTS, "true", "false", "null"]
    pairs = [(path, value) for path in PATHS for value in values]
    leaves = [f"{left} {operator} {right}" for left, right in pairs for operator in OPERATORS]
    leaves += [f"{right} {operator} {left}" for left, right in pairs[::9] for operator in OPERATORS]
    return [leaf for leaf in [*PATHS, "true", "false", *dict.fromkeys(leaves)] if is_sound(leaf, NAMES)]


def expressions() -> st.SearchStrategy[str]:
    lists = st.tuples(st.sampled_from(PATHS), st.lists(st.sampled_from(NUMBERS + TEXTS), max_size=4))
    held = lists.map(lambda pair: f"{pair[0]} in [{', '.join(pair[1])}]")
    holds = lists.map(lambda pair: f"[{', '.join(pair[1])}] contains {pair[0]}")
    leaves = st.one_of(st.deferred(lambda: st.sampled_from(sound_leaves())), held, holds)
    return st.recursive(
        leaves,
        lambda inner: (
            inner.map(lambda one: f"not ({one})")
            | st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: "({}) {} ({})".format(*parts))
            | st.tuples(inner, inner, inner).map(" and ".join)
            | st.tuples(inner, inner, inner).map(" or ".join)
        ),
        max_leaves=5,
    ).filter(lambda expression: is_sound(expression, NAMES))


def check(expression: str, names: Names, batches: list[Batch], connection: int | None = None) -> int:
    """Hold the batch filter to the record filter; how many records are kept."""
    keep = BatchFilter(names, History(), expression=expression, connection=connection)
    wanted = Selection(names, History(), expression=expression, connection=connection)
    count = 0
    for batch in batches:
        expected = [record for record in records_of(batch) if wanted(record)]
        kept = keep.keep(batch)
        assert records_of(kept) == expected, expression
        assert (kept.first_n, kept.count) == (batch.first_n, len(expected))
        assert all(len(group.rows) for run in kept.runs for group in run.groups)
        assert all(run.groups for run in kept.runs)
        count += len(expected)
    return count


def test_sound_comparisons_of_every_column() -> None:
    batches = [a_batch()]
    counts = [check(leaf, NAMES, batches) for leaf in sound_leaves()[::11]]
    assert len(counts) > 1000
    assert {0, records := a_batch().count} <= set(counts)
    assert sum(0 < count < records for count in counts) > 200


@given(expressions(), st.sampled_from([None, None, 0, 1, 2]))
def test_any_expression_on_columns_of_every_kind(expression: str, connection: int | None) -> None:
    check(expression, NAMES, [a_batch(), a_batch()], connection)


# -- real captures -----------------------------------------------------------------------------------------------------

ALL = names_for(PROTOCOLS.values())


@cache
def real_batches() -> tuple[list[Batch], ...]:
    names = (
        "pravega/write.pcap",
        "pravega/read.pcap",
        "pravega/reconnect.pcap",
        "sbp/rs_fetch.pcap",
        "offramp/framing.pcap",
    )
    return tuple(list(read_batches(CAPTURES / name)) for name in names if name.partition("/")[0] not in ABSENT)


def paths_in(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_in(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        yield path, value
        for index, inner in enumerate(value[:2]):
            yield from paths_in(inner, f"{path}[{index}]")
    else:
        yield path, value


@cache
def real_values() -> list[tuple[str, Any]]:
    """Paths in some records, with the values there."""
    found: dict[tuple[str, str], tuple[str, Any]] = {}
    for batches in real_batches():
        records: list[Record] = [record for batch in batches for record in records_of(batch)]
        forms = {record.n: json_record(record) for record in records}
        for record in [*records[:60], *records[60::40]]:
            more: dict[str, Any] = {"time": 0.5}
            for side in ("client", "server"):
                host, _, port = forms[record.n][side].rpartition(":")
                more |= {f"{side}.host": host, f"{side}.port": int(port)}
            if record.reply_to is not None:
                more["latency"] = (record.time_ns - records[record.reply_to - records[0].n].time_ns) / 1e9
                request = forms[record.reply_to]
                more["request"] = {name: request[name] for name in request.keys() - {"reply_to"}}
            for path, value in paths_in(forms[record.n] | more, ""):
                found[path, repr(value)] = (path, value)
    return list(found.values())


def literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(each) for each in value if not isinstance(each, dict)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return {None: "null", True: "true", False: "false"}[value] if not value or value is True else str(value)


@st.composite
def real_expressions(draw: st.DrawFn) -> str:
    """Comparisons of paths with values that are in the captures, or near them."""
    path, value = draw(st.sampled_from(real_values()))
    if draw(st.booleans()):
        _, value = draw(st.sampled_from([each for each in real_values() if type(each[1]) is type(value)]))
    if isinstance(value, int | float) and not isinstance(value, bool):
        value += draw(st.sampled_from([0, 0, 1, -1, 0.5]))
    elif isinstance(value, str) and draw(st.booleans()):
        start = draw(st.integers(0, len(value)))
        value = value[start : draw(st.integers(start, len(value)))]
    sides = [path, literal(value)]
    if draw(st.integers(0, 3)) == 0:
        sides.reverse()
    leaf = f" {draw(st.sampled_from(OPERATORS))} ".join(sides)
    joined = draw(st.sampled_from(["", "", " and ", " or ", " and not "]))
    return leaf + joined + draw(real_expressions()) if joined else leaf


@needs_protocol("offramp")
@given(real_expressions().filter(lambda expression: is_sound(expression, ALL)), st.integers(0, 4))
def test_any_expression_on_real_captures(expression: str, which: int) -> None:
    check(expression, ALL, real_batches()[which])


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ('message == "AppendBlockEnd"', 1000),
        ('message == "AppendBlockEnd" and fields.last_event_number > 500', 500),
        ('side == "server" and reply_to != null', 1007),
        ("append.event_number <= 10", 10),
        ("client.port == 37610 and server.host == '127.0.0.1'", 2004),
        ("latency > 100us", 8),
        ("latency > 0.0001 and latency < 1ms", 6),
        ("request.fields.last_event_number in [5, 6]", 2),
        ("request.message == 'AppendBlockEnd' and request.append.event_number > 900", 100),
        ("not request.length > 0", 1032),
        ("request != null", 1009),
        ("not events[0].length > 0", 1041),
    ],
)
def test_what_is_kept_of_a_capture(expression: str, count: int) -> None:
    assert check(expression, ALL, real_batches()[0]) == count


@pytest.mark.parametrize("expression", ["time > 1e10", "time < -1e10", "time == 0"])
def test_times_too_far_apart_for_64_bits(expression: str) -> None:
    """As a pcapng file may have them, whose clock has an offset."""
    batch = a_batch()
    for times in ([-(2**63), 0, 2**63 - 1], [2**63 - 1, 0, -(2**63)]):
        runs = [replace(run, times=np.resize(np.array(times, np.int64), len(run.times))) for run in batch.runs]
        check(expression, NAMES, [replace(batch, runs=runs, records=())])


def test_without_an_expression_all_is_kept() -> None:
    batch = a_batch()
    keep = BatchFilter(NAMES, History())
    assert records_of(keep.keep(batch)) == records_of(batch)


def test_plain_comparisons_make_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the sort is read row by row, however many rows there are."""
    batches = real_batches()[0]
    monkeypatch.setattr("wiretool.sinks.arrow.filter_values.records_of", None)
    for expression in (
        'message == "AppendBlockEnd" and fields.last_event_number > 1000000',
        'fields.segment ~ "x" or fields.data contains "00" or append.segment == "a/b/0" or n in [1, 2]',
        'time > 1 and time_ns != 5 and side == "client" and packets[0] < packets[1] and reply_to != null',
    ):
        for batch in batches:
            BatchFilter(ALL, History(), expression=expression).keep(batch)


def test_an_expression_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match=r"where 'n = 1': column 3"):
        BatchFilter(NAMES, History(), expression="n = 1")
