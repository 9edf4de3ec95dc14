"""What a recording of the Streaming Batch Protocol shows of its servers beside their answers: why, and when, they fail.

Times are those of the recording, in nanoseconds.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Ended, Exchange, Recording, exchanges_of
from wiretool.codec.message import Side
from wiretool.protocols.sbp.framing import FIXED_BYTES
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END
from wiretool.protocols.sbp.replay.servers import Servers, code_of, fields_in, flags_of, is_system_error
from wiretool.records import Record

SECOND = 1_000_000_000
#: A server whose process ends drops all connections at once; its last request is not much older.
AT_ONCE_NS = SECOND // 4
#: A placement driver says GOAWAY after 15 s of silence, a range server ends after 6 s or more (sbp.md §4.2).
DRIVER_IDLE_NS, SERVER_IDLE_NS = 14 * SECOND, 5 * SECOND
OK, PD_NO_AVAILABLE_RS = 1200, 1502
#: The kind of value that an address is.
ADDRESS = "range server address"
RangeKey = tuple[int, int]
#: From when to when, as `_when` counts.
Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass
class Grounds:
    """The facts, by connection, server and number of a record."""

    servers: Servers = field(default_factory=Servers)
    dialogue_of: dict[int, Dialogue] = field(default_factory=dict)
    #: What servers were recorded to make up, by kind.
    made: set[tuple[str, Hashable]] = field(default_factory=set)
    #: Servers whose process ended, or that were told to stop, and when first; by address.
    died: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    #: What shows that a server was told to stop.
    stopped_by: dict[str, Record] = field(default_factory=dict)
    #: On which range servers the live placement driver has put a range.
    put_on: dict[RangeKey, Set[Any]] = field(default_factory=dict)
    #: Connections on which a server said that it is being stopped.
    stops: set[Dialogue] = field(default_factory=set)
    #: When a server was recorded to end a connection.
    ended: dict[Dialogue, int] = field(default_factory=dict)
    #: When a client sent its last byte.
    left: dict[Dialogue, int] = field(default_factory=dict)
    #: Connections on which a client said what is no frame.
    malformed: set[Dialogue] = field(default_factory=set)
    #: The first record behind bytes of a client that were lost, and the last in front of such of a server.
    lost: dict[Dialogue, Record] = field(default_factory=dict)
    torn: dict[Dialogue, Record] = field(default_factory=dict)
    #: Requests that were not answered, and from which on nothing was on a connection.
    unanswered: set[int] = field(default_factory=set)
    mute_from: dict[Dialogue, int] = field(default_factory=dict)
    #: FETCH requests that were said while an APPEND to their range was on its way.
    racing: set[int] = field(default_factory=set)
    #: What clients said with the flag of a response.
    responses: set[int] = field(default_factory=set)
    #: Requests whose identifier was not that of an open one.
    fresh: set[int] = field(default_factory=set)
    #: The ranges that a range server was told of before it was stopped, by address.
    ranges_before: dict[str, set[RangeKey]] = field(default_factory=lambda: defaultdict(set))
    #: Of the batch style: where ranges ended on data nodes to which nobody was recorded to append.
    ends_told: set[int] = field(default_factory=set)
    last_ns: int = 0
    #: The live placement driver was seen to deal ranges out otherwise.
    is_dealt: bool = False
    #: What range servers said of themselves to a placement driver.
    beats: list[Record] = field(default_factory=list)
    #: Numbers and addresses of range servers as clients tell them in the replay.
    told: set[tuple[str, Hashable]] = field(default_factory=set)

    def is_made(self, kind: str, value: Hashable) -> bool:
        """Whether a server was recorded to make up a value."""
        return (kind, value) in self.made

    def is_hasty(self, dialogue: Dialogue) -> bool:
        """Whether a client's last bytes are too few for a placement driver to look at."""
        left = [each.length for each in dialogue.records if each.kind == "problem" and each.side == "client"]
        return not self.is_range_server(dialogue) and bool(left) and left[-1] < FIXED_BYTES

    def is_range_server(self, dialogue: Dialogue) -> bool:
        """Whether a connection is with a range server."""
        return dialogue.server in self.servers.range_servers

    def is_gone(self, record: Record) -> bool:
        """Whether the server had died by then, or dies of it."""
        at = self.died.get(record.server)
        return at is not None and record.time_ns >= at - AT_ONCE_NS

    def has_told(self, server: Mapping[str, Any]) -> bool:
        """Whether a client has told of a range server in the replay."""
        address = server.get("advertise_addr")
        is_there = address is None or (ADDRESS, address) in self.told
        return ("range server", server.get("server_id")) in self.told and is_there

    def last_heard_before(self, request: Record) -> Record | None:
        """Return what a placement driver last heard of a range server before a request."""
        earlier = (each for each in self.beats if each.time_ns < request.time_ns)
        return max(earlier, key=lambda each: each.time_ns, default=None)

    def is_cut_off(self, request: Record, dialogue: Dialogue) -> bool:
        """Whether the answer to a request may have been in a hole, or behind the end of the recording.

        What a client said behind a hole is told when it can be trusted, which may be behind the answer.
        """
        if dialogue in self.lost and self.is_blind(request):
            return True
        torn = self.torn.get(dialogue)
        if torn is not None and (torn.n > request.n or torn.time_ns >= request.time_ns):
            return True
        is_over = dialogue in self.ended or dialogue in self.left
        return not is_over and self.last_ns - request.time_ns < SECOND

    def is_blind(self, request: Record) -> bool:
        """Whether something that was said before a request was in a hole."""
        own = self.lost.get(self.dialogue_of[request.n])
        if own is not None and own.n < request.n:
            return True
        return any(
            lost.time_ns <= request.time_ns for dialogue, lost in self.lost.items() if dialogue.server == request.server
        )

    def is_restarted(self, record: Record) -> bool:
        """Whether the server was stopped before this was said to it."""
        return self.stopped.get(record.server, record.time_ns) < record.time_ns

    def request_of(self, answer: Record) -> Record | None:
        """Return the request that an answer is to."""
        dialogue = self.dialogue_of.get(answer.n)
        return next((each for each in dialogue.records if each.n == answer.reply_to), None) if dialogue else None

    def is_overtaken(self, request: Record) -> bool:
        """Return whether the recorded server had lost by then what this run has put on its ranges."""
        return self.is_restarted(request) and ranges_in(request) <= self.ranges_before[request.server]

    def is_stopping(self, record: Record) -> bool:
        """Whether the server said this because it was being stopped."""
        at = self.stopped.get(record.server)
        return at is not None and record.time_ns >= at


