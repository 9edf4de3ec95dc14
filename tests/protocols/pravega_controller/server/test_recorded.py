"""What real clients asked a real controller, asked again: the answers are the same but for what it makes up."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.protocols.pravega_controller.server.world import METHODS, World
from wiretool.dissect.dissector import read

CAPTURES = Path(__file__).parents[4] / "captures" / "pravega"
#: Addresses, tokens of pages and tokens for the store.
MADE_UP = {"endpoint", "port", "continuationToken", "delegationToken"}


def comparable(value: Any) -> Any:
    """An answer without what servers make up; a list means the same in any order."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items() if name not in MADE_UP}
    return sorted((comparable(part) for part in value), key=repr) if isinstance(value, list) else value


def message(kind: Any, fields: Any) -> Message:
    return ParseDict(fields, GetMessageClass(kind)())


@pytest.mark.parametrize(
    "name", ["java_scale.pcap.gz", "java_conditional.pcap", "java_pool4.pcap", "py_bytestream.pcap"]
)
def test_the_real_controller_said_the_same(name: str) -> None:
    world = World()
    answers: dict[int, tuple[str, dict[str, Any]]] = {}
    for record in read(CAPTURES / name):
        method = METHODS.get(record.message)
        if method is None:
            continue
        if record.side == "client":
            answer = world.call(method.name, message(method.input_type, record.fields))
            answers[record.n] = (method.name, comparable(MessageToDict(answer)))
        else:
            real = message(method.output_type, record.fields)
            assert record.reply_to is not None
            assert answers.pop(record.reply_to) == (method.name, comparable(MessageToDict(real)))
    assert world.state.scopes.all.page("").names[1:], "no scope was made"
    assert answers == {}
