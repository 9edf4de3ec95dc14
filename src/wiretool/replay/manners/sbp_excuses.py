"""Why a server of the Streaming Batch Protocol may answer otherwise than it was recorded to: each with its clause."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from wiretool.codec.flatbuffers_compiled import decode_root
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.messages import FLATBUFFERS, RESPONSE, RESPONSE_END
from wiretool.protocols.sbp.tables import PlacementDriverCluster
from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Excuse, Verdict
from wiretool.replay.manners.sbp_grounds import (
    OK,
    PD_NO_AVAILABLE_RS,
    SECOND,
    Grounds,
    entries_of,
    ranges_in,
)
from wiretool.replay.manners.sbp_servers import code_of, fields_in, flags_of
from wiretool.sessions.dialogues import Dialogue

PENDING, COMMITTED, NO_NEW_RECORD, BAD_REQUEST, INTERNAL = 1465, 1464, 1204, 1400, 1500
#: What a range server says of a range by what it has of it (sbp.md §4.5).
RANGE_CODES = frozenset((OK, NO_NEW_RECORD, 1460, 1462, COMMITTED, PENDING, 1466))

DIED = "the recorded server's process ended there (sbp.md §1.7 and §4.3); this one goes on"
STOPPED = "the recorded server was told to stop there (sbp.md §4.2)"
RESTARTED = "the recorded server was started again, and had not what it held before (sbp.md §4.5, APPEND 3)"
TIMED_OUT = "timeout_ms passed on the recorded server, which then answers nothing and never ends (sbp.md §4.3)"
TIMED_OUT_LATE = "timeout_ms passed inside the recorded server, which said so (sbp.md §4.3)"
HASTY = "ours judges a length as soon as it is there, the recorded placement driver waits for 16 bytes (sbp.md §1.2)"
HALF_CLOSED = "the recorded placement driver drops what is open when its client ends (sbp.md §4.2)"
RESPONDED = "the recorded range server answers what says it is a response; ours never does (sbp.md §5, 19)"
FOREIGN = "a header format that nobody defined is refused (sbp.md §5, 11), the recorded server looks past it or is lost"
MALFORMED = "behind bytes that are no frame ours says GOAWAY and ends (sbp.md §5, 4), the recorded one falls silent"
TOO_LARGE = "the recorded range server never says anything again behind an answer beyond 16 MiB (sbp.md §4.3)"
RACED = "an append was on its way in the recorded server, and is durable at once here (sbp.md §4.5, APPEND 3)"
RESIZED = "batches of a stream with another number take other room, and a FETCH is cut by bytes (sbp.md §4.5, FETCH)"
DEALT = "the placement driver deals ranges out in turn, from where it had come to (sbp.md §4.5, REPORT_METRICS)"
FILLED = "data nodes told of records that nobody was recorded to append; ours has what it was given (sbp.md §4.6)"
SILENT = "the recorded placement driver took range servers for dead that had been silent for a while (sbp.md §4.2)"
NAMED = "the nodes of a placement driver have their own names and addresses"


CUT_OFF = "what was answered is in a hole of the recording, or behind its end"
UNHEARD = "what was asked is in a hole of the recording, or in front of its beginning"
BLIND = "what was said before it is in a hole of the recording, so what it came upon is not known"


def unknown(why: str) -> Excuse:
    """Nothing can be said of it."""
    return Excuse(Verdict.UNKNOWN, why)


def explained(why: str) -> Excuse:
    """A difference with a reason that is known."""
    return Excuse(Verdict.EXPLAINED, why)


# -- an answer that is another -----------------------------------------------------------------------------------------

Case = Callable[[Grounds, Difference, Record, Record, Record], Excuse | None]


def excuse(
    grounds: Grounds, difference: Difference, recorded: Record, live: Record, request: Record | None
) -> Excuse | None:
    """Why a difference in an answer is no finding."""
    if request is None:
        is_count = recorded.message == "GOAWAY" and difference.steps == ("stream_id",)
        dialogue = grounds.dialogue_of.get(recorded.n)
        is_torn = dialogue is not None and (not dialogue.is_opened or dialogue in grounds.lost)
        return unknown(UNHEARD) if is_count and is_torn else None
    found = (case(grounds, difference, recorded, live, request) for case in _CASES)
    known = next((each for each in found if each is not None), None)
    return unknown(BLIND) if known is None and grounds.is_blind(request) else known


def _raced(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """A FETCH finds what was not durable yet; an append that was pending is committed."""
    if request.n not in g.racing:
        return None
    if recorded.message == "FETCH" and {code_of(recorded), code_of(live)} <= {OK, NO_NEW_RECORD}:
        before, now = _shapes(entries_of(recorded)), _shapes(entries_of(live))
        return explained(RACED) if len(now) > len(before) and now[: len(before)] == before else None
    if recorded.message == "APPEND" and difference.steps[-2:-1] == ("status",):
        at = difference.steps[3] if len(difference.steps) > 3 else 0
        codes = [_entry_code(each, at) for each in (recorded, live)]
        return explained(RACED) if codes == [PENDING, COMMITTED] else None
    return None


def _shapes(entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What of batches no other server makes up."""
    return [
        ({name: value for name, value in entry["meta"].items() if name != "stream_id"}, entry["payload"])
        for entry in entries
    ]


