"""Requirements on clients of the segment store."""

from collections.abc import Iterable

from wiretool.conformance.client_case import PLAIN, ClientCase, ClientRun, on_each_connection
from wiretool.conformance.levels import MUST
from wiretool.conformance.observed import ObservedConnection
from wiretool.conformance.rules import Observation, decodable

_APPENDS = ("AppendBlockEnd", "ConditionalAppend", "ConditionalBlockEnd")


def _greets_first(connection: ObservedConnection) -> Iterable[Observation]:
    sent = connection.sent_by("client")
    if connection.is_whole and sent:
        problem = "" if sent[0].name == "Hello" else f"the first message is {sent[0].name}; expected Hello"
        yield Observation(sent[0].n, problem)


def _numbers_grow(connection: ObservedConnection) -> Iterable[Observation]:
    last: dict[str, int] = {}
    for message in connection.sent_by("client"):
        if message.name == "SetupAppend":
            last.pop(message.fields["writer_id"], None)
        if message.name not in _APPENDS:
            continue
        writer = message.fields["writer_id"]
        number = message.fields.get("last_event_number", message.fields.get("event_number"))
        before = last.get(writer)
        is_fine = before is None or number >= before
        yield Observation(message.n, "" if is_fine else f"event {number} of writer {writer} after event {before}")
        last[writer] = number


def _sets_up_first(run: ClientRun) -> Iterable[Observation]:
    for connection in run.connections:
        ready: set[str] = set()
        for message in connection.messages:
            if message.name == "AppendSetup":
                ready.add(message.fields["writer_id"])
            elif message.name in _APPENDS:
                writer = message.fields["writer_id"]
                problem = "" if writer in ready else f"{message.name} before AppendSetup of writer {writer}"
                yield Observation(message.n, problem)


CLIENT_CASES: tuple[ClientCase, ...] = (
    ClientCase(
        "pravega/client/hello/1",
        MUST,
        "The first message of a client on each connection is Hello.",
        "protocols/pravega.md §3.1",
        PLAIN,
        on_each_connection(_greets_first),
    ),
    ClientCase(
        "pravega/client/frames/1",
        MUST,
        "Every frame of a client can be decoded and comes at a time when it may.",
        "protocols/pravega.md §1",
        PLAIN,
        on_each_connection(decodable("client")),
    ),
    ClientCase(
        "pravega/client/append/1",
        MUST,
        "A client appends only after AppendSetup of the writer.",
        "protocols/pravega.md §4.2",
        PLAIN,
        _sets_up_first,
    ),
    ClientCase(
        "pravega/client/append/2",
        MUST,
        "The event numbers of a writer never go back on one connection.",
        "protocols/pravega.md §4.2",
        PLAIN,
        on_each_connection(_numbers_grow),
    ),
)
