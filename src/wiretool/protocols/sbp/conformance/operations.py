"""Cases of operations that are not served, and of headers that cannot be read (protocols/sbp.md §2.3, §4.1, §4.3)."""

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Connect,
    Expect,
    Reply,
    Steps,
    case,
    expect_any,
)
from wiretool.conformance.values import Subset, one_of
from wiretool.protocols.sbp.conformance.frames import header
from wiretool.protocols.sbp.conformance.steps import (
    BAD_REQUEST,
    SPEC,
    STREAM,
    UNKNOWN_OPERATION,
    UNKNOWN_STREAM,
    UNSUPPORTED_OPERATION,
    alive,
    answer,
    append,
    batch,
    create_range,
    fetch,
    frame,
    meet_driver,
    meet_range_server,
    refusal,
    request,
)

#: A placement driver knows that an operation is not one; a range server tells nothing apart.
NOT_KNOWN = one_of(UNKNOWN_OPERATION, UNSUPPORTED_OPERATION)
#: Bytes that are no FlatBuffer, and an empty table.
GARBAGE, ZEROS = b"abc", bytes(32)
#: The endpoints of a setup in which placement driver and range server are apart.
DRIVER_ENDPOINT = "placement-driver"


def unknown(code: int, *, n: int = 1) -> Steps:
    """Send an operation without a number in the schema, and require its refusal under the same number."""
    return (
        frame("Unknown", n=n, opcode=code),
        expect_any(refusal("Unknown", NOT_KNOWN, n=n, opcode=code)),
    )


def unserved(operation: str, n: int, *, on: str = "a", code: int = UNSUPPORTED_OPERATION) -> Steps:
    """Send an operation without header, and require its refusal."""
    return (frame(operation, n=n, on=on), expect_any(refusal(operation, code, n=n, on=on), on=on))


def bad_request(operation: str, *, n: int = 1, on: str = "a") -> Expect:
    """Require a refusal of a header that cannot be read: a system error, or a response with that status."""
    return expect_any(refused_as_bad(operation, n=n, on=on), on=on)


def refused_as_bad(operation: str, *, n: int = 1, on: str = "a") -> Reply:
    """Return a system error BAD_REQUEST."""
    return refusal(operation, BAD_REQUEST, n=n, on=on)


_UNKNOWN = (
    case(
        "sbp/opcode/1",
        MUST,
        "An operation that the schema does not define is refused with a system error, and the connection stays open.",
        f"{SPEC} §4.3, §5 (5)",
        unknown(0x7777),
        alive(2),
    ),
    case(
        "sbp/opcode/2",
        MUST,
        "Operation 0 is refused like one that the schema does not define.",
        f"{SPEC} §2.3, §4.3",
        frame("UNKNOWN"),
        expect_any(refusal("UNKNOWN", NOT_KNOWN, opcode=0)),
        alive(2),
    ),
    case(
        "sbp/opcode/3",
        MUST,
        "The refusal of an operation with the highest bit set has the same number.",
        f"{SPEC} §1.1",
        unknown(0x8000),
        unknown(0xFFFF, n=2),
    ),
    case(
        "sbp/opcode/4",
        MUST,
        "A number between those of known operations is not known.",
        f"{SPEC} §2.1",
        unknown(0x2005),
        unknown(0x4003, n=2),
        unknown(0x0005, n=3),
    ),
    case(
        "sbp/opcode/5",
        MUST,
        "Operations that the schema has and no server serves are refused as unsupported.",
        f"{SPEC} §2.3, §4.5",
        unserved("SYNC_RANGE", 1),
        unserved("TRIM_STREAM", 2),
        unserved("COMMIT_OBJECT", 3),
        unserved("LIST_RESOURCE", 4),
        unserved("WATCH_RESOURCE", 5),
    ),
    case(
        "sbp/opcode/6",
        MUST,
        "A placement driver refuses the operations of range servers as unsupported.",
        f"{SPEC} §2.3, §4.1",
        Connect(endpoint=DRIVER_ENDPOINT),
        meet_driver(),
        append(batch(0), n=2),
        expect_any(refusal("APPEND", UNSUPPORTED_OPERATION, n=2)),
        fetch(0, n=3),
        expect_any(refusal("FETCH", UNSUPPORTED_OPERATION, n=3)),
        variant="apart",
    ),
    case(
        "sbp/opcode/7",
        MUST,
        "A range server refuses the operations of the placement driver as unsupported.",
        f"{SPEC} §2.3, §4.1",
        meet_range_server(),
        unserved("ALLOCATE_ID", 2),
        unserved("LIST_RANGE", 3),
        unserved("CREATE_STREAM", 4),
        unserved("DELETE_STREAM", 5),
        unserved("UPDATE_STREAM", 6),
        unserved("DESCRIBE_STREAM", 7),
        unserved("REPORT_METRICS", 8),
        unserved("DESCRIBE_PLACEMENT_DRIVER", 9),
        variant="apart",
    ),
    case(
        "sbp/opcode/8",
        SHOULD,
        "A placement driver refuses an undefined operation as unknown, and others it does not serve as unsupported.",
        f"{SPEC} §4.3",
        meet_driver(),
        frame("Unknown", n=2, opcode=0x7777),
        expect_any(refusal("Unknown", UNKNOWN_OPERATION, n=2, opcode=0x7777)),
        unserved("SYNC_RANGE", 3),
    ),
    case(
        "sbp/opcode/9",
        OBSERVED,
        "A range server refuses an undefined operation as unsupported.",
        f"{SPEC} §4.3",
        meet_range_server(),
        frame("Unknown", n=2, opcode=0x7777),
        expect_any(refusal("Unknown", UNSUPPORTED_OPERATION, n=2, opcode=0x7777)),
        variant="apart",
    ),
)

