"""tshark shows messages of Pravega's controller as `decode` does, with the file that `export protobuf` writes."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.export.wireshark.shown import LISTING, value_text
from tests.helpers.examples import needs_protocol
from tests.helpers.tools import run_tool
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message
from wiretool.dissect.dissector import annotate, read
from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

pytestmark = needs_protocol("pravega-controller")

CAPTURE = Path(__file__).parents[3] / "captures" / "pravega" / "mgmt.pcap"
PACKAGE = "pbf.io.pravega.controller.stream.api.grpc.v1."
#: Bytes of the header of a frame of HTTP/2.
HEADER_BYTES = 9
#: Values of fields, by packet and sender: (message and field, value) of each; and the places of fields in messages.
Values = dict[int, list[tuple[str, str]]]
Places = dict[int, set[tuple[int, int]]]


def show(capture: Path, folder: Path) -> tuple[Values, Places]:
    """Return the fields that tshark shows: values in their order, and places from the beginning of the message."""
    declared = PROTOCOLS["pravega-controller"].frames
    assert isinstance(declared, ProtoFile)
    (folder / declared.name).write_text(declared.read_text())
    words = ["-X", f"lua_script:{LISTING}", *(word for name in ("grpc", "pbf", "protobuf") for word in argument(name))]
    search = f'uat:protobuf_search_paths:"{folder}","TRUE"'
    options = ("-d", "tcp.port==9090,http2", "-o", search, "-o", "protobuf.pbf_as_hf:TRUE")
    values: Values = defaultdict(list)
    places: Places = defaultdict(set)
    start = 0
    for line in run_tool("tshark", "-q", *words, "-r", str(capture), *options).splitlines():
        packet, _, _, name, at, length, value = line.split("\t")
        if name == "grpc":
            start = int(at)
        elif name == "protobuf.field.name":
            places[int(packet)].add((int(at) - start, int(length)))
        elif name.startswith(PACKAGE):
            values[int(packet)].append((name.removeprefix(PACKAGE), value))
    return values, places


def argument(name: str) -> tuple[str, str]:
    return "-X", f"lua_script1:{name}"


def decode(capture: Path) -> tuple[Values, Places]:
    """Return the fields that `decode` has, but those that are not in the bytes as they have their default."""
    from wiretool.protocols.pravega_controller.controller_pb2 import DESCRIPTOR

    service = DESCRIPTOR.services_by_name["ControllerService"]
    values: Values = defaultdict(list)
    places: Places = defaultdict(set)
    for record in read(capture):
        method = service.methods_by_name.get(record.message) if record.kind == "frame" else None
        if method is not None:
            declared = method.input_type if record.side == "client" else method.output_type
            values[record.packets[1]] += leaves(declared, fields_of(record))
            places[record.packets[1]] |= set(places_in(record))
    return {packet: each for packet, each in values.items() if each}, {n: each for n, each in places.items() if each}


def fields_of(record: Record) -> Mapping[str, Any]:
    fields = json_form(record.fields) if isinstance(record.fields, Message) else record.fields
    assert isinstance(fields, Mapping)
    return fields


def leaves(declared: Any, fields: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values of a message by the names of tshark, which has one of its own for the entries of a map."""
    name = name or name_of(declared)
    for field in declared.fields:
        given = fields.get(field.name)
        entries = given if isinstance(given, list) else [given]
        for value in entries:
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                for key, each in (value or {}).items():
                    yield from leaves(field.message_type, {"key": key, "value": each}, f"{name}.{field.name}MapEntry")
            elif field.message_type is not None:
                yield from leaves(field.message_type, value or {})
            elif field.enum_type is not None:
                if number := field.enum_type.values_by_name[value].number if value else 0:
                    yield f"{name}.{field.name}", str(number)
            elif value or (isinstance(given, list) and value is not None):
                text = format(value, ".14g") if isinstance(value, float) else value_text(value)  # as Lua does
                yield f"{name}.{field.name}", text


def name_of(declared: Any) -> str:
    """Return the name of a message in its package."""
    name: str = declared.full_name.removeprefix(PACKAGE.removeprefix("pbf."))
    return name


def names_of_structures() -> set[str]:
    """Return the fields that are messages: tshark has the bytes of these as well."""
    from wiretool.protocols.pravega_controller.controller_pb2 import DESCRIPTOR

    top = list(DESCRIPTOR.message_types_by_name.values())
    messages = [*top, *(nested for each in top for nested in each.nested_types)]
    return {f"{name_of(each)}.{field.name}" for each in messages for field in each.fields if field.message_type}


def places_in(record: Record) -> Iterator[tuple[int, int]]:
    for span in annotate(record):
        if re.fullmatch(r"message\.\d+", span.path):
            yield span.offset - HEADER_BYTES, span.length


def check_controller(capture: Path, folder: Path) -> int:
    """Check all fields of the controller, and return how many values tshark shows."""
    values, places = show(capture, folder)
    our_values, our_places = decode(capture)
    structures = names_of_structures()
    shown = {packet: sorted(each for each in found if each[0] not in structures) for packet, found in values.items()}
    assert {packet: found for packet, found in shown.items() if found} == {
        packet: sorted(each) for packet, each in our_values.items()
    }
    assert places.keys() == our_places.keys()
    assert all(our_places[packet] <= places[packet] for packet in places)
    return sum(map(len, values.values()))


def test_the_controller_is_shown_as_decode_shows_it(tmp_path: Path) -> None:
    assert check_controller(CAPTURE, tmp_path) > 200
