"""tshark shows frames with FlatBuffers tables as `decode` does."""

import struct
from pathlib import Path

import pytest

from tests.export.wireshark.compared import compare
from tests.export.wireshark.shown import by_decode, by_tshark
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.recorded import unpack_recordings
from tests.helpers.tools import run_tool
from wiretool.capture.files.reading import read_packets
from wiretool.codec.flatbuffers.declaration import slots_of
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.base.table_frames import TableFrames
from wiretool.protocols.sbp.tables import ListRangeResponse, Range

pytestmark = needs_protocol("sbp")

CAPTURES = Path(__file__).parents[3] / "captures" / "sbp"
SERVERS = unpack_recordings() / "captures" / "sbp-server"
#: Captures with many thousand frames alike.
LONG = ("pd_pipelined.pcap", "rs_pipelined.pcap", "pd_ping.pcap", "rs_ping.pcap")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    path.write_text(make_dissector([PROTOCOLS["sbp"]], "0"))
    return path


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.name)
def test_sbp_is_shown_as_decode_shows_it(path: Path, script: Path) -> None:
    count, others = compare("sbp", script, path)
    assert count > 50
    assert others == 0


def test_sbp_of_real_servers_is_shown_as_decode_shows_it(script: Path, tmp_path: Path) -> None:
    """One request differs: a PING after a GOAWAY has the id of an earlier one."""
    paths = [path for path in sorted(SERVERS.glob("*.pcap")) if path.name.startswith(("pd_", "rs_", "sdk_"))]
    run_tool("mergecap", "-w", str(tmp_path / "all.pcapng"), *(str(path) for path in paths if path.name not in LONG))
    count, others = compare("sbp", script, tmp_path / "all.pcapng")
    assert count > 2_500
    assert others == 1


def test_frames_of_sbp_follow_lost_packets(script: Path, tmp_path: Path) -> None:
    packets = list(read_packets([CAPTURES / "rs_fetch.pcap"]))
    path = tmp_path / "lossy.pcap"
    path.write_bytes(pcap_bytes(packet for number, packet in enumerate(packets) if number % 7))
    ours, theirs = by_decode(path, PROTOCOLS["sbp"]), by_tshark(script, path, PROTOCOLS["sbp"])
    assert {ends: len(frames) for ends, frames in theirs.items()} == {
        ends: len(frames) for ends, frames in ours.items()
    }


def test_sbp_is_recognised_on_other_ports(script: Path) -> None:
    words = ("-r", str(CAPTURES / "pd_ranges.pcap"), "-o", "sbp.ports:1", "-Y", "sbp")
    assert len(run_tool("tshark", "-X", f"lua_script:{script}", *words).splitlines()) == 104


def test_names_and_units_are_shown(script: Path) -> None:
    words = ("-r", str(CAPTURES / "rs_append.pcap"), "-Y", "sbp.opcode == APPEND && sbp.response_to", "-O", "sbp")
    shown = run_tool("tshark", "-X", f"lua_script:{script}", *words)
    assert "opcode: APPEND (0x1001)" in shown
    assert "status.code: OK (1200)" in shown
    assert "frame_length: 88 bytes" in shown


def table(slots: int, slot: int, target: int) -> bytes:
    """Return a vtable with a table behind it, of which one slot leads `target` bytes on from itself."""
    offsets = [4 if index == slot else 0 for index in range(slots)]
    vtable = struct.pack(f"<HH{slots}H", 4 + 2 * slots, 8, *offsets)
    return vtable + struct.pack("<iI", len(vtable), target)


def vector_of_one(count: int, target: int) -> bytes:
    """Return a vector whose elements all lead to the place that is `target` bytes behind it."""
    size = 4 + 4 * count
    return struct.pack(f"<I{count}I", count, *(size + target - 4 - 4 * index for index in range(count)))


def shared_tables(count: int) -> bytes:
    """Return the header of a response to LIST_RANGE: `count` ranges are one, and the servers of that are one."""
    ranges = [name for name, _, _ in slots_of(ListRangeResponse)].index("ranges")
    servers = [name for name, _, _ in slots_of(Range)].index("servers")
    outer, inner = (table(len(slots_of(cls)), slot, 4) for cls, slot in ((ListRangeResponse, ranges), (Range, servers)))
    parts = [outer, vector_of_one(count, len(inner) - 8), inner, vector_of_one(count, 4), struct.pack("<HHi", 4, 4, 4)]
    return struct.pack("<I", 4 + len(outer) - 8) + b"".join(parts)


@pytest.mark.parametrize("port", [12378, 9999])
def test_tables_that_share_others_take_bounded_time(port: int, script: Path, tmp_path: Path) -> None:
    code = next(code for code, each in frames_of_sbp().schemas[0].operations.items() if each.name == "LIST_RANGE")
    header = shared_tables(6_000)
    body = struct.pack(">BHBIB", 0x17, code, 3, 1, 1) + len(header).to_bytes(3, "big") + header + bytes(4)
    path = tmp_path / "shared.pcap"
    frame = struct.pack(">I", len(body)) + body
    path.write_bytes(pcap_bytes(tcp_packets([("server", frame)], server=("10.0.0.2", port), mtu=60_000)))
    words = ("-X", f"lua_script:{script}", "-o", "sbp.ports:12378", "-r", str(path), "-V")
    shown = run_tool("tshark", *words, timeout_s=20)
    assert ("bad_flatbuffer_header" in shown) == (port == 12378)
    assert "Dissector bug" not in shown
    assert shown.count("server_id") < 10_000


def frames_of_sbp() -> TableFrames:
    frames = PROTOCOLS["sbp"].frames
    assert isinstance(frames, TableFrames)
    return frames
