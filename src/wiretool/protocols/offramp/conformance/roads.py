"""The setups of servers that the cases require, as options of the mock."""

import string
from collections.abc import Mapping
from random import Random
from typing import Any

from wiretool.protocols.offramp.conformance.messages import LONG, PAYLOADS
from wiretool.protocols.offramp.conformance.steps import (
    BIG,
    KINDS,
    ONE,
    PEOPLE,
    PRIVATE,
    PUBLIC_ONLY,
    QUIET,
    SIX,
    STORED,
)
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.protocols.offramp.server.roads import RoadStart

#: Messages of the road with one partition, and of each partition of the road with six.
_ONE_MESSAGES, _SIX_MESSAGES = 40, 5
#: Messages a second on the road that grows.
_RATE = 10.0
_LETTERS = string.ascii_letters + string.digits
_TIME_MS = 1_500_000_000_000
_PII = ("name", "mail.home", "pets.name")
_PERSON = {"name": "Ada", "age": 36, "mail": {"home": "ada@example.org", "work": None}, "pets": [{"name": "Rex"}]}


def _numbered(road: str, count: int, partition: int = 0) -> list[FeedMessage]:
    return [
        FeedMessage(road=road, partition=partition, payload={"n": n}, schema=3, timestamp=_TIME_MS + n)
        for n in range(count)
    ]


def _scrambled(count: int) -> str:
    """Return text that compression makes little of, the same each time."""
    random = Random(0)
    return "".join(random.choices(_LETTERS, k=count))


_ALONE = RoadStart(partitions=1)
_USUAL: Mapping[str, Any] = {
    "roads": (ONE, STORED, SIX, QUIET, PRIVATE, PUBLIC_ONLY, PEOPLE, BIG, KINDS),
    "road_starts": {
        ONE: _ALONE,
        STORED: _ALONE,
        PRIVATE: RoadStart(partitions=1, permissions={"admin": frozenset({"PUBLIC", "PII"})}),
        PUBLIC_ONLY: RoadStart(partitions=1, permissions={"*": frozenset({"PUBLIC"})}),
        PEOPLE: _ALONE,
        BIG: _ALONE,
        KINDS: _ALONE,
    },
    "feed": (
        *_numbered(ONE, _ONE_MESSAGES),
        *_numbered(STORED, 10),
        *(message for index in range(6) for message in _numbered(SIX, _SIX_MESSAGES, index)),
        *_numbered(PRIVATE, 2),
        *_numbered(PUBLIC_ONLY, 2),
        FeedMessage(road=PEOPLE, payload=_PERSON, pii=_PII),
        *(FeedMessage(road=BIG, payload={"text": ("wiretool " * size)[:size]}) for size in LONG),
        FeedMessage(road=BIG, payload={"text": _scrambled(30_000)}),
        *(FeedMessage(road=KINDS, payload=payload) for payload in PAYLOADS),
    ),
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "": _USUAL,
    # A road that has ten messages and gets ten more a second while somebody reads it.
    "live": {
        "roads": ("live",),
        "road_starts": {"live": _ALONE},
        "feed": _numbered("live", 10),
        "rate": _RATE,
    },
    # The original server, as it was recorded.
    "original": {**_USUAL, "like_real": True},
}
