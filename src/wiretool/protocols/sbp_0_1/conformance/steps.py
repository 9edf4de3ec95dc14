"""Steps that many cases share: requests and responses in either schema, batches, a stream of the case's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from wiretool.codec import reference
from wiretool.codec.message import Message
from wiretool.conformance.case import FIRST, Expect, Reply, Send, Steps, expect_any, reply
from wiretool.conformance.values import Number, Saved, Subset, Var
from wiretool.protocols.base.encoder import ConnectionEncoder
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.sbp.conformance.steps import WHOLE, frame, identifier, subset
from wiretool.protocols.sbp.forms import frame_from_json
from wiretool.protocols.sbp.messages import Schema, operations_of
from wiretool.protocols.sbp.session import SbpConversation
from wiretool.protocols.sbp_0_1 import PROTOCOL
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.wire import WIRE

SPEC, SEED = "protocols/sbp.md", "spec 003"
#: ErrorCode of S1, and codes of S2 (protocols/sbp.md §2.2).
NONE, UNKNOWN, INVALID_REQUEST = 0, 1, 2
OK, NO_NEW_RECORD, BAD_REQUEST, RANGE_ALREADY_SEALED, RANGE_NOT_FOUND = 1200, 1204, 1400, 1460, 1462
UNKNOWN_OPERATION, PM_INTERNAL_SERVER_ERROR, PM_NO_AVAILABLE_DN = 1499, 1500, 1502
PM_SEAL_RANGE_NOT_FOUND = 1510
#: ClientRole, in both schemas.
ROLE_PLACEMENT_MANAGER, ROLE_DATA_NODE = 1, 2

#: The stream of a case, one that nobody has made, and one that the client makes under a number of its own.
STREAM, UNKNOWN_STREAM, OWN_STREAM = Saved("stream"), Number("unknown"), Number("own")
#: A data node of the case's own.
NODE = {"node_id": Number("node", bits=30), "advertise_addr": Var("address", "127.0.0.1:10911")}


def protocol_of(schema: Schema) -> Protocol:
    """Return the protocol where a setup decides the schema: nothing has to be guessed from the first frames."""
    wire = replace(
        WIRE,
        open=lambda began: SbpConversation(began, schema),
        from_json=lambda name, side, fields: frame_from_json(schema, name, side, fields),
        encoder=ConnectionEncoder,
    )
    return replace(PROTOCOL, wire=wire)


class Batch(NamedTuple):
    """A record batch as it is sent, and the bytes that it takes."""

    form: Subset
    length: int

    def at(self, base: int) -> Subset:
        """Return the batch as it is fetched, with the offset that a data node gave it."""
        return Subset(**{**self.form.fields, "base_offset": base})


class Dialect:
    """Requests, responses and batches of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._operations = {operation.name: operation for operation in operations_of(schema).values()}

    def request(
        self,
        operation: str,
        /,
        *,
        n: int = 1,
        on: str = FIRST,
        payload: Any = None,
        change: Callable[[bytes], bytes] | None = None,
        **header: Any,
    ) -> Send:
        """Send a request; other keywords are fields of its header table."""
        declared = self._operations[operation].request
        assert declared is not None, operation
        table = Subset(table=declared.__name__, fields=subset(header))
        return frame(operation, n=n, on=on, header=table, payload=payload, change=change)

    def answer(self, operation: str, /, *, n: int = 1, on: str = FIRST, payload: Any = None, **header: Any) -> Reply:
        """Return the whole response to a request; other keywords are fields of its header table."""
        declared = self._operations[operation].response
        assert declared is not None, operation
        return reply(
            operation,
            flags=WHOLE,
            stream_id=identifier(n, on),
            header_format=1,
            header=Subset(table=declared.__name__, fields=subset(header)),
            payload=payload,
        )

    def ask(
        self, operation: str, expected: Mapping[str, Any], /, *, n: int = 1, on: str = FIRST, **header: Any
    ) -> Steps:
        """Send a request and require fields of its response."""
        return (
            self.request(operation, n=n, on=on, **header),
            expect_any(self.answer(operation, n=n, on=on, **expected), on=on),
        )

    def batch(self, count: int = 1, text: str = "x") -> Batch:
        """Return a batch of one record that counts as so many."""
        value = {"meta": {"last_offset_delta": count}, "records": [{"offset_delta": 0, "body": text}]}
        made: Message = self.schema.batch_from_json(value, "batch")
        return Batch(subset(value), len(reference.encode(made)))


S1_STEPS, S2_STEPS = Dialect(S1), Dialect(S2)


def payload_of(batches: Sequence[Subset]) -> Any:
    """Return a payload of batches."""
    return Subset(batches=list(batches)) if batches else None


