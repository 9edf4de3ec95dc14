"""A structure inside a message."""

import pytest

from tests.codec.test_reference import Pair
from wiretool.codec.cursor import Cursor
from wiretool.codec.nested import Nested
from wiretool.errors import DecodeError, EncodeError

WIRE = Nested(Pair)


def test_its_fields_one_after_another() -> None:
    out = bytearray()
    WIRE.write(Pair(name="ab", number=-1), out, "pair")
    assert out.hex() == "00026162ffffffffffffffff"
    assert WIRE.read(Cursor(bytes(out)), "pair") == Pair(name="ab", number=-1)
    assert (WIRE.name, WIRE.size_min) == ("Pair", 10)


def test_paths_lead_into_it() -> None:
    with pytest.raises(DecodeError, match=r"\(pair\.number\): expected 8 bytes, 0 left"):
        WIRE.read(Cursor(b"\0\0"), "pair")
    with pytest.raises(EncodeError, match=r"pair\.number: i64 takes"):
        WIRE.write(Pair(name="", number=2**63), bytearray(), "pair")


def test_something_else_is_refused() -> None:
    with pytest.raises(EncodeError, match="pair: expected a Pair, got 5"):
        WIRE.write(5, bytearray(), "pair")  # type: ignore[arg-type]


def test_its_json_form() -> None:
    form = {"name": "ab", "number": -1}
    assert WIRE.to_json(WIRE.from_json(form, "pair")) == form
