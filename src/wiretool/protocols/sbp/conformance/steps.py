"""Steps that many cases share: a request frame, its reply, a refusal; a stream, a range, a batch."""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool.codec.flatbuffers.declaration import Table, table_form
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.conformance.case import (
    CLOSED,
    FIRST,
    NOTHING,
    Expect,
    Reply,
    Send,
    Steps,
    Verdict,
    expect_any,
    lenient,
    reply,
    send,
)
from wiretool.conformance.values import ABSENT, Bindings, Check, Number, Saved, Subset, Value, Var, first_difference
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END, SYSTEM_ERROR, operations_of
from wiretool.protocols.sbp.schema import LATEST

#: The reference that nearly all cases are from.
SPEC = "protocols/sbp.md"
#: Codes of a status (protocols/sbp.md §2.3).
OK, NO_NEW_RECORD, BAD_REQUEST, NOT_FOUND = 1200, 1204, 1400, 1404
RANGE_ALREADY_SEALED, RANGE_NOT_FOUND = 1460, 1462
APPEND_TO_COMMITTED_OFFSET, APPEND_TO_PENDING_OFFSET, APPEND_TO_OVERTAKEN_OFFSET = 1464, 1465, 1466
CREATE_RANGE_BEFORE_SEAL, EXPIRED_RANGE_EPOCH = 1470, 1471
UNSUPPORTED_OPERATION, UNKNOWN_OPERATION = 1498, 1499
PD_INTERNAL_SERVER_ERROR, PD_NO_AVAILABLE_RS, PD_NOT_LEADER = 1500, 1502, 1503
#: ClientRole and SealKind.
ROLE_PLACEMENT_DRIVER, ROLE_RANGE_SERVER, ROLE_FRONTEND = 1, 2, 3
KIND_RANGE_SERVER, KIND_PLACEMENT_DRIVER = 1, 2
#: Flags of a whole response, and of a refusal.
WHOLE, REFUSAL = RESPONSE | RESPONSE_END, RESPONSE | RESPONSE_END | SYSTEM_ERROR

#: A range server closes a connection silently, between 6 and 12 s after the last frame (protocols/sbp.md §4.2).
RANGE_SERVER_IDLE_S = 12.5
#: A server closes so long after its GOAWAY, in seconds; with the tolerance of a clock.
LEAVE_S, LEAVE_MAX_S = 0.9, 2.0

#: A stream whose number the client chooses, as range servers let it, and one that the placement driver made.
STREAM, PLACED = Number("stream"), Saved("stream")
#: A stream that nobody has made.
UNKNOWN_STREAM = Number("unknown")
#: A range server of the case's own, and where it says that it is.
SERVER, ADDRESS = Number("server", bits=30), Var("address", "127.0.0.1:10911")
RANGE_SERVER = {"server_id": SERVER, "advertise_addr": ADDRESS}
#: The nodes of a placement driver.
ONE_LEADER = Check("nodes with one leader", lambda value, _: sum(bool(each.get("is_leader")) for each in value) == 1)

_TABLES = {operation.name: operation for operation in operations_of(LATEST).values()}


class Bare(Value):
    """A header that lacks required fields: sent as bytes, read as a table."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def resolve(self, bindings: Bindings) -> Any:
        return {"raw_hex": encode_root(self.table).hex()}

    def matches(self, value: Any, bindings: Bindings) -> bool:
        form = {"table": type(self.table).__name__, "fields": table_form(self.table)}
        return first_difference(form, value, bindings) is None or bool(value == self.resolve(bindings))

    def describe(self, bindings: Bindings) -> str:
        return f"{type(self.table).__name__} {table_form(self.table)}"


class Exact(int):
    """A stream identifier that the requirement is about; all others are values of the client's own."""


def identifier(n: int, on: str) -> Any:
    """Return the stream identifier of a request."""
    return int(n) if isinstance(n, Exact) else Var(f"{on}{n}", n)


