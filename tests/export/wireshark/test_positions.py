"""Frames after lost, cut and unreadable bytes, in tshark with the exported dissector."""

import random
import struct
import subprocess
from pathlib import Path

import pytest

from tests.export.wireshark.shown import Frame, Sent, by_decode, by_tshark
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.tools import run_tool
from wiretool.capture.files.reading import read_packets
from wiretool.codec.message import Side
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

CAPTURES = Path(__file__).parents[3] / "captures" / "pravega"
PRAVEGA = PROTOCOLS["pravega"]
Says = list[tuple[Side, bytes]]
WHOLE_PACKETS = ("-o", "tcp.desegment_tcp_streams:FALSE")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    path.write_text(make_dissector([PRAVEGA, PROTOCOLS["pravega-draft"]], "0"))
    return path


def framed(kind: int, body: bytes) -> bytes:
    return struct.pack(">iI", kind, len(body)) + body


def setup_append(number: int, segment: bytes = b"sc/st/0") -> bytes:
    """Return a SetupAppend with a request id, whose other fields are as short as may be."""
    return framed(1, struct.pack(">q16sH", number, bytes(16), len(segment)) + segment + bytes(2))


HELLO = framed(-127, struct.pack(">ii", 17, 5))


def lines(script: Path, tmp_path: Path, talk: Says, names: str, *options: str) -> list[str]:
    """Return fields of the packets of a conversation with Pravega; several in one packet are separated by commas."""
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap_bytes(tcp_packets(talk, server=("10.0.0.2", 12345), acks=False)))
    columns = [word for name in names.split() for word in ("-e", name)]
    loaded = ("-X", f"lua_script:{script}", "-r", str(path))
    return run_tool(
        "tshark", *loaded, *options, "-Y", "pravega || pravega_draft", "-T", "fields", *columns
    ).splitlines()


def identities(sent: Sent) -> set[tuple[tuple[str, str], int, tuple[tuple[int, str], ...]]]:
    """Return the packet and the first fields of each frame."""
    return {(ends, frame.packet, beginning(frame)) for ends, frames in sent.items() for frame in frames}


def beginning(frame: Frame) -> tuple[tuple[int, str], ...]:
    return tuple((field.at, field.value[:100]) for field in frame.fields if field.at < 24)


@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize("name", ["read.pcap", "java_mtu1500.pcap.gz", "java_conditional.pcap"])
def test_no_others_than_the_frames_of_decode_follow_lost_packets(
    name: str, share: float, script: Path, tmp_path: Path
) -> None:
    chance = random.Random(f"{name} {share}")
    packets = list(read_packets([CAPTURES / name]))
    kept = [packet for packet in packets if chance.random() >= share]
    path = tmp_path / "lossy.pcap"
    path.write_bytes(pcap_bytes(kept))
    ours, theirs = by_decode(path, PRAVEGA), by_tshark(script, path, PRAVEGA)
    assert len(kept) < len(packets)
    assert len(identities(ours)) > 50
    assert identities(theirs) <= identities(ours)
    assert len(identities(theirs)) >= 0.97 * len(identities(ours))


def test_a_header_in_two_packets_is_found_after_bytes_that_are_no_frame(script: Path, tmp_path: Path) -> None:
    junk, message = b"\xaa" * 40, setup_append(7)
    talk: Says = [
        ("client", HELLO),
        ("client", junk + message[:4]),
        ("client", message[4:] + setup_append(8)),
    ]
    found = lines(script, tmp_path, talk, "pravega.request_id pravega.unframed")
    assert found == ["\t", f"\t{junk.hex()}", "7,8\t"]