def grounds_in(recording: Recording, protocol: str, servers: Servers) -> Grounds:
    """What a recording shows."""
    grounds = Grounds(servers)
    grounds.last_ns = max((event.time_ns for event in recording.events), default=0)
    for dialogue in recording.of(protocol):
        _look_at(grounds, dialogue)
    ends: dict[tuple[Dialogue, Side], int] = {}
    for event in recording.events:
        if isinstance(event, Ended):
            ends.setdefault((event.dialogue, event.side), event.time_ns)
    for dialogue in recording.of(protocol):
        stop = _stop_in(grounds, dialogue)
        if stop is not None:
            grounds.stops.add(dialogue)
            if stop.time_ns <= grounds.stopped.get(dialogue.server, stop.time_ns):
                grounds.stopped[dialogue.server], grounds.stopped_by[dialogue.server] = stop.time_ns, stop
    for dialogue in recording.of(protocol):
        _look_at_end(grounds, dialogue, ends)
    for address in servers.range_servers:
        _find_ends(grounds, exchanges_with(recording, protocol, [address]))
        _find_races(grounds, [each for each in recording.of(protocol) if each.server == address])
    _find_ends_elsewhere(grounds, exchanges_with(recording, protocol, {each.server for each in recording.dialogues}))
    _find_ranges_before(grounds, recording, protocol)
    return grounds


def _look_at(grounds: Grounds, dialogue: Dialogue) -> None:
    open_ids: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for record in dialogue.records:
        grounds.dialogue_of[record.n] = dialogue
        if record.kind == "gap" and record.side == "server":
            grounds.torn[dialogue] = record
        elif record.kind == "gap":
            grounds.lost.setdefault(dialogue, record)
        if record.kind == "problem" and record.side == "client" and not record.message:
            grounds.malformed.add(dialogue)
        if record.kind != "frame" or not isinstance(record.fields, Mapping):
            continue
        if record.side == "server":
            grounds.made.update(made_in(record))
            if record.reply_to in open_ids:
                counts[open_ids.pop(record.reply_to)] -= 1
        else:
            number = record.fields["stream_id"]
            if not counts[number]:
                grounds.fresh.add(record.n)
            counts[number] += 1
            open_ids[record.n] = number
            if flags_of(record) & RESPONSE:
                grounds.responses.add(record.n)
            if record.message in ("HEARTBEAT", "REPORT_METRICS") and not grounds.is_range_server(dialogue):
                grounds.beats.append(record)
    if dialogue in grounds.lost:
        grounds.lost[dialogue] = _first_unasked(dialogue) or grounds.lost[dialogue]
    grounds.unanswered.update(open_ids)
    _look_for_silence(grounds, dialogue)


