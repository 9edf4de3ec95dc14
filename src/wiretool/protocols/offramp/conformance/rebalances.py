"""Cases of several consumers of one stream (protocols/offramp.md §3.5, §3.6)."""

from collections.abc import Mapping
from typing import Any

from wiretool.conformance.case import (
    MUST,
    SHOULD,
    Case,
    Expect,
    Finish,
    Reset,
    Steps,
    case,
    expect,
    expect_any,
    expect_close,
    expect_nothing,
    reply,
    send,
    unsupported,
)
from wiretool.conformance.values import Check, Saved, at_least
from wiretool.protocols.offramp.conformance.steps import (
    ONE,
    QUIET,
    SIX,
    assigned,
    commit,
    committed,
    message,
    open_stream,
    request,
)

_RULE = "spec 004, Rebalance; protocols/offramp.md §3.5"
_LEAVES = "protocols/offramp.md §3.6"
_ALL = [0, 1, 2, 3, 4, 5]
_EARLIEST = "defaultOffset=EARLIEST"
#: The in-memory server of the reference has one partition, and gives it to every consumer (§3.9).
_SHARES_NOT = "the server has one partition and gives it to every consumer"


def _join(on: str, count: int = 100, *, road: str = QUIET, stream: str = "stream", query: str = _EARLIEST) -> Steps:
    """Connect a consumer and let it ask, so that it joins."""
    return (open_stream(road, query=query, stream=stream, on=on), request(count, on=on))


def _whole(on: str = "a") -> Expect:
    """Take the assignment of a consumer that is alone."""
    return expect_any(
        reply("REBALANCE", assignment=Saved("all")) if on != "a" else reply("REBALANCE", assignment=_ALL),
        unsupported("REBALANCE", _SHARES_NOT, assignment=[0]),
        on=on,
    )


def _part(key: str, *others: str, on: str, count: int | None = None) -> Expect:
    """Take a part of the partitions which no other one has; the last part completes them."""

    def holds(value: Any, seen: Mapping[str, Any]) -> bool:
        taken = {each for other in others for each in seen[other]}
        return not taken & set(value) and (count is None or len(value) == count)

    words = f"partitions which {' and '.join(others) or 'nobody'} has not" + (f", {count} of them" if count else "")
    return expect("REBALANCE", on=on, assignment=_Bound(key, Check(words, holds)))


class _Bound(Saved):
    """A value that a pattern fits, bound to a key."""

    def __init__(self, key: str, pattern: Check) -> None:
        super().__init__(key)
        self.pattern = pattern

    def matches(self, value: Any, bindings: Any) -> bool:
        return self.pattern.matches(value, bindings) and super().matches(value, bindings)

    def describe(self, bindings: Any) -> str:
        return self.pattern.describe(bindings)


def _close(on: str) -> Steps:
    return (send("Close", on=on, code=1000), expect("Close", on=on, code=1000), expect_close(on=on))


def _two() -> Steps:
    """Have two consumers that share the partitions."""
    return (
        _join("a"),
        _whole(),
        _join("b"),
        _part("b's", on="b", count=3),
        _part("a's", "b's", on="a", count=3),
    )


