import json
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import Pair, Sample
from wiretool.codec.json_text import json_text, json_writer, quoted, table_pieces
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.codec.types import NamedByte
from wiretool.errors import EncodeError
from wiretool.protocols.base.registry import PROTOCOLS

VECTORS = Path(__file__).parent.parent / "vectors"
TEXTS = st.text(st.characters(codec=None, exclude_categories=()))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
PAIRS = st.builds(Pair, key=TEXTS, value=st.binary(max_size=20))
SAMPLES = st.builds(
    Sample,
    request_id=st.integers(-(2**63), 2**63 - 1),
    at_tail=st.booleans(),
    segment=TEXTS,
    pairs=st.lists(PAIRS, max_size=3).map(tuple),
    data=st.binary(max_size=50),
)


class Told(msgspec.Struct, omit_defaults=True):
    text: str
    number: int = 0


def is_safe(text: str) -> bool:
    return all(0x20 <= ord(char) < 0x7F for char in text)


@given(VALUES)
def test_any_value_comes_back_from_its_text(value: Any) -> None:
    text = json_text(value)
    assert is_safe(text)
    assert json.loads(text) == value


@pytest.mark.parametrize("tail", ["", "\ud800"], ids=["fast", "slow"])
def test_numbers_that_are_not_finite_become_null(tail: str) -> None:
    value = {"a": [float("inf"), float("nan"), 1.5], "b": tail}
    assert json.loads(json_text(value)) == {"a": [None, None, 1.5], "b": tail}


def test_a_struct_may_hold_half_a_surrogate_pair() -> None:
    assert json.loads(json_text(Told("\ud800"))) == {"text": "\ud800"}
    assert json.loads(json_text(Told("\ud800", 1))) == {"text": "\ud800", "number": 1}


@given(TEXTS)
def test_quoted_text_is_json_and_safe(text: str) -> None:
    assert is_safe(quoted(text))
    assert json.loads(quoted(text)) == text


def test_del_and_what_turns_the_direction_are_escaped() -> None:
    assert json_text("a\x7fb\u202ec\U0001f600") == '"a\\u007fb\\u202ec\\ud83d\\ude00"'


@given(SAMPLES)
def test_a_message_is_written_as_its_json_form(message: Sample) -> None:
    text = json_writer(Sample)(message)
    assert is_safe(text)
    assert json.loads(text) == json_form(message)
    assert list(json.loads(text)) == list(json_form(message))


class Named(Message, frozen=True, kw_only=True):
    kind: Annotated[str, NamedByte({1: "one", 2: 'tw"o'}, kind="bad")]


def test_names_of_bytes_are_quoted() -> None:
    assert json_writer(Named)(Named(kind='tw"o')) == '{"kind":"tw\\"o"}'


def test_a_message_without_fields_is_an_empty_object() -> None:
    class Nothing(Message, frozen=True, kw_only=True):
        pass

    assert json_writer(Nothing)(Nothing()) == "{}"


def vector_messages() -> list[Message]:
    """The messages of the vectors that name one, in whatever form they name it."""
    found: list[Message] = []
    for record in json.loads((VECTORS / "pravega.json").read_text()):
        expect = record.get("expect", {})
        if record["version"] in PROTOCOLS and expect.get("type") != "SEQUENCE":
            add(found, record["version"], expect.get("type"), expect.get("fields"))
    offramp = VECTORS / "offramp.json"
    for record in json.loads(offramp.read_text())["json"] if "offramp" in PROTOCOLS else ():
        if "expect" in record:
            add(found, "offramp", record["expect"].get("type"), record["expect"])
    return found


def add(found: list[Message], protocol: str, name: Any, fields: Any) -> None:
    if not isinstance(name, str) or not isinstance(fields, dict):
        return
    try:
        found.append(PROTOCOLS[protocol].from_json(name, "client", fields))
    except EncodeError:
        return


def test_messages_of_the_vectors_are_written_as_their_json_form() -> None:
    messages = vector_messages()
    assert len(messages) > 80
    for message in messages:
        assert json.loads(json_writer(type(message))(message)) == json_form(message)


ROWS = st.dictionaries(TEXTS, st.none() | st.integers() | st.floats() | TEXTS, min_size=1, max_size=4)
TABLES = st.dictionaries(st.text("abc", min_size=1), st.lists(ROWS, max_size=3), max_size=3)


@given(st.dictionaries(st.text("xyz", min_size=1), ROWS, min_size=1, max_size=3), TABLES)
def test_pieces_of_tables_are_the_text_of_one_value(totals: dict[str, Any], tables: dict[str, Any]) -> None:
    pieces = list(table_pieces(totals, tables.items()))
    assert "".join(pieces) == json.dumps({**totals, **tables}, indent=2) + "\n"
    assert len(pieces) > sum(map(len, tables.values()))
