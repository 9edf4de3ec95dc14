"""A start script for Scapy, which has the messages of protocols as layers."""

from collections.abc import Mapping, Sequence

from wiretool.export.names import protocol_identifier
from wiretool.protocols.base.protocol import Protocol

_HEAD = '''"""Start Scapy with the messages that wiretool knows: `scapy -c FILE`, or `python -i FILE`.

Written by wiretool {version} (`wiretool export scapy`). It requires the Python environment of wiretool.
"""

from functools import partial

from scapy.all import *
from scapy.sessions import TCPSession

from wiretool.scapy import bind, layers_of

'''
_TAIL = """
# As sniff, with messages that are reassembled: sniff_messages(offline="capture.pcap")
sniff_messages = partial(sniff, session=TCPSession)
"""


def make_scapy_script(protocols: Sequence[Protocol], ports: Mapping[str, Sequence[int]], version: str) -> str:
    """Return the text of a Python script that has the layers of protocols, and binds each to its `ports`, by name."""
    lines = []
    for protocol in protocols:
        lines.append(f"{protocol_identifier(protocol.name)} = layers_of({protocol.name!r})")
        if own := ports.get(protocol.name):
            lines.append(f"bind({protocol.name!r}, {', '.join(map(str, own))})")
    return _HEAD.format(version=version) + "".join(f"{line}\n" for line in lines) + _TAIL


def ports_of(protocols: Sequence[Protocol]) -> dict[str, list[int]]:
    """Return the ports of protocols by name; a port that several have is that of the first one."""
    owners: dict[int, str] = {}
    for protocol in protocols:
        for port in protocol.ports:
            owners.setdefault(port, protocol.name)
    return {each.name: [port for port in each.ports if owners[port] == each.name] for each in protocols}
