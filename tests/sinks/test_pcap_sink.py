import pytest

from tests.helpers.records import Paper
from wiretool.analysis.script import Sent
from wiretool.errors import UsageError
from wiretool.records import Record
from wiretool.sinks.frames import write_frames
from wiretool.sinks.pcap import CLIENTS_MAX
from wiretool.sinks.tcp import checksum


def frame(data: bytes, side: str = "client", connection: int = 0, time_ns: int | None = None) -> Sent:
    return Sent(connection, "client" if side == "client" else "server", time_ns, 12345, data)


def capture_of(*frames: Sent) -> bytes:
    paper = Paper()
    write_frames(frames, paper, "pcap")
    return paper.file.getvalue()


def read_back(raw: bytes) -> list[Record]:
    from io import BytesIO

    from wiretool.dissect.dissector import read

    return list(read(BytesIO(raw)))


HELLO = bytes.fromhex("ffffff81000000080000001100000005")


def test_a_capture_holds_what_was_put_into_it() -> None:
    raw = capture_of(
        frame(HELLO), frame(HELLO, "server"), frame(HELLO, connection=1, time_ns=1_800_000_000_000_000_123)
    )
    records = read_back(raw)
    assert [(each.connection, each.side, each.message) for each in records] == [
        (0, "client", "Hello"),
        (0, "server", "Hello"),
        (1, "client", "Hello"),
    ]
    assert records[2].time_ns == 1_800_000_000_000_000_123
    assert records[0].client == "10.0.0.10:40000"


def test_a_frame_larger_than_a_packet_is_cut_into_segments() -> None:
    padding = bytes.fromhex("ffffffff00001388") + bytes(5000)
    records = read_back(capture_of(frame(HELLO), frame(padding)))
    assert records[-1].message == "Padding"
    assert records[-1].length == 5008
    assert records[-1].packets[0] < records[-1].packets[1]


def test_a_connection_number_out_of_reach_is_refused() -> None:
    with pytest.raises(UsageError, match="numbers below 4,000,000 only"):
        capture_of(frame(HELLO, connection=CLIENTS_MAX))


def test_hex_is_a_line_a_frame_and_raw_is_the_bytes() -> None:
    paper = Paper()
    write_frames([frame(b"\x01"), frame(b"\x02\x03")], paper, "hex")
    assert paper.text == "01\n0203\n"
    paper = Paper()
    write_frames([frame(b"\x01"), frame(b"\x02\x03")], paper)
    assert paper.file.getvalue() == b"\x01\x02\x03"


@pytest.mark.parametrize("form", ["raw", "pcap"])
def test_bytes_are_kept_from_terminals(form: str) -> None:
    paper = Paper()
    paper.is_terminal = True
    with pytest.raises(UsageError, match=f"{form} refusing to write binary data to a terminal"):
        write_frames([frame(b"\x1b")], paper, form)
    write_frames([frame(b"\x1b")], paper)
    assert paper.text == "1b\n"


def test_the_checksum_of_data_with_its_checksum_is_zero() -> None:
    data = bytes(range(60))
    assert checksum(data + checksum(data)) == b"\0\0"
