"""Requirements that recorded traffic of the newest schema is judged by, whatever its clients do."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from wiretool.conformance.levels import MUST, SHOULD
from wiretool.conformance.recorded.observed import Observed, ObservedConnection
from wiretool.conformance.recorded.rules import Observation, Rule, rule_maker
from wiretool.protocols.sbp.conformance import traffic
from wiretool.protocols.sbp.conformance.steps import (
    BAD_REQUEST,
    KIND_RANGE_SERVER,
    OK,
    RANGE_ALREADY_SEALED,
)
from wiretool.protocols.sbp.conformance.traffic import has_table, payload_of, table_of

ENTRIES = "entries"
RangeKey = tuple[Any, Any]


def code_of(message: Observed) -> int | None:
    """Return the code of the status of a response, None where it has no status."""
    status: dict[str, Any] = table_of(message).get("status") or {}
    return status.get("code")


def _range_of(message: Observed) -> dict[str, Any]:
    found: dict[str, Any] = table_of(message).get("range") or {}
    return found


def _range_key(entry: dict[str, Any]) -> RangeKey:
    return entry["meta"]["stream_id"], entry["meta"]["range_index"]


def _results(answered: Observed) -> list[dict[str, Any]]:
    return list(table_of(answered).get("entries") or ())


def _appends(connection: ObservedConnection) -> Iterable[tuple[Observed, Observed, list[dict[str, Any]]]]:
    """Yield each APPEND with its response and its batches, where both could be read."""
    for asked, answered in connection.exchanges():
        if asked.name == "APPEND" and has_table(answered) and code_of(answered) == OK:
            yield asked, answered, payload_of(asked, ENTRIES)


# -- servers -----------------------------------------------------------------------------------------------------------


def each_batch_has_a_result(connection: ObservedConnection) -> Iterable[Observation]:
    """The response to an APPEND has a result for each batch."""
    for _asked, answered, batches in _appends(connection):
        count = len(_results(answered))
        problem = f"{count} results for {len(batches)} batches"
        yield Observation(answered.n, "" if count == len(batches) else problem)


def accepted_batches_rise(connection: ObservedConnection) -> Iterable[Observation]:
    """A batch of a range is accepted only where the one before it ended, or later."""
    ends: dict[RangeKey, int] = {}
    for _asked, answered, batches in sorted(_appends(connection), key=lambda each: each[0].n):
        for entry, result in zip(batches, _results(answered), strict=False):
            if result["status"]["code"] != OK:
                continue
            key, base = _range_key(entry), entry["meta"]["base_offset"]
            end = ends.get(key, base)
            yield Observation(answered.n, "" if base >= end else f"offset {base} is accepted, though {end} is the next")
            ends[key] = base + entry["meta"]["last_offset_delta"]


def sealed_ranges_take_nothing(connection: ObservedConnection) -> Iterable[Observation]:
    """A range server accepts no batch of a range after it has answered that the range is sealed."""
    sealed: dict[RangeKey, int] = {}
    codes = {answered.n: (asked, answered) for asked, answered in connection.exchanges()}
    for message in connection.messages:
        if message.n not in codes:
            continue
        asked, answered = codes[message.n]
        if asked.name == "SEAL_RANGE" and code_of(answered) == OK:
            found = _range_of(asked)
            if table_of(asked).get("kind") == KIND_RANGE_SERVER:
                sealed.setdefault((found.get("stream_id"), found.get("index")), answered.n)
        elif asked.name == "APPEND":
            yield from _after_seal(asked, answered, sealed)


def _after_seal(asked: Observed, answered: Observed, sealed: dict[RangeKey, int]) -> Iterable[Observation]:
    for entry, result in zip(payload_of(asked, ENTRIES), _results(answered), strict=False):
        key = _range_key(entry)
        if key in sealed and asked.n > sealed[key]:
            code = result["status"]["code"]
            problem = f"code {code} for a batch of a range sealed in record {sealed[key]}"
            yield Observation(answered.n, "" if code == RANGE_ALREADY_SEALED else problem)


def fetched_as_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """FETCH gives batches of the range that was asked for, below the limit, in order, none that ends before the offset.

    A negative offset or limit is read as a huge number.
    """
    for asked, answered in connection.exchanges():
        if asked.name == "FETCH" and has_table(asked) and has_table(answered):
            yield Observation(answered.n, _wrong_fetch(asked, answered))


def _wrong_fetch(asked: Observed, answered: Observed) -> str:
    batches = payload_of(answered, ENTRIES)
    if code_of(answered) != OK:
        return "batches in a response without OK" if batches else ""
    wanted, least, limit = _range_of(asked), table_of(asked)["offset"], table_of(asked)["limit"]
    last: int | None = None
    for entry in batches:
        meta = entry["meta"]
        base, end = meta["base_offset"], meta["base_offset"] + meta["last_offset_delta"]
        if _range_key(entry) != (wanted["stream_id"], wanted["index"]):
            return f"a batch of range {_range_key(entry)}; the request is for another one"
        if 0 <= limit <= base:
            return f"a batch at {base}; the limit is {limit}"
        if 0 <= end <= least and end != base:
            return f"a batch that ends at {end}; the request is for {least} on"
        if last is not None and base < last:
            return f"a batch at {base} after one that ends at {last}"
        last = end
    return ""


def seals_name_the_range(connection: ObservedConnection) -> Iterable[Observation]:
    """Responses to CREATE_RANGE and SEAL_RANGE name the range of the request."""
    for asked, answered in connection.exchanges():
        if asked.name not in ("CREATE_RANGE", "SEAL_RANGE") or code_of(answered) != OK:
            continue
        one, other = _range_of(asked), _range_of(answered)
        wrong = [name for name in ("stream_id", "index") if one.get(name) != other.get(name)]
        start, end = other.get("start", -1), other.get("end", -1)
        problem = f"{wrong[0]} is {other.get(wrong[0])}; the request has {one.get(wrong[0])}" if wrong else ""
        if not problem and asked.name == "SEAL_RANGE" and end < start:
            problem = f"a sealed range from {start} to {end}"
        yield Observation(answered.n, problem)


def made_ids_are_new(connection: ObservedConnection) -> Iterable[Observation]:
    """Each stream and each range server gets a number that none had before."""
    made: dict[str, set[int]] = {"CREATE_STREAM": set(), "ALLOCATE_ID": set()}
    for message in connection.sent_by("server"):
        if message.name not in made or code_of(message) != OK:
            continue
        table = table_of(message)
        number = table.get("id") if message.name == "ALLOCATE_ID" else (table.get("stream") or {}).get("stream_id")
        if isinstance(number, int):
            is_new = number not in made[message.name]
            yield Observation(message.n, "" if is_new else f"{message.name} gives {number} again")
            made[message.name].add(number)


def lists_what_was_asked(connection: ObservedConnection) -> Iterable[Observation]:
    """LIST_RANGE names ranges of the stream that was asked for, by rising index; each begins where the last ended."""
    for asked, answered in connection.exchanges():
        if asked.name != "LIST_RANGE" or code_of(answered) != OK:
            continue
        stream = (table_of(asked).get("criteria") or {}).get("stream_id", -1)
        ranges = table_of(answered).get("ranges") or []
        strange = [each for each in ranges if stream >= 0 and each["stream_id"] != stream]
        neighbours = [(a, b) for a, b in pairwise(ranges) if a["stream_id"] == b["stream_id"]]
        torn = [b for a, b in neighbours if b["index"] <= a["index"] or b["start"] < a["end"]]
        problem = f"a range of stream {strange[0]['stream_id']}" if strange else ""
        if torn and not problem:
            problem = f"range {torn[0]['index']} does not follow the one before it"
        yield Observation(answered.n, problem)


def refusals_are_errors(connection: ObservedConnection) -> Iterable[Observation]:
    """A system error has a code, which is not OK."""
    for message in connection.sent_by("server"):
        if message.fields.get("flags", 0) & 0x04:
            code = code_of(message)
            is_fine = isinstance(code, int) and (code in (1, 2) or code >= BAD_REQUEST)
            yield Observation(message.n, "" if is_fine else f"a system error of code {code}")


# -- clients -----------------------------------------------------------------------------------------------------------


def batches_count(connection: ObservedConnection) -> Iterable[Observation]:
    """Each batch of an APPEND counts its records, and those of one range follow one another."""
    for message in connection.sent_by("client"):
        if message.name != "APPEND":
            continue
        ends: dict[RangeKey, int] = {}
        problem = ""
        for entry in payload_of(message, ENTRIES):
            key, base, count = _range_key(entry), entry["meta"]["base_offset"], entry["meta"]["last_offset_delta"]
            if count < 1:
                problem = problem or f"a batch of {count} records"
            elif key in ends and base < ends[key]:
                problem = problem or f"a batch at {base} after one that ends at {ends[key]}"
            ends[key] = base + count
        if payload_of(message, ENTRIES):
            yield Observation(message.n, problem)


_rule = rule_maker("sbp", "protocols/sbp.md")

RULES: tuple[Rule, ...] = (
    *traffic.server_rules(_rule, headers="§2.3", echoes="§4.2"),
    _rule("server/9", MUST, "Each batch of an APPEND has a result.", "§4.4", each_batch_has_a_result),
    _rule("server/10", MUST, "Offsets of accepted batches rise.", "§4.5", accepted_batches_rise),
    _rule("server/11", MUST, "A sealed range takes no batch.", "§4.5", sealed_ranges_take_nothing),
    _rule("server/12", MUST, "FETCH returns the requested batches.", "§4.5", fetched_as_asked),
    _rule(
        "server/13",
        MUST,
        "Ranges are those of the request, and end no sooner than they start.",
        "§4.5",
        seals_name_the_range,
    ),
    _rule("server/14", MUST, "Streams and range servers get new numbers.", "§4.5", made_ids_are_new),
    _rule("server/15", MUST, "LIST_RANGE names ranges of the stream, in order.", "§4.5", lists_what_was_asked),
    _rule("server/16", MUST, "A system error has the code of an error.", "§2.3", refusals_are_errors),
    _rule("server/17", MUST, "HEARTBEAT is answered with client and role.", "§4.5", traffic.heartbeats_are_echoed),
    _rule("server/18", MUST, "A GOAWAY of the server is empty.", "§2.3", traffic.goaways_are_empty),
    _rule("server/19", SHOULD, "The server closes soon after its GOAWAY.", "§4.2", traffic.leaves_after_goaway),
    *traffic.client_rules(_rule, headers="§2.3", batches="§3.2"),
    _rule("client/6", SHOULD, "Identifiers of requests rise.", "§1.4", traffic.identifiers_rise),
    _rule("client/7", MUST, "Identifiers are not negative.", "§1.4", traffic.identifiers_are_not_negative),
    _rule(
        "client/8",
        MUST,
        "Only APPEND and PING have payloads of the client.",
        "§2.3",
        traffic.payloads_belong("client", "APPEND", "PING"),
    ),
    _rule(
        "client/9",
        SHOULD,
        "The client writes 0 as checksum of no payload.",
        "§5 (2)",
        traffic.empty_payloads_have_no_checksum("client"),
    ),
    _rule("client/10", SHOULD, "Batches count their records and follow one another.", "§3.2", batches_count),
    _rule(
        "client/11", SHOULD, "Nothing is asked after the client's own GOAWAY.", "§4.2", traffic.stops_after_own_goaway
    ),
    _rule("client/12", SHOULD, "Nothing is asked after a GOAWAY of the server.", "§4.2", traffic.stops_after_goaway),
    _rule(
        "client/13", SHOULD, "A client with heartbeats is never silent for 15 s.", "§4.2", traffic.heartbeats_in_time
    ),
    _rule(
        "client/14",
        MUST,
        "Responses of the client are to requests of the server.",
        "§1.4",
        traffic.answers_goaway_and_ping,
    ),
)
