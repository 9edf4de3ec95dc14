"""Draft servers that contradict what clients appended: a replay finds each lie, and so do `--against` and `diff`."""

from collections.abc import Callable

import msgspec
import pytest

from tests.protocols.pravega_draft.replay.test_replay import EVENT, SIZE, block, played, read, recorded, setup
from wiretool.codec.message import Message
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.messages import SegmentRead
from wiretool.protocols.pravega_draft.server.mock import DraftMock
from wiretool.replay.adapters import manners
from wiretool.replay.compare_servers import grid
from wiretool.replay.diff.comparing import compare
from wiretool.server.mock import Action, Send

SAYS = [setup(), *block(0, EVENT), *block(SIZE, EVENT), read(0)]
ALL = encode(EVENT) * 2
TOLD = SegmentRead(segment="seg", offset=0, at_tail=True, end_of_segment=False, data=ALL)


class Lying(DraftMock):
    """A store that sends one message in place of another."""

    def __init__(self, honest: Message, lie: Message | None) -> None:
        super().__init__()
        self._honest = encode(honest)
        self._lie = b"" if lie is None else encode(lie)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        actions = super().received(connection, data, now_ns)
        return [
            Send(each.connection, each.data.replace(self._honest, self._lie)) if isinstance(each, Send) else each
            for each in actions
        ]


def changed(**fields: object) -> Callable[[], Message]:
    return lambda: msgspec.structs.replace(TOLD, **fields)


@pytest.mark.parametrize(
    "lie",
    [
        changed(data=ALL + bytes(8)),
        changed(data=ALL + encode(EVENT), end_of_segment=True),
        changed(data=ALL[:SIZE]),
        changed(data=ALL[:SIZE], at_tail=False, segment="another"),
    ],
    ids=["zeros-after-the-end", "an-event-too-many", "less-at-the-tail", "another-segment"],
)
def test_a_read_that_contradicts_the_segment_is_found(lie: Callable[[], Message]) -> None:
    recording, told = recorded(SAYS), lie()
    honest, lying = played(recording), played(recording, Lying(TOLD, told))
    assert honest.outcomes
    assert honest.findings == []
    assert lying.findings != []
    assert list(grid(honest.outcomes, lying.outcomes)) != []
    compared = compare(recording, recorded(SAYS, Lying(TOLD, told)), manners())
    assert [each for each in compared if each.verdict.is_finding] != []


def test_a_reply_may_bring_less_of_the_same() -> None:
    lie = msgspec.structs.replace(TOLD, data=ALL[:SIZE], at_tail=False)
    assert played(recorded(SAYS), Lying(TOLD, lie)).findings == []
