"""What append blocks and cut messages cost to keep, however they are cut and whatever is lost."""

import tracemalloc
from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.protocols.pravega_draft.talk import ID, begin
from wiretool import limits
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega_draft.blocks import Blocks, Partial, Writer


@pytest.mark.parametrize("size", [0, 2])
def test_pieces_cost_what_their_bytes_do(size: int) -> None:
    partial = Partial()
    partial.add("BEGIN", b"")
    tracemalloc.start()
    try:
        for number in range(50_000):
            partial.add("MIDDLE", number.to_bytes(2, "big")[:size])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * 50_000 * size + 10_000
    whole = partial.add("END", b"end")
    assert whole is not None
    assert len(whole) == 50_000 * size + 3
    assert not partial.is_open


def test_pieces_of_more_than_a_message_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PRAVEGA_PAYLOAD_BYTES_MAX", 10)
    partial = Partial()
    partial.add("BEGIN", bytes(HEADER_BYTES + 10))
    partial.add("MIDDLE", b"more")
    assert partial.add("END", b"") == bytes(HEADER_BYTES + 10)
    partial.add("BEGIN", b"ab")
    assert partial.add("END", b"c") == b"abc"


class Unlooped(dict[str, Writer]):
    """Appenders that may be looked up and not gone through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all of them were looked at")

    keys = values = items = __iter__  # type: ignore[assignment]


def test_a_loss_costs_the_same_however_many_appenders_there_are() -> None:
    blocks = Blocks(is_whole=True)
    blocks.writers = Unlooped()
    for number, connection_id in enumerate([ID, str(UUID(int=1))]):
        blocks.learn(connection_id, "seg", number)
    blocks.lose()
    blocks.begin(begin(77, 0))
    blocks.learn(ID, "seg", 5)
    with pytest.raises(ProtocolViolation, match="begins at 77, the appender is at 5"):
        blocks.begin(begin(77, 0))
