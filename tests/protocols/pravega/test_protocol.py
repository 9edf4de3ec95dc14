"""The protocol as the registry knows it."""

import pytest

from tests.protocols.pravega.talk import SETUP
from wiretool.codec.jsonform import json_form
from wiretool.errors import EncodeError
from wiretool.protocols.pravega import PROTOCOL
from wiretool.protocols.pravega.messages import Unknown


def test_its_name_and_ports() -> None:
    assert (PROTOCOL.name, PROTOCOL.ports) == ("pravega", (12345, 12346))


@pytest.mark.parametrize("name", ["SetupAppend", "SETUP_APPEND"])
def test_a_message_by_either_name(name: str) -> None:
    assert PROTOCOL.from_json(name, "client", json_form(SETUP)) == SETUP


def test_an_unknown_message_by_its_name() -> None:
    unknown = PROTOCOL.from_json("Unknown", "server", {"type": 72, "data": "0102"})
    assert unknown == Unknown(type=72, data=b"\1\2")
    assert PROTOCOL.encode(unknown, "server").hex() == "00000048" + "00000002" + "0102"


def test_a_name_that_is_none() -> None:
    with pytest.raises(EncodeError, match=r"pravega has no command 'SetupApend' \(did you mean SetupAppend\?\)"):
        PROTOCOL.from_json("SetupApend", "client", {})
