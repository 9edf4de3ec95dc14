"""Exchanges by declarations: requests, and the kinds of failures."""

from typing import Annotated

import pytest

from wiretool.codec.json_types import JsonBytes
from wiretool.codec.message import Message, message
from wiretool.protocols.base.exchanges import Exchanges, Fields


@message(type_id=1, sender="client", spec="of this test")
class Ask(Message, frozen=True, kw_only=True):
    """A request."""


@message(type_id=2, sender="client", spec="of this test")
class Perhaps(Message, frozen=True, kw_only=True):
    """A request that is answered at times."""


@message(type_id=3, sender="server", spec="of this test", failure=True)
class Lost(Message, frozen=True, kw_only=True):
    """A failure that is called by the name of its message, as none of its fields has a kind."""

    text: Annotated[bytes, JsonBytes()] = b"words"


@message(type_id=4, name="ERR", sender="server", spec="of this test", failure="text")
class Err(Message, frozen=True, kw_only=True):
    """A failure whose kind is in its text."""

    text: Annotated[bytes, JsonBytes()] = b""


DECLARED = Exchanges.declared((Ask, Perhaps, Lost, Err), may_ask=(Perhaps,))


def test_clients_ask() -> None:
    assert list(DECLARED.asks) == [("Ask", "client")]
    assert list(DECLARED.may_ask) == [("Perhaps", "client")]


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [
        ("Lost", Lost(), "Lost"),
        ("ERR", Err(text=b"NOAUTH log in"), "NOAUTH"),
        ("ERR", {"text": "NOAUTH log in"}, "NOAUTH"),
        ("ERR", {"text": {"hex": "ff20"}}, "\ufffd"),
        ("ERR", Err(text=b" "), "ERR"),
        ("ERR", None, "ERR"),
        ("Err", Err(), None),
        ("Ask", Ask(), None),
    ],
)
def test_a_failure_is_called_by_its_message_or_by_the_first_word_of_a_field(
    name: str, fields: Fields, kind: str | None
) -> None:
    assert DECLARED.failure(name, fields) == kind
    assert (name in DECLARED.failures) == (kind is not None)
