"""What the protocols' references allow a server to say otherwise: rules with their clauses, and nothing else.

Every other change is forbidden, whatever the engine makes of it. Clauses name sections of the references of the
protocols: pravega (P), pravega-controller (C), sbp (S), offramp (O), and RFC 6455 where Offramp says nothing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.bench.census.lie import Lie, pattern_of

Steps = tuple[str | int, ...]


class Change(NamedTuple):
    """One field of a lie."""

    lie: Lie
    steps: Steps
    was: Any
    now: Any


class Rule(NamedTuple):
    """A field that may say something else, by regular expressions of protocol, message and field, and the clause."""

    protocol: str
    message: str
    field: str
    clause: str
    allows: Callable[[Change], bool] = lambda change: True


def _is_time(change: Change) -> bool:
    return isinstance(change.now, int) and change.now >= 0


def _is_text(change: Change) -> bool:
    return isinstance(change.now, str)


def _is_failure(change: Change) -> bool:
    """Whether the status beside the text is none of success."""
    form: Any = change.lie.reply.form
    for step in change.steps[:-1]:
        form = form[step]
    return form.get("code") not in (1200, 0)


def _is_version(change: Change) -> bool:
    form = change.lie.form or {}
    return form.get("low_version") == 5 and form.get("high_version") in (15, 16, 17)


def _is_unsure_of_tail(change: Change) -> bool:
    """Bytes that are there may be said not to reach the tail."""
    return change.was is True and bool(change.lie.reply.form["data"])


def _is_reordered(change: Change) -> bool:
    """The same elements in another order."""
    return isinstance(change.now, list | tuple) and sorted(map(repr, change.now)) == sorted(map(repr, change.was))


def _is_own_word(change: Change) -> bool:
    return change.lie.reply.form.get("code") in (1001, 1002, 1003, 1007, 1009)


def _is_prefix(change: Change) -> bool:
    """A read may get less than there is, but not nothing."""
    return bool(change.now) and change.was.startswith(change.now)


def _is_other_header(change: Change) -> bool:
    """Headers that mean nothing to a WebSocket, and lists of headers that keep those that do."""

    def meant(headers: Any) -> list[tuple[str, str]]:
        return sorted((str(name).lower(), str(value)) for name, value in headers if str(name).lower() in _MEANT)

    form = change.lie.form or {}
    try:
        return meant(form["headers"]) == meant(change.lie.reply.form["headers"])
    except (KeyError, ValueError):
        return False


_MEANT = frozenset(
    {
        "upgrade",
        "connection",
        "sec-websocket-accept",
        "sec-websocket-extensions",
        "sec-websocket-protocol",
        "sec-websocket-version",
        "allow",
        "www-authenticate",
    }
)

FIELDS: Sequence[Rule] = (
    Rule("pravega", "Hello", "(high|low)_version", "P 4.1: 15, 16 and 17 are all spoken, each down to 5", _is_version),
    Rule("pravega.*", ".*", "server_stack_trace", "P 5.1 trap b: empty, a trace, or a message", _is_text),
    Rule("pravega", "ErrorMessage", "message", "P 5.1: the message of an exception", _is_text),
    Rule("pravega", "StreamSegmentInfo", "last_modified", "P 2, code 12: a clock", _is_time),
    Rule("pravega", "SegmentRead", "at_tail", "P 5.3: false does not mean that more data exists", _is_unsure_of_tail),
    Rule("pravega", "SegmentRead", "data", "P 5.3: only leading cached entries are concatenated", _is_prefix),
    Rule("pravega-draft", "SegmentRead", "data", "P 6.5 S18: a read may be answered in several", _is_prefix),
    Rule("pravega-controller", "getURI", "endpoint|port", "C: NodeUri, a host and its port"),
    Rule("pravega-controller", ".*", "mapping.*", "C: which controller has which bucket"),
    Rule(
        "pravega-controller",
        ".*",
        r"segmentRanges|segments|activeSegments|segments\.value",
        "C Messages: each segment carries its key range, and no order is stated",
        _is_reordered,
    ),
    Rule(
        "pravega-controller",
        "list.*",
        "scopes|streams|kvtables",
        "facts/pravega-server.md: lists are in no alphabetical order",
        _is_reordered,
    ),
    Rule("offramp", "REBALANCE", "assignment", "O 2.3: a set, unordered", _is_reordered),
    Rule("sbp", "APPEND", r"header\.fields\.entries\.timestamp_ms", "S 4.5 APPEND: a clock", _is_time),
    Rule("sbp-0.1", "APPEND", r".*stream_append_time_ms", "S 2.2: a clock", _is_time),
    Rule("sbp.*", "DESCRIBE_P.*", r".*nodes\.(name|advertise_addr)", "S 4.5: names and addresses of nodes", _is_text),
    Rule(
        "sbp.*", ".*", r"header\.fields\.(.*\.)?status\.message", "S 4.5: success alone has a fixed text", _is_failure
    ),
    Rule(
        "sbp.*",
        ".*",
        "checksum",
        "S 1.6: of an empty payload the checksum is not read",
        lambda change: not change.lie.reply.form.get("payload"),
    ),
    Rule("offramp", "CONNECTION", "agentName", "O 2.3: the name of the pod", _is_text),
    Rule(
        "offramp",
        "MESSAGE",
        "timestampMs",
        "O 2.3: when the record was made, -1 for none",
        lambda change: isinstance(change.now, int) and change.now >= -1,
    ),
    Rule("offramp", "ERROR", "reason", "O 2.3: a sentence for people", _is_text),
    Rule("offramp", "Close", "reason", "O 1.4: sentences of the container, never compared", _is_own_word),
    Rule("offramp", "HandshakeResponse", "body", "O 1.2: an error page"),
    Rule("offramp", "HandshakeResponse", "reason", "RFC 9112 4: a client ignores the reason phrase", _is_text),
    Rule(
        "offramp", "HandshakeResponse", "headers", "RFC 9110 5.1: unknown header fields are ignored", _is_other_header
    ),
)

#: The clause of a lie that happens to be what was recorded.
AS_RECORDED = "what a real server was recorded to say, where the mock says something else"
#: Protocols of which no clause forbids any order of whole replies.
ANY_ORDER = ("pravega-controller", "sbp", "sbp-0.1")
#: Order, repetition and absence that are allowed: kind, protocol, message (of two that are reordered the first).
WHOLE: Sequence[Rule] = (
    Rule("pravega", "KeepAlive", "drop", "P 4.2: servers before 2021 stay silent"),
    Rule("pravega-draft", "KeepAlive", "double", "P 2 code 100, 6.5 S16: a KeepAlive goes both ways"),
    Rule("offramp", "Pong", "double", "RFC 6455 5.5.3: a pong may come unasked"),
    Rule("offramp", "REBALANCE", "double", "O 6 decision 17: repeats are accepted"),
    Rule("sbp.*", ".*", "reorder", "S 4.2: answers come in any order"),
    Rule("pravega-controller", ".*", "reorder", "RFC 9113 5: streams are independent"),
    Rule(
        "offramp",
        ".*",
        "reorder",
        "O 3.1 and 5: order is that of a partition, of the greeting and of the end",
        lambda change: not _is_ordered_offramp(change.lie),
    ),
    Rule(
        "pravega.*",
        ".*",
        "reorder",
        "P 5.2: replies other than append acks come in any order",
        lambda change: not _is_ordered_pravega(change.lie),
    ),
    Rule(
        "pravega",
        "SegmentsMerged|NoSuchSegment",
        "replace",
        "P 5.2 MERGE_SEGMENTS: of a source that is merged already",
        lambda change: {change.lie.reply.record.message, change.lie.name} == {"SegmentsMerged", "NoSuchSegment"},
    ),
)


def _is_ordered_pravega(lie: Lie) -> bool:
    """Acks of one writer, a setup and the acks behind it, and parts of a draft's read come in order."""
    assert lie.other is not None
    forms = [lie.reply.form, lie.other.form]
    ids = [form.get("writer_id", form.get("connection_id")) for form in forms]
    if ids[0] is not None and ids[0] == ids[1]:
        return True
    is_read = all(each.record.message == "SegmentRead" for each in (lie.reply, lie.other))
    return is_read and lie.reply.protocol == "pravega-draft" and forms[0]["segment"] == forms[1]["segment"]


def _is_ordered_offramp(lie: Lie) -> bool:
    assert lie.other is not None
    names = {lie.reply.record.message, lie.other.record.message}
    if names & {"HandshakeResponse", "CONNECTION"} or "Close" in names:
        return not names & {"Pong", "Ping"}
    if names == {"MESSAGE"}:
        return bool(lie.reply.form["partition"] == lie.other.form["partition"])
    return names == {"REBALANCE", "MESSAGE"}


def is_allowed(change: Change) -> str:
    """Return the clause by which a field may say so; empty where none does."""
    return matching(FIELDS, change.lie, pattern_of(change.steps), change)


def matching(rules: Sequence[Rule], lie: Lie, field: str, change: Change) -> str:
    for rule in rules:
        names = ((rule.protocol, lie.reply.protocol), (rule.message, lie.reply.record.message), (rule.field, field))
        if all(re.fullmatch(pattern, name) for pattern, name in names) and rule.allows(change):
            return rule.clause
    return ""
