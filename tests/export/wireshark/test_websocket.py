"""tshark shows messages of Offramp as `decode` does: names, values, byte ranges, problems and replies."""

from pathlib import Path

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.tools import run_tool
from wiretool.codec.message import Side
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

pytestmark = needs_protocol("offramp")

CAPTURES = Path(__file__).parents[3] / "captures" / "offramp"
#: Captures that are read together: their connections differ, and Wireshark reads all of their messages.
WHOLE = [
    "plain_dumpcap.pcapng",
    *(f"err_{name}.pcap" for name in ("counts", "handshake", "malformed")),
    *(f"plain{name}.pcap" for name in ("", "_any_sll2", "_ipv6", "_nano", "_resume")),
    *(f"{name}.pcap" for name in ("payloads_intl", "java_tls13_clear", "mixed_noise", "rebalance3")),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    path.write_text(make_dissector([PROTOCOLS["offramp"]], "0"))
    return path


def test_offramp_is_shown_as_decode_shows_it(script: Path, tmp_path: Path) -> None:
    """All in one capture: a start of tshark takes longer than reading one."""
    from tests.export.wireshark.websocket import compare_messages

    run_tool("mergecap", "-w", str(tmp_path / "all.pcapng"), *(str(CAPTURES / name) for name in WHOLE))
    assert compare_messages(script, tmp_path / "all.pcapng") > 1_800


def test_messages_are_shown_that_wireshark_inflates(script: Path) -> None:
    """The long ones, and those in fragments, are left to it as they are; so are those that refer to such."""
    from tests.export.wireshark.websocket import compare_messages

    assert compare_messages(script, CAPTURES / "deflate_no_context_takeover.pcap") == 25
    assert compare_messages(script, CAPTURES / "deflate_context_takeover.pcap") == 13


def test_fragments_are_shown_that_wireshark_reassembles(script: Path) -> None:
    """Wireshark has no message where all fragments of a packet but the last are empty, or each has its own packet."""
    from tests.export.wireshark.websocket import compare_messages

    lost = (81, 91, 92, 93, 97, 249, 257)
    assert compare_messages(script, CAPTURES / "framing.pcap", lost=lost) == 102


@pytest.mark.parametrize(("port", "shown"), [(8080, 1), (8765, 1)])
def test_it_is_recognised_on_other_ports_but_not_in_other_messages(
    port: int, shown: int, script: Path, tmp_path: Path
) -> None:
    upgrade = b"GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    accepted = b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    texts = [b'{"type":"hello"}', b"hello", b'{"type":"REQUEST","count":1}']
    frames = [b"\x81" + bytes((0x80 | len(text), 0, 0, 0, 0)) + text for text in texts]
    said: list[tuple[Side, bytes]] = [("client", upgrade + b"Sec-WebSocket-Key: eA==\r\n\r\n"), ("server", accepted)]
    more: list[tuple[Side, bytes]] = [("client", each) for each in frames]
    path = tmp_path / "chat.pcap"
    path.write_bytes(pcap_bytes(tcp_packets([*said, *more], server=("10.0.0.2", port))))
    listed = run_tool(
        "tshark", "-X", f"lua_script:{script}", "-r", str(path), "-d", f"tcp.port=={port},http", "-Y", "offramp"
    )
    assert len(listed.splitlines()) == shown
