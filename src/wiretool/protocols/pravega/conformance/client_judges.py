"""What a client of the segment store sends, judged: one function for each requirement."""

from collections.abc import Iterable

from wiretool.conformance.clients.case import ClientRun
from wiretool.conformance.recorded.observed import Closing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Judge, Observation

APPENDS = ("AppendBlockEnd", "ConditionalAppend", "ConditionalBlockEnd")
#: The most SetupAppend of one writer in a second that still is no storm.
SETUPS_PER_S_MAX = 20
NS_PER_S = 1_000_000_000
#: Requests whose reply carries the same id, and messages of the client that have none.
_WITHOUT_ID = ("Hello", "KeepAlive", "AppendBlock", "Padding", *APPENDS)
#: A request that clients abandon without a word, and repeat under the same id.
_ABANDONED = "ReadSegment"


def number_of(append: Observed) -> int:
    """Return the last event number of an append."""
    return int(append.fields.get("last_event_number", append.fields.get("event_number", 0)))


# -- one connection ----------------------------------------------------------------------------------------------------


def greets_first(connection: ObservedConnection) -> Iterable[Observation]:
    """The first message is Hello."""
    sent = connection.sent_by("client")
    if connection.is_whole and sent:
        problem = "" if sent[0].name == "Hello" else f"the first message is {sent[0].name}; expected Hello"
        yield Observation(sent[0].n, problem)


def greets_once(connection: ObservedConnection) -> Iterable[Observation]:
    """Hello is sent once."""
    greetings = [message for message in connection.sent_by("client") if message.name == "Hello"]
    for at, message in enumerate(greetings):
        yield Observation(message.n, "Hello is sent again" if at else "")


def names_versions(connection: ObservedConnection) -> Iterable[Observation]:
    """The oldest version in Hello is not above the newest, and neither is below 1."""
    for message in connection.sent_by("client"):
        if message.name == "Hello" and "low_version" in message.fields:
            high, low = message.fields["high_version"], message.fields["low_version"]
            yield Observation(
                message.n, "" if 1 <= low <= high else f"versions {low} to {high}; expected 1 <= low <= high"
            )


def numbers_grow(connection: ObservedConnection) -> Iterable[Observation]:
    """Event numbers of a writer never go back."""
    last: dict[str, int] = {}
    for message in connection.sent_by("client"):
        if message.name == "SetupAppend":
            last.pop(message.fields["writer_id"], None)
        if message.name not in APPENDS:
            continue
        writer, number = message.fields["writer_id"], number_of(message)
        before = last.get(writer, number)
        yield Observation(message.n, "" if number >= before else f"event {number} of writer {writer} after {before}")
        last[writer] = number


def sets_up_first(connection: ObservedConnection) -> Iterable[Observation]:
    """Appends come after AppendSetup of their writer, as far as the recording can tell."""
    ready: set[str] = set()
    asked: set[str] = set()
    for message in connection.messages:
        if message.name == "SetupAppend":
            asked.add(message.fields["writer_id"])
        elif message.name == "AppendSetup":
            ready.add(message.fields["writer_id"])
        elif message.name in APPENDS:
            writer = message.fields["writer_id"]
            if writer not in asked and (connection.has_gap or not connection.is_whole):
                continue  # its SetupAppend was not captured
            problem = "" if writer in ready else f"{message.name} before AppendSetup of writer {writer}"
            yield Observation(message.n, problem)


def resends_only_new(connection: ObservedConnection) -> Iterable[Observation]:
    """After AppendSetup, only events above the number that it names are sent."""
    stored: dict[str, int] = {}
    for message in connection.messages:
        if message.name == "AppendSetup":
            stored[message.fields["writer_id"]] = int(message.fields["last_event_number"])
        elif message.name in APPENDS and message.fields["writer_id"] in stored:
            least, number = stored[message.fields["writer_id"]], number_of(message)
            problem = "" if number > least else f"event {number} is sent, though {least} is stored"
            yield Observation(message.n, problem)


def ids_are_free(connection: ObservedConnection) -> Iterable[Observation]:
    """The id of a request is not that of another one which still waits for its reply."""
    waiting: dict[int, int] = {}
    for message in connection.messages:
        if message.side == "server":
            waiting = {number: n for number, n in waiting.items() if n != message.reply_to}
        elif message.name not in (*_WITHOUT_ID, _ABANDONED) and "request_id" in message.fields:
            number = int(message.fields["request_id"])
            problem = (
                f"id {number} is that of record {waiting[number]}, which has no reply" if number in waiting else ""
            )
            yield Observation(message.n, problem)
            waiting[number] = message.n


