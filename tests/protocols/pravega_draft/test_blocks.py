"""What append blocks and cut messages cost to keep, however they are cut and whatever is lost."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.protocols.pravega_draft.talk import ID, begin
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega_draft.blocks import Blocks, Writer


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
