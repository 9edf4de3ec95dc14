"""Cases of transient segments (protocols/pravega.md §3.7)."""

from typing import Any

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Reset,
    Steps,
    Wait,
    case,
    reply,
    send,
)
from wiretool.conformance.values import Check, Saved, Uuid, text_matching
from wiretool.protocols.pravega.conformance.merges import merged
from wiretool.protocols.pravega.conformance.steps import (
    CONTENT,
    MISSING,
    NO_VALUE,
    SEGMENT,
    WRITER,
    acked,
    append,
    ask,
    create,
    filled,
    hello,
    info,
    no_info,
    reads,
    rid,
    set_up,
)

_TRANSIENT = "protocols/pravega.md §3.7 (5)"
#: The segment that the server made up.
_MADE = Saved("transient")


def _create_transient(number: int = 1, made: Any = _MADE, *, parent: Any = SEGMENT) -> Steps:
    return ask(
        number,
        "CreateTransientSegment",
        reply("SegmentCreated", segment=made),
        writer_id=WRITER,
        parent_segment=parent,
    )


def _chunk(data: bytes, *, number: int, at: int, previous: int = NO_VALUE) -> Steps:
    return (
        send(
            "ConditionalBlockEnd",
            writer_id=WRITER,
            event_number=number,
            expected_offset=at,
            data=data.hex(),
            request_id=rid(7),
        ),
        acked(at + len(data), number=number, previous=previous, request_id=7),
    )


CASES: tuple[Case, ...] = (
    case(
        "pravega/transient/1",
        MUST,
        "A transient segment has its parent's name, the writer's id and random digits in its name.",
        _TRANSIENT,
        hello(),
        create(request_id=2),
        _create_transient(made=text_matching(r".+/0\.#epoch\.0#transient\.[0-9a-f]{32}\.[0-9a-f]{1,32}")),
    ),
    case(
        "pravega/transient/2",
        MUST,
        "The name of a transient segment begins with the parent that was asked for.",
        _TRANSIENT,
        hello(),
        create(request_id=2),
        _create_transient(
            made=Check(
                "a name that begins with that of the parent",
                lambda value, values: str(value).startswith(
                    f"{values.get('scope')}/{values.get('stream')}/0.#epoch.0#transient."
                ),
            )
        ),
    ),
    case(
        "pravega/transient/3",
        MUST,
        "Two transient segments of one writer have different names, and both are there.",
        _TRANSIENT,
        hello(),
        create(request_id=2),
        _create_transient(),
        _create_transient(3, Check("another name", lambda value, values: value != values.get("transient"))),
        info(0, _MADE),
    ),
    case(
        "pravega/transient/4",
        MUST,
        "A transient segment is filled with raw bytes in order, and merged into its parent.",
        _TRANSIENT,
        hello(),
        filled(),
        _create_transient(),
        set_up(_MADE, request_id=7),
        _chunk(b"first-", number=0, at=0),
        _chunk(b"second", number=1, at=6, previous=0),
        merged(len(CONTENT) + 12, request_id=8, source=_MADE),
        reads(len(CONTENT), b"first-second"),
        no_info(_MADE),
    ),
    case(
        "pravega/transient/5",
        SHOULD,
        "The parent of a transient segment need not exist.",
        _TRANSIENT,
        hello(),
        _create_transient(parent=MISSING),
        info(0, _MADE),
        no_info(MISSING),
    ),
    case(
        "pravega/transient/6",
        OBSERVED,
        "A transient segment outlives the connection that created it.",
        _TRANSIENT + "; captures/pravega-server cond_transient_close, slow_transient_60s",
        hello(),
        _create_transient(),
        set_up(_MADE, request_id=7),
        _chunk(b"rawbytes", number=0, at=0),
        info(8, _MADE, request_id=990, on="b"),
        Reset(),
        Wait(1.0),
        info(8, _MADE, request_id=991, on="b"),
    ),
    case(
        "pravega/transient/7",
        MUST,
        "A new writer of a transient segment has stored nothing, though it wrote to the parent.",
        _TRANSIENT,
        hello(),
        create(),
        set_up(),
        append(number=5),
        acked(13, number=5),
        _create_transient(4),
        set_up(_MADE, request_id=7),
        set_up(_MADE, Uuid("other_writer"), request_id=8),
    ),
)
