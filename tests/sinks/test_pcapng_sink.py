from io import BytesIO
from pathlib import Path

import pytest

from tests.helpers.tools import run_tool
from wiretool.capture.files.reading import read_packets
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.dissect.dissector import read
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import SEGMENT_BYTES_MAX, Recording

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
AT_NS = 1_700_000_000_123_456_789


def recorded(client: tuple[str, int], server: tuple[str, int], size: int = 0) -> bytes:
    file = BytesIO()
    recording = Recording(Output(file))
    recording.opened(1, client, server, AT_NS)
    recording.sent(1, "client", HELLO, AT_NS + 1)
    recording.sent(1, "server", HELLO, AT_NS + 2)
    recording.sent(1, "client", bytes.fromhex("ffffffff") + size.to_bytes(4, "big") + bytes(size), AT_NS + 3)
    recording.finished(1, "client", AT_NS + 3)
    recording.finished(1, "server", AT_NS + 4)
    recording.forget(1)
    return file.getvalue()


@pytest.mark.parametrize(
    ("client", "server", "shown"),
    [
        (("127.0.0.1", 40001), ("127.0.0.1", 12345), "127.0.0.1:40001"),
        (("::1", 40001), ("::1", 12345), "[::1]:40001"),
        (("fe80::1%lo", 40001), ("10.0.0.1", 12345), "[fe80::1]:40001"),
    ],
)
def test_a_recorded_connection_decodes(client: tuple[str, int], server: tuple[str, int], shown: str) -> None:
    records = list(read(BytesIO(recorded(client, server, 3 * SEGMENT_BYTES_MAX))))
    assert [(record.side, record.message) for record in records] == [
        ("client", "Hello"),
        ("server", "Hello"),
        ("client", "Padding"),
    ]
    assert [record.time_ns - AT_NS for record in records] == [1, 2, 3]
    assert records[0].client == shown


def test_a_comment_goes_with_the_first_packet_of_what_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "own.pcapng"
    with path.open("wb") as file:
        recording = Recording(Output(file))
        recording.opened(1, ("127.0.0.1", 40001), ("127.0.0.1", 12345), AT_NS)
        recording.sent(1, "client", HELLO, AT_NS, comment="größer")
        recording.sent(1, "server", bytes(SEGMENT_BYTES_MAX + 1), AT_NS, comment="x" * 70_000)
    assert len(list(read_packets([path]))) == 6
    shown = run_tool("tshark", "-r", str(path), "-T", "fields", "-e", "frame.comment").split("\n")
    assert shown == ["", "", "", "größer", "x" * 65_535, "", ""]


def test_what_is_not_in_a_recording_is_a_gap() -> None:
    file = BytesIO()
    recording = Recording(Output(file))
    recording.opened(1, ("127.0.0.1", 40001), ("127.0.0.1", 12345), AT_NS)
    recording.sent(1, "client", HELLO, AT_NS)
    recording.missed(1, "client", 7)
    recording.sent(1, "client", HELLO, AT_NS)
    records = list(read(BytesIO(file.getvalue())))
    assert [(record.kind, record.length) for record in records] == [("frame", 16), ("gap", 7), ("frame", 16)]


def test_packets_are_sound(tmp_path: Path) -> None:
    """tshark finds no wrong checksum, no gap and an orderly end."""
    path = tmp_path / "own.pcapng"
    path.write_bytes(recorded(("127.0.0.1", 40001), ("127.0.0.1", 12345), SEGMENT_BYTES_MAX))
    options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    wanted = ("tcp.checksum.status", "ip.checksum.status", "tcp.analysis.flags")
    shown = run_tool(
        "tshark", "-r", str(path), "-T", "fields", *options, *(word for name in wanted for word in ("-e", name))
    )
    assert shown.splitlines() == ["1\t1\t"] * (3 + 2 + 2 + 2)


def test_a_reset_is_the_end() -> None:
    file = BytesIO()
    recording = Recording(Output(file))
    recording.opened(1, ("127.0.0.1", 1), ("127.0.0.1", 2), AT_NS)
    recording.lost(1, "server", AT_NS)
    segments = list(read_segments(read_packets([BytesIO(file.getvalue())])))
    assert len(segments) == 4
