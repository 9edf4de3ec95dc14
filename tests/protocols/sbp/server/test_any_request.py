"""Whatever a client asks, in whatever order, is answered or dropped; nothing is raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.sbp_frames import schemas
from tests.helpers.tables import tables
from tests.protocols.sbp.server.talk import Client, ping
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.messages import SbpFrame, Schema
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.server.mock import SbpMock
from wiretool.server.mock import Mock

SCHEMAS = schemas()


def mock_of(schema: Schema, two_doors: bool, like_real: bool) -> Mock:
    if schema is LATEST:
        return SbpMock(has_two_doors=two_doors, like_real=like_real)
    from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock

    return Sbp01Mock(has_two_doors=two_doors, like_real=like_real, schema=schema.name)


@st.composite
def requests(draw: st.DrawFn, schema: Schema) -> bytes:
    """Any request with any fields, payload and flags."""
    asked: list[type[Table]] = [cls for cls in schema.tables if cls.declaration.sender == "client"]
    cls = draw(st.sampled_from(asked))
    frame = SbpFrame(
        opcode=cls.declaration.type_id,
        flags=draw(st.sampled_from([0, 0, 0, 1, 2, 4, 0xF0])),
        stream_id=draw(st.integers(0, 2**32 - 1)),
        header_format=draw(st.sampled_from([1, 1, 1, 0, 3])),
        header=draw(tables(cls) | st.binary(max_size=20)),
        payload=draw(st.binary(max_size=60)),
    )
    return encode_frame(frame, "client")


@pytest.mark.parametrize("name", SCHEMAS)
@given(data=st.data())
def test_any_request_is_taken(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    mock = mock_of(schema, data.draw(st.booleans()), data.draw(st.booleans()))
    door = data.draw(st.sampled_from(mock.doors)).name
    client = Client(mock, 0, door, schema=schema)
    for request in data.draw(st.lists(requests(schema), max_size=6)):
        client.send(request)
    client.wait(20_000_000_000)
    assert len(Client(mock, 1, door, now_ns=client.now_ns, schema=schema).say(ping(1))) == 1
