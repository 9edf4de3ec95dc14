"""The implementation of `wiretool export kaitai`."""

from pathlib import Path

from wiretool import __version__
from wiretool.errors import UsageError
from wiretool.export.kaitai import is_exportable, make_kaitai
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named
from wiretool.sinks.output import open_whole_output


def export_kaitai(name: str, output: Path | None) -> None:
    """Write the Kaitai Struct file of a protocol. UsageError where data does not describe its messages."""
    protocol = protocol_named(name)
    if not is_exportable(protocol):
        able = " or ".join(each for each, other in PROTOCOLS.items() if is_exportable(other))
        raise UsageError(f"{name}: declarations alone do not describe its messages; expected {able}")
    with open_whole_output(output) as out:
        out.write(make_kaitai(protocol, __version__))