def _resized(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """A FETCH that is cut by bytes has fewer or more of the same batches, since these are not as long as they were."""
    if recorded.message != "FETCH" or difference.steps != ("payload", "entries"):
        return None
    if not all(isinstance(each, list) for each in (difference.expected, difference.live)):
        return None
    before, now = _shapes(difference.expected), _shapes(difference.live)
    shorter = min(len(before), len(now))
    lengths = [[entry["length"] for entry in entries_of(each)[:shorter]] for each in (recorded, live)]
    is_cut = shorter > 0 and fields_in(request).get("max_wait_ms", 0) > 0 and before[:shorter] == now[:shorter]
    return explained(RESIZED) if is_cut and lengths[0] != lengths[1] else None


def _entry_code(record: Record, at: Any) -> int:
    entries = fields_in(record).get("entries") or ()
    return entries[at]["status"]["code"] if isinstance(at, int) and at < len(entries) else 0


def _restarted(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """A range that the server had before it was stopped is another one afterwards."""
    if request.message not in ("APPEND", "FETCH", "SEAL_RANGE") or not g.is_restarted(request):
        return None
    known = ranges_in(request)
    is_other = (
        _codes_in(recorded) != _codes_in(live) or "payload" in difference.steps or difference.steps[-1:] == ("end",)
    )
    is_its = known <= g.ranges_before[request.server] and _codes_in(live) <= RANGE_CODES
    return explained(RESTARTED) if known and is_other and is_its else None


def _codes_in(record: Record) -> set[int]:
    """The codes of an answer and of its entries."""
    fields = fields_in(record)
    statuses = [fields.get("status") or {}, *(each.get("status") or {} for each in fields.get("entries") or ())]
    return {status.get("code", 0) for status in statuses}


def _foreign(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    is_refused = code_of(live) == BAD_REQUEST and code_of(recorded) != BAD_REQUEST
    return explained(FOREIGN) if is_foreign(request) and is_refused else None


def is_foreign(request: Record) -> bool:
    """Whether the header of a request is in a format that nobody defined."""
    return isinstance(request.fields, Mapping) and request.fields["header_format"] != FLATBUFFERS


def _dealt(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """Other servers, but as many, and such as have reported; so other ranges are on one of them."""
    before, now = _ranges_in(recorded), _ranges_in(live)
    if "servers" in difference.steps and difference.steps[-1] in ("server_id", "advertise_addr"):
        numbers = [[len(each.get("servers") or ()) for each in ranges] for ranges in (before, now)]
        servers = [server for each in now for server in each.get("servers") or ()]
        g.is_dealt = numbers[0] == numbers[1] and bool(servers) and all(g.has_told(server) for server in servers)
        return explained(DEALT) if g.is_dealt else None
    wanted = (fields_in(request).get("criteria") or {}).get("server_id", -1)
    is_listed = difference.steps == ("header", "fields", "ranges") and wanted >= 0
    return explained(DEALT) if is_listed and g.is_dealt and len(before) != len(now) else None


def _dealt_nodes(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """The batch style: other data nodes, or in another order, but as many and such as have reported."""
    if difference.steps[-1:] == ("ranges",) and "list_responses" in difference.steps:
        result = fields_in(recorded)["list_responses"][difference.steps[3]]
        is_of_node = (result.get("range_criteria") or {}).get("data_node") is not None
        return explained(DEALT) if is_of_node and g.is_dealt else None
    if "replica_nodes" not in difference.steps or difference.steps[-1] not in ("node_id", "advertise_addr"):
        return None
    g.is_dealt = all(g.has_told({"server_id": each.get("node_id"), **each}) for each in _nodes_in(fields_in(live)))
    return explained(DEALT) if g.is_dealt else None


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


def _filled(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """Where a range ends that data nodes had something of already."""
    is_offset = difference.steps[-1:] in (("start_offset",), ("end_offset",), ("next_offset",))
    return explained(FILLED) if is_offset and difference.expected in g.ends_told and difference.live == 0 else None


def _ranges_in(record: Record) -> list[Mapping[str, Any]]:
    fields = fields_in(record)
    return [each for each in (fields.get("range"), *(fields.get("ranges") or ())) if each]


def _silent(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    is_it = request.message == "CREATE_RANGE" and (code_of(recorded), code_of(live)) == (PD_NO_AVAILABLE_RS, OK)
    heard = g.last_heard_before(request) if is_it else None
    return explained(SILENT) if heard is not None and request.time_ns - heard > SECOND else None


def _timed_out(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    message = (fields_in(recorded).get("status") or {}).get("message") or ""
    is_late = code_of(recorded) == INTERNAL and "timed out" in message and timeout_of(request) > 0
    return explained(TIMED_OUT_LATE) if is_late else None


def _named(g: Grounds, difference: Difference, recorded: Record, live: Record, request: Record) -> Excuse | None:
    """The nodes that are named, in any order: as many, and as many of them lead."""
    if difference.steps[-1:] == ("is_leader",):
        nodes = [(fields_in(each).get("cluster") or {}).get("nodes") or () for each in (recorded, live)]
        leads = [sorted(node["is_leader"] for node in each) for each in nodes]
        return Excuse(Verdict.NOISE, NAMED) if leads[0] == leads[1] else None
    if difference.steps[-2:] != ("detail", "hex"):
        return None
    told = [_leads_in(each) for each in (difference.expected, difference.live)]
    return Excuse(Verdict.NOISE, NAMED) if told[0] is not None and told[0] == told[1] else None


def _leads_in(detail: Any) -> list[bool] | None:
    try:
        cluster: PlacementDriverCluster = decode_root(PlacementDriverCluster, bytes.fromhex(detail))
    except (DecodeError, ValueError, TypeError):
        return None
    return sorted(node.is_leader for node in cluster.nodes or ())


_CASES: Sequence[Case] = (
    _raced,
    _resized,
    _restarted,
    _foreign,
    _dealt,
    _dealt_nodes,
    _filled,
    _silent,
    _timed_out,
    _named,
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
    """Why an answer may come that was not recorded."""
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
