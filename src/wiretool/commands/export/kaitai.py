"""The implementation of `wiretool export kaitai`."""

from pathlib import Path

from wiretool import __version__
from wiretool.commands.export.formats import protocols_as
from wiretool.errors import UsageError
from wiretool.export.kaitai import find_obstacle, make_kaitai
from wiretool.protocols.base.registry import protocol_named
from wiretool.sinks.output import open_whole_output


def export_kaitai(name: str, output: Path | None) -> None:
    """Write the Kaitai Struct file of a protocol. UsageError where data does not describe its messages."""
    protocol = protocol_named(name)
    if obstacle := find_obstacle(protocol):
        able = " or ".join(protocols_as("kaitai")) or "another protocol"
        raise UsageError(f"{name}: {obstacle}; expected {able}")
    with open_whole_output(output) as out:
        out.write(make_kaitai(protocol, __version__))