def test_false_headers_hide_no_message(script: Path, tmp_path: Path) -> None:
    """The header of a message is lost, and the numbers in it look like those of frames of 800 bytes and more."""
    numbers = b"".join(struct.pack(">ii", n % 40, 800 + n) for n in range(400))
    path = tmp_path / "lost.pcap"
    talk: Says = [
        ("client", HELLO),
        ("client", framed(-1, numbers)),
        *[("client", setup_append(n)) for n in range(30)],
    ]
    sent = tcp_packets(talk, server=("10.0.0.2", 12345), acks=False)
    first = next(n for n, packet in enumerate(sent) if numbers[:100] in packet.data)
    path.write_bytes(pcap_bytes(sent[:first] + sent[first + 1 :]))
    shown = [frame for frames in by_tshark(script, path, PRAVEGA).values() for frame in frames]
    kinds = [frame.fields[0].value for frame in shown]
    assert kinds.count("1") >= 30
    assert len(kinds) < 35


def test_the_rest_of_a_frame_that_is_not_reassembled_is_left_out(script: Path, tmp_path: Path) -> None:
    big = framed(-1, bytes(4_000))
    talk: Says = [("client", HELLO), ("client", big + setup_append(1)), ("client", setup_append(2))]
    found = lines(script, tmp_path, talk, "pravega.type pravega.request_id _ws.expert.message", *WHOLE_PACKETS)
    assert [line.split("\t")[:2] for line in found] == [["-127", ""], ["-1", ""], ["", ""], ["1", "1"], ["1", "2"]]
    assert "incomplete: 1460 of 4008 bytes" in found[1]
    assert all("incomplete: rest of a frame of earlier packets" in line for line in found[2:4])


@pytest.mark.parametrize("is_asked_twice", [False, True], ids=["one pass", "two passes"])
def test_bytes_within_a_message_are_not_left_to_tls(*, is_asked_twice: bool, script: Path, tmp_path: Path) -> None:
    """They look like the beginning of a record of TLS, and a conversation of both ends is known."""
    record = b"\x16\x03\x03\x05\xac\x01"
    talk: Says = [
        ("client", HELLO),
        ("server", HELLO),
        ("client", framed(-1, bytes(1_452) + record + bytes(800)) + setup_append(1)),
    ]
    twice = ["-2"] if is_asked_twice else []
    found = lines(script, tmp_path, talk, "frame.protocols _ws.expert.message", *WHOLE_PACKETS, *twice)
    assert len(found) == 4
    assert not any("tls" in line for line in found)
    assert "incomplete: rest of a frame of earlier packets" in found[3]


def test_two_passes_without_a_filter_have_all_messages(script: Path) -> None:
    """The first pass has no fields then."""
    words = (
        "-X",
        f"lua_script:{script}",
        "-r",
        str(CAPTURES / "java_large.pcap.gz"),
        "-T",
        "fields",
        "-e",
        "pravega.type",
    )
    assert run_tool("tshark", *words, "-2").split() == run_tool("tshark", *words).split()


