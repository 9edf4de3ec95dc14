from uuid import UUID

import pytest
from hypothesis import given

from tests.helpers.strategies import messages
from wiretool.codec.packed import layout, packer
from wiretool.codec.reference import encode
from wiretool.protocols.pravega.framing import encode as pravega_encode
from wiretool.protocols.pravega.messages import DataAppended, SetupAppend


@given(messages(DataAppended))
def test_it_writes_what_the_reference_does(message: DataAppended) -> None:
    raw = UUID(message.writer_id).bytes
    numbers = (
        message.event_number,
        message.previous_event_number,
        message.request_id,
        message.current_segment_write_offset,
    )
    assert packer(DataAppended)(raw, *numbers) == encode(message)


def test_text_has_no_fixed_width() -> None:
    with pytest.raises(AssertionError, match="SetupAppend has fields without a fixed width"):
        packer(SetupAppend)


@given(messages(DataAppended))
def test_a_layout_with_a_header_reads_the_whole_frame(message: DataAppended) -> None:
    frame = pravega_encode(message, "server")
    type_id, length, writer, number, *_ = layout(DataAppended, "iI").unpack(frame)
    assert (type_id, length) == (DataAppended.declaration.type_id, len(frame) - 8)
    assert (UUID(bytes=writer), number) == (UUID(message.writer_id), message.event_number)
