"""tshark with the exported dissector shows each frame as `decode` does: names, values, byte ranges and replies."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.export.wireshark.shown import Frame, Sent, Shown, by_decode, by_tshark
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.forked import run
from tests.helpers.recorded import unpack_recordings
from tests.helpers.tools import run_tool
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "captures"
SHARED = unpack_recordings() / "captures"
PROBES = sorted((SHARED / "pravega-server" / "probes").glob("*.pcap*"))
#: The options of tshark for the captures of a protocol.
OPTIONS = {"pravega": (), "pravega-draft": ("-d", "tcp.port==12345,pravega_draft")}
#: `decode` counts the block and the rest of an event that completes it; the link is to the end of the block.
LINKED_OTHERWISE = {("pravega-draft", 42)}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the dissector, as the command writes it."""
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    ended = run("export", "wireshark", "-o", path)
    assert ended.returncode == 0, ended.stderr
    return path


def comparable(field: Shown) -> Shown:
    """Return a field as tshark can show it: its text ends at a NUL, so the dissector puts another character there."""
    return field._replace(value=field.value.replace("\\x00", "\\xe2\\x90\\x80"))


def check_alike(ours: Frame, theirs: Frame) -> None:
    """Check the fields with bytes of their own, in their order, and the kinds of problems."""
    assert (theirs.packet, theirs.problems) == (ours.packet, ours.problems)
    without_bytes = {(each.name, each.at) for each in ours.fields if not each.length}
    hidden = [each for each in theirs.fields if (each.name, each.at + each.length) in without_bytes]  # flags of a byte
    shown = [each for each in theirs.fields if each.length and each not in hidden]
    assert shown == [comparable(each) for each in ours.fields if each.length]


def check_reply(ours: Frame, theirs: Frame) -> None:
    assert theirs.response_to == ours.response_to
    if ours.response_time:
        assert float(theirs.response_time) == pytest.approx(float(ours.response_time), abs=1e-6)


def check_same(protocol: str, ours: Sent, theirs: Sent) -> int:
    """Check all frames, and return how many they are."""
    assert ours.keys() == theirs.keys()
    for ends, frames in ours.items():
        assert len(frames) == len(theirs[ends]), ends
        for our_frame, their_frame in zip(frames, theirs[ends], strict=True):
            check_alike(our_frame, their_frame)
            if (protocol, our_frame.packet) not in LINKED_OTHERWISE:
                check_reply(our_frame, their_frame)
    return sum(map(len, ours.values()))


def compare(protocol: str, path: Path, script: Path, options: Sequence[str] = ()) -> int:
    theirs = by_tshark(script, path, PROTOCOLS[protocol], (*OPTIONS[protocol], *options))
    return check_same(protocol, by_decode(path, PROTOCOLS[protocol]), theirs)


@pytest.mark.parametrize("path", sorted((CAPTURES / "pravega").glob("*.pcap*")), ids=lambda path: path.name)
def test_pravega_is_shown_as_decode_shows_it(path: Path, script: Path) -> None:
    assert compare("pravega", path, script) > 50 or path.stem == "mgmt"  # which is gRPC alone


def test_the_draft_is_shown_as_decode_shows_it(script: Path) -> None:
    paths = sorted((CAPTURES / "pravega-draft").glob("*.pcap*"))
    assert sum(compare("pravega-draft", path, script) for path in paths) > 20


def test_probes_of_a_real_server_are_shown_as_decode_shows_them(script: Path, tmp_path: Path) -> None:
    """All in one capture: a start of tshark takes longer than reading a probe."""
    run_tool("mergecap", "-w", str(tmp_path / "all.pcapng"), *map(str, PROBES))
    assert compare("pravega", tmp_path / "all.pcapng", script) > 1_500


def shared_captures() -> list[Path]:
    """Return the captures of real clients that the project has not."""
    own = {path.name for path in (CAPTURES / "pravega").iterdir()}
    folders = ("pravega-server", "pravega-rust-client")
    paths = [path for folder in folders for path in sorted((SHARED / folder).glob("*.pcap*"))]
    return [path for path in paths if path.name not in own]


@pytest.mark.parametrize("path", shared_captures(), ids=lambda path: path.name)
def test_traffic_of_real_clients_is_shown_as_decode_shows_it(path: Path, script: Path) -> None:
    assert compare("pravega", path, script) > 0


def test_pravega_is_recognised_on_other_ports(script: Path) -> None:
    assert compare("pravega", CAPTURES / "pravega" / "write.pcap", script, ("-o", "pravega.ports:1")) > 2_000


def test_empty_messages_are_no_evidence_on_other_ports(script: Path, tmp_path: Path) -> None:
    """Eight zeros are an Event of pravega, and an empty KeepAlive is one of two protocols."""
    path = tmp_path / "other.pcap"
    keep_alive = bytes.fromhex("0000006400000000")
    talk: list[tuple[Side, bytes]] = [("client", bytes(8)), ("server", b"hello\r\n"), ("client", keep_alive)]
    path.write_bytes(pcap_bytes(tcp_packets(talk, server=("10.0.0.2", 7777))))
    assert packets(script, path, "pravega || pravega_draft") == []
    talk = [("client", keep_alive), ("client", bytes.fromhex("ffffff81000000080000001100000005"))]
    path.write_bytes(pcap_bytes(tcp_packets(talk, server=("10.0.0.2", 7777))))
    assert len(packets(script, path, "pravega")) == 1


def test_a_whole_second_is_shown_as_one(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "second.pcap"
    hello = bytes.fromhex("ffffff81000000080000001100000005")
    sent = tcp_packets([("client", hello), ("server", hello)], server=("10.0.0.2", 12345), acks=False)
    asked, replied = (each for each in sent if hello in each.data)
    path.write_bytes(pcap_bytes([asked, replied._replace(time_ns=asked.time_ns + 10**9)]))
    assert packets(script, path, "pravega.response_time", *fields("pravega.response_time")) == ["1.000000000"]


def packets(script: Path, path: Path, condition: str, *options: str) -> list[str]:
    """Return the lines of tshark for the packets that meet a display filter."""
    return run_tool("tshark", "-X", f"lua_script:{script}", "-r", str(path), "-Y", condition, *options).splitlines()


def fields(*names: str) -> list[str]:
    """Return the options for the columns of packets."""
    return ["-T", "fields", *(word for name in names for word in ("-e", name))]


def test_failures_and_problems_are_expert_items(script: Path) -> None:
    path = CAPTURES / "pravega" / "java_scale.pcap.gz"
    failures = packets(script, path, "pravega.failure", *fields("pravega.type", "_ws.expert.message"))
    assert failures
    assert all("SegmentIsSealed" in line or "NoSuchSegment" in line for line in failures)
    assert packets(script, path, "pravega.problem") == []


def test_requests_name_their_replies_in_a_second_pass(script: Path) -> None:
    names = ("frame.number", "pravega.response_in")
    lines = packets(script, CAPTURES / "pravega" / "write.pcap", names[1], "-2", *fields(*names))
    assert len(lines) > 900
    assert all(int(reply.split(",")[0]) > int(request) for request, reply in map(str.split, lines))


def test_types_are_shown_by_name(script: Path) -> None:
    shown = "\n".join(packets(script, CAPTURES / "pravega" / "write.pcap", "pravega.type == SetupAppend", "-V"))
    assert "type: SetupAppend (1)" in shown
    assert "length: 44 bytes" in shown
