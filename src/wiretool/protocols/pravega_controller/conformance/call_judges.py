"""Judges of the calls of Pravega's controller: one function for each requirement."""

from collections.abc import Iterable, Mapping
from typing import Any

from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation
from wiretool.protocols.pravega_controller.calls import METHODS
from wiretool.protocols.pravega_controller.conformance.steps import PATH

_TYPE = "application/grpc"
#: Answers that hold segments of one epoch, which together have every key.
_WHOLE_EPOCHS = ("getCurrentSegments", "getEpochSegments")


def _header(message: Observed, name: str) -> str | None:
    """Return the value of a header; None where there is none, or it was not captured."""
    return next((value for key, value in message.fields["headers"] or () if key == name), None)


def _is_readable(message: Observed) -> bool:
    """Return whether all headers of a block are known."""
    headers = message.fields.get("headers") or ()
    return bool(headers) and not message.problems and all(None not in pair for pair in headers)


def _requests(connection: ObservedConnection) -> Iterable[Observed]:
    for message in connection.sent_by("client"):
        if message.name == "Headers" and _is_readable(message) and _header(message, ":path") is not None:
            yield message


def calls_known_methods(connection: ObservedConnection) -> Iterable[Observation]:
    """A call is a POST whose path is that of a method of the controller."""
    for message in _requests(connection):
        path, method = _header(message, ":path") or "", _header(message, ":method")
        problem = "" if method == "POST" else f"the method is {method}; expected POST"
        if not path.startswith(PATH) or path.removeprefix(PATH) not in METHODS:
            problem = problem or f"{path} is not the path of a method"
        yield Observation(message.n, problem)


def asks_for_grpc(connection: ObservedConnection) -> Iterable[Observation]:
    """A call has the content type of gRPC, and takes trailers."""
    for message in _requests(connection):
        kind, te = _header(message, "content-type") or "", _header(message, "te")
        problem = "" if kind.startswith(_TYPE) else f"content-type is {kind!r}; expected {_TYPE}"
        yield Observation(message.n, problem or ("" if te == "trailers" else f"te is {te!r}; expected trailers"))


def responds(connection: ObservedConnection) -> Iterable[Observation]:
    """A response begins with status 200 and the content type of gRPC."""
    for message in connection.sent_by("server"):
        if message.name != "Headers" or not _is_readable(message):
            continue
        status, kind = _header(message, ":status"), _header(message, "content-type") or ""
        if status is not None:
            problem = "" if status == "200" else f":status is {status}; expected 200"
            is_typed = kind.startswith(_TYPE)
            yield Observation(message.n, problem or ("" if is_typed else f"content-type is {kind!r}; expected {_TYPE}"))


def has_one_status(connection: ObservedConnection) -> Iterable[Observation]:
    """The last frame of a response has the status of the call, and no other frame has one."""
    if not connection.is_whole or connection.has_gap:
        return
    statuses: dict[int, int] = {}
    for message in connection.sent_by("server"):
        number = message.fields.get("stream_id")
        if not isinstance(number, int) or message.problems:
            continue
        has_status = message.fields.get("grpc_status") is not None
        statuses[number] = statuses.get(number, 0) + has_status
        if has_status and not message.fields.get("end_stream"):
            yield Observation(message.n, f"grpc-status of stream {number} comes before its end")
        elif message.fields.get("end_stream"):
            count = statuses[number]
            yield Observation(message.n, "" if count == 1 else f"stream {number} ends with {count} grpc-status")


def answers_with_ok(connection: ObservedConnection) -> Iterable[Observation]:
    """A call that has an answer ends with OK, as failures of the application are values in the answer."""
    answered: dict[int, Observed] = {}
    for message in connection.sent_by("server"):
        number = _stream_of(message)
        if message.name in METHODS:
            answered[number] = message
        elif message.fields.get("grpc_status") is not None and number in answered:
            status = message.fields["grpc_status"]
            yield Observation(message.n, "" if status == "OK" else f"an answer came, and the status is {status}")


def _stream_of(message: Observed) -> int:
    """Return the number of the stream of a frame."""
    return int.from_bytes(message.raw[5:9], "big") & 0x7FFF_FFFF


# -- answers -----------------------------------------------------------------------------------------------------------


def _answers(connection: ObservedConnection) -> Iterable[tuple[Observed, Observed]]:
    for asked, answered in connection.exchanges():
        if answered.name in METHODS and not answered.problems and not asked.problems:
            yield asked, answered


def shares_the_key_space(connection: ObservedConnection) -> Iterable[Observation]:
    """The segments of an epoch have every key in [0, 1) once."""
    for _, answered in _answers(connection):
        if answered.name not in _WHOLE_EPOCHS:
            continue
        ranges = sorted((each["minKey"], each["maxKey"]) for each in answered.fields["segmentRanges"])
        if not ranges:
            continue  # the stream is sealed
        ends = [low for low, _ in ranges[1:]] + [1.0]
        is_whole = ranges[0][0] == 0.0 and [high for _, high in ranges] == ends
        yield Observation(answered.n, "" if is_whole else f"key ranges {ranges}; expected all of [0, 1) once")


def names_the_stream(connection: ObservedConnection) -> Iterable[Observation]:
    """The segments in an answer are of the stream in the request."""
    for asked, answered in _answers(connection):
        if answered.name not in (*_WHOLE_EPOCHS, "createTransaction"):
            continue
        wanted = _stream_in(asked.fields)
        segments = answered.fields.get("segmentRanges") or answered.fields.get("activeSegments") or ()
        for each in segments:
            found = _stream_in(each["segmentId"])
            if found != wanted:
                yield Observation(answered.n, f"a segment of {found}; the request is about {wanted}")
                break
        else:
            yield Observation(answered.n)


def _stream_in(fields: Mapping[str, Any]) -> str:
    info = fields.get("streamInfo") or fields
    return f"{info.get('scope')}/{info.get('stream')}"


def names_an_address(connection: ObservedConnection) -> Iterable[Observation]:
    """The address of a segment can be connected to."""
    for _, answered in _answers(connection):
        if answered.name == "getURI":
            host, port = answered.fields["endpoint"], answered.fields["port"]
            is_fine = bool(host) and 0 < port < 65_536
            yield Observation(answered.n, "" if is_fine else f"the address is {host}:{port}")
