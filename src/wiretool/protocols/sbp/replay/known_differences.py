"""Why a server of the Streaming Batch Protocol may answer otherwise than it was recorded to: each with its clause."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.flatbuffers.compiled import decode_root
from wiretool.errors import DecodeError
from wiretool.faults.places import Pattern
from wiretool.protocols.sbp.messages import FLATBUFFERS, RESPONSE, RESPONSE_END
from wiretool.protocols.sbp.replay.answers import is_well_formed, may_answer
from wiretool.protocols.sbp.replay.live import LiveRanges
from wiretool.protocols.sbp.replay.recorded_facts import (
    OK,
    PD_NO_AVAILABLE_RS,
    SECOND,
    Grounds,
    entries_of,
    range_of,
    ranges_in,
)
from wiretool.protocols.sbp.replay.servers import code_of, fields_in, flags_of, is_system_error
from wiretool.protocols.sbp.tables import PlacementDriverCluster
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Excuse, Verdict
from wiretool.replay.judging.explanation import Explanation, explain, shown

BAD_REQUEST, INTERNAL = 1400, 1500

DIED = "the recorded server's process ended there (sbp.md §1.7 and §4.3); this one goes on"
STOPPED = "the recorded server received the order to stop there (sbp.md §4.2)"
RESTARTED = "the recorded server restarted and lost its data (sbp.md §4.5, APPEND 3)"
TIMED_OUT = "timeout_ms passed on the recorded server, which then answers nothing and never ends (sbp.md §4.3)"
TIMED_OUT_LATE = "timeout_ms passed inside the recorded server, which reported it (sbp.md §4.3)"
HASTY = "the mock judges a length as soon as it arrives, the recorded placement driver waits for 16 bytes (sbp.md §1.2)"
HALF_CLOSED = "the recorded placement driver drops open requests when its client ends (sbp.md §4.2)"
RESPONDED = "the recorded range server answers frames marked as responses, the mock does not (sbp.md §5, 19)"
FOREIGN = "an undefined header format is refused (sbp.md §5, 11), the recorded server ignores it or fails"
MALFORMED = (
    "after bytes that are not a frame the mock sends GOAWAY and closes (sbp.md §5, 4), the recorded server stalls"
)
TOO_LARGE = "the recorded range server sends nothing after a reply above 16 MiB (sbp.md §4.3)"
RACED = "an append was in flight in the recorded server, and is durable at once here (sbp.md §4.5, APPEND 3)"
RESIZED = "batches of a stream with another number have other sizes, and a FETCH is cut by bytes (sbp.md §4.5, FETCH)"
DEALT = "the placement driver assigns ranges in turn, from its current position (sbp.md §4.5, REPORT_METRICS)"
FILLED = "data nodes reported records whose appends were not recorded; the mock has the prepared ones (sbp.md §4.6)"
OFFLOADED = "the recorded server had offloaded batches to objects; no client request creates them (sbp.md §3.3)"
SILENT = "the recorded placement driver declared silent range servers dead (sbp.md §4.2)"
NAMED = "the nodes of a placement driver have their own names and addresses"


UNAPPENDED = "a FETCH returns the batches appended and acknowledged in this run (sbp.md §4.5, FETCH)"
CUT_OFF = "the reply is in a gap of the recording, or after its end"
UNHEARD = "the request is in a gap of the recording, or before its start"
BLIND = "earlier bytes are in a gap of the recording, so the state of the server is unknown"


def unknown(why: str) -> Excuse:
    """Nothing can be said of it."""
    return Excuse(Verdict.UNKNOWN, why)


def explained(why: str) -> Excuse:
    """A difference with a reason that is known."""
    return Excuse(Verdict.EXPLAINED, why)


# -- an answer that is another -----------------------------------------------------------------------------------------


class Scene(NamedTuple):
    """A difference between two answers, and what is known around it."""

    grounds: Grounds
    ranges: LiveRanges
    difference: Difference
    recorded: Record
    live: Record
    request: Record


def excuse(
    grounds: Grounds,
    ranges: LiveRanges,
    difference: Difference,
    recorded: Record,
    live: Record,
    request: Record | None,
) -> Excuse | None:
    """Return why a difference in an answer is no finding."""
    if request is None:
        is_count = recorded.message == "GOAWAY" and difference.steps == ("stream_id",)
        dialogue = grounds.dialogue_of.get(recorded.n)
        is_torn = dialogue is not None and (not dialogue.is_opened or dialogue in grounds.lost)
        return unknown(UNHEARD) if is_count and is_torn else None
    scene = Scene(grounds, ranges, difference, recorded, live, request)
    return explain(EXPLANATIONS, difference.steps, scene)


def _raced(scene: Scene) -> Excuse | None:
    """A FETCH finds what was not durable yet, an append that was pending is committed: as this run allows."""
    is_racing = scene.request.n in scene.grounds.racing and scene.recorded.message in ("FETCH", "APPEND")
    return explained(RACED) if is_racing and scene.ranges.is_lawful(scene.live) else None


def _shapes(entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What of batches no other server makes up."""
    return [
        ({name: value for name, value in entry["meta"].items() if name != "stream_id"}, entry["payload"])
        for entry in entries
    ]


