"""Protocols of plugins are exported where their layouts can be described, and refused by the reason otherwise."""

from typing import Annotated, Any

import msgspec
import pytest

from tests.helpers.examples import needs_protocol
from wiretool.codec.cursor import Cursor
from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.layouts import Bit, Counted, CountedTable, Group, Layout, Member, Number, Repeated, Until
from wiretool.codec.message import Message, message
from wiretool.codec.types import I32, WireType
from wiretool.errors import DecodeError
from wiretool.export import kaitai, wireshark
from wiretool.export.kaitai.types import Types
from wiretool.export.typed_frames import irregular_fields
from wiretool.protocols.base.protocol import Protocol, Wire
from wiretool.protocols.base.registry import PROTOCOLS

pytestmark = needs_protocol("pravega")

PREFIX = Prefix(header_bytes=8, length_at=4, counted_from=8, length_max=1000, length_min=0)
BYTES = Counted(Number("i"), "bytes")
FIRST, NEXT = Bit(0x80, is_next_byte=True), Bit(0x40, is_next_byte=False)


class Laid(WireType):
    """A value with a layout; no bytes are read."""

    name = "laid"

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout

    def read(self, cursor: Cursor, path: str) -> Any:
        raise DecodeError("none", "not read", path=path)

    def write(self, value: Any, out: bytearray, path: str) -> None:
        raise AssertionError(path)


def message_of(layout: Layout | None, *, name: str = "Asked", field: str = "value") -> type[Message]:
    """Return a message with a number and a value of that layout."""
    hints: list[tuple[str, Any]] = [("number", I32), (field, Annotated[Any, Laid(layout)])]
    made = msgspec.defstruct(name, hints, bases=(Message,), frozen=True, kw_only=True)
    assert issubclass(made, Message)
    return message(type_id=1, spec="none", sender="client")(made)


def plugin_with(*messages: type[Message], frames: Prefix = PREFIX) -> Protocol:
    pravega = PROTOCOLS["pravega"]
    wire = Wire(open=pravega.open, messages=messages, encode=pravega.encode, frames=frames)
    return Protocol(name="outside", title="Outside", ports=(), wire=wire)


IRREGULAR: dict[str, tuple[Layout | None, str]] = {
    "no layout": (None, "Asked.value"),
    "table": (CountedTable(Number("i"), object), "Asked.value"),
    "until": (Until(Group((Member("one", BYTES),)), 0), "Asked.value"),
    "counts first": (Group((Member("one", BYTES), Member("two", BYTES)), counts_first=True), "Asked.value"),
    "within a list": (Repeated(Group((Member("one", CountedTable(Number("i"), object)),))), "Asked.value.one"),
    "bit without a byte": (Group((Member("one", NEXT),)), "Asked.value.one"),
    "reserved bits of a later bit": (
        Group((Member("one", FIRST), Member("two", Bit(0x40, is_next_byte=False, reserved=1)))),
        "Asked.value.two",
    ),
    "condition of a later bit": (Group((Member("one", FIRST), Member("two", NEXT, if_left=1))), "Asked.value.two"),
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_a_protocol_whose_layouts_cannot_be_described_is_not_exported(name: str) -> None:
    layout, path = IRREGULAR[name]
    plugin = plugin_with(message_of(layout))
    assert list(irregular_fields(plugin.messages[0])) == [path]
    assert kaitai.find_obstacle(plugin) == f"{path} has no layout that a .ksy file can describe"
    assert not wireshark.is_exportable(plugin)


REGULAR: dict[str, Layout] = {
    "bytes": BYTES,
    "bits": Group((Member("one", FIRST), Member("two", NEXT), Member("three", FIRST))),
    "list": Repeated(Group((Member("one", Repeated(BYTES)),))),
}


@pytest.mark.parametrize("name", REGULAR)
def test_a_protocol_whose_layouts_can_be_described_is_exported(name: str) -> None:
    plugin = plugin_with(message_of(REGULAR[name]))
    assert kaitai.find_obstacle(plugin) == ""
    assert "- id: number" in kaitai.make_kaitai(plugin, "0")
    assert wireshark.is_exportable(plugin)
    assert "outside.value" in wireshark.make_dissector([plugin], "0")


def test_frames_with_another_header_are_refused() -> None:
    plugin = plugin_with(frames=Prefix(header_bytes=8, length_at=4, counted_from=8, length_max=9, length_min=2))
    assert kaitai.find_obstacle(plugin) == "its frames do not begin with a type and a length of four bytes each"


@pytest.mark.parametrize(
    ("message_name", "field", "bad"),
    [
        ("Frame", "value", "frame"),
        ("Asked", "Value", "Value"),
        ("Asked", "number_length", ""),
        ("Asked", "left_over", ""),
    ],
)
def test_names_that_kaitai_struct_does_not_take_are_refused(message_name: str, field: str, bad: str) -> None:
    layout = Number("i") if field != "left_over" else BYTES
    plugin = plugin_with(message_of(layout, name=message_name, field=field))
    bad = bad or ("left_over" if field == "left_over" else "")
    expected = f"the name {bad!r} is used twice, or is not an identifier of Kaitai Struct" if bad else ""
    assert kaitai.find_obstacle(plugin) == expected


def test_a_bit_has_the_condition_and_the_text_of_its_field() -> None:
    types = Types()
    types.add("sealed", FIRST, if_left=1, doc="no more data follows")
    made = types.specification()
    assert made["seq"] == [{"id": "sealed_byte", "type": "u1", "if": "has_sealed"}]
    assert made["instances"]["sealed"] == {
        "value": "sealed_byte & 0x80 != 0",
        "if": "has_sealed",
        "doc": "no more data follows",
    }
