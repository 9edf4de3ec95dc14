"""Made-up columns of every kind, as fields of a made-up message, against the rows that they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import Paper, Sample, a_gap
from wiretool.batches.batch import Batch, Ends, FrameRun
from wiretool.batches.rows import records_of
from wiretool.codec.columns import Choice, Column, Lists, Made, Numbers, Objects, Spans, Sparse, Struct, Uuids
from wiretool.codec.flatbuffers.declaration import BytesSlot
from wiretool.dissect.dissector import annotate
from wiretool.filter.history import History
from wiretool.filter.tokens import steps_of
from wiretool.filter.values import getter
from wiretool.protocols.base.columns import NO_REPLY, Events, Frames, Group
from wiretool.sinks.choose import sink_for
from wiretool.sinks.lines import parts
from wiretool.sinks.lines.sink import lines_sink_for
from wiretool.sinks.sink import Column as Chosen

WIRE = st.text(st.characters(max_codepoint=127) | st.sampled_from('"\\,\n\x7f'), max_size=6)
BYTES = st.binary(max_size=5)
INTS = st.integers(-(2**63), 2**63 - 1)
CHOICES = ("a", 'b"', "ü\x1b"), (1, 2, None), ("x", 7, True), ("", [1], 0.5)
PATHS = ("", "fields", "n,fields.a,fields.b", "fields.a", "fields.b.a,fields.a.b,side", "append.a,events,append")


class Wire:
    """The data that spans are of."""

    def __init__(self) -> None:
        self.data = b""

    def spans(self, parts: Sequence[bytes], *, is_text: bool) -> Spans:
        lengths = np.array([len(part) for part in parts], np.int64)
        starts = len(self.data) + np.cumsum(lengths) - lengths
        self.data += b"".join(parts)
        return Spans(starts, lengths, is_text)


def flags(draw: st.DrawFn, count: int) -> Any:
    return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)


def columns(draw: st.DrawFn, wire: Wire, count: int, depth: int = 2) -> Column:
    """A column of any kind."""

    def values(each: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(each, min_size=count, max_size=count))

    kinds = ["ints", "some", "flags", "text", "hex", "body", "uuids", "choice", "objects", "equal", "form"]
    kind = draw(st.sampled_from(kinds + ["sparse", "struct", "lists"] * (depth > 0)))
    match kind:
        case "ints":
            return Numbers(np.array(values(INTS), np.int64))
        case "some":
            return Numbers(np.array(values(INTS), np.int64), flags(draw, count))
        case "flags":
            return Numbers(np.array(values(st.booleans()), np.bool_))
        case "equal":
            return Numbers(np.full(count, draw(INTS), np.int64))
        case "text":
            return wire.spans([each.encode() for each in values(WIRE)], is_text=True)
        case "hex":
            return Made(wire.spans(values(BYTES), is_text=False), bytes.hex)
        case "body":
            return Made(wire.spans(values(BYTES), is_text=False), BytesSlot().to_json)
        case "form":
            return Made(Numbers(np.array(values(st.integers(0, 99)), np.int64)), "{:08x}".format)
        case "uuids":
            raw = values(st.sampled_from([b"0123456789abcdef", b"\xff" * 16]))
            return Uuids(np.frombuffer(b"".join(raw), np.uint8).reshape(-1, 16))
        case "choice":
            codes = np.array(values(st.integers(-1, 2)), np.int64)
            return Choice(
                codes, draw(st.sampled_from([("a", 'b"', "ü\x1b"), (1, 2, None), ("x", 7, True), ("", [1], 0.5)]))
            )
        case "objects":
            return Objects(values(st.none() | WIRE | st.booleans() | st.lists(WIRE, max_size=2) | st.floats()))
        case "sparse":
            has = flags(draw, count)
            return Sparse(columns(draw, wire, int(has.sum()), depth - 1), has)
        case "struct":
            names = draw(st.sampled_from(["", "a", "ab", "ba"]))
            return Struct({name: columns(draw, wire, count, depth - 1) for name in names}, count)
    counts = np.array(values(st.integers(0, 3)), np.int64)
    return Lists(counts, columns(draw, wire, int(counts.sum()), depth - 1))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """A run with one group, and a gap among its frames."""
    wire, count = Wire(), draw(st.integers(1, 6))
    fields = {name: columns(draw, wire, count) for name in draw(st.sampled_from(["", "a", "ab"]))}
    replies = np.array(draw(st.lists(st.sampled_from([NO_REPLY, 1]), min_size=count, max_size=count)), np.int64)
    append = {"a": columns(draw, wire, count, 0)} if draw(st.booleans()) else None
    events = None
    if draw(st.booleans()):
        rows = np.sort(np.array(draw(st.lists(st.integers(0, count - 1), max_size=5)), np.int64))
        body = wire.spans([b"ab"] * len(rows), is_text=False)
        events = Events(rows, {"number": columns(draw, wire, len(rows), 0)}, body)
    group = Group(None, draw(st.sampled_from(["M", ""])), np.arange(count), fields, replies, append, events)
    return batch_with(draw, wire.data, count, group)


def batch_with(draw: st.DrawFn, data: bytes, count: int, group: Group) -> Batch:
    row = np.arange(count)
    is_server = flags(draw, count)
    frames = Frames(data, np.zeros(count, np.int64), row, is_server, 1 + row + (row >= count // 2))
    packets = row // 2
    ends = [Ends(3, "c:1", "s:2"), Ends(4, "c:2", "s:2")][: draw(st.integers(1, 2))]
    owners = row % len(ends)
    run = FrameRun(ends, owners, draw(st.sampled_from(["p", ""])), frames, row, packets, packets, row, [group])
    return Batch(1, count + 1, [run], [a_gap(n=1 + count // 2)])


def outputs(batch: Batch, form: str, paths: str) -> tuple[str, str]:
    chosen = [Chosen(path, getter(steps_of(path), History())) for path in paths.split(",")] if paths else None
    lines, rows = Paper(), Paper()
    sink = lines_sink_for(form, lines, chosen)
    assert sink is not None
    row_sink = sink_for(form, rows, columns=chosen, annotate=annotate)
    sink.begin()
    row_sink.begin()
    sink.write(batch)
    for record in records_of(batch):
        row_sink.write(record)
    sink.end()
    row_sink.end()
    return lines.text, rows.text


@given(batches(), st.sampled_from(PATHS), st.sampled_from(["ndjson", "json", "csv"]), st.booleans())
def test_any_columns_make_the_lines_of_their_rows(batch: Batch, paths: str, form: str, is_long: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_ROWS_MIN", 1)
        patch.setattr(parts, "TEXT_BYTES", parts.TEXT_BYTES if is_long else 1024)
        lines, rows = outputs(batch, form, paths)
    assert lines == rows


@given(
    st.lists(st.tuples(WIRE, BYTES, st.booleans()), min_size=1, max_size=6),
    st.sampled_from(["", "fields.segment", "fields.data,fields.pairs"]),
)
def test_fields_of_a_message(rows: list[tuple[str, bytes, bool]], paths: str) -> None:
    """Those with wire types of their own, as JSON has them."""
    wire, count = Wire(), len(rows)
    fields: dict[str, Column] = {
        "request_id": Numbers(np.arange(count)),
        "offset": Numbers(np.zeros(count, np.int64)),
        "writer_id": Uuids(np.arange(16 * count, dtype=np.uint8).reshape(-1, 16)),
        "at_tail": Numbers(np.array([each for _, _, each in rows])),
        "segment": wire.spans([each.encode() for each, _, _ in rows], is_text=True),
        "pairs": Objects([()] * count),
        "data": wire.spans([each for _, each, _ in rows], is_text=False),
    }
    row = np.arange(count)
    frames = Frames(wire.data, row, row + 1, row < 0, row + 1)
    groups = [Group(Sample, "Sample", row, fields)]
    run = FrameRun([Ends(0, "c", "s")], row * 0, "p", frames, row, row, row, row, groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_ROWS_MIN", 1)
        for form in ("ndjson", "csv"):
            lines, expected = outputs(Batch(1, count, [run], []), form, paths)
            assert lines == expected
