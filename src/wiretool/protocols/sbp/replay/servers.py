"""Which of the recorded servers of the Streaming Batch Protocol is what, by what it answered and was asked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.protocols.sbp.messages import RESPONSE, SYSTEM_ERROR
from wiretool.protocols.sbp.session import SEAL_KIND_PLACEMENT_DRIVER, SERVED_BY, Role
from wiretool.protocols.sbp.tables import PD_NOT_LEADER
from wiretool.records import Record

#: Of the batch style; what its servers were called then is told in today's words.
_SERVED_BEFORE: Mapping[str, Role] = {
    "LIST_RANGES": "placement driver",
    "CREATE_STREAMS": "placement driver",
    "DELETE_STREAMS": "placement driver",
    "UPDATE_STREAMS": "placement driver",
    "GET_STREAMS": "placement driver",
    "DESCRIBE_STREAMS": "placement driver",
    "DESCRIBE_PM_CLUSTER": "placement driver",
    "DESCRIBE_RANGES": "range server",
}
_ONLY = {**SERVED_BY, **_SERVED_BEFORE}
#: The usual port of a placement driver; ClientRole of one.
_DRIVER_PORT, _ROLE_DRIVER = "12378", 1
BAD_REQUEST, UNSUPPORTED_OPERATION, UNKNOWN_OPERATION = 1400, 1498, 1499
#: What an answer shows counts for more than what is asked, and that for more than a port.
_SHOWN, _ASKED, _NUMBERED = 10_000, 100, 1


def fields_in(record: Record | None) -> Mapping[str, Any]:
    """The fields of a frame's header; none where it has no table."""
    header = record.fields.get("header") if record is not None and isinstance(record.fields, Mapping) else None
    fields = header.get("fields") if isinstance(header, Mapping) else None
    return fields if isinstance(fields, Mapping) else {}


def flags_of(record: Record) -> int:
    """The flags of a frame."""
    flags = record.fields.get("flags", 0) if isinstance(record.fields, Mapping) else 0
    assert isinstance(flags, int)
    return flags


def stream_id_of(record: Record) -> int:
    """The identifier of a frame."""
    number = record.fields.get("stream_id", 0) if isinstance(record.fields, Mapping) else 0
    assert isinstance(number, int)
    return number


def code_of(record: Record | None) -> int:
    """The code of an answer's status; 0 where it has none."""
    status = fields_in(record).get("status")
    return int(status.get("code", 0)) if isinstance(status, Mapping) else 0


def is_system_error(record: Record) -> bool:
    """Whether an answer says that the request as such is refused."""
    return flags_of(record) & (RESPONSE | SYSTEM_ERROR) == RESPONSE | SYSTEM_ERROR


def role_shown(answer: Record, request: Record | None) -> Role:
    """The server that gives this answer; empty where both do (sbp.md §4.2, §4.3 and §4.5)."""
    status = fields_in(answer).get("status") or {}
    code, has_message = status.get("code", 0), status.get("message") is not None
    if answer.message == "GOAWAY":
        is_driver = not is_system_error(answer) and flags_of(answer) != RESPONSE
        return "placement driver" if is_driver else "range server"
    if is_system_error(answer):
        if code == UNKNOWN_OPERATION or (code == UNSUPPORTED_OPERATION and has_message):
            return "placement driver"
        return "range server" if code in (BAD_REQUEST, UNSUPPORTED_OPERATION) else ""
    if answer.message in _ONLY:
        return _ONLY[answer.message]
    if answer.message == "SEAL_RANGES":
        return _role_sealing(answer)
    if answer.protocol == "sbp" and answer.message in ("HEARTBEAT", "CREATE_RANGE", "SEAL_RANGE") and request:
        return "range server" if status.get("message") == "OK" else "placement driver"
    return ""


