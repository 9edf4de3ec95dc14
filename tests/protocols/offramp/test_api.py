"""Offramp through `wiretool.encode`."""

import pytest

import wiretool
from wiretool.errors import EncodeError
from wiretool.protocols.offramp.messages import ConnectionEvent


def test_the_side_follows_from_the_message() -> None:
    event = ConnectionEvent(agentName="a")
    raw = wiretool.encode(event)
    assert raw[0] == 0x82  # BINARY, and no mask: from the server
    with pytest.raises(EncodeError, match="a client sends no CONNECTION"):
        wiretool.encode(event, side="client")
