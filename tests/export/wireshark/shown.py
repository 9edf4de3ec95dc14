"""What tshark shows with the exported dissector, and what `decode` has, in one form to compare."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.tools import run_tool
from wiretool.codec.layouts import NamedNumber
from wiretool.codec.message import fields_of
from wiretool.dissect.dissector import annotate, read
from wiretool.export.wireshark.fields import filter_names, filter_prefix, leaves_of
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

LISTING = Path(__file__).with_name("listing.lua")
HEADER_BYTES = 8
LINKS = ("response_to", "response_in", "response_time")
#: What Wireshark shows beside the fields of frames.
OTHERS = (*LINKS, "problem", "failure", "unframed")
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
    #: The kind of problem of its fields; empty for none.
    problem: str = ""


#: The frames that one end of a connection sent to the other, in their order.
Sent = dict[tuple[str, str], list[Frame]]


def by_tshark(script: Path, capture: Path, protocol: Protocol, options: Sequence[str] = ()) -> Sent:
    """Return the frames of a protocol as tshark has them."""
    prefix = filter_prefix(protocol.name)
    scripts = (f"lua_script:{script}", f"lua_script:{LISTING}")
    arguments = ("lua_script1:-", f"lua_script2:{prefix}", "lua_script2:_ws")
    words = [word for each in (*scripts, *arguments) for word in ("-X", each)]
    listed = run_tool("tshark", "-q", *words, "-r", str(capture), *options)
    sent: Sent = defaultdict(list)
    lines = [line.split("\t") for line in listed.splitlines()]
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
                next((problem for each in fields if (problem := problem_of(each))), ""),
            )
        )
    return dict(sent)


def problem_of(field: Shown) -> str:
    """Return the kind of problem that an expert item has; empty for others."""
    kind = field.value.partition(":")[0]
    return kind if field.name == "_ws.expert.message" and kind in OF_FRAMES else ""


def by_decode(capture: Path, protocol: Protocol) -> Sent:
    """Return the frames of a protocol as `decode` has them."""
    sent: Sent = defaultdict(list)
    names, numbers = names_of(protocol), numbers_of(protocol)
    frames: dict[int, Record] = {}
    for record in read(capture, ports={protocol.ports[0]: protocol.name}):
        ends = (record.client, record.server) if record.side == "client" else (record.server, record.client)
        if record.kind == "problem" and record.error in OF_FRAMES and sent[ends]:
            sent[ends][-1] = sent[ends][-1]._replace(problem=record.error)
        if record.kind != "frame" or record.protocol != protocol.name:
            continue
        frames[record.n] = record
        request = frames.get(record.reply_to or 0)
        sent[ends].append(
            Frame(
                record.packets[1],
                list(_fields(record, names, numbers)),
                str(request.packets[1]) if request else "",
                f"{(record.time_ns - request.time_ns) / 1e9:.9f}" if request else "",
            )
        )
    return {ends: frames for ends, frames in sent.items() if frames}


def _fields(
    record: Record, names: Mapping[tuple[str, str], str], numbers: Mapping[tuple[str, str], int]
) -> Iterator[Shown]:
    for span in annotate(record):
        path = re.sub(r"\[\d+\]", "", span.path).removeprefix(f"{record.message}.")
        name = path if span.offset < HEADER_BYTES else names.get((record.message, path), "left_over")
        value = value_text(span.value)
        yield Shown(name, span.offset, span.length, str(numbers.get((name, value), value)))


def names_of(protocol: Protocol) -> dict[tuple[str, str], str]:
    """Return the filter names of the fields of a protocol, without its own name, by message and path."""
    leaves = [leaf for cls in protocol.messages for leaf in leaves_of(cls)]
    prefix = f"{filter_prefix(protocol.name)}."
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