def _role_sealing(answer: Record) -> Role:
    """Of the batch style: a data node tells what is sealed now, a manager what is open (sbp.md §4.6)."""
    results = fields_in(answer).get("seal_responses") or ()
    told = [each for result in results for each in (result.get("range"), *(result.get("ranges") or ())) if each]
    if not told:
        return ""
    return "placement driver" if any(each.get("end_offset") == -1 for each in told) else "range server"


def role_asked(request: Record) -> Role:
    """The server that a request is meant for; empty where it may be for both."""
    fields = fields_in(request)
    if request.message == "SEAL_RANGE":
        return "placement driver" if fields.get("kind") == SEAL_KIND_PLACEMENT_DRIVER else "range server"
    if request.message == "HEARTBEAT" and fields.get("client_role") == _ROLE_DRIVER:
        return "range server"
    return _ONLY.get(request.message, "")


@dataclass
class Servers:
    """The recorded servers by their address, in the order in which they were met."""

    #: Those that answer as one, as the other, and as both.
    drivers: list[str] = field(default_factory=list)
    followers: list[str] = field(default_factory=list)
    range_servers: list[str] = field(default_factory=list)
    both: list[str] = field(default_factory=list)
    #: How many nodes a placement driver tells of.
    nodes: int = 0

    def door(self, address: str) -> str:
        """The name of a mock's door that stands for the server at an address."""
        if address in self.range_servers:
            at = self.range_servers.index(address)
            return f"range-server-{at + 1}" if at else ""
        if address in self.followers:
            return f"placement-driver-{self.followers.index(address) + 2}"
        return "placement-driver" if address in self.drivers else ""


def servers_in(recording: Recording, protocol: str) -> Servers:
    """Who is who among the recorded servers of a protocol."""
    servers = Servers()
    votes: dict[str, Counter[Role]] = {}
    refusing: dict[str, set[bool]] = {}
    for dialogue in recording.of(protocol):
        found = votes.setdefault(dialogue.server, Counter())
        found["placement driver" if dialogue.server.endswith(_DRIVER_PORT) else "range server"] += _NUMBERED
        servers.nodes = max([servers.nodes, *(len(_nodes_in(record)) for record in dialogue.records)])
        for role, weight in _votes(dialogue, refusing.setdefault(dialogue.server, set())):
            found[role] += weight
    for address, found in votes.items():
        both = [role for role in found if found[role] >= _SHOWN]
        if len(both) > 1:
            servers.both.append(address)
        elif found.most_common(1)[0][0] == "range server":
            servers.range_servers.append(address)
        elif refusing[address] == {True}:
            servers.followers.append(address)
        else:
            servers.drivers.append(address)
    return servers


def _nodes_in(record: Record) -> Sequence[Any]:
    """The nodes that an answer tells."""
    return (fields_in(record).get("cluster") or {}).get("nodes") or () if record.kind == "frame" else ()


def _votes(dialogue: Dialogue, refusing: set[bool]) -> Iterator[tuple[Role, int]]:
    """What the frames of a connection say of its server; and whether it refuses because it does not lead."""
    asked = {record.n: record for record in dialogue.records if record.kind == "frame" and record.side == "client"}
    for record in dialogue.records:
        if record.kind != "frame" or not isinstance(record.fields, Mapping):
            continue
        if record.side == "client":
            role, weight = role_asked(record), _ASKED
        else:
            role, weight = role_shown(record, asked.get(record.reply_to or 0)), _SHOWN
            if record.message in LED and not is_system_error(record):
                refusing.add(code_of(record) == PD_NOT_LEADER)
        if role:
            yield role, weight


#: What only the leader of a placement driver answers otherwise than with a refusal.
LED = frozenset(
    (
        *("ALLOCATE_ID", "LIST_RANGE", "CREATE_STREAM", "DELETE_STREAM", "UPDATE_STREAM", "DESCRIBE_STREAM"),
        *("CREATE_RANGE", "SEAL_RANGE"),
    )
)
