"""Steps that many cases share: the beginning of HTTP/2, calls on numbered streams, and their answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wiretool.conformance.case import FIRST, Send, Step, Steps, expect, flat, send
from wiretool.conformance.values import AnyOrder, Check, Free, Subset, Text, Var, text_matching

PATH = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/"
SCOPE = Text("{scope}")
STREAM = Text("{stream}")
#: What a real controller tells of a missing scope and of a missing entry in one of its tables.
_NO_SCOPE = r"get entry: key: \S+ table: _system/_tables/scopes.*"
_NO_ENTRY = r"get entry: key: \S+ table: _system/_tables/\S+/{}.*"
LEASE_MS = 10_000
_EPOCH_BITS = 32

#: Makes the steps of a call from the number of its stream of HTTP/2.
Call = Callable[[int], Steps]


def hello(*, on: str = FIRST, settings: Mapping[str, int] | None = None) -> Steps:
    """Begin HTTP/2; the server's settings are awaited by the first call."""
    return (
        send("Preface", on=on),
        send("Settings", on=on, settings=Free(dict(settings or {})) if settings is None else dict(settings)),
    )


def talk(*parts: Call | Steps, on: str = FIRST) -> Steps:
    """Begin HTTP/2 on a connection, and number the streams of the calls that follow."""
    return (hello(on=on), calls(*parts))


def calls(*parts: Call | Steps, first: int = 1) -> Steps:
    """Number the streams of calls; other steps stay as they are."""
    made: list[Step] = []
    stream_id = first
    for part in parts:
        if callable(part):
            made.extend(flat(part(stream_id)))
            stream_id += 2
        else:
            made.extend(flat(part))
    return made


def headers(method: str, *more: tuple[str, str], path: str | None = None) -> list[list[str]]:
    """Return the headers of a call."""
    usual = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "127.0.0.1:9090"),
        (":path", PATH + method if path is None else path),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *more,
    ]
    return [list(each) for each in usual]


def stream(stream_id: int) -> Var:
    """Return the number of a stream of HTTP/2: a client's own choice."""
    return Var(f"stream {stream_id}", stream_id)


def ask(method: str, stream_id: int, fields: Mapping[str, Any], *more: tuple[str, str], on: str = FIRST) -> Steps:
    """Send the request of a call."""
    given = headers(method, *more)
    return (
        send("Headers", on=on, stream_id=stream(stream_id), method=method, headers=given if more else Free(given)),
        Send(method, fields, on),
    )


def answer(method: str, stream_id: int, fields: Mapping[str, Any], *, on: str = FIRST) -> Steps:
    """Take the answer of a call: headers, the message, and OK in the trailers."""
    number = stream(stream_id)
    return (
        expect(
            "Headers",
            on=on,
            stream_id=number,
            end_stream=False,
            headers=has_headers((":status", "200"), ("content-type", "application/grpc")),
        ),
        expect(method, on=on, **fields),
        expect("Headers", on=on, stream_id=number, end_stream=True, grpc_status="OK"),
    )


def failed(stream_id: int, status: Any, text: str = ".*", *, on: str = FIRST) -> Steps:
    """Take the failure of a call in gRPC's own terms."""
    return expect(
        "Headers",
        on=on,
        stream_id=stream(stream_id),
        end_stream=True,
        grpc_status=status,
        grpc_message=text_matching(text),
    )


def has_headers(*wanted: tuple[str, str]) -> Check:
    """Return a pattern for headers among which are these."""
    words = ", ".join(f"{name}: {value}" for name, value in wanted)
    return Check(
        f"headers with {words}",
        lambda found, _: all(any(name == each[0] and each[1] == value for each in found) for name, value in wanted),
    )


def call(method: str, request: Mapping[str, Any], /, on: str = FIRST, **expected: Any) -> Call:
    """Return a call that is answered."""
    return lambda stream_id: (
        ask(method, stream_id, request, on=on),
        answer(method, stream_id, expected, on=on),
    )


def fails(method: str, request: Mapping[str, Any], status: Any, text: str = ".*", *, on: str = FIRST) -> Call:
    """Return a call that fails in gRPC's own terms."""
    return lambda stream_id: (ask(method, stream_id, request, on=on), failed(stream_id, status, text, on=on))


def no_scope(method: str, request: Mapping[str, Any]) -> Call:
    """Return a call that fails because there is no such scope."""
    return fails(method, request, "NOT_FOUND", _NO_SCOPE)


