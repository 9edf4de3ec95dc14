"""Judges of the messages that a server of Offramp sends: one function for each requirement."""

from collections import Counter
from collections.abc import Iterable

from wiretool.conformance.recorded.observed import Missing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation, is_overdue
from wiretool.protocols.offramp import http
from wiretool.protocols.offramp.conformance import frame_judges as frames
from wiretool.protocols.offramp.conformance.steps import COUNT_MAX, accept_of
from wiretool.protocols.offramp.connection import echoed

EVENTS = ("CONNECTION", "MESSAGE", "COMMIT_RESPONSE", "REBALANCE", "ERROR")
#: Codes with which a server may close by itself while the client's Close is on its way, and that for a broken rule.
_OWN_CODES = (1001, 1002, 1009, 1011)

writes_type_first = frames.writes_type_first("server", EVENTS)
answers_pings = frames.answers_pings("server")


# -- the handshake -----------------------------------------------------------------------------------------------------


def _upgrades(connection: ObservedConnection) -> Iterable[tuple[Observed, Observed]]:
    for asked, answered in connection.exchanges():
        if answered.name == "HandshakeResponse" and answered.fields["status"] == 101:
            yield asked, answered


def accepts_the_key(connection: ObservedConnection) -> Iterable[Observation]:
    """Sec-WebSocket-Accept is what RFC 6455 §4.2.2 makes of the key."""
    for asked, answered in _upgrades(connection):
        keys = http.header_values(asked.fields["headers"], "Sec-WebSocket-Key")
        accepts = http.header_values(answered.fields["headers"], "Sec-WebSocket-Accept")
        wanted = [accept_of(key.strip()) for key in keys[:1]]
        yield Observation(answered.n, "" if accepts == wanted else f"Sec-WebSocket-Accept is {accepts}, not {wanted}")


def upgrades_to_websocket(connection: ObservedConnection) -> Iterable[Observation]:
    """An upgrade has the headers that say so."""
    for _, answered in _upgrades(connection):
        headers = answered.fields["headers"]
        upgrades = [each.lower() for each in http.tokens(http.header_values(headers, "Upgrade"))]
        connections = [each.lower() for each in http.tokens(http.header_values(headers, "Connection"))]
        is_fine = upgrades == ["websocket"] and "upgrade" in connections
        yield Observation(answered.n, "" if is_fine else f"Upgrade is {upgrades}, Connection {connections}")


def agrees_to_what_is_offered(connection: ObservedConnection) -> Iterable[Observation]:
    """The extensions and the subprotocol of the response are among those that the client offers."""
    for asked, answered in _upgrades(connection):
        offered = _names(asked, "Sec-WebSocket-Extensions") | _names(asked, "Sec-WebSocket-Protocol")
        agreed = _names(answered, "Sec-WebSocket-Extensions") | _names(answered, "Sec-WebSocket-Protocol")
        if offered or agreed:
            extra = sorted(agreed - offered)
            yield Observation(answered.n, f"{', '.join(extra)} was not offered" if extra else "")


def _names(message: Observed, header: str) -> set[str]:
    values = http.tokens(http.header_values(message.fields["headers"], header))
    return {value.partition(";")[0].strip() for value in values}


# -- events ------------------------------------------------------------------------------------------------------------


def greets_first(connection: ObservedConnection) -> Iterable[Observation]:
    """CONNECTION is the first event, and comes once."""
    if not connection.is_whole or connection.has_gap:
        return
    events = [message for message in connection.sent_by("server") if message.name in EVENTS]
    for at, message in enumerate(events):
        if at == 0:
            problem = "" if message.name == "CONNECTION" else f"the first event is {message.name}; expected CONNECTION"
            yield Observation(message.n, problem)
        elif message.name == "CONNECTION":
            yield Observation(message.n, "CONNECTION comes again")


def keeps_to_demand(connection: ObservedConnection) -> Iterable[Observation]:
    """Not more messages come than were requested and not cancelled.

    What was sent before a CANCEL was read may come after it: demand ends with the next reply to a COMMIT after it.
    """
    if not connection.is_whole or connection.has_gap:
        return
    demand = 0
    #: The demand that is left when the CANCEL is read, and the commits that were sent after it.
    after_cancel: int | None = None
    barriers: set[int] = set()
    for message in connection.messages:
        if message.name == "REQUEST" and not message.problems:
            count = max(0, int(message.fields["count"]))
            demand = min(COUNT_MAX, demand + count)
            after_cancel = after_cancel if after_cancel is None else min(COUNT_MAX, after_cancel + count)
        elif message.name in ("REQUEST", "(undecodable)", "Unknown") and message.side == "client":
            return  # how much is asked for is not known
        elif message.name == "CANCEL":
            after_cancel, barriers = 0, set()
        elif message.name == "COMMIT" and after_cancel is not None:
            barriers.add(message.n)
        elif message.name == "COMMIT_RESPONSE" and message.reply_to in barriers and after_cancel is not None:
            demand, after_cancel, barriers = after_cancel, None, set()
        elif message.name == "MESSAGE" and message.side == "server":
            demand -= 1
            yield Observation(message.n, "" if demand >= 0 else "a message that was not requested")