def test_a_frame_in_a_truncated_packet_is_shown_as_far_as_it_goes(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.pcap"
    run_tool("editcap", "-F", "pcap", "-s", "90", str(CAPTURES / "write.pcap"), str(path))
    problems = ("-Y", "pravega.problem", "-T", "fields", "-e", "pravega.type", "-e", "_ws.expert.message")
    found = run_tool("tshark", "-X", f"lua_script:{script}", "-r", str(path), *problems).splitlines()
    assert len(found) > 1_000
    assert all("incomplete: " in line and line.split("\t")[0] for line in found)


def test_text_that_is_not_utf8_is_a_problem(script: Path, tmp_path: Path) -> None:
    talk: Says = [
        ("client", HELLO),
        ("client", setup_append(1, b"a\xff")),
        ("client", setup_append(2, b"a\xc3\xa9")),
    ]
    found = lines(script, tmp_path, talk, "pravega.segment _ws.expert.message")
    assert "bad-utf: segment" in found[1]
    assert found[2].startswith("aé\t")
    assert "bad-utf" not in found[2]


def test_bits_that_must_be_zero_are_a_problem_of_the_draft(script: Path, tmp_path: Path) -> None:
    kinds = {cls.declaration.name: cls.declaration.type_id for cls in PROTOCOLS["pravega-draft"].messages}
    body = struct.pack(">H3sq", 3, b"a/b", 0)
    talk: Says = [
        ("server", framed(kinds["SegmentRead"], body + bytes([flags]) + struct.pack(">i", 0)))
        for flags in (0xC0, 0xE0, 0x01)
    ]
    decode_as = ("-d", "tcp.port==12345,pravega_draft")
    found = lines(script, tmp_path, talk, "_ws.expert.message", *decode_as)
    assert ["reserved-bits-set: at_tail" in line for line in found] == [False, True, True]


def test_a_list_without_end_is_shown_in_part(script: Path, tmp_path: Path) -> None:
    kinds = {cls.declaration.name: cls.declaration.type_id for cls in PRAVEGA.messages}
    count = 30_000
    body = struct.pack(">qH7si", 5, 7, b"sc/st/0", count) + bytes(2) * count + bytes(2)
    talk: Says = [
        ("client", HELLO),
        ("client", framed(kinds["MergeSegmentsBatch"], body)),
        ("client", setup_append(6)),
    ]
    names = "pravega.request_id pravega.left_over pravega.source_segment_ids _ws.expert.message"
    found = lines(script, tmp_path, talk, names)
    assert [line.split("\t")[:2] for line in found[1:]] == [["5", ""], ["6", ""]]
    assert found[1].split("\t")[2].count(",") == 9_999
    assert "20000 elements of lists are not shown" in found[1]


def test_the_list_of_packets_has_all_messages_of_a_packet(script: Path, tmp_path: Path) -> None:
    """TCP calls a dissector once with the bytes that it reassembled, and once with the others."""
    big = framed(-1, bytes(2_000)) + setup_append(1)
    talk: Says = [("client", HELLO), ("client", big + big)]
    found = lines(script, tmp_path, talk, "_ws.col.Info", "-2")
    assert ["Padding, SetupAppend" in line for line in found].count(True) == 2


def test_the_client_is_known_where_both_ends_have_the_same_port(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "same.pcap"
    reply = framed(2, struct.pack(">qH7s16sq", 1, 7, b"sc/st/0", bytes(16), -1))
    talk: Says = [
        ("client", HELLO),
        ("server", HELLO),
        ("client", setup_append(1)),
        ("server", reply),
    ]
    ends = {"client": ("10.0.0.1", 12345), "server": ("10.0.0.2", 12345)}
    path.write_bytes(pcap_bytes(tcp_packets(talk, client=ends["client"], server=ends["server"], acks=False)))
    words = ("-Y", "pravega.response_to", "-T", "fields", "-e", "pravega.response_to")
    assert len(run_tool("tshark", "-X", f"lua_script:{script}", "-r", str(path), *words).splitlines()) == 2


def test_a_second_copy_is_not_loaded(script: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.lua"
    other.write_bytes(script.read_bytes())
    words = ("-X", f"lua_script:{script}", "-X", f"lua_script:{other}", "-r", str(CAPTURES / "txn.pcap"))
    ended = subprocess.run(["tshark", *words, "-Y", "pravega"], capture_output=True, text=True, check=True, timeout=60)
    assert f"{other.name}: not loaded, as another copy of this dissector is: " in ended.stderr
    assert len(ended.stdout.splitlines()) > 50


def test_packets_out_of_order_are_put_in_order(script: Path, tmp_path: Path) -> None:
    packets = list(read_packets([CAPTURES / "java_mtu1500.pcap.gz"]))
    path = tmp_path / "order.pcap"
    path.write_bytes(pcap_bytes([*packets[:60], packets[61], packets[60], *packets[62:]]))
    theirs = by_tshark(script, path, PRAVEGA, ("-o", "tcp.reassemble_out_of_order:TRUE"))
    ours = by_decode(path, PRAVEGA)
    assert {ends: len(frames) for ends, frames in theirs.items()} == {
        ends: len(frames) for ends, frames in ours.items()
    }
