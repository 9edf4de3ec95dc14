"""The fast decoder agrees with the slow one: on values, and on class, kind, path and offset of errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.strategies import messages, outcome
from tests.helpers.tables import mutated
from wiretool.codec import reference
from wiretool.codec.compiled import decoder
from wiretool.codec.message import Message
from wiretool.protocols import pravega, pravega_draft

DECLARED = (*pravega.PROTOCOL.messages, *pravega_draft.PROTOCOL.messages)
every = pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: f"{cls.__module__.split('.')[-2]}.{cls.__name__}")


def agree(cls: type[Message], data: bytes, at: int, end: int) -> None:
    slow = outcome(lambda: reference.decode(cls, data, at, end))
    assert outcome(lambda: decoder(cls)(data, at, end)) == slow


@every
@given(data=st.data())
@settings(max_examples=12)
def test_both_decoders_agree_on_damaged_messages(cls: type[Message], data: st.DataObject) -> None:
    raw = data.draw(mutated(reference.encode(data.draw(messages(cls)))))
    before, behind = data.draw(st.binary(max_size=3)), data.draw(st.binary(max_size=9))
    agree(cls, before + raw + behind, len(before), len(before) + len(raw))


@every
@given(data=st.data())
@settings(max_examples=4)
def test_both_decoders_agree_on_every_cut(cls: type[Message], data: st.DataObject) -> None:
    raw = reference.encode(data.draw(messages(cls)))
    for end in range(len(raw) + 1):
        agree(cls, raw, 0, end)


@every
@given(raw=st.binary(max_size=80))
@settings(max_examples=12)
def test_both_decoders_agree_on_any_bytes(cls: type[Message], raw: bytes) -> None:
    agree(cls, raw, 0, len(raw))


def test_a_decoder_is_made_once() -> None:
    assert decoder(DECLARED[0]) is decoder(DECLARED[0])