CASES: tuple[Case, ...] = (
    case(
        "offramp/rebalance/1",
        MUST,
        "A consumer that is alone is assigned all partitions, before its first message.",
        _RULE,
        _join("a", 1, road=SIX),
        _whole(),
        message(partition=at_least(0)),
        expect_nothing(),
    ),
    case(
        "offramp/rebalance/2",
        MUST,
        "Two consumers of a stream share its partitions evenly: each partition has exactly one owner.",
        f"{_RULE}; captures/offramp rebalance3",
        _two(),
        expect_nothing(on="a"),
        expect_nothing(on="b"),
    ),
    case(
        "offramp/rebalance/3",
        MUST,
        "Of three consumers each gets two of six partitions.",
        f"{_RULE}; captures/offramp rebalance3",
        _two(),
        _join("c"),
        _part("c's", on="c", count=2),
        _part("a's new", "c's", on="a", count=2),
        _part("b's new", "c's", "a's new", on="b", count=2),
    ),
    *(
        case(
            f"offramp/rebalance/{number}",
            MUST,
            f"A consumer that leaves by {words} gives its partitions to the others.",
            f"{_LEAVES}; captures/offramp rebalance3",
            _two(),
            steps,
            assigned(_ALL, on="a"),
            ignore=("Close",),
        )
        for number, words, steps in (
            (4, "a Close", _close("b")),
            (5, "a reset", (Reset("b"),)),
            (6, "the end of its TCP", (Finish("b"),)),
            (
                7,
                "a message that cannot be decoded",
                (send("REQUEST", on="b", count=1, change=lambda data: data[:-2] + b"}}"),),
            ),
        )
    ),
    case(
        "offramp/rebalance/8",
        MUST,
        "With more consumers than partitions some are assigned none, and get nothing.",
        "protocols/offramp.md §2.3, §3.5",
        _join("a", 1, road=ONE),
        assigned(on="a"),
        message(),
        _join("b", 1, road=ONE),
        expect_any(
            reply("REBALANCE", assignment=[]),
            unsupported("REBALANCE", _SHARES_NOT, assignment=[0]),
            on="b",
        ),
        expect_nothing(on="b"),
        # The first consumer may be assigned the same again (§6 row 17).
        ignore=("REBALANCE",),
    ),
    case(
        "offramp/rebalance/9",
        MUST,
        "After an assignment only messages of its partitions come, from the committed offsets on.",
        "protocols/offramp.md §3.5, §6 row 18",
        _join("a", 12, road=SIX),
        _whole(),
        [message(partition=at_least(0)) for _ in range(12)],
        commit({str(index): 2 for index in _ALL}),
        committed(),
        _join("b", 9, road=SIX),
        _part("b's", on="b", count=3),
        [
            message(
                on="b",
                partition=Check("a partition of b's", lambda value, seen: value in seen["b's"]),
                offset=at_least(2),
            )
            for _ in range(9)
        ],
        expect_nothing(on="b"),
        ignore=("REBALANCE",),
    ),
    case(
        "offramp/rebalance/10",
        MUST,
        "Messages delivered and not committed come again after a rebalance, to the new owner of the partition.",
        "protocols/offramp.md §3.5",
        _join("a", 30, road=SIX),
        _whole(),
        [message(partition=at_least(0)) for _ in range(30)],
        _join("b", 15, road=SIX),
        _part("b's", on="b", count=3),
        [
            message(on="b", partition=Check("a partition of b's", lambda value, seen: value in seen["b's"]))
            for _ in range(15)
        ],
        expect_nothing(on="b"),
        ignore=("REBALANCE",),
    ),
    case(
        "offramp/rebalance/11",
        MUST,
        "Consumers of different streams do not share: each is assigned all partitions.",
        "spec 004, Service; protocols/offramp.md §5 rules 1.10 and 1.11",
        _join("a", stream="one"),
        assigned(Saved("all"), on="a"),
        _join("b", stream="other"),
        assigned(Saved("all"), on="b"),
        expect_nothing(on="a"),
    ),
    case(
        "offramp/rebalance/12",
        MUST,
        "Consumers of streams of one name on different roads do not share.",
        "spec 004, Service: a name is unique per road",
        _join("a", road=QUIET),
        assigned(Saved("all"), on="a"),
        _join("b", 1, road=SIX),
        assigned(_ALL, on="b"),
        message(on="b"),
        expect_nothing(on="a"),
    ),
    case(
        "offramp/rebalance/13",
        SHOULD,
        "A consumer that has asked for nothing yet takes no partition.",
        "protocols/offramp.md §3.5",
        _join("a"),
        _whole(),
        open_stream(QUIET, on="b"),
        expect_nothing(on="a"),
        request(1, on="a"),
        expect_nothing(on="b"),
    ),
    case(
        "offramp/rebalance/14",
        MUST,
        "A consumer that takes over a partition continues at the offset that another consumer of the stream committed.",
        "protocols/offramp.md §3.4, §3.5",
        _join("a", 6, road=SIX),
        _whole(),
        [message(partition=at_least(0)) for _ in range(6)],
        commit({str(index): 4 for index in _ALL}),
        committed(),
        _close("a"),
        _join("b", 6, road=SIX),
        assigned(_ALL, on="b"),
        [message(on="b", offset=4) for _ in range(6)],
        expect_nothing(on="b"),
    ),
)
