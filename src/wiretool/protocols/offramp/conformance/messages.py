"""Cases of MESSAGE: fields, order, partitions, payloads (protocols/offramp.md §2.3, §3.1)."""

from typing import Any

from wiretool.conformance.case import MUST, SHOULD, Case, case, expect_all, expect_nothing, reply
from wiretool.conformance.values import Check, Saved, at_least
from wiretool.protocols.offramp.conformance.steps import (
    BIG,
    KINDS,
    SIX,
    STORED,
    assigned,
    cancel,
    message,
    open_stream,
    request,
)

_FIELDS = "spec 004, Message; protocols/offramp.md §2.3"
_ORDER = "protocols/offramp.md §3.1"
#: Bytes of text in the payloads of the road with long messages.
LONG = (20_000, 70_000)
#: Payloads of the road with payloads of every kind, in order.
PAYLOADS: tuple[Any, ...] = (
    {"text": "Grüße, 世界, \U0001f30d"},
    {"null": None, "yes": True, "no": False, "empty": {}, "list": [1, [2, {"a": []}]]},
    {"int": 2**53 + 1, "long": -(2**63), "double": 1.5, "small": -0.25},
    {"control": '\u0000\u001f\t\n\r"\\/'},
    {"": "a name may be empty", "type": "CANCEL", "payload": {"offset": 7}},
    "a bare text",
    [],
    None,
    0,
)


def _is_int(bits: int) -> Check:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return Check(
        f"an integer of {bits} bits",
        lambda value, _: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
    )


_OBJECT = Check("an object", lambda value, _: isinstance(value, dict))


def _text_of(size: int) -> Check:
    return Check(f"an object with {size:,} characters", lambda value, _: len(value.get("text", "")) == size)


CASES: tuple[Case, ...] = (
    case(
        "offramp/message/1",
        MUST,
        "A MESSAGE has a partition, an offset, a schema, a time and a payload.",
        _FIELDS,
        open_stream(),
        request(1),
        assigned(),
        message(
            partition=_is_int(32),
            offset=at_least(0),
            schema=_is_int(32),
            timestampMs=_is_int(64),
            payload=_OBJECT,
        ),
    ),
    case(
        "offramp/message/2",
        MUST,
        "Schema, time, partition and payload are those that were stored.",
        _FIELDS,
        open_stream(STORED),
        request(2),
        assigned(),
        message(partition=0, offset=0, schema=3, timestampMs=1_500_000_000_000, payload={"n": 0}),
        message(partition=0, offset=1, schema=3, timestampMs=1_500_000_000_001, payload={"n": 1}),
    ),
    case(
        "offramp/message/3",
        MUST,
        "Messages of one partition come in the order of their offsets without gaps, across requests and cancels.",
        _ORDER,
        open_stream(),
        request(4),
        assigned(),
        [message(offset=Saved("first", plus=n)) for n in range(4)],
        cancel(),
        request(1),
        message(offset=Saved("first", plus=4)),
        request(3),
        [message(offset=Saved("first", plus=n)) for n in range(5, 8)],
    ),
    case(
        "offramp/message/4",
        MUST,
        "Every message of every partition comes once.",
        _ORDER,
        open_stream(SIX),
        request(30),
        assigned([0, 1, 2, 3, 4, 5]),
        expect_all(*(reply("MESSAGE", partition=index, offset=n) for index in range(6) for n in range(5))),
        request(1),
        expect_nothing(),
    ),
    case(
        "offramp/message/5",
        MUST,
        "Streams are independent: each gets every message.",
        "spec 004, Service; protocols/offramp.md §5 rules 1.10 and 1.11",
        open_stream(stream="one"),
        request(3),
        assigned(),
        [message(offset=Saved("first", plus=n)) for n in range(3)],
        open_stream(on="b", stream="other"),
        request(3, on="b"),
        assigned(on="b"),
        [message(on="b", offset=Saved("first", plus=n)) for n in range(3)],
    ),
    case(
        "offramp/message/6",
        MUST,
        "Messages that arrive come in order, too.",
        _ORDER,
        open_stream("live"),
        request(15),
        assigned(),
        [message(offset=n) for n in range(15)],
        variant="live",
    ),
    case(
        "offramp/message/7",
        MUST,
        "A payload may be long: an event without compression is never split.",
        "protocols/offramp.md §1.4",
        open_stream(BIG),
        request(2),
        assigned(),
        message(payload=_text_of(LONG[0])),
        message(payload=_text_of(LONG[1])),
    ),
    case(
        "offramp/message/8",
        SHOULD,
        "Payloads of every kind of JSON come as they were stored.",
        "protocols/offramp.md §2.3; captures/offramp payloads_intl",
        open_stream(KINDS),
        request(len(PAYLOADS)),
        assigned(),
        [message(payload=payload) for payload in PAYLOADS],
    ),
    case(
        "offramp/message/9",
        MUST,
        "A partition of a message is one of the assignment.",
        "protocols/offramp.md §3.5",
        open_stream(SIX),
        request(12),
        assigned(Saved("assignment")),
        [
            message(partition=Check("a partition of the assignment", lambda value, seen: value in seen["assignment"]))
            for _ in range(12)
        ],
    ),
)
