"""Cases of appends (protocols/pravega.md §4)."""

from wiretool.conformance.case import MUST, Case, case, expect, expect_close, send
from wiretool.conformance.values import Var
from wiretool.protocols.pravega.conformance.steps import (
    NO_EVENT,
    SEGMENT,
    WRITER,
    append,
    event,
    hello,
    open_segment,
)

CASES: tuple[Case, ...] = (
    case(
        "pravega/append/1",
        MUST,
        "An append is acknowledged with its event number, the number before it and the new length of the segment.",
        "protocols/pravega.md §4.4",
        open_segment(),
        append(b"event", number=0, request_id=Var("append", 3)),
        expect(
            "DataAppended",
            writer_id=WRITER,
            event_number=0,
            previous_event_number=NO_EVENT,
            request_id=Var("append", 3),
            current_segment_write_offset=len(event(b"event")),
        ),
    ),
    case(
        "pravega/append/2",
        MUST,
        "An acknowledgement names the number that the one before it acknowledged.",
        "protocols/pravega.md §4.4",
        open_segment(),
        append(number=4, request_id=3),
        expect("DataAppended", event_number=4, previous_event_number=NO_EVENT),
        append(number=9, request_id=4),
        expect("DataAppended", event_number=9, previous_event_number=4, current_segment_write_offset=26),
    ),
    case(
        "pravega/append/3",
        MUST,
        "An append of a writer that is not set up closes the connection.",
        "protocols/pravega.md §4.2",
        hello(),
        append(),
        expect_close(),
    ),
    case(
        "pravega/append/4",
        MUST,
        "A writer that is set up again learns the last event number that is stored.",
        "protocols/pravega.md §4.2",
        open_segment(),
        append(number=7),
        expect("DataAppended", event_number=7),
        send("SetupAppend", on="b", request_id=1, writer_id=WRITER, segment=SEGMENT),
        expect("AppendSetup", on="b", request_id=1, last_event_number=7),
    ),
)
