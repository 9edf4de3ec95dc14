"""Judges of the requirements of HTTP/2 on both sides: one function for each requirement."""

from collections.abc import Iterable

from wiretool.codec.message import Side
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Judge, Observation, is_overdue

#: Seconds after which an acknowledgement is missing.
ACK_S_MAX = 5.0
#: Windows and limits before any setting (RFC 9113 §6.5.2), and the stream that a GoAway may name to come.
_WINDOW, _ANY_STREAM = 65_535, 2**31 - 1
_DATA_TYPE, _TYPE_AT, _LENGTH_BYTES = 0, 3, 3


def _other(side: Side) -> Side:
    return "client" if side == "server" else "server"


def _is_complete(connection: ObservedConnection) -> bool:
    return connection.is_whole and connection.has_server and not connection.has_gap


def begins_with_preface(connection: ObservedConnection) -> Iterable[Observation]:
    """The client's first bytes are the preface."""
    sent = connection.sent_by("client")
    if connection.is_whole and sent:
        is_fine = sent[0].name == "Preface"
        yield Observation(sent[0].n, "" if is_fine else f"the client begins with {sent[0].name}; expected Preface")


def acknowledges(side: Side, name: str) -> Judge:
    """Return a judge that a side acknowledges each frame of a name, and nothing else."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        if not _is_complete(connection):
            return
        acks = [message for message in connection.sent_by(side) if message.name == name and message.fields.get("ack")]
        answered = {message.reply_to for message in acks}
        for message in acks:
            yield Observation(
                message.n, "" if message.reply_to is not None else f"acknowledges a {name} that never came"
            )
        for message in connection.sent_by(_other(side)):
            is_open = message.name == name and not message.problems and not message.fields["ack"]
            if is_open and message.n not in answered and is_overdue(connection, message.time_ns, within_s=ACK_S_MAX):
                yield Observation(message.n, f"no acknowledgement came within {ACK_S_MAX:g} s")

    return judge


def keeps_to_windows(side: Side) -> Judge:
    """Return a judge of flow control: the data of a side fits in the windows that its peer gave."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        if not _is_complete(connection):
            return
        windows = _Windows()
        for message in connection.messages:
            if message.side != side:
                windows.grow(message)
            elif _is_data(message):
                yield Observation(message.n, windows.take(message))

    return judge


class _Windows:
    """The flow-control windows of one side: of the connection, and of each stream."""

    def __init__(self) -> None:
        self._connection = _WINDOW
        self._initial = _WINDOW
        #: What was added to each stream and taken from it.
        self._streams: dict[int, int] = {}

    def grow(self, message: Observed) -> None:
        if message.problems:
            return
        if message.name == "WindowUpdate":
            number, increment = message.fields["stream_id"], message.fields["window_increment"]
            if number:
                self._streams[number] = self._streams.get(number, 0) + increment
            else:
                self._connection += increment
        elif message.name == "Settings" and not message.fields["ack"]:
            self._initial = message.fields["settings"].get("INITIAL_WINDOW_SIZE", self._initial)

    def take(self, message: Observed) -> str:
        """Count the data of a frame; what is wrong with it, or nothing."""
        length = int.from_bytes(message.raw[:_LENGTH_BYTES], "big")
        number = int.from_bytes(message.raw[5:9], "big") & 0x7FFF_FFFF
        self._connection -= length
        self._streams[number] = self._streams.get(number, 0) - length
        if self._connection < 0:
            return f"{-self._connection} bytes more than the window of the connection"
        left = self._initial + self._streams[number]
        return f"{-left} bytes more than the window of stream {number}" if left < 0 and length else ""


def _is_data(message: Observed) -> bool:
    """Return whether a message is a frame of DATA, whatever its name."""
    raw = message.raw
    return message.name not in ("Preface", "(undecodable)") and len(raw) >= 9 and raw[_TYPE_AT] == _DATA_TYPE


# -- streams -----------------------------------------------------------------------------------------------------------


def opened_streams(connection: ObservedConnection) -> Iterable[tuple[int, Observed]]:
    """Yield the number of each stream that the client opens, with the frame that opens it."""
    seen: set[int] = set()
    for message in connection.sent_by("client"):
        if message.name == "Headers" and message.fields["stream_id"] not in seen:
            seen.add(message.fields["stream_id"])
            yield message.fields["stream_id"], message


def numbers_rise(connection: ObservedConnection) -> Iterable[Observation]:
    """Streams have odd numbers, and each is above the ones before it."""
    last = 0
    for number, message in opened_streams(connection):
        problem = "" if number % 2 else f"stream {number} is even"
        if not problem and number < last and not connection.has_gap:
            problem = f"stream {number} is opened after stream {last}"
        yield Observation(message.n, problem)
        last = max(last, number)


def keeps_to_streams(connection: ObservedConnection) -> Iterable[Observation]:
    """The client has no more open streams than the server's settings allow."""
    if not _is_complete(connection):
        return
    allowed: int | None = None
    open_streams: set[int] = set()
    for message in connection.messages:
        fields = message.fields
        if message.problems:
            continue
        if message.side == "server":
            if message.name == "Settings" and not fields["ack"]:
                allowed = fields["settings"].get("MAX_CONCURRENT_STREAMS", allowed)
            if message.name == "RstStream" or fields.get("end_stream"):
                open_streams.discard(fields["stream_id"])
        elif message.name == "RstStream":
            open_streams.discard(fields["stream_id"])
        elif message.name == "Headers":
            open_streams.add(fields["stream_id"])
            if allowed is not None:
                is_fine = len(open_streams) <= allowed
                yield Observation(message.n, "" if is_fine else f"{len(open_streams)} streams; {allowed} are allowed")


def names_a_stream(connection: ObservedConnection) -> Iterable[Observation]:
    """GoAway of the server names no stream above those that the client opened."""
    if not _is_complete(connection):
        return
    highest = 0
    for message in connection.messages:
        if message.side == "client" and message.name == "Headers":
            highest = max(highest, message.fields["stream_id"])
        elif message.side == "server" and message.name == "GoAway" and not message.problems:
            last = message.fields["last_stream_id"]
            is_fine = last <= highest or last == _ANY_STREAM
            yield Observation(message.n, "" if is_fine else f"names stream {last}; the last one is {highest}")


def opens_none_after_goaway(connection: ObservedConnection) -> Iterable[Observation]:
    """The client opens no stream after GoAway has come."""
    first = next((each for each in connection.sent_by("server") if each.name == "GoAway"), None)
    if first is not None:
        later = [message for _, message in opened_streams(connection) if message.n > first.n]
        yield Observation(first.n, f"record {later[0].n} opens a stream after it" if later else "")
