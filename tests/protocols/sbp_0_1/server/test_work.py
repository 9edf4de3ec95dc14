"""What broken frames cost a mock, counted in calls of functions: no more than a few times what good ones cost."""

import json
import random
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from tests.conftest import HERE
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

STREAM_BYTES, STREAMS, RATIO_MAX = 2_048, 2, 5


def calls_of(name: str, streams: Sequence[bytes]) -> int:
    """Count the calls that a fresh mock makes to take streams, each on a connection of its own."""
    mock, count = mock_for(name, MockOptions()), 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for number, data in enumerate(streams, 1):
            mock.opened(number, mock.doors[0].name, 0)
            mock.received(number, data, 0)
    finally:
        sys.setprofile(before)
    return count


def changed(raw: bytes, rng: random.Random, first: int) -> bytes:
    """A frame with two other bytes, from `first` on."""
    data = bytearray(raw)
    for _ in range(2 if len(data) > first else 0):
        data[rng.randrange(first, len(data))] = rng.randrange(256)
    return bytes(data)


def cut(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(1, len(raw))]


BROKEN: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "anywhere": lambda raw, rng: changed(raw, rng, 0),
    "behind the frame's head": lambda raw, rng: changed(raw, rng, 16),
    "cut": cut,
}


def frames_of(version: str) -> list[bytes]:
    """Return the good requests among the vectors of a version."""
    vectors = json.loads((HERE / "vectors" / "sbp.json").read_text())
    good = (each for each in vectors if each["version"] == version and not each.get("error") and "kind" not in each)
    return [
        bytes.fromhex(each["hex"]) for each in good if len(each["hex"]) < STREAM_BYTES and "append_repeat" not in each
    ]


@pytest.mark.parametrize(("name", "version"), [("sbp-0.1", "sbp-0.1"), ("sbp", "sbp-latest")])
@pytest.mark.parametrize("how", BROKEN)
def test_broken_frames_cost_little_more_than_good_ones(name: str, version: str, how: str) -> None:
    """One kind of frame at a time: many of it fill each stream."""
    rng = random.Random(f"{name}/{how}")
    frames = frames_of(version)
    assert len(frames) > 30
    usual = max(calls_of(name, [raw * (STREAM_BYTES // len(raw))] * STREAMS) for raw in frames)
    for raw in frames:
        count = STREAM_BYTES // len(raw)
        streams = [b"".join(BROKEN[how](raw, rng) for _ in range(count)) for _ in range(STREAMS)]
        assert calls_of(name, streams) <= RATIO_MAX * usual
