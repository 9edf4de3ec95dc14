from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.frames.patching import slot_of
from wiretool.protocols.pravega.framing import annotate, encode
from wiretool.protocols.pravega.messages import AppendBlockEnd

WRITER = str(UUID(int=9))
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def end_of(number: int, request_id: int) -> AppendBlockEnd:
    return AppendBlockEnd(
        writer_id=WRITER,
        size_of_whole_events=4,
        data=b"some",
        num_events=1,
        last_event_number=number,
        request_id=request_id,
    )


@given(NUMBERS, NUMBERS)
def test_a_changed_frame_is_what_would_have_been_encoded(number: int, request_id: int) -> None:
    plain = encode(end_of(1, 2), "client")
    slot = slot_of(AppendBlockEnd, annotate(AppendBlockEnd, plain, 0, len(plain)), "last_event_number", "request_id")
    frame = bytearray(plain)
    slot.put(frame, slot.at, number, request_id)
    assert bytes(frame) == encode(end_of(number, request_id), "client")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("size_of_whole_events", "request_id"), "do not stand side by side"),
        (("data",), "no fixed width"),
    ],
)
def test_other_fields_are_no_slot(names: tuple[str, ...], why: str) -> None:
    frame = encode(end_of(1, 2), "client")
    with pytest.raises(AssertionError, match=why):
        slot_of(AppendBlockEnd, annotate(AppendBlockEnd, frame, 0, len(frame)), *names)
