"""Judges of the messages that a client of Offramp sends: one function for each requirement."""

import base64
import binascii
from collections.abc import Iterable

from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation
from wiretool.protocols.offramp import handshake, http
from wiretool.protocols.offramp.conformance import frame_judges as frames
from wiretool.protocols.offramp.connection import echoed

EVENTS = ("REQUEST", "CANCEL", "COMMIT")
_KEY_BYTES = 16

writes_type_first = frames.writes_type_first("client", EVENTS)
answers_pings = frames.answers_pings("client")


# -- the handshake -----------------------------------------------------------------------------------------------------


def asks_for_websocket(connection: ObservedConnection) -> Iterable[Observation]:
    """The request is a GET with the headers of RFC 6455 §4.1."""
    for message in _handshakes(connection):
        wrong = _handshake_defects(message)
        yield Observation(message.n, wrong[0] if wrong else "")


def _handshakes(connection: ObservedConnection) -> Iterable[Observed]:
    return (message for message in connection.sent_by("client") if message.name == "HandshakeRequest")


def _handshake_defects(message: Observed) -> list[str]:
    headers = message.fields["headers"]

    def values(name: str) -> list[str]:
        return [each.lower() for each in http.tokens(http.header_values(headers, name))]

    keys = http.header_values(headers, "Sec-WebSocket-Key")
    checks = {
        f"the method is {message.fields['method']}; expected GET": message.fields["method"] == "GET",
        f"the version is {message.fields['version']}; expected HTTP/1.1": message.fields["version"] == "HTTP/1.1",
        "there is no Host": len(http.header_values(headers, "Host")) == 1,
        f"Upgrade is {values('Upgrade')}; expected websocket": "websocket" in values("Upgrade"),
        f"Connection is {values('Connection')}; expected Upgrade": "upgrade" in values("Connection"),
        f"Sec-WebSocket-Version is {values('Sec-WebSocket-Version')}; expected 13": values("Sec-WebSocket-Version")
        == ["13"],
        f"Sec-WebSocket-Key is {keys}; expected {_KEY_BYTES} bytes in base64": len(keys) == 1 and _is_key(keys[0]),
    }
    return [problem for problem, is_fine in checks.items() if not is_fine]


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.strip(), validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def names_a_stream(connection: ObservedConnection) -> Iterable[Observation]:
    """The target is the path of a stream, and its parameters have values that they may have."""
    for message in _handshakes(connection):
        target = message.fields["target"]
        path = handshake.stream_path(target)
        problem = ""
        if path is None:
            problem = f"{target} is not the path of a stream"
        elif path.wrong:
            problem = f"{target} has a value of {path.wrong[0]} that does not exist"
        yield Observation(message.n, problem)


def waits_for_the_upgrade(connection: ObservedConnection) -> Iterable[Observation]:
    """The first frame comes after the response to the handshake."""
    if not connection.is_whole or connection.has_gap:
        return
    is_upgraded = False
    for message in connection.messages:
        if message.name == "HandshakeResponse":
            is_upgraded = message.fields["status"] == 101
        elif message.side == "client" and frames.header_of(message) is not None:
            yield Observation(message.n, "" if is_upgraded else f"{message.name} before the upgrade")
            return


# -- frames ------------------------------------------------------------------------------------------------------------


def masks_differ(connection: ObservedConnection) -> Iterable[Observation]:
    """No frame has the mask of the one before it, and none is zero: masks are drawn by lot (RFC 6455 §5.3)."""
    before = bytes(4)
    for message in connection.sent_by("client"):
        header = frames.header_of(message)
        if header is None or not header.is_masked or header.length == 0:
            continue
        problem = f"the mask {header.mask.hex()} is that of the frame before it"
        if not any(header.mask):
            problem = "the mask is zero"
        yield Observation(message.n, problem if header.mask == before or not any(header.mask) else "")
        before = header.mask


def answers_close(connection: ObservedConnection) -> Iterable[Observation]:
    """The client answers a Close, unless it has ended its half of the connection before."""
    first = frames.first_close(connection)
    if first is None or first.side != "server" or connection.has_gap:
        return
    if not connection.is_whole and not any(message.n < first.n for message in connection.sent_by("client")):
        return  # the client may have sent its Close before the recording begins
    has_answered = any(message.name == "Close" for message in connection.sent_by("client"))
    if has_answered or frames.ends_after(connection, "client", first):
        yield Observation(first.n, "" if has_answered else "the client ends the connection and sends no Close")


# -- events ------------------------------------------------------------------------------------------------------------


def requests_messages(connection: ObservedConnection) -> Iterable[Observation]:
    """A REQUEST asks for at least one message."""
    for message in connection.sent_by("client"):
        if message.name == "REQUEST" and not message.problems:
            count = message.fields["count"]
            yield Observation(message.n, "" if count > 0 else f"count is {count}")


def ids_are_free(connection: ObservedConnection) -> Iterable[Observation]:
    """The id of a COMMIT is not that of another one which still waits for its reply, and there is one."""
    waiting: dict[bytes | None, int] = {}
    for message in connection.messages:
        if message.side == "server" and message.name == "COMMIT_RESPONSE":
            waiting.pop(echoed(message.fields.get("correlationId")), None)
        elif message.name == "COMMIT" and message.side == "client":
            id = echoed(message.fields.get("correlationId"))
            problem = "correlationId is null" if id is None else ""
            if not problem and id in waiting:
                problem = f"the id is that of record {waiting[id]}, which has no reply"
            yield Observation(message.n, problem)
            waiting[id] = message.n


def commits_what_came(connection: ObservedConnection) -> Iterable[Observation]:
    """A COMMIT saves no position beyond the next message of a partition that was delivered here."""
    if not connection.is_whole or connection.has_gap:
        return
    following: dict[str, int] = {}
    for message in connection.messages:
        if message.name == "MESSAGE" and message.side == "server" and not message.problems:
            following[str(message.fields["partition"])] = message.fields["offset"] + 1
        elif message.name == "COMMIT" and not message.problems and message.fields["offsets"]:
            wrong = [
                f"offset {offset} of partition {partition} is saved, "
                + (f"the next one is {following[partition]}" if partition in following else "of which nothing came")
                for partition, offset in message.fields["offsets"].items()
                if offset > following.get(partition, -1)
            ]
            yield Observation(message.n, wrong[0] if wrong else "")
