"""What the drivers of real Pravega clients write and read back: numbered events of a few routing keys.

An event is `KEY NUMBER PADDING`, and the numbers of a key count up from 0. So who has read them all can say, with no
memory of what was written, whether each came exactly once and in the order of its key.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any


def event(key: str, number: int, size_bytes: int = 0) -> str:
    """One event, padded to `size_bytes`."""
    return f"{key} {number} ".ljust(size_bytes, "x")


def numbered(count: int, keys: int, size_bytes: int = 0, first: int = 0) -> Iterator[tuple[str, str]]:
    """`count` events in turn over the keys, with the key of each; `first` is where the numbers of each key begin."""
    for index in range(count):
        key = f"key{index % keys}"
        yield key, event(key, first + index // keys, size_bytes)


def sequences(events: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of each key, in the order of the events."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for text in events:
        key, number, _ = text.split(" ", 2)
        numbers[key].append(int(number))
    return dict(numbers)


def digest(events: Iterable[str]) -> str:
    """One hash over the events, whatever their order among each other."""
    return hashlib.sha256("\n".join(sorted(events)).encode()).hexdigest()


def seen(events: list[str]) -> dict[str, Any]:
    """What a driver reports of the events that it has read."""
    return {"count": len(events), "sequences": sequences(events), "digest": digest(events)}


def assert_exactly_once(report: dict[str, Any], count: int, keys: int, size_bytes: int = 0) -> None:
    """Hold what a driver has read to the events of `numbered`: each one once, and those of a key in order."""
    expected = [text for _, text in numbered(count, keys, size_bytes)]
    assert report["sequences"] == sequences(expected)
    assert report["count"] == count
    assert report["digest"] == digest(expected)
