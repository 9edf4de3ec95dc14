"""FlatBuffers: the slow reader, the fast one and the writer agree, whatever the bytes."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tables import mutated, tables
from wiretool import limits
from wiretool.codec.flatbuffers.compiled import decode_root, read_fast
from wiretool.codec.flatbuffers.declaration import (
    Boolean,
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    Int64s,
    Many,
    One,
    RequiredMany,
    RequiredOne,
    RequiredString,
    Scalar,
    String,
    Table,
    UInt8,
    UnionSlot,
    slots_of,
    table_form,
    table_from_json,
)
from wiretool.codec.flatbuffers.library import write_root
from wiretool.codec.flatbuffers.reader import Found, annotate_root, read_root
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.message import fields_of
from wiretool.errors import DecodeError, EncodeError, OverLimit

Colour = Annotated[int, Scalar("i8 Colour", "b", {0: "RED", 1: "GREEN"})]


class Leaf(Table, frozen=True, kw_only=True):
    """A table without tables."""

    name: RequiredString = None
    size: Int32 = -1


class Other(Table, frozen=True, kw_only=True):
    """Another member of the union."""

    raw: Bytes = None


class Tree(Table, frozen=True, kw_only=True):
    """A table with one slot of every kind."""

    flag: Boolean = False
    tiny: Int8 = 0
    octet: UInt8 = 0
    short: Int16 = -1
    word: Int32 = 0
    long: Int64 = -1
    colour: Colour = 0
    text: String = None
    raw: Bytes = None
    numbers: Int64s = None
    leaf: One[Leaf] = None
    leaves: Many[Leaf] = None
    either_type: UInt8 = 0
    either: Annotated[Leaf | Other | None, UnionSlot("either_type", {1: "Leaf", 2: "Other"})] = None
    tree: One[Tree] = None


class Strict(Table, frozen=True, kw_only=True):
    """Everything required."""

    leaf: RequiredOne[Leaf] = None
    leaves: RequiredMany[Leaf] = None


class Forest(Table, frozen=True, kw_only=True):
    """Trees in trees."""

    trees: Many[Forest] = None


class Shelf(Table, frozen=True, kw_only=True):
    """Tables that may all have the same name."""

    leaves: Many[Leaf] = None


def outcome(read: Any, cls: type[Table], data: bytes) -> Found | tuple[Any, ...]:
    """What a reader makes of the bytes, errors by class, kind, path, offset and words."""
    try:
        found: Found = read(cls, data)
    except DecodeError as err:
        return type(err), err.kind, err.path, err.offset, err.why
    return found


def buffer(slots: list[int], inline: bytes, behind: bytes = b"") -> bytes:
    """A root offset, a vtable with these offsets, the table, and what is behind it."""
    vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), 4 + len(inline), *slots)
    padding = bytes(-(4 + len(vtable)) % 8)
    at = 4 + len(vtable) + len(padding)
    return struct.pack("<I", at) + vtable + padding + struct.pack("<i", at - 4) + inline + behind


@given(tables(Tree))
def test_what_is_written_is_read(tree: Tree) -> None:
    data = encode_root(tree)
    assert read_root(Tree, data, exact=True) == Found(tree)
    assert read_fast(Tree, data) == Found(tree)


@given(st.one_of(tables(Tree), tables(Strict), tables(Forest)))
def test_the_fast_writer_writes_what_the_library_does(table: Table) -> None:
    assert encode_root(table) == write_root(table)


@given(tables(Tree))
def test_json_form_and_back(tree: Tree) -> None:
    form = table_form(tree)
    assert table_from_json(Tree, form) == tree
    scalars = {name for name, wire, _ in slots_of(Tree) if isinstance(wire, Scalar)}
    assert scalars <= form.keys()
    assert None not in form.values()


@given(st.one_of(tables(Tree), tables(Strict)).flatmap(lambda table: mutated(encode_root(table))))
def test_fast_and_slow_agree_on_damaged_bytes(data: bytes) -> None:
    for cls in (Tree, Strict, Leaf):
        assert outcome(read_fast, cls, data) == outcome(read_root, cls, data)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_table_or_a_decode_error(data: bytes) -> None:
    assert outcome(read_fast, Tree, data) == outcome(read_root, Tree, data)


@given(tables(Tree).flatmap(lambda tree: mutated(encode_root(tree))), st.integers(0, 3))
def test_spans_tile(data: bytes, at: int) -> None:
    whole = bytes(at) + data + b"\xee"
    spans = annotate_root(Tree, whole, at, at + len(data), "Tree")
    assert [span.offset for span in spans] == [*accumulate((s.length for s in spans[:-1]), initial=at)][: len(spans)]
    assert sum(span.length for span in spans) == len(data)
    assert all(span.length > 0 for span in spans)


@given(tables(Tree))
def test_every_byte_that_is_written_has_a_meaning(tree: Tree) -> None:
    data = encode_root(tree)
    spans = annotate_root(Tree, data, 0, len(data), "Tree")
    assert not [span for span in spans if span.path.endswith("(not referenced)")]


def test_spans_name_the_fields_and_what_their_values_mean() -> None:
    data = encode_root(Tree(colour=1, text="hi"))
    spans = {span.path: span for span in annotate_root(Tree, data, 0, len(data), "Tree")}
    assert spans["Tree.colour"].value == "1 (GREEN)"
    assert spans["Tree.text"].value == "hi"
    assert spans["Tree.text.(count)"].value == 2
    assert {"Tree.(root)", "Tree.(vtable)", "Tree.(vtable size)", "Tree.(table size)"} <= spans.keys()


def test_fields_of_names_what_each_slot_holds() -> None:
    names = {field.name: field.wire.name for field in fields_of(Tree)}
    assert names["leaf"] == "Leaf"
    assert names["leaves"] == "vector of Leaf"
    assert names["either"] == "union of Leaf, Other"
    assert [name for name, _, _ in slots_of(Tree)].index("either") == 13


def test_a_scalar_at_its_default_is_not_written() -> None:
    assert len(encode_root(Tree())) < len(encode_root(Tree(word=1)))
    assert read_root(Tree, encode_root(Tree(long=-1, short=-1)), exact=True) == Found(Tree())


def test_what_is_required_and_missing_is_named_and_the_rest_is_there() -> None:
    data = encode_root(Strict(leaves=(Leaf(name="a"), Leaf(size=3))))
    found = read_fast(Strict, data)
    assert found == Found(Strict(leaves=(Leaf(name="a"), Leaf(size=3))), ("Strict.leaf", "Strict.leaves[1].name"))
    with pytest.raises(
        DecodeError, match=r"missing_required_field .*Strict\.leaf is required and not there, nor are 1"
    ):
        decode_root(Strict, data)
    assert decode_root(Leaf, encode_root(Leaf(name="x"))) == Leaf(name="x")


BAD = {
    "no root": (b"\1\0\0", "expected 4 bytes at 0 of a buffer of 3"),
    "root outside": (b"\xff\xff\xff\xff", "expected 4 bytes at 4294967295 of a buffer of 4"),
    "vtable in front": (struct.pack("<Ii", 4, 100), "expected 2 bytes at -96"),
    "vtable of nothing": (bytes(32), "a vtable of 0 bytes at 0"),
    "vtable of odd size": (struct.pack("<IHHi", 8, 5, 4, 4), "a vtable of 5 bytes"),
    "vtable too long": (struct.pack("<IHHi", 8, 200, 4, 4), "a vtable of 200 bytes"),
    "field outside": (buffer([0, 0, 0, 0, 9999], b""), "expected 4 bytes at 10023"),
    "text outside": (
        buffer([0] * 7 + [4], struct.pack("<I", 4), struct.pack("<I", 9) + b"abc"),
        "9 elements of 1 bytes",
    ),
    "no UTF-8": (buffer([0] * 7 + [4], struct.pack("<I", 4), struct.pack("<I", 2) + b"a\xff\0"), "0xff is not UTF-8"),
    "vector outside": (buffer([0] * 9 + [4], struct.pack("<I", 4), struct.pack("<I", 9)), "9 elements of 8 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bytes(name: str) -> None:
    data, why = BAD[name]
    with pytest.raises(DecodeError, match=why) as caught:
        read_root(Tree, data, kind="chosen")
    assert caught.value.kind == "chosen"
    assert 0 <= caught.value.offset <= len(data)
    assert outcome(read_fast, Tree, data) == outcome(read_root, Tree, data)


def test_tables_nest_no_deeper_than_the_limit() -> None:
    tree = Tree()
    for _ in range(limits.NESTING_MAX - 1):
        tree = Tree(tree=tree)
    assert read_fast(Tree, encode_root(tree)) == Found(tree)
    with pytest.raises(EncodeError, match="nest deeper than 64"):
        encode_root(Tree(tree=tree))


def bomb(levels: int) -> bytes:
    """Tables whose two children are one and the same, level under level: 2 ** levels when followed."""
    out = bytearray(struct.pack("<IHHHH", 12, 6, 8, 4, 0))
    for _ in range(levels):
        # The table, then its vector of two offsets, both to the table that comes next.
        out += struct.pack("<iIIII", len(out) - 4, 4, 2, 8, 4)
    return bytes(out) + struct.pack("<iII", len(out) - 4, 4, 0)


def test_shared_tables_are_followed_only_so_often() -> None:
    few = read_fast(Forest, bomb(2)).value
    assert [len(tree.trees) for tree in few.trees] == [2, 2]
    refused = outcome(read_fast, Forest, bomb(40))
    assert refused == outcome(read_root, Forest, bomb(40))
    assert refused[0] is OverLimit
    assert refused[4] == "more tables than the buffer can hold"


def test_shared_bytes_are_copied_only_so_often() -> None:
    count, size = 100, 400
    out = bytearray(struct.pack("<IHHHH", 12, 6, 8, 4, 0)) + struct.pack("<iII", 8, 4, count)
    tables_at = len(out) + 4 * count
    out += b"".join(struct.pack("<I", tables_at + 8 * n - (len(out) + 4 * n)) for n in range(count))
    text_at = tables_at + 8 * count
    for at in range(tables_at, text_at, 8):
        out += struct.pack("<iI", at - 4, text_at - at - 4)
    data = bytes(out) + struct.pack("<I", size) + b"x" * size + b"\0"
    refused = outcome(read_fast, Shelf, data)
    assert refused == outcome(read_root, Shelf, data)
    assert refused[0] is OverLimit
    assert refused[4] == "more bytes than the buffer can hold"


def test_exact_refuses_what_no_writer_of_the_schema_makes() -> None:
    word = struct.pack("<i", 7)
    plain = buffer([0, 0, 0, 0, 4], word)
    assert read_root(Tree, plain, exact=True).value.word == 7
    for data, why in (
        (buffer([0] * 15 + [4], word), "more than the 15 slots"),
        (buffer([0, 0, 0, 0, 4], bytes(4)), "0 is the default and never written"),
        (buffer([0, 0, 0, 0, 4, 4], word + bytes(8)), "not aligned, or lies over another"),
        (buffer([0] * 7 + [4], struct.pack("<I", 4), struct.pack("<I", 1) + b"ab"), "text without its zero byte"),
        (buffer([0] * 9 + [4], struct.pack("<I", 4), struct.pack("<I", 1) + bytes(8)), "a vector that is not aligned"),
        (buffer([0] * 12 + [8, 4], struct.pack("<IB", 5, 9), plain), "tag 9 names no table"),
        (plain[:4] + b"\0" + plain[4:], "expected|vtable|aligned"),
    ):
        with pytest.raises(DecodeError, match=why):
            read_root(Tree, data, exact=True)


def test_an_unknown_tag_is_a_union_without_a_value() -> None:
    data = buffer([0] * 12 + [8, 4], struct.pack("<IB", 5, 9), bytes(8))
    assert read_fast(Tree, data) == read_root(Tree, data) == Found(Tree(either_type=9))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (Tree(word=2**31), r"Tree\.word: i32 takes a whole number from -2147483648 to 2147483647"),
        (Tree(flag=1), r"Tree\.flag: expected true or false"),  # type: ignore[arg-type]
        (Tree(text=b"x"), r"Tree\.text: expected text"),  # type: ignore[arg-type]
        (Tree(text="\ud800"), r"Tree\.text: '\\ud800' has no UTF-8"),
        (Tree(raw="x"), r"Tree\.raw: expected bytes"),  # type: ignore[arg-type]
        (Tree(numbers=[1]), r"Tree\.numbers: expected a tuple"),  # type: ignore[arg-type]
        (Tree(numbers=(2**63,)), r"Tree\.numbers\[0\]: i64 takes"),
        (Tree(leaf=Other()), r"Tree\.leaf: expected a Leaf"),  # type: ignore[arg-type]
        (Tree(leaves=Leaf()), r"Tree\.leaves: expected a tuple"),  # type: ignore[arg-type]
        (Tree(leaves=(Other(),)), r"Tree\.leaves\[0\]: expected a Leaf"),  # type: ignore[arg-type]
        (Tree(either=Tree()), r"Tree\.either: expected one of Leaf, Other"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_written(table: Tree, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        encode_root(table)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (7, "Tree: expected an object"),
        ({"wrod": 1}, r"Tree: has no field 'wrod' \(did you mean word\?\)"),
        ({"word": "1"}, r"Tree\.word: i32 takes"),
        ({"raw": "00"}, r'Tree\.raw: expected \{"hex"'),
        ({"numbers": 1}, r"Tree\.numbers: expected a list"),
        ({"leaves": {}}, r"Tree\.leaves: expected a list"),
        ({"leaf": {"size": 1}}, r"Tree\.leaf\.name: is required and missing"),
        ({"either": {}}, r"Tree\.either: either_type None names no table"),
    ],
)
def test_json_that_is_no_table(form: Any, why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        table_from_json(Tree, form)


def test_the_name_of_an_enum_stands_for_its_number() -> None:
    assert table_from_json(Tree, {"colour": "GREEN"}) == Tree(colour=1)


def test_a_slot_is_never_read_or_written_alone() -> None:
    wire = fields_of(Leaf)[0].wire
    with pytest.raises(AssertionError, match="read by its table"):
        wire.read(None, "x")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="written by its table"):
        wire.write("", bytearray(), "x")