_HEADERS = (
    case(
        "sbp/header/1",
        MUST,
        "A header that is not a FlatBuffer is refused as a bad request, and the connection stays open.",
        f"{SPEC} §4.3, §5 (24)",
        frame("LIST_RANGE", change=header(GARBAGE)),
        bad_request("LIST_RANGE"),
        alive(2),
    ),
    case(
        "sbp/header/2",
        MUST,
        "A request that needs a header and has none is refused as a bad request.",
        f"{SPEC} §4.3, §5 (24)",
        frame("LIST_RANGE"),
        bad_request("LIST_RANGE"),
        frame("HEARTBEAT", n=2),
        bad_request("HEARTBEAT", n=2),
        alive(3),
    ),
    case(
        "sbp/header/3",
        MUST,
        "A placement driver refuses a header in another format than FlatBuffers as a bad request.",
        f"{SPEC} §1.5, §5 (11)",
        meet_driver(),
        request("DESCRIBE_STREAM", n=2, stream_id=UNKNOWN_STREAM, change=lambda data: data[:12] + b"\x03" + data[13:]),
        bad_request("DESCRIBE_STREAM", n=2),
        alive(3),
    ),
    case(
        "sbp/header/4",
        MUST,
        "A range server refuses an unreadable or missing header as a bad request.",
        f"{SPEC} §4.3, §4.5",
        create_range(),
        frame("FETCH", n=2, change=header(GARBAGE)),
        bad_request("FETCH", n=2),
        frame("FETCH", n=3),
        bad_request("FETCH", n=3),
        frame("SEAL_RANGE", n=4),
        bad_request("SEAL_RANGE", n=4),
        frame("CREATE_RANGE", n=5, change=header(GARBAGE)),
        bad_request("CREATE_RANGE", n=5),
        alive(6),
    ),
    case(
        "sbp/header/5",
        MUST,
        "A range server refuses a header of zeros, an empty table, where a field is required.",
        f"{SPEC} §4.3",
        create_range(),
        frame("FETCH", n=2, change=header(ZEROS)),
        bad_request("FETCH", n=2),
        frame("SEAL_RANGE", n=3, change=header(ZEROS)),
        bad_request("SEAL_RANGE", n=3),
        frame("CREATE_RANGE", n=4, change=header(ZEROS)),
        bad_request("CREATE_RANGE", n=4),
    ),
    case(
        "sbp/header/6",
        MUST,
        "A header format of 0 is accepted where there is no header.",
        f"{SPEC} §5 (11)",
        frame("ALLOCATE_ID", header_format=0),
        expect_any(answer("ALLOCATE_ID", n=1)),
    ),
    case(
        "sbp/header/7",
        SHOULD,
        "A payload where none belongs changes nothing.",
        f"{SPEC} §3.2",
        request("DESCRIBE_STREAM", stream_id=UNKNOWN_STREAM, payload=Subset(hex=b"junk".hex())),
        expect_any(answer("DESCRIBE_STREAM", code=1404)),
        create_range(n=2, stream=STREAM, on="b"),
    ),
)

CASES: tuple[Case, ...] = (*_UNKNOWN, *_HEADERS)
