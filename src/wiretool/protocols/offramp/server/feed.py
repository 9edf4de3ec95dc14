"""Messages that are put on a road: read from lines of JSON, or made up."""

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Annotated, Any

import msgspec

from wiretool.errors import DecodeError, InputError, UsageError
from wiretool.expectations import json_problem
from wiretool.protocols.offramp.json_parser import parse_json

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Partition = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class FeedMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message for a road, as one line of a feed gives it."""

    payload: Any
    #: None: for every road.
    road: str | None = None
    #: Messages of one key share a partition; without key and partition they take turns.
    key: str | None = None
    partition: Partition | None = None
    #: Version of the road's schema.
    schema: Int32 = 1
    #: Milliseconds since 1970; None: when it is put on the road.
    timestamp: Int64 | None = None
    #: Fields of the payload that only a consumer with the grant PII gets to see: names, joined by dots.
    pii: tuple[str, ...] = ()


def feed_message(members: Mapping[str, Any]) -> FeedMessage:
    """The message that a JSON object is; UsageError where it is none."""
    try:
        return msgspec.convert(members, FeedMessage)
    except msgspec.ValidationError as err:
        raise UsageError(json_problem(err)) from err


def read_feed(lines: Iterable[str]) -> Iterator[FeedMessage]:
    """The messages in lines of JSON, one object each, empty lines aside; InputError names the line that is none."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _message_in(line)
        except (DecodeError, UsageError) as err:
            raise InputError(f"line {number}: {err}") from err


def _message_in(line: str) -> FeedMessage:
    parsed = parse_json(line)
    wrong = parsed.error or parsed.overflow
    if wrong is not None:
        raise wrong
    if not isinstance(parsed.value, dict):
        raise UsageError("not a JSON object")
    return feed_message(parsed.value)


class Maker:
    """Messages for one road, so many a second while it is in use, the same for the same seed and road."""

    _PLACES = ("Bergen", "Lisboa", "Quito", "Nairobi", "Hanoi", "Perth")

    def __init__(self, seed: int, road: str, rate: float) -> None:
        self._random = Random(f"{seed}/{road}")
        self._rate = rate
        self._count = 0
        self._since_ns = 0
        #: How many were made since then.
        self._made = 0

    def start(self, now_ns: int) -> None:
        """The road is in use from now on."""
        self._since_ns = now_ns
        self._made = 0

    def due(self, now_ns: int) -> Iterator[FeedMessage]:
        """Those that are due by now; whoever asks more than a second late gets a second's."""
        owed = int((now_ns - self._since_ns) * self._rate / 1_000_000_000) - self._made
        most = max(int(self._rate), 1)
        if owed > most:
            owed = most
            self.start(now_ns)
        else:
            self._made += owed
        for _ in range(owed):
            yield self._make()

    def _make(self) -> FeedMessage:
        payload = {
            "id": self._count,
            "place": self._random.choice(self._PLACES),
            "amount": self._random.randrange(100_000) / 100,
        }
        self._count += 1
        return FeedMessage(payload=payload)