# -- S1 ----------------------------------------------------------------------------------------------------------------


def beat(*, n: int = 1, on: str = FIRST) -> Steps:
    """Let a data node of the case's own send a heartbeat, so that the placement manager knows one."""
    known = {"client_id": "dn", "client_role": ROLE_DATA_NODE, "data_node": NODE}
    return S1_STEPS.ask("HEARTBEAT", known, n=n, on=on, **known)


def create_stream(*, n: int = 2, on: str = FIRST) -> Steps:
    """Create a stream with its first range, whose number is STREAM from then on; S1."""
    result = {"stream": {"stream_id": STREAM, "replica_nums": 1}, "error_code": NONE}
    return S1_STEPS.ask("CREATE_STREAMS", {"create_responses": [result]}, n=n, on=on, stremas=[{"replica_nums": 1}])


def new_stream(*, on: str = FIRST) -> Steps:
    """Make a data node known, and a stream: requests 1 and 2; S1."""
    return (beat(on=on), create_stream(on=on))


def append(*batches: Batch, n: int = 3, on: str = FIRST, stream: Any = STREAM, **more: Any) -> Send:
    """Append batches to a stream, with request indexes from 10 on; S1."""
    infos = [
        {"stream_id": stream, "request_index": 10 + at, "batch_length": batch.length}
        for at, batch in enumerate(batches)
    ]
    payload = payload_of([batch.form for batch in batches])
    return S1_STEPS.request("APPEND", n=n, on=on, append_requests=infos, payload=payload, **more)


def appended(*bases: int | None, n: int = 3, on: str = FIRST, stream: Any = STREAM) -> Expect:
    """Require the offsets of batches; None for one that is refused; S1."""
    results = [
        {"stream_id": stream, "request_index": 10 + at, "error_code": INVALID_REQUEST}
        if base is None
        else {"stream_id": stream, "request_index": 10 + at, "error_code": NONE, "base_offset": base}
        for at, base in enumerate(bases)
    ]
    return expect_any(S1_STEPS.answer("APPEND", n=n, on=on, append_responses=results), on=on)


def fetch(*offsets: int, n: int = 4, on: str = FIRST, stream: Any = STREAM, **more: Any) -> Send:
    """Fetch from offsets of a stream, with request indexes from 20 on; S1."""
    infos = [
        {"stream_id": stream, "request_index": 20 + at, "fetch_offset": offset, "batch_max_bytes": 1 << 20}
        for at, offset in enumerate(offsets)
    ]
    return S1_STEPS.request("FETCH", n=n, on=on, fetch_requests=infos, **more)


def fetched(
    *found: tuple[Batch, int] | None, n: int = 4, on: str = FIRST, stream: Any = STREAM, within_s: float | None = None
) -> Expect:
    """Require a batch with its offset for each entry of a fetch; None for nothing new; S1."""
    results = [
        {
            "stream_id": stream,
            "request_index": 20 + at,
            "error_code": NONE,
            "batch_length": 0 if each is None else each[0].length,
        }
        for at, each in enumerate(found)
    ]
    payload = payload_of([each[0].at(each[1]) for each in found if each is not None])
    wanted = S1_STEPS.answer("FETCH", n=n, on=on, fetch_responses=results, payload=payload)
    return expect_any(wanted, on=on, within_s=within_s)


def range_of(index: int, start: int, end: int, next_offset: int, stream: Any = STREAM) -> dict[str, Any]:
    """Return fields of a range, the same in both schemas."""
    return {
        "stream_id": stream,
        "range_index": index,
        "start_offset": start,
        "end_offset": end,
        "next_offset": next_offset,
    }


def listed(*ranges: Mapping[str, Any], n: int, on: str = FIRST, stream: Any = STREAM) -> Steps:
    """Require the ranges of a stream, no more, in this order; S1."""
    owner = {"stream_id": stream}
    result = {"range_owner": owner, "error_code": NONE, "ranges": list(ranges)}
    return S1_STEPS.ask("LIST_RANGES", {"list_responses": [result]}, n=n, on=on, range_owners=[owner])


def seal(index: int, *ranges: Mapping[str, Any], n: int, on: str = FIRST, stream: Any = STREAM) -> Steps:
    """Seal a range and require the ranges that the response has, none for a refusal; S1."""
    result: dict[str, Any] = {"stream_id": stream, "error_code": NONE if ranges else INVALID_REQUEST}
    if ranges:
        result["ranges"] = list(ranges)
    wanted = {"stream_id": stream, "range_index": index}
    return S1_STEPS.ask("SEAL_RANGES", {"seal_responses": [result]}, n=n, on=on, ranges=[wanted])