def _resized(scene: Scene) -> Excuse | None:
    """A FETCH that is cut by bytes has fewer or more of the same batches, since these are not as long as they were."""
    if scene.recorded.message != "FETCH" or fields_in(scene.request).get("max_wait_ms", 0) <= 0:
        return None
    before, now = entries_of(scene.recorded), entries_of(scene.live)
    shorter = min(len(before), len(now))
    is_cut = shorter > 0 and _shapes(before[:shorter]) == _shapes(now[:shorter])
    lengths = [[entry["length"] for entry in each[:shorter]] for each in (before, now)]
    is_other = is_cut and lengths[0] != lengths[1]
    return explained(RESIZED) if is_other and scene.ranges.is_lawful(scene.live) else None


def _restarted(scene: Scene) -> Excuse | None:
    """A range that the server had before it was stopped is another one afterwards; here it is what this run made it."""
    request, grounds = scene.request, scene.grounds
    if request.message not in ("APPEND", "FETCH", "SEAL_RANGE") or not grounds.is_restarted(request):
        return None
    known = ranges_in(request)
    is_its = bool(known) and known <= grounds.ranges_before[request.server]
    if not is_its or not scene.ranges.is_lawful(scene.live):
        return None
    return explained(shown(RESTARTED, grounds.stopped_by.get(request.server)))


def _foreign(scene: Scene) -> Excuse | None:
    """A header format that nobody defined is refused as a whole, and with nothing else."""
    live, fields = scene.live, fields_in(scene.live)
    is_refusal = is_system_error(live) and code_of(live) == BAD_REQUEST and fields.keys() == {"status"}
    is_plain = is_refusal and not (isinstance(live.fields, Mapping) and live.fields.get("payload"))
    was_refused = code_of(scene.recorded) == BAD_REQUEST
    return explained(FOREIGN) if is_foreign(scene.request) and is_plain and not was_refused else None


def is_foreign(request: Record) -> bool:
    """Return whether the header of a request is in a format that nobody defined."""
    return isinstance(request.fields, Mapping) and request.fields["header_format"] != FLATBUFFERS


def _dealt(scene: Scene) -> Excuse | None:
    """Other servers, but as many, each once, and such as have reported; a range stays where this run has put it."""
    grounds, live = scene.grounds, _ranges_in(scene.live)
    numbers = [[len(each.get("servers") or ()) for each in ranges] for ranges in (_ranges_in(scene.recorded), live)]
    known = all(_is_dealt(grounds, each) for each in live)
    grounds.is_dealt = grounds.is_dealt or (numbers[0] == numbers[1] and known)
    return explained(DEALT) if numbers[0] == numbers[1] and known else None