def _first_unasked(dialogue: Dialogue) -> Record | None:
    """The first answer to what is not there: a hole is told only when what is behind it can be trusted."""
    answers = (each for each in dialogue.records if each.kind == "frame" and each.side == "server")
    return next((each for each in answers if each.reply_to is None and flags_of(each) & RESPONSE_END), None)


def made_in(answer: Record) -> Iterator[tuple[str, Hashable]]:
    """The numbers that a server gives out in an answer."""
    fields = fields_in(answer)
    if answer.message == "CREATE_STREAM" and isinstance(fields.get("stream"), Mapping):
        yield "stream", fields["stream"]["stream_id"]
    elif answer.message == "ALLOCATE_ID" and code_of(answer) == OK:
        yield "range server", fields.get("id")
    for result in fields.get("create_responses") or ():
        if isinstance(result.get("stream"), Mapping):
            yield "stream", result["stream"]["stream_id"]


def _look_for_silence(grounds: Grounds, dialogue: Dialogue) -> None:
    """From which request on the server says nothing any more."""
    for record in reversed(dialogue.records):
        if record.kind != "frame":
            continue
        if record.side == "server" or record.n not in grounds.unanswered:
            return
        grounds.mute_from[dialogue] = record.n


# -- how connections end -----------------------------------------------------------------------------------------------


def _look_at_end(grounds: Grounds, dialogue: Dialogue, ends: Mapping[tuple[Dialogue, Side], int]) -> None:
    left, ended = ends.get((dialogue, "client")), ends.get((dialogue, "server"))
    if left is not None and (ended is None or left <= ended):
        grounds.left[dialogue] = left
    elif ended is not None:
        grounds.ended[dialogue] = ended
        if grounds.stopped.get(dialogue.server, ended) >= ended and _is_sudden(grounds, dialogue, ended):
            grounds.died[dialogue.server] = min(ended, grounds.died.get(dialogue.server, ended))


def _is_sudden(grounds: Grounds, dialogue: Dialogue, ended: int) -> bool:
    """Whether a server ends a connection without a reason: no GOAWAY, no silence."""
    frames = [record for record in dialogue.records if record.kind == "frame"]
    if any(record.side == "server" and record.message == "GOAWAY" for record in frames):
        return False
    if not grounds.is_range_server(dialogue):
        return True
    return bool(frames) and dialogue not in grounds.malformed and ended - frames[-1].time_ns < SERVER_IDLE_NS


def _stop_in(grounds: Grounds, dialogue: Dialogue) -> Record | None:
    """Return the GOAWAY of a server that nothing on the connection made it say."""
    heard, last_id = None, -1
    is_orderly = dialogue not in grounds.malformed
    for record in dialogue.records:
        if record.kind != "frame" or not isinstance(record.fields, Mapping):
            continue
        flags = flags_of(record)
        if record.side == "client":
            heard = heard if flags & RESPONSE else record.time_ns  # which does not count as a sign of life (§4.2)
            is_orderly = is_orderly and (bool(flags & RESPONSE) or record.fields["stream_id"] > last_id)
            last_id = max(last_id, record.fields["stream_id"])
        elif record.message == "GOAWAY" and record.reply_to is None and not is_system_error(record):
            is_maintenance = flags & (RESPONSE | RESPONSE_END) == RESPONSE
            is_idle = heard is None or record.time_ns - heard > DRIVER_IDLE_NS
            if is_maintenance or (is_orderly and not is_idle and not flags & RESPONSE):
                return record
    return None


def seen_with(grounds: Grounds, recording: Recording, protocol: str, addresses: Collection[str]) -> list[Exchange]:
    """Those in front of the first hole in what clients said: behind it nobody knows who made what."""
    return [each for each in exchanges_with(recording, protocol, addresses) if not grounds.is_blind(each.request)]


