"""Steps that the cases of S2 share: a stream of the case's own, appends, fetches, refusals."""

from typing import Any

from wiretool.conformance.case import (
    Expect,
    Reply,
    Send,
    Steps,
    expect_any,
    reply,
)
from wiretool.conformance.values import Subset
from wiretool.protocols.sbp.conformance.steps import REFUSAL, identifier
from wiretool.protocols.sbp_0_1.conformance.steps import (
    NODE,
    OK,
    ROLE_DATA_NODE,
    S2_STEPS,
    STREAM,
    Batch,
    payload_of,
)

ask, request, answer = S2_STEPS.ask, S2_STEPS.request, S2_STEPS.answer
MANAGER_ENDPOINT = "placement-manager"
GOOD = {"code": OK}
ONE, TWO = S2_STEPS.batch(5, "one"), S2_STEPS.batch(3, "two")
#: Operations of the schema that a placement manager does not serve.
NOT_OF_MANAGER = ("APPEND", "FETCH", "SYNC_RANGES", "DESCRIBE_RANGES", "TRIM_STREAMS", "REPORT_METRICS")


def refusal(operation: str, code: int, *, n: int = 1, on: str = "a", **more: Any) -> Reply:
    """Return a system error about a request."""
    return reply(
        operation,
        flags=REFUSAL,
        stream_id=identifier(n, on),
        header=Subset(table="SystemErrorResponse", fields=Subset(status=Subset(code=code))),
        payload=None,
        **more,
    )


def managed(index: int, start: int, end: int) -> dict[str, Any]:
    """Return a range of the stream as a placement manager tells it: real ones do not know its next offset."""
    return {"stream_id": STREAM, "range_index": index, "start_offset": start, "end_offset": end}


def new_stream(*, on: str = "a") -> Steps:
    """Make a data node known, and a stream with its first range: requests 0 to 2; the first is of S2 alone."""
    beat = {"client_id": "dn", "client_role": ROLE_DATA_NODE, "data_node": NODE}
    result = {
        "stream": {"stream_id": STREAM, "replica_num": 1},
        "range": managed(0, 0, -1),
        "status": GOOD,
    }
    return (
        ask("ALLOCATE_ID", {"status": GOOD}, n=0, on=on, host="dn"),
        ask("HEARTBEAT", {**beat, "status": GOOD}, n=1, on=on, **beat),
        ask(
            "CREATE_STREAMS",
            {"create_responses": [result], "status": GOOD},
            n=2,
            on=on,
            streams=[{"replica_num": 1}],
        ),
    )


def append(*batches: Batch, n: int = 3, index: int = 0, stream: Any = STREAM, **more: Any) -> Send:
    """Append batches to a range."""
    place = {"stream_id": stream, "range_index": index}
    infos = [{"range": place, "batch_length": batch.length} for batch in batches]
    form = payload_of([batch.form for batch in batches])
    return request("APPEND", n=n, append_requests=infos, payload=form, **more)


def appended(*bases: int, n: int = 3) -> Expect:
    """Require the offsets of batches."""
    results = [{"stream_id": STREAM, "request_index": 0, "base_offset": base, "status": GOOD} for base in bases]
    return expect_any(answer("APPEND", n=n, append_responses=results, status=GOOD))


def fetch(*places: tuple[int, int], n: int = 4, most: int = 1 << 20, stream: Any = STREAM) -> Send:
    """Fetch from ranges, each by its index and an offset."""
    infos = [
        {
            "range": {"stream_id": stream, "range_index": index},
            "fetch_offset": offset,
            "batch_max_bytes": most,
        }
        for index, offset in places
    ]
    return request("FETCH", n=n, fetch_requests=infos)


def fetched(*found: list[Subset] | int, n: int = 4, stream: Any = STREAM) -> Expect:
    """Require for each entry of a fetch its batches, or the code of its refusal."""
    results = [
        {"stream_id": stream, "status": {"code": each}, "batch_count": 0}
        if isinstance(each, int)
        else {"stream_id": stream, "status": GOOD, "batch_count": len(each)}
        for each in found
    ]
    batches = [batch for each in found if not isinstance(each, int) for batch in each]
    return expect_any(
        answer("FETCH", n=n, fetch_responses=results, status=GOOD, payload=payload_of(batches)),
    )


def listed(*ranges: dict[str, Any], n: int, stream: Any = STREAM) -> Steps:
    """Require the ranges of a stream."""
    criteria = {"stream_id": stream}
    result = {"range_criteria": criteria, "ranges": list(ranges), "status": GOOD}
    return ask("LIST_RANGES", {"list_responses": [result], "status": GOOD}, n=n, range_criteria=[criteria])


def seal(index: int, result: dict[str, Any], *, n: int, on: str = "a", stream: Any = STREAM) -> Steps:
    """Seal a range and require the result."""
    wanted = {"stream_id": stream, "range_index": index}
    return ask("SEAL_RANGES", {"seal_responses": [result], "status": GOOD}, n=n, on=on, ranges=[wanted])


def failed(operation: str, code: int, *, n: int = 1, **header: Any) -> Steps:
    """Require that a whole request fails: its response has a status and no results."""
    table = S2_STEPS.answer(operation, n=n).fields["header"].fields["table"]
    status = Subset(code=code)
    whole = {"throttle_time_ms": 0, "status": status}
    wanted = S2_STEPS.answer(operation, n=n).fields
    return (
        request(operation, n=n, **header),
        expect_any(reply(operation, **{**wanted, "header": {"table": table, "fields": whole}})),
    )