def _is_dealt(grounds: Grounds, told: Mapping[str, Any]) -> bool:
    """Return whether a range is on servers that have reported: those that it was put on, where that was heard."""
    servers = told.get("servers") or ()
    numbers = tuple(server.get("server_id") for server in servers)
    put = grounds.put_on.setdefault(range_of(told), frozenset(numbers))
    is_one_each = len(set(numbers)) == len(numbers) > 0
    return is_one_each and put == set(numbers) and all(grounds.has_told(server) for server in servers)


def _listed(scene: Scene) -> Excuse | None:
    """The ranges of one range server are those that this run has put on it."""
    wanted = (fields_in(scene.request).get("criteria") or {}).get("server_id", -1)
    before, now = _ranges_in(scene.recorded), _ranges_in(scene.live)
    if scene.request.message != "LIST_RANGE" or wanted < 0 or not scene.grounds.is_dealt or len(before) == len(now):
        return None
    return explained(DEALT) if all(_is_dealt(scene.grounds, each) for each in now) else None


def _dealt_nodes(scene: Scene) -> Excuse | None:
    """The batch style: other data nodes, or in another order, but such as have reported."""
    grounds, nodes = scene.grounds, list(_nodes_in(fields_in(scene.live)))
    if scene.difference.steps[-1] not in ("node_id", "advertise_addr"):
        return None
    has_told = bool(nodes) and all(grounds.has_told({"server_id": each.get("node_id"), **each}) for each in nodes)
    grounds.is_dealt = grounds.is_dealt or has_told
    return explained(DEALT) if has_told else None


def _listed_nodes(scene: Scene) -> Excuse | None:
    """The batch style: the ranges of one data node."""
    results = fields_in(scene.recorded).get("list_responses") or ()
    at = scene.difference.steps[3]
    result = results[at] if isinstance(at, int) and at < len(results) else {}
    is_of_node = (result.get("range_criteria") or {}).get("data_node") is not None
    is_length = scene.difference.steps[-1] == "ranges"
    return explained(DEALT) if is_of_node and is_length and scene.grounds.is_dealt else None