def subset(value: Any) -> Any:
    """Return an object as a pattern that leaves fields free which it does not name."""
    if isinstance(value, Mapping):
        return Subset(**{name: subset(each) for name, each in value.items()})
    return [subset(each) for each in value] if isinstance(value, list | tuple) else value


def request(
    operation: str,
    /,
    *,
    n: int = 1,
    on: str = FIRST,
    flags: int = 0,
    payload: Any = None,
    change: Callable[[bytes], bytes] | None = None,
    **header: Any,
) -> Send:
    """Send a request; other keywords are fields of its header table."""
    declared = _TABLES[operation].request
    assert declared is not None, operation
    if "timeout_ms" in declared.__struct_fields__:  # a request with a deadline may stay unanswered
        header.setdefault("timeout_ms", 0)
    table = Subset(table=declared.__name__, fields=subset(header))
    return frame(operation, n=n, on=on, flags=flags, header=table, payload=payload, change=change)


def frame(
    operation: str,
    /,
    *,
    n: int = 1,
    on: str = FIRST,
    flags: int = 0,
    header: Any = None,
    payload: Any = None,
    change: Callable[[bytes], bytes] | None = None,
    **more: Any,
) -> Send:
    """Send a frame with any header."""
    return send(
        operation,
        on=on,
        change=change,
        flags=flags,
        stream_id=identifier(n, on),
        header=header,
        payload=payload,
        **more,
    )


def answer(
    operation: str,
    /,
    *,
    n: int = 1,
    on: str = FIRST,
    code: Any = OK,
    message: Any = None,
    payload: Any = None,
    **header: Any,
) -> Reply:
    """Return the whole response to a request, with a status; other keywords are fields of its header table."""
    declared = _TABLES[operation].response
    assert declared is not None, operation
    status = {"code": code} if message is None else {"code": code, "message": message}
    return reply(
        operation,
        flags=WHOLE,
        stream_id=identifier(n, on),
        header_format=1,
        header=Subset(table=declared.__name__, fields=Subset(status=subset(status), **subset(header).fields)),
        payload=payload,
    )


def refusal(operation: str, code: Any, /, *, n: int = 1, on: str = FIRST, **more: Any) -> Reply:
    """Return a system error about a request."""
    return reply(
        operation,
        flags=REFUSAL,
        stream_id=identifier(n, on),
        header=Subset(table="SystemError", fields=Subset(status=Subset(code=code))),
        payload=None,
        **more,
    )


def ask(
    operation: str, expected: Mapping[str, Any], /, *, n: int = 1, on: str = FIRST, code: int = OK, **header: Any
) -> Steps:
    """Send a request and require its response with a code and fields of its header table."""
    return (
        request(operation, n=n, on=on, **header),
        expect_any(answer(operation, n=n, on=on, code=code, **expected), on=on),
    )


def refused(operation: str, code: int, /, *, n: int = 1, on: str = FIRST, **header: Any) -> Steps:
    """Send a request and require that its response has a code and no more than that."""
    return ask(operation, {}, n=n, on=on, code=code, **header)


# -- PING and the end of a connection ----------------------------------------------------------------------------------


def ping(n: int = 1, text: str = "", *, on: str = FIRST, **more: Any) -> Send:
    """Send a PING with a payload."""
    return frame("PING", n=n, on=on, payload=Subset(hex=text.encode().hex()) if text else None, **more)


def pong(n: int = 1, text: str = "", *, on: str = FIRST, **more: Any) -> Reply:
    """Return the response to a PING."""
    fields: dict[str, Any] = {"header": None, **more}
    return reply(
        "PING",
        flags=WHOLE,
        stream_id=identifier(n, on),
        payload=Subset(hex=text.encode().hex()) if text else None,
        **fields,
    )


def alive(n: int, *, on: str = FIRST) -> Steps:
    """Require that the connection still answers a PING."""
    return (ping(n, "alive", on=on), expect_any(pong(n, "alive", on=on), on=on))


#: GOAWAY of the server: a request of its own, of which only the flags are settled (protocols/sbp.md §5, 10 and 19).
GOAWAY = reply("GOAWAY", flags=0, header=None, payload=None)

