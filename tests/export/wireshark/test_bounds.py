"""tshark shows a bounded part of long messages, and the number of the elements that it leaves out."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.tools import run_tool
from wiretool.codec.message import Side
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

Says = Sequence[tuple[Side, bytes]]


def shown(protocol: str, says: Says, names: str, tmp_path: Path) -> list[int | str]:
    """Return how often the last packet of a protocol has each field but the last, and the value of the last one."""
    script, path = tmp_path / "wiretool.lua", tmp_path / "long.pcap"
    script.write_text(make_dissector([PROTOCOLS[protocol]], "0"))
    path.write_bytes(
        pcap_bytes(tcp_packets(says, server=("10.0.0.2", PROTOCOLS[protocol].ports[0]), mtu=60_000, acks=False))
    )
    columns = [word for name in names.split() for word in ("-e", name)]
    loaded = ("-X", f"lua_script:{script}", "-r", str(path), "-Y", names.split()[0])
    listed = run_tool("tshark", *loaded, "-T", "fields", "-E", "aggregator=|", *columns, timeout_s=60)
    *fields, last = listed.splitlines()[-1].split("\t")
    return [*(field.count("|") + 1 for field in fields), last]


@needs_protocol("sbp-0.1")
def test_batches_are_shown_in_part(tmp_path: Path) -> None:
    """Each has a record, which is an element, too; so is the only append of the request."""
    from tests.protocols.sbp_0_1.talk import append, batch
    from wiretool.protocols.sbp_0_1.messages import S1

    payload = batch(S1, b"x") * 12_000
    says = [append(S1, 1, payload)]
    names = "sbp_0_1.payload.base_offset sbp_0_1.payload.records.body _ws.expert.message"
    *counts, expert = shown("sbp-0.1", says, names, tmp_path)
    assert counts == [5_000, 4_999]
    assert "7001 elements of lists are not shown" in str(expert)


@needs_protocol("offramp")
def test_members_that_are_not_declared_are_shown_in_part(tmp_path: Path) -> None:
    upgrade = b"GET /offramp/v2/roads/r HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    accepted = b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    text = json.dumps({"type": "REQUEST", "count": 1} | {f"x{n}": n for n in range(12_000)}).encode()
    frame = b"\x81\xff" + len(text).to_bytes(8, "big") + bytes(4) + text
    says: Says = [
        ("client", upgrade + b"Sec-WebSocket-Key: eA==\r\n\r\n"),
        ("server", accepted),
        ("client", frame),
    ]
    *counts, expert = shown("offramp", says, "offramp.other _ws.expert.message", tmp_path)
    assert counts == [10_000]
    assert "2000 elements of lists are not shown" in str(expert)
