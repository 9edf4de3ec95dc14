"""The implementation of `wiretool export protobuf`."""

from pathlib import Path

from wiretool.errors import UsageError
from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named
from wiretool.sinks.output import open_whole_output


def export_protobuf(name: str, output: Path | None) -> None:
    """Write the .proto file of a protocol; UsageError for one that does not use gRPC."""
    frames = protocol_named(name).frames
    if not isinstance(frames, ProtoFile):
        known = ", ".join(sorted(each.name for each in PROTOCOLS.values() if isinstance(each.frames, ProtoFile)))
        raise UsageError(f"protocol {name!r} does not use gRPC; expected {known or 'a protocol that does'}")
    with open_whole_output(output) as out:
        out.write(frames.read_text())