#: A GOAWAY that may come at any other time, from a server that stops; not where the connection is about to be closed.
ANOTHER_GOAWAY = Reply("GOAWAY", {}, Verdict.FAIL, "GOAWAY came where the connection has to be closed without it")


def given_up(*, on: str = FIRST) -> Steps:
    """Require that the server gives the connection up: GOAWAY, then the end; real range servers say nothing."""
    why = "the range server reads no more, and leaves the connection open"
    return (
        expect_any(GOAWAY, reply(CLOSED), lenient(NOTHING, why), on=on, within_s=RANGE_SERVER_IDLE_S),
        expect_any(reply(CLOSED), lenient(NOTHING, why), on=on, within_s=LEAVE_MAX_S),
    )


def leaves(*, on: str = FIRST) -> Expect:
    """Require that the server closes the connection a second after a GOAWAY."""
    return expect_any(reply(CLOSED), ANOTHER_GOAWAY, on=on, within_s=LEAVE_MAX_S, after_s=LEAVE_S)


# -- the placement driver ----------------------------------------------------------------------------------------------


def report(*, n: int = 1, on: str = FIRST, free_bytes: int = 1 << 30) -> Steps:
    """Let a range server of the case's own report, so that the placement driver knows one."""
    metrics = {"disk_free_space": free_bytes}
    known = {"range_server": RANGE_SERVER}
    return ask("REPORT_METRICS", known, n=n, on=on, range_server=RANGE_SERVER, metrics=metrics)


def meet_driver(*, n: int = 1, on: str = FIRST) -> Steps:
    """Ask for the nodes of the placement driver, which shows a server that serves both roles that it is meant."""
    nodes = Check(
        "one leader among the nodes", lambda value, _: sum(bool(each.get("is_leader")) for each in value) == 1
    )
    return ask("DESCRIBE_PLACEMENT_DRIVER", {"cluster": {"nodes": nodes}}, n=n, on=on, range_server=RANGE_SERVER)


def create_stream(*, n: int = 2, on: str = FIRST, replica: int = 1, ack_count: int = 1) -> Steps:
    """Create a stream, whose number is PLACED from then on."""
    stream = {"stream_id": PLACED, "replica": replica, "ack_count": ack_count}
    wanted = {"replica": replica, "ack_count": ack_count}
    return ask("CREATE_STREAM", {"stream": stream}, n=n, on=on, stream=wanted)


def place(
    *,
    n: int = 3,
    on: str = FIRST,
    stream: Any = PLACED,
    index: int = 0,
    start: int = 0,
    epoch: int = 0,
    code: int = OK,
) -> Steps:
    """Let the placement driver create a range."""
    wanted = {"stream_id": stream, "index": index, "start": start, "epoch": epoch}
    expected = {"range": {**wanted, "end": -1}} if code == OK else {}
    return ask("CREATE_RANGE", expected, n=n, on=on, code=code, range={**wanted, "servers": ABSENT})


def seal_placed(
    end: int, *, n: int = 4, on: str = FIRST, stream: Any = PLACED, index: int = 0, epoch: int = 0, code: int = OK
) -> Steps:
    """Let the placement driver seal a range."""
    wanted = {"stream_id": stream, "index": index, "end": end, "epoch": epoch}
    expected = {"range": wanted} if code == OK else {}
    return ask("SEAL_RANGE", expected, n=n, on=on, code=code, kind=KIND_PLACEMENT_DRIVER, range=wanted)


def known_stream(*, on: str = FIRST) -> Steps:
    """Make a range server known, and a stream: requests 1 and 2."""
    return (report(on=on), create_stream(on=on))


def placed_range(*, on: str = FIRST, epoch: int = 0) -> Steps:
    """Make a range server known, a stream, and its first range: requests 1 to 3."""
    return (known_stream(on=on), place(on=on, epoch=epoch))


# -- the range server --------------------------------------------------------------------------------------------------


