"""Compressed messages are measured before they are read, and read as if they had not been."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.protocols.offramp.talk import BINARY, FIN, RSV1, TEXT, Deflater, asking, frame, upgrading
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import Frames
from wiretool.protocols.offramp.columns.expansion import expanded_bytes
from wiretool.protocols.offramp.connection import Connection

Said = tuple[Side, bytes]
AGREED = "permessage-deflate"
RESETS = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
MESSAGES = [b'{"type":"%s"}' % (b"x" * size) for size in (900, 20, 300, 9_000)]
SIZE = sum(map(len, MESSAGES))
#: More than the messages come to, and less than they might.
BYTES_MAX = 2 * SIZE


def frames_of(said: Sequence[Said]) -> Frames:
    data = b"".join(raw for _, raw in said)
    ends = np.cumsum([len(raw) for _, raw in said])
    starts = ends - [len(raw) for _, raw in said]
    return Frames(data, starts, ends, np.array([side == "server" for side, _ in said]), starts)


def packed(extensions: str) -> list[Said]:
    deflate = Deflater(resets=extensions == RESETS)
    return [("server", frame("server", FIN | RSV1 | TEXT, deflate(message))) for message in MESSAGES]


def opening(extensions: str) -> list[Said]:
    return [("client", asking(extensions)), ("server", upgrading(extensions))]


def begun(extensions: str) -> Connection:
    connection = Connection(from_start=True)
    for side, raw in opening(extensions):
        connection.read(side, raw, 0, len(raw), 0)
    return connection


def measured(talk: Connection, said: Sequence[Said], bytes_max: int = BYTES_MAX) -> int:
    return expanded_bytes(frames_of(said), np.zeros(len(said), np.int64), [talk], bytes_max)


def read_all(talk: Connection, said: Sequence[Said]) -> list[object]:
    return [talk.read(side, raw, 0, len(raw), n)[:2] for n, (side, raw) in enumerate(said, 1)]


def test_frames_without_compression_come_to_nothing() -> None:
    talk = begun(AGREED)
    assert measured(talk, [("server", frame("server", FIN | TEXT, MESSAGES[-1]))], 0) == 0


def test_few_bytes_are_not_inflated() -> None:
    said = packed(AGREED)
    most = sum(len(raw) for _, raw in said) * limits.DEFLATE_GROWTH_MAX
    assert measured(begun(AGREED), said, most) == most


@pytest.mark.parametrize("extensions", [AGREED, RESETS])
def test_messages_are_measured_and_then_read(extensions: str) -> None:
    talk, said = begun(extensions), packed(extensions)
    assert measured(talk, said) == SIZE
    later = packed(extensions)[:1] if extensions == RESETS else []
    assert read_all(talk, [*said, *later]) == read_all(begun(extensions), [*said, *later])


@pytest.mark.parametrize("extensions", [AGREED, RESETS])
def test_after_an_upgrade_in_the_same_frames(extensions: str) -> None:
    talk, said = Connection(from_start=True), [*opening(extensions), *packed(extensions)]
    assert measured(talk, said) == SIZE
    assert read_all(talk, said) == read_all(Connection(from_start=True), said)


def test_measuring_ends_where_it_is_too_much() -> None:
    """The rest is inflated in its turn."""
    talk, said = begun(AGREED), packed(AGREED)
    assert measured(talk, said, len(MESSAGES[0])) == len(MESSAGES[0]) + len(MESSAGES[1])
    assert read_all(talk, said) == read_all(begun(AGREED), said)


def test_messages_that_do_not_inflate() -> None:
    said = packed(AGREED)
    said.insert(2, ("server", frame("server", FIN | RSV1 | BINARY, b"\x07garbage")))
    talk = begun(AGREED)
    assert measured(talk, said) <= SIZE
    assert read_all(talk, said) == read_all(begun(AGREED), said)


@pytest.mark.parametrize("place", [0, 2])
def test_fragments_and_other_upgrades_may_come_to_most(place: int) -> None:
    deflated = Deflater()(MESSAGES[0])
    parts: list[Said] = [("server", frame("server", RSV1 | TEXT, deflated[:5]))]
    parts.append(("server", frame("server", FIN, deflated[5:])))
    for odd in (parts, opening(AGREED)[1:], opening(AGREED)[:1], opening(AGREED)[::-1]):
        said = packed(AGREED)
        said[place:place] = odd
        sizes = sum(len(raw) for side, raw in said if side == "server" and not raw.startswith(b"HTTP"))
        talk = begun(AGREED)
        assert measured(talk, said) == sizes * limits.DEFLATE_GROWTH_MAX
        assert read_all(talk, said) == read_all(begun(AGREED), said)


def test_an_unfinished_message_may_come_to_most() -> None:
    talk = begun(AGREED)
    start = frame("server", TEXT, b"{")
    talk.read("server", start, 0, len(start), 1)
    said = packed(AGREED)
    assert measured(talk, said) == sum(len(raw) for _, raw in said) * limits.DEFLATE_GROWTH_MAX
