"""Judges of a whole run of an Offramp client, over all its connections."""

from collections.abc import Iterable

from wiretool.conformance.clients.case import ClientRun
from wiretool.conformance.recorded.observed import Closing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import NS_PER_S, Observation
from wiretool.protocols.offramp.conformance import frame_judges as frames

#: The most handshakes in a second that still are no storm.
HANDSHAKES_PER_S_MAX = 6


def comes_back(run: ClientRun) -> Iterable[Observation]:
    """After a connection that the server ended, there is another handshake."""
    for connection in run.connections:
        if not connection.messages or not _is_ended_by_server(connection):
            continue
        last = connection.messages[-1]
        later = [message for message in run.sent("HandshakeRequest") if message.time_ns >= last.time_ns]
        yield Observation(last.n, "" if later else "the client does not come back")


def _is_ended_by_server(connection: ObservedConnection) -> bool:
    """Return whether the server sent Close first or, without any Close, ended TCP first."""
    close = frames.first_close(connection)
    if close is not None:
        return close.side == "server"
    first = next((item for item in connection.items if isinstance(item, Closing)), None)
    return first is not None and first.side == "server"


def does_not_storm(run: ClientRun) -> Iterable[Observation]:
    """A handshake is not repeated without a pause; one handshake shows no pause."""
    sent = run.sent("HandshakeRequest")
    count = HANDSHAKES_PER_S_MAX
    bursts = (late for early, late in zip(sent, sent[count:], strict=False) if late.time_ns - early.time_ns < NS_PER_S)
    burst = next(bursts, None)
    if len(sent) > 1:
        yield Observation((burst or sent[-1]).n, f"more than {count} handshakes within a second" if burst else "")


def closes_before_it_ends(run: ClientRun) -> Iterable[Observation]:
    """A connection that the client ends has its Close."""
    for connection in run.connections:
        first = next((item for item in connection.items if isinstance(item, Closing)), None)
        close = next((message for message in connection.sent_by("client") if message.name == "Close"), None)
        if _opened(connection) and close is not None:
            yield Observation(close.n)
        elif _opened(connection) and first is not None and first.side == "client":
            yield Observation(connection.messages[-1].n, "the client ends the connection and sends no Close")


def _opened(connection: ObservedConnection) -> bool:
    return any(message.name == "CONNECTION" for message in connection.sent_by("server"))


def commits_forward(run: ClientRun) -> Iterable[Observation]:
    """The positions that are saved for a partition never go back."""
    saved: dict[str, int] = {}
    for message in run.sent("COMMIT"):
        wrong = [f"{offset} after {saved[key]}" for key, offset in _offsets(message) if offset < saved.get(key, offset)]
        yield Observation(message.n, f"the position goes back: {wrong[0]}" if wrong else "")
        saved |= dict(_offsets(message))


def _offsets(message: Observed) -> Iterable[tuple[str, int]]:
    return message.fields["offsets"].items() if not message.problems else ()


def reads_on(name: str) -> "ReadsOn":
    """Return a judge that the client asks for more messages after the first message of a name."""
    return ReadsOn(name)


class ReadsOn:
    """A judge that the client goes on after a message of the server."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, run: ClientRun) -> Iterable[Observation]:
        for connection in run.connections:
            first = next((each for each in connection.sent_by("server") if each.name == self._name), None)
            if first is not None:
                later = [each for each in connection.sent_by("client") if each.n > first.n]
                goes_on = any(each.name in ("REQUEST", "COMMIT") for each in later)
                yield Observation(first.n, "" if goes_on else "the client asks for nothing more on this connection")


def only_answers_close(connection: ObservedConnection) -> Iterable[Observation]:
    """After the Close of the server, the client sends its own and nothing else."""
    first = frames.first_close(connection)
    if first is None or first.side != "server":
        return
    later = [each for each in connection.sent_by("client") if each.n > first.n and each.name not in ("Close", "Pong")]
    yield Observation(first.n, f"{later[0].name} (record {later[0].n}) follows" if later else "")
