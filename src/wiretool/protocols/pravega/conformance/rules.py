"""Requirements that recorded traffic of the segment store is judged by, whatever its clients do."""

from collections.abc import Iterable

from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.observed import ObservedConnection
from wiretool.conformance.recorded.rules import Observation, Rule, decodable, rule_maker
from wiretool.protocols.pravega.conformance import client_judges as clients
from wiretool.protocols.pravega.conformance.steps import NO_EVENT

#: The name of the segment in requests and in replies.
_SEGMENT_FIELDS = ("segment", "segment_name", "target_segment_id", "target")


def acks_grow(connection: ObservedConnection) -> Iterable[Observation]:
    """Acks of a writer rise, and each names the number that the one before it acknowledged."""
    last: dict[str, int] = {}
    for message in connection.messages:
        if message.name == "AppendSetup":
            last[message.fields["writer_id"]] = message.fields["last_event_number"]
        elif message.name == "DataAppended" and message.side == "server":
            writer, number = message.fields["writer_id"], message.fields["event_number"]
            before, said = last.get(writer), message.fields["previous_event_number"]
            problem = ""
            if before is not None and number <= before:
                problem = f"event {number} is acknowledged after {before}"
            elif before is not None and said not in (before, -1):
                problem = f"previous_event_number is {said}; the acknowledgement before it is of {before}"
            yield Observation(message.n, problem)
            last[writer] = number


def acks_name_what_was_sent(connection: ObservedConnection) -> Iterable[Observation]:
    """An ack names an event number that its writer has sent."""
    if connection.has_gap or not connection.is_whole:
        return
    sent: dict[str, set[int]] = {}
    for message in connection.messages:
        if message.name in clients.APPENDS:
            sent.setdefault(message.fields["writer_id"], set()).add(clients.number_of(message))
        elif message.name == "DataAppended" and message.side == "server":
            writer, number = message.fields["writer_id"], message.fields["event_number"]
            is_known = number in sent.get(writer, ())
            yield Observation(message.n, "" if is_known else f"event {number} of writer {writer} was never sent")


def acks_advance_the_segment(connection: ObservedConnection) -> Iterable[Observation]:
    """The segment is never shorter after an append than after the append before it."""
    segments: dict[str, str] = {}
    ends: dict[str, int] = {}
    for message in connection.messages:
        if message.name == "SetupAppend":
            segments[message.fields["writer_id"]] = message.fields["segment"]
        elif message.name == "DataAppended" and message.side == "server":
            end, segment = message.fields["current_segment_write_offset"], segments.get(message.fields["writer_id"])
            if segment is None or end < 0:
                continue
            before = ends.get(segment, end)
            yield Observation(message.n, "" if end >= before else f"{segment} has {end} bytes after {before}")
            ends[segment] = end


def replies_echo_ids(connection: ObservedConnection) -> Iterable[Observation]:
    """A reply carries the id of its request."""
    for asked, answered in connection.exchanges():
        if asked.name in clients.APPENDS or "request_id" not in answered.fields or "request_id" not in asked.fields:
            continue
        one, other = asked.fields["request_id"], answered.fields["request_id"]
        yield Observation(answered.n, "" if one == other else f"request_id is {other}; the request has {one}")


def replies_name_the_segment(connection: ObservedConnection) -> Iterable[Observation]:
    """A reply names the segment of its request."""
    for asked, answered in connection.exchanges():
        if asked.name == "CreateTransientSegment":
            continue  # the server makes the name
        one = next((asked.fields[name] for name in _SEGMENT_FIELDS if name in asked.fields), None)
        other = next((answered.fields[name] for name in ("segment", "segment_name") if name in answered.fields), None)
        if one is not None and other is not None and asked.name not in ("MergeSegments", "MergeSegmentsBatch"):
            yield Observation(answered.n, "" if one == other else f"names {other}; the request is about {one}")


def reads_are_what_was_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """The data of a read begins at the offset of its request and is not longer than asked.

    Where the beginning is missing, the first replies may be to reads that were not captured.
    """
    has_begun = connection.is_whole
    for asked, answered in connection.exchanges():
        if (asked.name, answered.name) != ("ReadSegment", "SegmentRead"):
            continue
        offset, length = answered.fields["offset"], len(answered.fields["data"]) // 2
        problem = ""
        has_begun = has_begun or offset == asked.fields["offset"]
        if not has_begun:
            continue
        if offset != asked.fields["offset"]:
            problem = f"data at offset {offset}; the request is for {asked.fields['offset']}"
        elif length > asked.fields["suggested_length"]:
            problem = f"{length} bytes; the request is for {asked.fields['suggested_length']}"
        yield Observation(answered.n, problem)


def setups_start_low(connection: ObservedConnection) -> Iterable[Observation]:
    """AppendSetup names no number below that of a writer without events."""
    for message in connection.sent_by("server"):
        if message.name == "AppendSetup":
            number = message.fields["last_event_number"]
            yield Observation(message.n, "" if number >= NO_EVENT else f"last_event_number is {number}")


def greets_back(connection: ObservedConnection) -> Iterable[Observation]:
    """The server's first message is Hello where the client's is; a real server serves requests before it, too."""
    sent = connection.sent_by("server")
    if connection.is_whole and sent and [each.name for each in connection.sent_by("client")[:1]] == ["Hello"]:
        problem = "" if sent[0].name == "Hello" else f"the first message is {sent[0].name}; expected Hello"
        yield Observation(sent[0].n, problem)


_rule = rule_maker("pravega", "protocols/pravega.md")

RULES: tuple[Rule, ...] = (
    _rule("server/1", MUST, "Every frame of the server can be decoded.", "§1.1", decodable("server")),
    _rule("server/2", MUST, "The server's first message is Hello.", "§4.1", greets_back),
    _rule("server/3", MUST, "Acknowledgements of a writer rise and name the one before.", "§4.4", acks_grow),
    _rule("server/4", MUST, "Only sent events are acknowledged.", "§4.4", acks_name_what_was_sent),
    _rule("server/5", MUST, "A segment only grows by appends.", "§4.4", acks_advance_the_segment),
    _rule("server/6", MUST, "A reply carries the id of its request.", "§2", replies_echo_ids),
    _rule("server/7", MUST, "A reply names the segment of its request.", "§2", replies_name_the_segment),
    _rule("server/8", MUST, "Reads return the requested bytes.", "§4.5", reads_are_what_was_asked),
    _rule("server/9", MUST, "AppendSetup names a number of the writer.", "§4.2", setups_start_low),
    _rule("client/1", MUST, "Every frame of the client can be decoded.", "§1.1", decodable("client")),
    _rule("client/2", MUST, "The client's first message is Hello.", "§4.1", clients.greets_first),
    _rule("client/3", SHOULD, "Hello is sent once.", "§4.1", clients.greets_once),
    _rule("client/4", MUST, "Hello names a range of versions.", "§4.1", clients.names_versions),
    _rule("client/5", MUST, "Appends come after AppendSetup.", "§4.2", clients.sets_up_first),
    _rule("client/6", MUST, "Event numbers of a writer never go back.", "§4.2", clients.numbers_grow),
    _rule("client/7", MUST, "Only events above the stored number are sent.", "§4.2", clients.resends_only_new),
    _rule("client/8", MUST, "A block holds no more events than num_events.", "§4.3", clients.appends_events),
    _rule("client/9", SHOULD, "A request has an id that no open request has.", "§2", clients.ids_are_free),
    _rule("client/10", MUST, "A read asks for bytes at an offset of 0 or more.", "§4.5", clients.reads_forward),
)