def exchanges_with(recording: Recording, protocol: str, addresses: Collection[str]) -> list[Exchange]:
    """What was asked of servers and answered, in the order of the answers."""
    dialogues = [each for each in recording.of(protocol) if each.server in addresses]
    found = [exchange for dialogue in dialogues for exchange in exchanges_of(dialogue.records)]
    return sorted(found, key=lambda exchange: _when((exchange.replies or [exchange.request])[0]))


def _when(record: Record) -> tuple[int, int]:
    """The order of records of several connections; their numbers are in order only on each."""
    return record.time_ns, record.n


# -- what was on its way -----------------------------------------------------------------------------------------------


def range_of(fields: Mapping[str, Any]) -> RangeKey:
    """Which range a table that names one by stream and index means."""
    return fields.get("stream_id", -1), fields.get("index", fields.get("range_index", -1))


def entries_of(record: Record) -> list[Mapping[str, Any]]:
    """The batches in a frame of the newest schema."""
    payload = record.fields.get("payload") if isinstance(record.fields, Mapping) else None
    return list(payload.get("entries") or ()) if isinstance(payload, Mapping) else []


def ranges_in(record: Record) -> set[RangeKey]:
    """The ranges that a request to a range server is about."""
    wanted = fields_in(record).get("range")
    found = {range_of(entry["meta"]) for entry in entries_of(record)}
    return found | ({range_of(wanted)} if isinstance(wanted, Mapping) else set())


def _find_ends(grounds: Grounds, exchanges: Sequence[Exchange]) -> None:
    if any(each.request.message == "APPEND" for each in exchanges):
        return
    answers = [answer for each in exchanges for answer in each.replies if answer.message == "SEAL_RANGES"]
    for answer in answers:
        for result in fields_in(answer).get("seal_responses") or ():
            told = (result.get("range"), *(result.get("ranges") or ()))
            grounds.ends_told.update(each[name] for each in told if each for name in ("end_offset", "next_offset"))


def _find_ends_elsewhere(grounds: Grounds, exchanges: Sequence[Exchange]) -> None:
    """Note where ranges of the batch style ended to whose stream nothing was recorded to be appended, on any server."""
    appended = {
        each.get("stream_id")
        for exchange in exchanges
        for each in fields_in(exchange.request).get("append_requests") or ()
    }
    for answer in (answer for each in exchanges for answer in each.replies if answer.message == "SEAL_RANGES"):
        for result in fields_in(answer).get("seal_responses") or ():
            for told in (result.get("range"), *(result.get("ranges") or ())):
                if told and told.get("stream_id") not in appended:
                    offsets = (told.get(name, 0) for name in ("start_offset", "end_offset", "next_offset"))
                    grounds.ends_told.update(offset for offset in offsets if offset > 0)


def _find_races(grounds: Grounds, dialogues: Iterable[Dialogue]) -> None:
    exchanges = [each for dialogue in dialogues for each in exchanges_of(dialogue.records)]
    appends = [each for each in exchanges if each.request.message == "APPEND"]
    spans: dict[RangeKey, list[Span]] = defaultdict(list)
    for each in appends:
        end = _when(each.replies[0]) if each.replies else (2**63, 0)
        for key in ranges_in(each.request):
            spans[key].append((_when(each.request), end))
    courses = {key: _Spans(each) for key, each in spans.items()}
    for each in exchanges:
        at = _when(each.request)
        for key in ranges_in(each.request) if each.request.message in ("FETCH", "APPEND") else ():
            if key in courses and courses[key].has(at):
                grounds.racing.add(each.request.n)


class _Spans:
    """Spans of time, of which it can be asked fast whether any of many is under way."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._begins = [begin for begin, _ in ordered]
        #: The last end of the spans up to each.
        self._ends = list(accumulate((end for _, end in ordered), max))

    def has(self, at: tuple[int, int]) -> bool:
        """Whether any began before, and ends behind it."""
        before = bisect_left(self._begins, at)
        return before > 0 and self._ends[before - 1] > at


def _find_ranges_before(grounds: Grounds, recording: Recording, protocol: str) -> None:
    for dialogue in recording.of(protocol):
        stopped = grounds.stopped.get(dialogue.server)
        for record in dialogue.records:
            is_before = stopped is not None and record.time_ns < stopped
            if is_before and record.side == "client" and record.kind == "frame":
                grounds.ranges_before[dialogue.server] |= ranges_in(record)
