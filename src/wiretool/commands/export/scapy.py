"""The implementation of `wiretool export scapy`."""

from collections.abc import Sequence
from pathlib import Path

from wiretool import __version__
from wiretool.errors import UsageError
from wiretool.export.scapy_script import make_scapy_script, ports_of
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named
from wiretool.sinks.output import open_whole_output


def export_scapy(name: str | None, ports: Sequence[int], output: Path | None) -> None:
    """Write a start script for Scapy with the layers of a protocol, or of all. UsageError for ports without one."""
    if name is None and ports:
        raise UsageError("--port: which protocol is at the port is not given; expected PROTOCOL, too")
    protocols = list(PROTOCOLS.values()) if name is None else [protocol_named(name)]
    bound = {name: ports} if name and ports else ports_of(protocols)
    if name and not bound[name]:
        raise UsageError(f"{name}: has no ports of its own; expected --port")
    with open_whole_output(output) as out:
        out.write(make_scapy_script(protocols, bound, __version__))