def no_entry(method: str, request: Mapping[str, Any], table: str = "streamsInScope") -> Call:
    """Return a call that fails because a table of the controller has no such entry."""
    return fails(method, request, "NOT_FOUND", _NO_ENTRY.format(table))


# -- scopes and streams ------------------------------------------------------------------------------------------------


def info(name: Any = STREAM, scope: Any = SCOPE) -> dict[str, Any]:
    """Return the name of a stream, as requests carry it."""
    return {"scope": scope, "stream": name, "accessOperation": Free("UNSPECIFIED")}


def config(segments: int = 1, name: Any = STREAM, scope: Any = SCOPE, **more: Any) -> dict[str, Any]:
    """Return the configuration of a stream with a fixed number of segments."""
    policy = {"scaleType": "FIXED_NUM_SEGMENTS", "targetRate": 0, "scaleFactor": 0, "minNumSegments": segments}
    return {"streamInfo": info(name, scope), "scalingPolicy": policy, **more}


def make_scope(scope: Any = SCOPE) -> Call:
    """Make a scope."""
    return call("createScope", {"scope": scope}, status="SUCCESS")


def make_stream(segments: int = 1, name: Any = STREAM, scope: Any = SCOPE, **more: Any) -> Call:
    """Make a stream."""
    return call("createStream", config(segments, name, scope, **more), status="SUCCESS")


def made(segments: int = 1, *parts: Call | Steps) -> Steps:
    """Make the scope and the stream of the case, then go on."""
    return talk(make_scope(), make_stream(segments), *parts)


def seal(name: Any = STREAM) -> Call:
    """Seal a stream."""
    return call("sealStream", info(name), status="SUCCESS")


def listed(name: Any, scope: Any = SCOPE) -> Subset:
    """Return a stream as lists name it."""
    return Subset(scope=scope, stream=name)


def listing(tag: str | None = None) -> dict[str, Any]:
    """Return a request for the first page of the streams of the scope, those with a tag where one is given."""
    page = {"scope": {"scope": SCOPE}, "continuationToken": {"token": ""}}
    return page if tag is None else {**page, "tag": tag}


# -- segments ----------------------------------------------------------------------------------------------------------


def segment_id(number: int, epoch: int = 0) -> int:
    """Return the id of a segment."""
    return epoch << _EPOCH_BITS | number


def named(number: int, epoch: int = 0, name: Any = STREAM, scope: Any = SCOPE) -> Subset:
    """Return the id of a segment with its stream, as answers carry it."""
    return Subset(segmentId=segment_id(number, epoch), streamInfo=Subset(scope=scope, stream=name))


def ranged(number: int, low: float, high: float, epoch: int = 0, name: Any = STREAM) -> Subset:
    """Return a segment with its keys, as answers carry it."""
    return Subset(segmentId=named(number, epoch, name), minKey=low, maxKey=high)


def halves(epoch: int = 0, first: int = 0) -> AnyOrder:
    """Return two segments that halve the keys."""
    return AnyOrder(ranged(first, 0.0, 0.5, epoch), ranged(first + 1, 0.5, 1.0, epoch))


def whole(number: int = 0, epoch: int = 0) -> AnyOrder:
    """Return one segment with all keys."""
    return AnyOrder(ranged(number, 0.0, 1.0, epoch))


def current(*, segments: Any) -> Call:
    """Ask for the current segments."""
    return call("getCurrentSegments", info(), segmentRanges=segments)


def scaling(sealed: Sequence[int], *ranges: tuple[float, float]) -> dict[str, Any]:
    """Return a request to replace segments."""
    keys = [{"start": low, "end": high} for low, high in ranges]
    return {"streamInfo": info(), "sealedSegments": list(sealed), "newKeyRanges": keys, "scaleTimestamp": Free(1)}


def split() -> Call:
    """Split the one segment of a stream in two."""
    return call(
        "scale",
        scaling([0], (0.0, 0.5), (0.5, 1.0)),
        status="STARTED",
        epoch=0,
        segments=halves(epoch=1, first=1),
    )


def cut(offsets: Mapping[int, int], name: Any = STREAM) -> dict[str, Any]:
    """Return offsets by segment, as requests carry them."""
    return {"streamInfo": info(name), "cut": {str(segment): offset for segment, offset in offsets.items()}}
