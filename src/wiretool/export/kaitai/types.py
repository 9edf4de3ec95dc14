"""The members of a type of Kaitai Struct, from the layouts of values."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.layouts import (
    Bit,
    Counted,
    Group,
    Layout,
    Measured,
    NamedNumber,
    Number,
    Repeated,
    Rest,
    Truth,
    UuidBytes,
)

#: Types of Kaitai Struct, by their character for `struct`.
NUMBERS: Mapping[str, str] = {
    "b": "s1",
    "B": "u1",
    "h": "s2",
    "H": "u2",
    "i": "s4",
    "I": "u4",
    "q": "s8",
    "Q": "u8",
}
#: The type of a byte that is true unless it is 0.
TRUTH: Mapping[str, Any] = {
    "seq": [{"id": "byte", "type": "u1"}],
    "instances": {"value": {"value": "byte != 0"}},
}
#: Bytes that are left in the message.
_LEFT = "_io.size - _io.pos"


class Types:
    """The members of one type, as they are added, and the types and enumerations within it."""

    def __init__(self) -> None:
        self._members: list[dict[str, Any]] = []
        self._values: dict[str, Any] = {}
        self._types: dict[str, Any] = {}
        self._enums: dict[str, Any] = {}
        #: The member with the byte to which the next bits belong.
        self._bits = ""

    def specification(self) -> dict[str, Any]:
        """Return the type as it stands in the file."""
        parts = {"seq": self._members, "instances": self._values, "types": self._types, "enums": self._enums}
        return {name: part for name, part in parts.items() if part or name == "seq"}

    def add(self, name: str, layout: Layout, *, if_left: int = 0, if_any: str = "", doc: str = "") -> None:
        """Add a value; it is there only where so many bytes are left, and another member is not 0."""
        there = self._condition(name, if_left, if_any)
        texts = {"doc": doc} if doc else {}
        match layout:
            case Counted(count, content, negative_is_empty):
                length = self._length_of(name, count, there, negative_is_empty=negative_is_empty)
                kind = {"type": "str"} if content == "text" else {}
                self._members.append({"id": name, "size": length, **kind, **there, **texts})
            case Repeated():
                self._add_repeated(name, layout, {**there, **texts})
            case Bit():
                self._add_bit(name, layout, {**there, **texts})
            case _:
                self._members.append({"id": name, **self._fixed(name, layout), **there, **texts})

    def add_rest(self) -> None:
        """Add the bytes after the declared ones, which a later version of the protocol may have."""
        if not any("size-eos" in member for member in self._members):
            self._members.append({"id": "left_over", "size-eos": True})

    def _condition(self, name: str, if_left: int, if_any: str) -> dict[str, str]:
        """Return the condition of a value, which is evaluated once: a count is a member of its own before the value."""
        conditions = [f"{_LEFT} >= {if_left}"] if if_left else []
        conditions += [f"{if_any} != 0"] if if_any else []
        if not conditions:
            return {}
        self._values[f"has_{name}"] = {"value": " and ".join(conditions)}
        return {"if": f"has_{name}"}

    def _fixed(self, name: str, layout: Layout) -> dict[str, Any]:
        match layout:
            case Number(form, only, within_left):
                return {"type": NUMBERS[form], **_valid(only, within_left=within_left)}
            case Truth():
                return {"type": "truth"}
            case UuidBytes():
                return {"size": 16}
            case NamedNumber(names):
                self._enums[name] = {number: text.lower() for number, text in names.items()}
                return {"type": "u1", "enum": name, "valid": {"in-enum": True}}
            case Measured(by):
                return {"size": by}
            case Rest():
                return {"size-eos": True}
            case Group(members):
                inner = Types()
                for member in members:
                    inner.add(member.name, member.layout, if_left=member.if_left, if_any=member.if_any)
                return {"type": self._inner(f"{name}_value", inner)}
            case _:
                raise AssertionError(f"{name} has the layout {layout}")

    def _length_of(self, name: str, count: Number, there: Mapping[str, str], *, negative_is_empty: bool) -> str:
        """Add the count of bytes of a value; return the expression for its size."""
        own = f"{name}_length"
        is_signed = count.form.islower()
        valid = {"valid": {"min": 0}} if is_signed and not negative_is_empty else {}
        self._members.append({"id": own, "type": NUMBERS[count.form], **valid, **there})
        return f"{own} < 0 ? 0 : {own}" if is_signed and negative_is_empty else own

    def _add_repeated(self, name: str, layout: Repeated, notes: Mapping[str, str]) -> None:
        own = f"{name}_count"
        low = {} if layout.negative_is_empty else {"min": 0}
        high = {} if layout.count_max is None else {"max": layout.count_max}
        there = {key: value for key, value in notes.items() if key == "if"}
        self._members.append({"id": own, "type": "s4", **({"valid": {**low, **high}} if low or high else {}), **there})
        times = f"{own} < 0 ? 0 : {own}" if layout.negative_is_empty else own
        element = layout.element
        if isinstance(element, Number):
            kind = self._fixed(name, element)
        else:
            inner = Types()
            if isinstance(element, Group):
                for member in element.members:
                    inner.add(member.name, member.layout, if_left=member.if_left, if_any=member.if_any)
            else:
                inner.add("value", element)
            kind = {"type": self._inner(f"{name}_element", inner)}
        self._members.append({"id": name, **kind, "repeat": "expr", "repeat-expr": times, **notes})

    def _add_bit(self, name: str, bit: Bit, notes: Mapping[str, str]) -> None:
        if bit.is_next_byte:
            self._bits = f"{name}_byte"
            valid = {"valid": {"expr": f"_ & {bit.reserved:#04x} == 0"}} if bit.reserved else {}
            there = {key: value for key, value in notes.items() if key == "if"}
            self._members.append({"id": self._bits, "type": "u1", **valid, **there})
        self._values[name] = {"value": f"{self._bits} & {bit.mask:#04x} != 0", **notes}

    def _inner(self, name: str, inner: "Types") -> str:
        self._types[name] = inner.specification()
        return name


def _valid(only: int | None, *, within_left: bool) -> dict[str, Any]:
    if only is not None:
        return {"valid": only}
    return {"valid": {"expr": f"_ <= {_LEFT}"}} if within_left else {}