def _nodes_in(form: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(form, Mapping):
        for name, value in form.items():
            if name == "data_node" and isinstance(value, Mapping):
                yield value
            else:
                yield from _nodes_in(value)
    elif isinstance(form, list):
        for each in form:
            yield from _nodes_in(each)


def _filled(scene: Scene) -> Excuse | None:
    """Where a range ends that data nodes had something of already."""
    difference = scene.difference
    is_offset = difference.steps[-1] in ("start_offset", "end_offset", "next_offset")
    if not is_offset or difference.live != 0:
        return None
    return explained(FILLED) if difference.expected in scene.grounds.ends_told else None


def _offloaded(scene: Scene) -> Excuse | None:
    """Objects are made by a server for itself: a client can ask for none, and this server has made none."""
    difference = scene.difference
    is_list = isinstance(difference.expected, list) and bool(difference.expected)
    is_none = scene.recorded.message == "FETCH" and fields_in(scene.live).get("object_metadata_list") == []
    return unknown(OFFLOADED) if is_list and is_none and code_of(scene.live) == OK else None


def _ranges_in(record: Record) -> list[Mapping[str, Any]]:
    fields = fields_in(record)
    return [each for each in (fields.get("range"), *(fields.get("ranges") or ())) if each]


def _silent(scene: Scene) -> Excuse | None:
    """Range servers that were silent for a while are alive here: the range is made as it was asked for, on them."""
    request, grounds = scene.request, scene.grounds
    if request.message != "CREATE_RANGE" or (code_of(scene.recorded), code_of(scene.live)) != (PD_NO_AVAILABLE_RS, OK):
        return None
    heard = grounds.last_heard_before(request)
    if heard is None or request.time_ns - heard.time_ns <= SECOND:
        return None
    made, asked = fields_in(scene.live).get("range") or {}, fields_in(request).get("range") or {}
    is_asked = all(made.get(name) == asked.get(name) for name in ("index", "epoch", "start"))
    is_made = is_asked and made.get("end") == -1 and _is_dealt(grounds, made)
    return explained(shown(SILENT, heard)) if is_made else None


def _timed_out(scene: Scene) -> Excuse | None:
    message = (fields_in(scene.recorded).get("status") or {}).get("message") or ""
    is_late = code_of(scene.recorded) == INTERNAL and "timed out" in message and timeout_of(scene.request) > 0
    return explained(TIMED_OUT_LATE) if is_late and code_of(scene.live) == OK else None


def _named(scene: Scene) -> Excuse | None:
    """The nodes that are named, in any order: as many, and as many of them lead."""
    if scene.difference.steps[-1] == "is_leader":
        nodes = [(fields_in(each).get("cluster") or {}).get("nodes") or () for each in (scene.recorded, scene.live)]
        leads = [sorted(node["is_leader"] for node in each) for each in nodes]
        return Excuse(Verdict.EXPLAINED, NAMED) if leads[0] == leads[1] else None
    told = [_leads_in(each) for each in (scene.difference.expected, scene.difference.live)]
    return Excuse(Verdict.EXPLAINED, NAMED) if told[0] is not None and told[0] == told[1] else None


def _leads_in(detail: Any) -> list[bool] | None:
    try:
        cluster: PlacementDriverCluster = decode_root(PlacementDriverCluster, bytes.fromhex(detail))
    except (DecodeError, ValueError, TypeError):
        return None
    return sorted(node.is_leader for node in cluster.nodes or ())


def _blind(scene: Scene) -> Excuse | None:
    """What a server came upon is not known: that concerns what it tells of its state, not what it only says again."""
    is_echo = scene.request.message in _ECHOES
    return unknown(BLIND) if scene.grounds.is_blind(scene.request) and not is_echo else None


#: What is answered with what was asked, whatever the server has.
_ECHOES = ("PING", "HEARTBEAT", "GOAWAY")
_FIELDS = ("header", "fields")
_SERVERS: Sequence[Pattern] = [
    (*_FIELDS, *place, "servers", None, name)
    for place in (("range",), ("ranges", None))
    for name in ("server_id", "advertise_addr")
]
#: What a FETCH says of what it finds, and an APPEND of what becomes of its batches.
_FOUND: Sequence[Pattern] = [
    *((*_FIELDS, name) for name in ("status", "throttle_time_ms", "object_metadata_list")),
    ("payload",),
]
_KEPT: Sequence[Pattern] = [(*_FIELDS, "entries", None, "status"), (*_FIELDS, "entries", None, "timestamp_ms")]
_RESULTS: Sequence[Pattern] = [
    (*_FIELDS, name)
    for name in ("list_responses", "seal_responses", "create_responses", "describe_responses", "delete_responses")
]
EXPLANATIONS: Sequence[Explanation[Scene]] = (
    Explanation([*_FOUND, *_KEPT], _raced),
    Explanation([("payload", "entries")], _resized),
    Explanation([*_FOUND, *_KEPT, (*_FIELDS, "range", "end")], _restarted),
    Explanation([("flags",), ("header",), ("payload",)], _foreign),
    Explanation([(*_FIELDS, "object_metadata_list")], _offloaded),
    Explanation(_SERVERS, _dealt),
    Explanation([(*_FIELDS, "ranges")], _listed),
    Explanation(_RESULTS, _dealt_nodes),
    Explanation([(*_FIELDS, "list_responses", None, "ranges")], _listed_nodes),
    Explanation(_RESULTS, _filled),
    Explanation([(*_FIELDS, "status"), (*_FIELDS, "range")], _silent),
    Explanation([(*_FIELDS, "status"), (*_FIELDS, "stream"), (*_FIELDS, "range")], _timed_out),
    Explanation([(*_FIELDS, "cluster", "nodes", None, "is_leader"), (*_FIELDS, "status", "detail", "hex")], _named),
    Explanation([("flags",), ("header",), ("payload",)], _blind),
)


# -- an answer that does not come, or comes too much -------------------------------------------------------------------


def excuse_missing(grounds: Grounds, recorded: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
    """Why a recorded answer need not come."""
    if request is None and flags_of(recorded) & RESPONSE_END:
        return unknown(UNHEARD)
    if recorded.message == "GOAWAY" and request is None and grounds.is_stopping(recorded):
        return explained(STOPPED)
    if request is not None and flags_of(request) & RESPONSE and grounds.is_range_server(dialogue):
        return explained(RESPONDED)
    if request is not None and is_foreign(request):
        return explained(FOREIGN)
    return None


def excuse_extra(grounds: Grounds, live: Record, request: Record | None, dialogue: Dialogue) -> Excuse | None:
    """Why an answer may come that was not recorded; it must be one that servers give to that request."""
    if not (is_well_formed(live) if request is None else may_answer(request, live)):
        return None
    if request is not None:
        why = _why_silent(grounds, request, dialogue)
    else:
        why = _why_unasked(grounds, dialogue) if live.message == "GOAWAY" else ""
    if not why and (dialogue in grounds.lost if request is None else grounds.is_cut_off(request, dialogue)):
        return unknown(BLIND if request is None else CUT_OFF)
    return explained(why) if why else None


def _why_unasked(grounds: Grounds, dialogue: Dialogue) -> str:
    """Why a server that was not recorded to goes away."""
    if dialogue.server in grounds.died:
        return DIED
    if dialogue.server in grounds.stopped:
        return STOPPED
    if dialogue in grounds.malformed and grounds.is_range_server(dialogue):
        return MALFORMED
    if dialogue in grounds.malformed and grounds.is_hasty(dialogue):
        return HASTY
    return _why_restless(grounds, dialogue)


def _why_restless(grounds: Grounds, dialogue: Dialogue) -> str:
    """Why the recorded server held something for open, so that it neither took the client for silent nor left."""
    for record in dialogue.records:
        if record.n in grounds.unanswered and record.kind == "frame":
            if is_timed_out(grounds, record):
                return TIMED_OUT
            if is_foreign(record):
                return FOREIGN
    return ""


def _why_silent(grounds: Grounds, request: Record, dialogue: Dialogue) -> str:
    """Why the recorded server answered nothing to a request."""
    if grounds.is_gone(request):
        return DIED
    if grounds.is_restarted(request):
        return STOPPED
    if is_foreign(request):
        return FOREIGN
    if grounds.is_range_server(dialogue):
        first = grounds.mute_from.get(dialogue)
        is_mute = first is not None and request.n >= first and dialogue not in grounds.malformed
        return TOO_LARGE if is_mute and _is_fetch(dialogue, first) else ""
    if dialogue in grounds.left and grounds.left[dialogue] - request.time_ns < SECOND:
        return HALF_CLOSED
    return TIMED_OUT if is_timed_out(grounds, request) else ""


def _is_fetch(dialogue: Dialogue, number: int | None) -> bool:
    return any(record.n == number and record.message == "FETCH" for record in dialogue.records)


def timeout_of(request: Record) -> int:
    """The time that a client gives its request, in ms; 0 for any."""
    return int(fields_in(request).get("timeout_ms") or 0)


def is_timed_out(grounds: Grounds, request: Record) -> bool:
    """Whether a request was not answered because its time was over."""
    timeout_ms = timeout_of(request)
    waited_ns = grounds.last_ns - request.time_ns
    return request.n in grounds.unanswered and 0 < timeout_ms * 1_000_000 < waited_ns


# -- how it ends -------------------------------------------------------------------------------------------------------


def excuse_end(grounds: Grounds, dialogue: Dialogue, *, was_ended: bool) -> Excuse | None:
    """Why a server may end a connection that it did not, or the other way round."""
    if was_ended:
        if dialogue.server in grounds.died:
            return explained(DIED)
        if dialogue.server in grounds.stopped:
            return explained(STOPPED)
        return unknown(BLIND) if dialogue in grounds.lost else None
    why = _why_unasked(grounds, dialogue)
    if not why and dialogue in grounds.lost:
        return unknown(BLIND)
    return explained(why) if why else None
