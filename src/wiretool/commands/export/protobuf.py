"""The implementation of `wiretool export protobuf`."""

from pathlib import Path

from wiretool.commands.export.formats import protocols_as
from wiretool.errors import UsageError
from wiretool.protocols.base.proto_file import ProtoFile
from wiretool.protocols.base.registry import protocol_named
from wiretool.sinks.output import open_whole_output


def export_protobuf(name: str, output: Path | None) -> None:
    """Write the .proto file of a protocol; UsageError for one that does not use gRPC."""
    frames = protocol_named(name).frames
    if not isinstance(frames, ProtoFile):
        known = ", ".join(protocols_as("protobuf"))
        raise UsageError(f"protocol {name!r} does not use gRPC; expected {known or 'a protocol that does'}")
    with open_whole_output(output) as out:
        out.write(frames.read_text())
