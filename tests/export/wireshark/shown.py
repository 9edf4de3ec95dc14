"""What tshark shows with the exported dissector, and what `decode` has, in one form to compare."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.tools import run_tool
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.cursor import Span
from wiretool.codec.layouts import NamedNumber
from wiretool.codec.message import fields_of
from wiretool.dissect.dissector import annotate, read
from wiretool.export.names import protocol_identifier
from wiretool.export.wireshark.fields import filter_names, leaves_of
from wiretool.export.wireshark.tables import PAYLOAD, frame_names
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.table_frames import TableFrames
from wiretool.records import Record

LISTING = Path(__file__).with_name("listing.lua")
HEADER_BYTES = 8
LINKS = ("response_to", "response_in", "response_time")
#: What Wireshark shows beside the fields of frames.
OTHERS = (*LINKS, "problem", "failure", "unshown", "unframed")
#: Problems of a single frame; those of the state of a connection are not in the dissector.
OF_FRAMES = (
    "unknown-type",
    "truncated-field",
    "bad-nested-length",
    "bad-nested-type",
    "bad-count",
    "bad-partial-marker",
    "bad-utf",
    "reserved-bits-set",
    "unknown_opcode",
    "bad_flatbuffer_header",
    "missing_required_field",
    "record_length_mismatch",
    "bad_record_meta",
    "header_length_overflow",
    "unsupported_header_format",
    "malformed_json",
    "malformed_utf8",
    "trailing_data",
    "duplicate_key",
    "nesting_too_deep",
    "not_an_object",
    "missing_type",
    "bad_type",
    "unknown_type",
    "wrong_direction",
    "missing_field",
    "bad_field_type",
    "out_of_range",
    "bad_partition_key",
)


class Shown(NamedTuple):
    """A field of a frame: its name, the bytes from the beginning of the frame, and its value as text."""

    name: str
    at: int
    length: int
    value: str


class Frame(NamedTuple):
    """A frame: the packet that completes it, its fields in the order of the wire, and what it answers."""

    packet: int
    fields: list[Shown]
    #: The packet of the request, and the seconds since then; empty for none.
    response_to: str = ""
    response_time: str = ""
    #: The kinds of problems of its fields.
    problems: frozenset[str] = frozenset()


#: The frames that one end of a connection sent to the other, in their order.
Sent = dict[tuple[str, str], list[Frame]]


def by_tshark(script: Path, capture: Path, protocol: Protocol, options: Sequence[str] = ()) -> Sent:
    """Return the frames of a protocol as tshark has them."""
    return frames_listed(list_fields(script, capture, protocol, options), protocol)


def list_fields(script: Path, capture: Path, protocol: Protocol, options: Sequence[str] = ()) -> list[list[str]]:
    """Return the fields that tshark shows of a protocol, and its expert items; each as listing.lua has it."""
    scripts = (f"lua_script:{script}", f"lua_script:{LISTING}")
    arguments = ("lua_script1:-", f"lua_script2:{protocol_identifier(protocol.name)}", "lua_script2:_ws")
    words = [word for each in (*scripts, *arguments) for word in ("-X", each)]
    listed = run_tool("tshark", "-q", *words, "-r", str(capture), *options)
    return [line.split("\t") for line in listed.splitlines()]


def frames_listed(lines: Sequence[Sequence[str]], protocol: Protocol) -> Sent:
    """Return the frames among listed fields."""
    prefix = protocol_identifier(protocol.name)
    sent: Sent = defaultdict(list)
    starts = [n for n, line in enumerate(lines) if line[3] == prefix]
    for start, end in pairwise([*starts, len(lines)]):
        packet, source, target, _, offset, *_ = lines[start]
        if lines[start + 1][3] == f"{prefix}.unframed":
            continue
        fields = [
            Shown(name.removeprefix(f"{prefix}."), int(at) - int(offset), int(length), value)
            for _, _, _, name, at, length, value in lines[start + 1 : end]
        ]
        links = {field.name: field.value for field in fields if field.name in LINKS}
        sent[source, target].append(
            Frame(
                int(packet),
                [each for each in fields if each.name not in OTHERS and not each.name.startswith("_ws.")],
                links.get("response_to", ""),
                links.get("response_time", ""),
                frozenset(problem for each in fields if (problem := problem_of(each))),
            )
        )
    return dict(sent)


def problem_of(field: Shown) -> str:
    """Return the kind of problem that an expert item has; empty for others."""
    kind = field.value.partition(":")[0]
    return kind if field.name == "_ws.expert.message" and kind in OF_FRAMES else ""


def by_decode(capture: Path, protocol: Protocol, keys: KeyLog | None = None) -> Sent:
    """Return the frames of a protocol as `decode` has them."""
    sent: Sent = defaultdict(list)
    shown_fields = fields_of_frames(protocol)
    frames: dict[int, Record] = {}
    for record in read(capture, ports=dict.fromkeys(protocol.ports, protocol.name), keys=keys):
        ends = (record.client, record.server) if record.side == "client" else (record.server, record.client)
        if record.kind == "problem" and record.error in OF_FRAMES and sent[ends]:
            before = sent[ends][-1]
            sent[ends][-1] = before._replace(problems=before.problems | {record.error})
        if record.kind != "frame" or record.protocol != protocol.name:
            continue
        frames[record.n] = record
        request = frames.get(record.reply_to or 0)
        sent[ends].append(
            Frame(
                record.packets[1],
                list(shown_fields(record)),
                str(request.packets[1]) if request else "",
                f"{(record.time_ns - request.time_ns) / 1e9:.9f}" if request else "",
            )
        )
    return {ends: frames for ends, frames in sent.items() if frames}


def fields_of_frames(protocol: Protocol) -> Callable[[Record], Iterator[Shown]]:
    """Return the function that yields the fields of a frame of a protocol, those that it has bytes for."""
    if isinstance(protocol.frames, TableFrames):
        return TableFields(protocol, protocol.frames)
    return partial(_fields, names=names_of(protocol), numbers=numbers_of(protocol))


def _fields(
    record: Record, names: Mapping[tuple[str, str], str], numbers: Mapping[tuple[str, str], int]
) -> Iterator[Shown]:
    for span in annotate(record):
        path = re.sub(r"\[\d+\]", "", span.path).removeprefix(f"{record.message}.")
        name = path if span.offset < HEADER_BYTES else names.get((record.message, path), "left_over")
        value = value_text(span.value)
        yield Shown(name, span.offset, span.length, str(numbers.get((name, value), value)))


class TableFields:
    """The fields of frames with a table, in the order of bytes.

    The first frames of a connection have the schema of one pass over it: `decode` has looked ahead.
    """

    def __init__(self, protocol: Protocol, frames: TableFrames) -> None:
        self.names = table_names_of(protocol, frames)
        self.conversations: dict[tuple[str, str], Conversation] = defaultdict(partial(protocol.open, True))

    def __call__(self, record: Record) -> Iterator[Shown]:
        """Yield the fields of the next frame, without what FlatBuffers has between them."""
        conversation = self.conversations[record.client, record.server]
        whole = (record.side, record.raw, 0, len(record.raw))
        conversation.read(*whole, record.n)
        yield from _table_fields(conversation.annotate(*whole), self.names)


def _table_fields(spans: Sequence[Span], names: Mapping[str, str]) -> Iterator[Shown]:
    for span in spans:
        path = re.sub(r"\[\d+\]", "", span.path)
        if span.length and "(" not in path:
            yield Shown(names.get(path, path), span.offset, span.length, number_text(value_text(span.value)))


def number_text(value: str) -> str:
    """Return a value as tshark shows it: `0x04 (SYSTEM_ERROR)` as 4."""
    number = re.fullmatch(r"(0x[0-9a-f]+|-?[0-9]+) \(.*\)", value)
    return str(int(number[1], 0)) if number else value


def table_names_of(protocol: Protocol, frames: TableFrames) -> dict[str, str]:
    """Return the filter names of the fields of tables, without that of the protocol, by their paths in annotations."""
    prefix = f"{protocol_identifier(protocol.name)}."
    return {
        leaf.path if leaf.path.startswith(f"{PAYLOAD}.") else f"{leaf.message}.{leaf.path}": name.removeprefix(prefix)
        for leaf, name in frame_names(protocol.name, frames).items()
    }


def names_of(protocol: Protocol) -> dict[tuple[str, str], str]:
    """Return the filter names of the fields of a protocol, without its own name, by message and path."""
    leaves = [leaf for cls in protocol.messages for leaf in leaves_of(cls)]
    prefix = f"{protocol_identifier(protocol.name)}."
    names = filter_names(protocol.name, leaves)
    return {(leaf.message, leaf.path): name.removeprefix(prefix) for leaf, name in names.items()}


def numbers_of(protocol: Protocol) -> dict[tuple[str, str], int]:
    """Return the number that tshark shows for each name of a value, by field and name."""
    return {
        (field.name, name): number
        for cls in protocol.messages
        for field in fields_of(cls)
        if isinstance(field.wire.layout, NamedNumber)
        for number, name in field.wire.layout.names.items()
    }


def value_text(value: Any) -> str:
    """Return a value as the listing has it."""
    if isinstance(value, bytes):
        return value.hex()
    text = str(value).lower() if isinstance(value, bool) else str(value)
    escaped = (f"\\x{byte:02x}" if byte < 32 or byte > 126 or byte == 92 else chr(byte) for byte in text.encode())
    return "".join(escaped)