def create_range(*, n: int = 1, on: str = FIRST, stream: Any = STREAM, index: int = 0, start: int = 0) -> Steps:
    """Make a range known to a range server: the request names the servers of the range."""
    servers = [{"server_id": 0, "advertise_addr": ADDRESS}]
    wanted = {"stream_id": stream, "index": index, "start": start, "epoch": 0, "end": -1, "servers": servers}
    return ask("CREATE_RANGE", {"range": wanted}, n=n, on=on, range=wanted)


def batch(base: int, count: int = 1, text: str = "x", *, stream: Any = STREAM, index: int = 0, **more: Any) -> Any:
    """Return a batch of an APPEND; `count` is the number of its records (protocols/sbp.md §3.2)."""
    meta = {"stream_id": stream, "range_index": index, "base_offset": base, "last_offset_delta": count}
    return subset({"meta": meta, "payload": text, **more})


def append(*batches: Any, n: int = 2, on: str = FIRST, change: Callable[[bytes], bytes] | None = None) -> Send:
    """Send batches."""
    return request("APPEND", n=n, on=on, payload=Subset(entries=list(batches)), change=change)


def appended(*codes: int, n: int = 2, on: str = FIRST) -> Expect:
    """Require the results of batches by their codes, in the order of the batches."""
    results = [{"status": {"code": code}} for code in codes]
    return expect_any(answer("APPEND", n=n, on=on, entries=results), on=on)


def append_refused(message: str | None = None, *, n: int = 2, on: str = FIRST) -> Expect:
    """Require that a whole APPEND is refused."""
    status = Subset(code=BAD_REQUEST) if message is None else Subset(code=BAD_REQUEST, message=message)
    wanted = refusal("APPEND", BAD_REQUEST, n=n, on=on)
    header = Subset(table="SystemError", fields=Subset(status=status))
    return expect_any(reply("APPEND", **{**wanted.fields, "header": header}), on=on)


def fetch(
    offset: int,
    limit: int = 1_000_000_000,
    *,
    n: int = 3,
    on: str = FIRST,
    most: int = 1 << 20,
    stream: Any = STREAM,
    index: int = 0,
) -> Send:
    """Send a FETCH; `most` is max_wait_ms, which real range servers take as a number of bytes."""
    wanted = {"stream_id": stream, "index": index}
    return request("FETCH", n=n, on=on, max_wait_ms=most, range=wanted, offset=offset, limit=limit)


def fetched(*batches: Any, n: int = 3, on: str = FIRST) -> Expect:
    """Require these batches."""
    return expect_any(
        answer(
            "FETCH",
            n=n,
            on=on,
            payload=Subset(entries=list(batches)),
            throttle_time_ms=-1,
            object_metadata_list=[],
        ),
        on=on,
    )


def nothing_fetched(code: int = NO_NEW_RECORD, *, n: int = 3, on: str = FIRST, within_s: float | None = None) -> Expect:
    """Require a FETCH response without batches."""
    return expect_any(answer("FETCH", n=n, on=on, code=code, throttle_time_ms=0), on=on, within_s=within_s)


def meet_range_server(*, n: int = 1, on: str = FIRST) -> Steps:
    """Fetch from an unknown range, which shows a server that serves both roles that the range server is meant."""
    return (fetch(0, n=n, on=on, stream=UNKNOWN_STREAM), nothing_fetched(RANGE_NOT_FOUND, n=n, on=on))


def seal(
    end: int = -1, *, n: int = 4, on: str = FIRST, stream: Any = STREAM, index: int = 0, kind: int = KIND_RANGE_SERVER
) -> Send:
    """Send a SEAL_RANGE to a range server."""
    return request("SEAL_RANGE", n=n, on=on, kind=kind, range={"stream_id": stream, "index": index, "end": end})


def sealed(end: int, *, n: int = 4, on: str = FIRST, stream: Any = STREAM, index: int = 0) -> Expect:
    """Require the end that a range server has sealed at."""
    wanted = {"stream_id": stream, "index": index, "end": end}
    return expect_any(answer("SEAL_RANGE", n=n, on=on, range=wanted), on=on)
