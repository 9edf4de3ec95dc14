"""JSON messages in WebSocket, as tshark shows them with the exported dissector, compared with `decode`."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.export.wireshark.shown import OF_FRAMES, Frame, Shown, by_tshark, value_text
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.json_types import JsonList, JsonMap, JsonType, JsonValue
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, fields_of
from wiretool.dissect.dissector import annotate, read
from wiretool.errors import DecodeError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp.framing import OPCODES, is_http, read_header
from wiretool.protocols.offramp.messages import EVENT_BY_NAME
from wiretool.records import Record

#: `decode` names bytes that are not text by the type of the WebSocket message.
SAME_PROBLEMS = {"bad_utf8": "malformed_utf8"}
#: Frames that are shown by the dissectors of HTTP and WebSocket alone.
OF_CARRIERS = ("HandshakeRequest", "HandshakeResponse", "Ping", "Pong", "Close", "Fragment", "Empty", "Deflated")


class Decoded(NamedTuple):
    """A message as `decode` has it, the packet of its request, and the problems that it has by itself."""

    record: Record
    response_to: str
    problems: frozenset[str]


def decode_messages(capture: Path, keys: KeyLog | None = None) -> dict[tuple[str, str], list[Decoded]]:
    """Return the messages of each end of connections, in their order."""
    sent: dict[tuple[str, str], list[Decoded]] = defaultdict(list)
    commits: dict[int, Record] = {}
    last: Record | None = None
    for record in read(capture, ports={8080: "offramp"}, keys=keys):
        ends = (record.client, record.server) if record.side == "client" else (record.server, record.client)
        if (
            record.kind == "problem"
            and record.error in (*OF_FRAMES, *SAME_PROBLEMS)
            and last is not None
            and sent[ends]
        ):
            if sent[ends][-1].record is last:
                problem = SAME_PROBLEMS.get(record.error, record.error)
                sent[ends][-1] = sent[ends][-1]._replace(problems=frozenset((problem,)))
        elif record.kind == "frame":
            last = record
            if record.protocol == "offramp" and is_message(record):
                commits[record.n] = record
                request = commits.get(record.reply_to or 0)
                is_linked = request is not None and record.message == "COMMIT_RESPONSE"
                sent[ends].append(
                    Decoded(record, str(request.packets[1]) if request and is_linked else "", frozenset())
                )
    return {(plain(source), plain(target)): messages for (source, target), messages in sent.items() if messages}


def plain(end: str) -> str:
    """Return an end of a connection as tshark has it: without the brackets of IPv6."""
    return end.replace("[", "").replace("]", "")


def is_message(record: Record) -> bool:
    """Return whether the dissector is called with this frame: one that completes a message."""
    if record.message in OF_CARRIERS or is_http(record.side, record.raw, 0, len(record.raw)):
        return False
    header = read_header(record.raw, 0, len(record.raw))
    return header is not None and header.opcode in OPCODES


def compare_messages(
    script: Path,
    capture: Path,
    options: Sequence[str] = (),
    *,
    lost: Collection[int] = (),
    keys: KeyLog | None = None,
) -> int:
    """Check all messages that Wireshark inflates, but those in packets that are `lost`; return how many they are."""
    pairs: list[tuple[Decoded, Frame]] = []
    decoded = decode_messages(capture, keys)
    kept = {ends: [each for each in found if packet_of(each) not in lost] for ends, found in decoded.items()}
    ours = {ends: messages for ends, messages in kept.items() if messages}
    theirs = by_tshark(script, capture, PROTOCOLS["offramp"], options)
    assert ours.keys() == theirs.keys()
    for ends, messages in ours.items():
        shown = [frame for frame in theirs[ends] if frame.packet not in lost]
        pairs += zip(messages, shown, strict=True)
    unread = {str(packet_of(message)) for message, frame in pairs if not is_inflated(message, frame)}
    checked = [(message, frame) for message, frame in pairs if is_inflated(message, frame)]
    for message, frame in checked:
        check_message(message._replace(response_to="") if message.response_to in unread else message, frame)
    return len(checked)


def packet_of(message: Decoded) -> int:
    return message.record.packets[1]


def is_inflated(ours: Decoded, theirs: Frame) -> bool:
    """Return whether Wireshark has inflated a message; else its bytes are shown, and no problem."""
    has_data = any(each.name == "data" for each in theirs.fields)
    if ours.record.message == "Unknown" or not has_data:
        return True
    assert not theirs.problems
    return False


def check_message(ours: Decoded, theirs: Frame) -> None:
    record = ours.record
    assert (theirs.packet, theirs.problems, theirs.response_to) == (
        record.packets[1],
        ours.problems,
        ours.response_to,
    )
    fields = json_form(record.fields) if isinstance(record.fields, Message) else record.fields
    assert isinstance(fields, Mapping)
    shown: dict[str, list[Shown]] = defaultdict(list)
    for each in theirs.fields:
        shown[each.name].append(each)
    del shown["length"]
    if record.message == "Unknown" and fields.keys() in ({"text"}, {"data"}):
        assert {name: [each.value for each in found] for name, found in shown.items()} == {
            name: [value_text(value) for value in [fields[name]]] for name in fields
        }
        return
    values = values_shown(shown)
    if isinstance(record.fields, Message):
        values.pop("other", None)  # members that are not declared
    assert values == values_expected(record.message, fields)
    assert ranges_shown(shown) == ranges_expected(
        record, shown, is_repeated=bool(ours.problems & {"duplicate_key", "trailing_data"})
    )


def values_expected(message: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a message: of lists and maps those of their elements; other members as one object."""
    cls = EVENT_BY_NAME.get(message)
    wires = {field.name: field.wire for field in fields_of(cls)} if cls else {}
    found: dict[str, Any] = {}
    other = {}
    for name, value in fields.items():
        wire = wires.get(name)
        if isinstance(wire, JsonType) and is_valid(wire, value):
            found |= dict(values_of(name, wire, value))
        elif value is not None or wire is None:
            other[name] = value
    return {**found, **({"other": other} if other else {})}


