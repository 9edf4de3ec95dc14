"""The mock of the draft as a whole: what is done to it from outside, and conversations that are written elsewhere."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.helpers.frames import TALKS
from tests.helpers.vectors import Vector, vectors_below
from tests.protocols.pravega_draft.server.talk import NOW, Client, block, connected, messages_in, read, set_up, stored
from tests.protocols.pravega_draft.talk import HELLO, SETUP, ack_level
from wiretool.errors import UsageError
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import AppendSetup
from wiretool.protocols.pravega_draft.server import DraftMock
from wiretool.server.mock import Close

VECTORS = Path(__file__).parents[3] / "vectors"

# -- operations -------------------------------------------------------------------------------------------------------


def test_operations() -> None:
    mock = DraftMock()
    assert mock.operate("create", {"segment": "a"}, NOW)[0] == {"start": 0, "length": 0, "is_sealed": False}
    assert mock.operate("seal", {"segment": "a"}, NOW)[0]["is_sealed"]
    assert mock.operate("info", {"segment": "a"}, NOW)[0]["is_sealed"]
    assert mock.operate("delete", {"segment": "a"}, NOW)[0] == {}


@pytest.mark.parametrize(
    ("what", "arguments", "text"),
    [
        ("create", {"segment": "seg"}, "segment 'seg' is there already"),
        ("info", {"segment": "none"}, "segment 'none' is missing"),
        ("seal", {}, "seal: expected the name of a segment"),
        ("seal", {"segment": "seg", "x": 1}, "seal: expected the name of a segment"),
        ("scale", {}, "no operation 'scale': there are create, seal, delete, info$"),
    ],
)
def test_operations_that_make_no_sense(what: str, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        DraftMock(segments=["seg"]).operate(what, arguments, NOW)


def test_a_restart_forgets_everything() -> None:
    client = set_up()
    client.send(*block(0, HELLO), read(13))
    actions = client.mock.restart(NOW)
    assert actions == [Close(1, "the server was restarted", True)]
    assert stored(client.mock) == b""
    assert Client(client.mock, 2).send(SETUP) == [ack_level(0)]


def test_messages_are_counted() -> None:
    client = set_up()
    client.send(*block(0, HELLO))
    assert client.mock.outbox.counts == {
        ("client", "SetupAppend"): 1,
        ("server", "AppendSetup"): 1,
        ("client", "BeginAppendBlock"): 1,
        ("client", "Event"): 1,
        ("client", "EndAppendBlock"): 1,
        ("server", "DataAppended"): 1,
    }


# -- conversations that are written elsewhere ------------------------------------------------------------------------


def test_a_conversation_of_a_thousand_frames() -> None:
    client = connected()
    awaited: list[bytes] = []
    answered: list[bytes] = []
    for sent in TALKS["pravega-draft"](Random(7)):
        if sent.side == "server":
            awaited.append(sent.data)
        else:
            answered += map(encode, client.send_bytes(sent.data))
    assert answered == awaited
    assert client.closed is None


def test_the_same_bytes_in_any_pieces_store_the_same() -> None:
    data = b"".join(sent.data for sent in TALKS["pravega-draft"](Random(8)) if sent.side == "client")
    whole = connected()
    whole.send_bytes(data)
    for size in (1, 7, 1_000):
        cut = connected()
        for at in range(0, len(data), size):
            cut.send_bytes(data[at : at + size])
        assert stored(cut.mock, "scope/stream/0") == stored(whole.mock, "scope/stream/0")
        assert list(messages_in(cut.raw))[-1] == list(messages_in(whole.raw))[-1]


def written_conversations() -> list[Vector]:
    """Vectors of the draft that are whole conversations of a client, or have something wrong in them."""
    records = [vector for vector in vectors_below([VECTORS]) if vector.record.get("version") == "pravega-draft"]
    return [vector for vector in records if vector.record["stage"] == "append" or "error_kind" in vector.record]


@pytest.mark.parametrize("written", written_conversations(), ids=lambda written: str(written.record["name"]))
def test_what_is_wrong_in_a_vector_closes_the_connection(written: Vector) -> None:
    client = connected()
    client.send_bytes(bytes.fromhex(written.record["hex"]))
    assert (client.closed is not None) == ("error_kind" in written.record)
    said = written.record.get("expect", {}).get("fields", {}).get("messages", [])
    blocks = b"".join(bytes.fromhex(each["fields"]["data"]) for each in said if each["type"] == "BLOCK")
    (segment,) = {each.segment for each in messages_in(client.raw) if isinstance(each, AppendSetup)} or {""}
    assert stored(client.mock, segment) == blocks
