"""Every command: written, read, cut short and filled with anything; the two decoders agree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.strategies import attempt, messages, outcome, required_bytes, tiles
from wiretool.codec import reference
from wiretool.codec.compiled import decoder
from wiretool.codec.jsonform import fields_from_json, json_form
from wiretool.codec.message import Message, fields_of
from wiretool.protocols.pravega.commands import MESSAGES, enum_name, may_send
from wiretool.protocols.pravega.messages import Event, Hello, KeepAlive, Padding, SetupAppend

commands = pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
few = settings(max_examples=12)


def test_there_are_seventy() -> None:
    assert len(MESSAGES) == 70
    assert [cls.declaration.type_id for cls in MESSAGES] == sorted(cls.declaration.type_id for cls in MESSAGES)
    assert sum(cls.declaration.is_failure for cls in MESSAGES) == 12


@pytest.mark.parametrize(
    ("cls", "name"), [(SetupAppend, "SETUP_APPEND"), (Hello, "HELLO"), (KeepAlive, "KEEP_ALIVE")], ids=str
)
def test_names_in_the_java_enum(cls: type[Message], name: str) -> None:
    assert enum_name(cls) == name


def test_who_may_send() -> None:
    assert [may_send("client", cls) for cls in (Hello, SetupAppend, Padding, Event)] == [True, True, True, False]
    assert [may_send("server", cls) for cls in (Hello, SetupAppend, Padding, Event)] == [True, False, False, False]


@commands
def test_each_is_explained(cls: type[Message]) -> None:
    assert cls.__doc__
    assert "WireCommands.java" in cls.declaration.spec
    for field in fields_of(cls):
        assert not (field.is_optional and field.default is None)


@commands
@few
@given(data=st.data())
def test_it_comes_back(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(cls))
    raw = reference.encode(message)
    assert decoder(cls)(raw, 0, len(raw)) == (message, len(raw))
    assert fields_from_json(cls, json_form(message)) == message


@commands
@few
@given(data=st.data())
def test_a_cut_is_refused_or_in_its_tail(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(cls))
    raw = reference.encode(message)
    cut = data.draw(st.integers(0, max(len(raw) - 1, 0)))
    found, err = attempt(lambda: decoder(cls)(raw, 0, cut))
    assert err is None or err.offset <= cut
    assert found is None or cut >= required_bytes(message)


@commands
@few
@given(data=st.data(), junk=st.binary(max_size=40))
def test_the_decoders_agree_on_anything(cls: type[Message], data: st.DataObject, junk: bytes) -> None:
    raw = bytearray(reference.encode(data.draw(messages(cls))))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3)):
        if at < len(raw):
            raw[at] = byte
    for payload in (bytes(raw), bytes(raw) + junk, junk):
        slow = outcome(lambda payload=payload: reference.decode(cls, payload))  # type: ignore[misc]
        assert outcome(lambda payload=payload: decoder(cls)(payload, 0, len(payload))) == slow  # type: ignore[misc]


@commands
@few
@given(data=st.data(), behind=st.binary(max_size=3))
def test_its_spans_tile_it(cls: type[Message], data: st.DataObject, behind: bytes) -> None:
    raw = reference.encode(data.draw(messages(cls))) + behind
    found, _ = attempt(lambda: reference.annotate(cls, raw))
    assert found is None or tiles(found[1], 0, len(raw))