def is_valid(wire: JsonType, value: Any) -> bool:
    try:
        wire.parse(value, "")
    except DecodeError:
        return False
    return True


def values_of(name: str, wire: JsonType, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(wire, JsonValue):
        yield name, value
    elif isinstance(wire, JsonMap):
        if value:
            yield f"{name}.key", sorted(value)
            yield f"{name}.value", [value_text(each) for _, each in sorted(value.items())]
    elif isinstance(wire, JsonList):
        if value:
            yield name, sorted({str(each) for each in value})
    elif value is not None:
        shown = re.sub("[\ud800-\udfff]", "\ufffd", value.replace("\0", "\u2400")) if isinstance(value, str) else value
        yield name, value_text(shown)


#: Fields with JSON text, and with the elements of lists.
JSON_FIELDS, LISTS = ("payload", "other"), ("assignment",)


def values_shown(shown: Mapping[str, list[Shown]]) -> dict[str, Any]:
    """Return the values that tshark shows, in the form of `values_expected`."""
    found: dict[str, Any] = {}
    for name, fields in shown.items():
        if name == "other":
            found[name] = json.loads(f"{{{','.join(map(json_text, fields))}}}")
        elif name in JSON_FIELDS:
            found[name] = json.loads(json_text(fields[0]))
        elif name in LISTS or name.endswith(".key"):
            found[name] = sorted({each.value for each in fields})
        elif name.endswith(".value"):
            keys = [each.value for each in shown[f"{name.removesuffix('.value')}.key"]]
            values = dict(zip(keys, [each.value for each in fields], strict=True))
            found[name] = [value for _, value in sorted(values.items())]
        else:
            found[name] = fields[0].value
            assert len(fields) == 1, name
    return found


def json_text(field: Shown) -> str:
    """Return the text of a field as it was before the listing escaped it."""
    return field.value.encode().decode("unicode_escape").encode("latin-1").decode()


def ranges_shown(shown: Mapping[str, list[Shown]]) -> list[tuple[int, int]]:
    return sorted((each.at, each.length) for each in members_of(shown))


def members_of(shown: Mapping[str, list[Shown]]) -> Iterable[Shown]:
    """Return the fields that are members of the object themselves."""
    return [each for name, fields in shown.items() if name not in LISTS and "." not in name for each in fields]


def ranges_expected(record: Record, shown: Mapping[str, list[Shown]], *, is_repeated: bool) -> list[tuple[int, int]]:
    """Return the places of members in a message; those of tshark where `decode` has none, as the frame is deflated."""
    header = read_header(record.raw, 0, len(record.raw))
    assert header is not None
    if header.is_compressed or is_repeated or not header.is_final or not header.opcode:
        return ranges_shown(shown)
    others = [each.value.partition(":")[0].strip('" ') for each in shown.get("other", ())]
    return sorted(
        (span.offset - header.size, span.length)
        for span in annotate(record)
        if "." in span.path
        and not span.path.startswith("WebSocket.")
        and not is_hidden(span.path.rpartition(".")[2], span.value, others)
    )


def is_hidden(name: str, value: Any, others: Sequence[str]) -> bool:
    """Return whether a member has no range of its own: a list or map that is valid, or a null."""
    return name not in (*others, "payload") and (value is None or isinstance(value, (list, dict)))
