"""Cases of reads (protocols/pravega.md §6.5, S5, S6, S18)."""

from wiretool.conformance.case import MUST, SHOULD, Case, case, expect, expect_close, expect_nothing
from wiretool.conformance.values import Text
from wiretool.protocols.pravega_draft.conformance.steps import (
    append,
    begin,
    end,
    event,
    read,
    reads,
    segment_read,
    send_event,
    set_up,
)

_READ = "protocols/pravega.md §6.5 (S5, S6, S18); spec/000 Segment Read"
HELLO, WORLD = event(b"hello"), event(b"world!")
#: A segment that is sealed from the start, as the draft has no message that seals one, and what is in it.
SEALED, SEALED_DATA = "conformance/sealed", HELLO + WORLD
_PREPARED = "prepared"

CASES: tuple[Case, ...] = (
    case(
        "pravega-draft/read/1",
        MUST,
        "A read returns the bytes to the end of the segment, and has at_tail set.",
        _READ,
        set_up(),
        append(b"hello", b"world!"),
        reads(0, HELLO + WORLD),
    ),
    case(
        "pravega-draft/read/2",
        MUST,
        "A read of fewer bytes than stored has at_tail unset.",
        _READ,
        set_up(),
        append(b"hello", b"world!"),
        reads(0, HELLO, length=13, at_tail=False),
        reads(13, WORLD, length=1000),
    ),
    case(
        "pravega-draft/read/3",
        MUST,
        "A read at the end waits; the next block answers it.",
        _READ,
        set_up(),
        append(b"hello"),
        read(13, on="b"),
        expect_nothing(on="b", seconds=0.5),
        append(b"world!", offset=13),
        segment_read(13, WORLD, on="b"),
        expect_nothing(on="b"),
    ),
    case(
        "pravega-draft/read/4",
        MUST,
        "A read of a missing segment is answered with NoSuchSegment.",
        "protocols/pravega.md §6.5 (S1)",
        read(0, segment=Text("{missing}")),
        expect("NoSuchSegment", segment=Text("{missing}")),
    ),
    case(
        "pravega-draft/read/5",
        SHOULD,
        "A read at a negative offset ends the connection.",
        _READ,
        set_up(),
        append(b"hello"),
        read(-1),
        expect_close(),
    ),
    case(
        "pravega-draft/read/6",
        MUST,
        "A read of a sealed segment to its end has both at_tail and end_of_segment set.",
        _READ,
        reads(0, SEALED_DATA, segment=SEALED, ends=True),
        reads(0, HELLO, length=13, segment=SEALED, at_tail=False),
        variant=_PREPARED,
    ),
    case(
        "pravega-draft/read/7",
        MUST,
        "A read at the end of a sealed segment gives nothing, at once.",
        _READ,
        reads(len(SEALED_DATA), b"", segment=SEALED, ends=True),
        variant=_PREPARED,
    ),
    case(
        "pravega-draft/read/8",
        MUST,
        "A block for a sealed segment is refused with its name, when it ends.",
        "protocols/pravega.md §6.5 (S1, S13)",
        set_up(SEALED),
        begin(len(HELLO)),
        send_event(b"hello"),
        end(len(HELLO), offset=len(HELLO)),
        expect("SegmentIsSealed", segment=SEALED),
        reads(0, SEALED_DATA, segment=SEALED, ends=True),
        variant=_PREPARED,
    ),
    case(
        "pravega-draft/read/9",
        SHOULD,
        "A read beyond the end of a sealed segment ends the connection.",
        _READ,
        read(len(SEALED_DATA) + 1, segment=SEALED),
        expect_close(),
        variant=_PREPARED,
    ),
    case(
        "pravega-draft/read/10",
        MUST,
        "Reads that wait on two connections are both answered.",
        _READ,
        set_up(),
        read(0, on="b"),
        read(0, length=10, on="c"),
        expect_nothing(on="b"),
        append(b"hello"),
        segment_read(0, HELLO, on="b"),
        segment_read(0, HELLO[:10], at_tail=False, on="c"),
    ),
)