def offsets_rise(connection: ObservedConnection) -> Iterable[Observation]:
    """The offsets of each partition rise; a rebalance may go back to the last commit."""
    last: dict[int, int] = {}
    for message in connection.sent_by("server"):
        if message.name == "REBALANCE":
            last = {}
        elif message.name == "MESSAGE":
            partition, offset = message.fields["partition"], message.fields["offset"]
            before = last.get(partition)
            if before is not None:
                problem = f"offset {offset} of partition {partition} after {before}"
                yield Observation(message.n, "" if offset > before else problem)
            last[partition] = offset


def sends_assigned_partitions(connection: ObservedConnection) -> Iterable[Observation]:
    """A message is of a partition in the last assignment."""
    assigned: set[int] | None = set() if connection.is_whole else None
    for item in connection.items:
        if isinstance(item, Missing) and item.side == "server":
            assigned = None
        if not isinstance(item, Observed):
            continue
        if item.name == "REBALANCE" and not item.problems:
            assigned = set(item.fields["assignment"])
        elif item.name == "MESSAGE" and item.side == "server" and not item.problems and assigned is not None:
            partition = item.fields["partition"]
            problem = f"partition {partition} is not among {sorted(assigned)}"
            yield Observation(item.n, "" if partition in assigned else problem)


# -- commits -----------------------------------------------------------------------------------------------------------


def answers_commits(connection: ObservedConnection) -> Iterable[Observation]:
    """A COMMIT_RESPONSE has the id of a COMMIT that waits for it."""
    if not connection.is_whole or connection.has_gap:
        return
    waiting: Counter[bytes | None] = Counter()
    for message in connection.messages:
        if message.name == "COMMIT":
            waiting[echoed(message.fields.get("correlationId"))] += 1
        elif message.name == "COMMIT_RESPONSE" and message.side == "server":
            id = message.fields.get("correlationId")
            waiting[echoed(id)] -= 1
            yield Observation(message.n, "" if waiting[echoed(id)] >= 0 else f"no open COMMIT has the id {id!r}")


def answers_every_commit(connection: ObservedConnection) -> Iterable[Observation]:
    """A COMMIT is answered, where one that was sent later is, or the connection stays open for long enough."""
    if not connection.is_whole or connection.has_gap:
        return
    commits = {message.n: message for message in connection.sent_by("client") if message.name == "COMMIT"}
    replies = {message.reply_to for message in connection.sent_by("server") if message.name == "COMMIT_RESPONSE"}
    answered = [n for n in commits if n in replies]
    last = max(answered, default=0)
    for n, message in commits.items():
        if n in replies:
            yield Observation(n)
        elif n < last:
            yield Observation(n, f"no COMMIT_RESPONSE came, though that to record {last} did")
        elif is_overdue(connection, message.time_ns, within_s=frames.REPLY_S_MAX):
            yield Observation(n, f"no COMMIT_RESPONSE came within {frames.REPLY_S_MAX:g} s")


# -- the end, and frames -----------------------------------------------------------------------------------------------


def echoes_close(connection: ObservedConnection) -> Iterable[Observation]:
    """The answer to a Close has its code; one that crosses it may have a code of the server's own."""
    first = frames.first_close(connection)
    if first is None or first.side != "client" or first.problems:
        return
    reply = next((each for each in connection.sent_by("server") if each.name == "Close"), None)
    if reply is not None:
        code, said = first.fields["code"], reply.fields.get("code")
        is_fine = said in _OWN_CODES or said == code or (code is None and said == 1000)
        yield Observation(reply.n, "" if is_fine else f"Close with {said} answers one with {code}")


def sends_binary(connection: ObservedConnection) -> Iterable[Observation]:
    """Events are messages of bytes."""
    for message in connection.sent_by("server"):
        header = frames.header_of(message) if message.name in EVENTS else None
        if header is not None and header.opcode:
            yield Observation(message.n, "" if header.opcode == 2 else f"{message.name} has opcode {header.opcode}")