def appends_events(connection: ObservedConnection) -> Iterable[Observation]:
    """An append holds no more events than it says; events of no bytes are counted, though nothing of them is sent."""
    for message in connection.sent_by("client"):
        if message.name == "AppendBlockEnd" and message.append is not None and message.events:
            count, said = len(message.events), int(message.fields["num_events"])
            yield Observation(message.n, "" if count <= said else f"num_events is {said}, the block holds {count}")


def reads_forward(connection: ObservedConnection) -> Iterable[Observation]:
    """A read asks for bytes, from no negative offset."""
    for message in connection.sent_by("client"):
        if message.name == "ReadSegment":
            offset, length = message.fields["offset"], message.fields["suggested_length"]
            is_fine = offset >= 0 and length > 0
            yield Observation(message.n, "" if is_fine else f"a read of {length} bytes at offset {offset}")


def stops_after(name: str) -> Judge:
    """Return a judge that nothing but a close follows a message of the server."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        first = next((at for at, item in enumerate(connection.items) if getattr(item, "name", "") == name), None)
        if first is None:
            return
        reply = connection.items[first]
        assert isinstance(reply, Observed)
        later = [
            item
            for item in connection.items[first + 1 :]
            if isinstance(item, Observed) and item.side == "client" and item.name != "KeepAlive"
        ]
        yield Observation(reply.n, f"{later[0].name} (record {later[0].n}) follows on this connection" if later else "")

    return judge


# -- whole runs --------------------------------------------------------------------------------------------------------


def reconnects(run: ClientRun) -> Iterable[Observation]:
    """After a connection that the server broke off, there is another one on which appends go on."""
    broken = [each for each in run.connections if _broken(each)]
    for connection in broken:
        ended_ns = max(item.time_ns for item in connection.items if isinstance(item, Closing))
        writers = {each.fields["writer_id"] for each in connection.sent_by("client") if each.name == "SetupAppend"}
        if not writers:
            continue
        later = [
            message
            for message in run.sent("SetupAppend")
            if message.time_ns >= ended_ns and message.fields["writer_id"] in writers
        ]
        n = connection.messages[-1].n if connection.messages else 0
        yield Observation(n, "" if later else "no writer of the broken connection is set up again")


def _broken(connection: ObservedConnection) -> bool:
    """Return whether the server ended a connection before the client did."""
    first = next((item for item in connection.items if isinstance(item, Closing)), None)
    return first is not None and first.side == "server"


def stores_each_event_once(run: ClientRun) -> Iterable[Observation]:
    """Every event number of a writer that was sent is acknowledged in the end, and none below an ack is sent again."""
    acked: dict[str, int] = {}
    sent: dict[str, tuple[int, int]] = {}
    for message in sorted(
        (each for connection in run.connections for each in connection.messages), key=lambda each: each.time_ns
    ):
        writer = message.fields.get("writer_id", "")
        if message.name == "DataAppended":
            acked[writer] = max(acked.get(writer, number_of(message)), number_of(message))
        elif message.name in APPENDS:
            number = number_of(message)
            if writer in acked and number <= acked[writer]:
                yield Observation(message.n, f"event {number} is sent again, though {acked[writer]} was acknowledged")
            sent[writer] = max(sent.get(writer, (number, message.n)), (number, message.n))
    for writer, (number, n) in sent.items():
        is_done = acked.get(writer, number - 1) >= number
        yield Observation(n, "" if is_done else f"event {number} of writer {writer} was never acknowledged")


def does_not_storm(run: ClientRun) -> Iterable[Observation]:
    """A refused SetupAppend is not repeated without a pause."""
    by_writer: dict[str, list[Observed]] = {}
    for message in run.sent("SetupAppend"):
        by_writer.setdefault(message.fields["writer_id"], []).append(message)
    for messages in by_writer.values():
        if len(messages) < 2:
            continue
        window = SETUPS_PER_S_MAX
        bursts = (
            late
            for early, late in zip(messages, messages[window:], strict=False)
            if late.time_ns - early.time_ns < NS_PER_S
        )
        burst = next(bursts, None)
        problem = f"more than {window} SetupAppend within a second" if burst is not None else ""
        yield Observation((burst or messages[-1]).n, problem)
