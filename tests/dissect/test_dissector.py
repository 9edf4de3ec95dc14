"""Captures to records, the whole way."""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest

from tests.bench.talk import Sent
from tests.helpers.captures import SERVER, Talk, packets_of, pcap_bytes, tcp_packets
from tests.helpers.frames import talk
from tests.helpers.strategies import tiles
from tests.helpers.truth import check_ledger
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.codec.message import Side
from wiretool.dissect.dissector import annotate, read, read_from, read_hex
from wiretool.errors import CaptureError, DecodeError, UsageError
from wiretool.ledger import Ledger
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

PORTS = {name: protocol.ports[0] for name, protocol in PROTOCOLS.items()}
PRAVEGA = ("10.0.0.2", 12345)
HELLO = "ffffff81000000080000001100000005"


def packets_with(sent: Sequence[Sent], port: int, **options: object) -> list[Packet]:
    return tcp_packets(list(sent), server=("10.0.0.2", port), acks=False, **options)  # type: ignore[arg-type]


def told(packets: Sequence[Packet], **options: object) -> list[Record]:
    ledger = Ledger()
    records = list(read_from(packets, ledger=ledger, **options))  # type: ignore[arg-type]
    check_ledger(records, ledger)
    return records


def kinds(records: Sequence[Record]) -> list[str]:
    return [record.kind for record in records]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_conversation_is_told_frame_by_frame(name: str) -> None:
    records = told(packets_with(talk(name), PORTS[name]))
    assert [(record.side, record.raw) for record in records] == [tuple(sent) for sent in talk(name)]
    assert {(record.kind, record.protocol, record.connection) for record in records} == {("frame", name, 0)}
    assert [record.n for record in records] == list(range(1, len(records) + 1))
    assert all(record.packets[0] <= record.packets[1] for record in records)
    assert all(before.time_ns <= after.time_ns for before, after in pairwise(records))
    assert all(record.reply_to is None or record.reply_to < record.n for record in records)
    assert any(record.reply_to for record in records)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_reply_is_of_the_other_side(name: str) -> None:
    records = told(packets_with(talk(name), PORTS[name]))
    by_n = {record.n: record for record in records}
    for record in records:
        if record.reply_to:
            assert by_n[record.reply_to].side != record.side


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_spans_of_a_record_tile_it(name: str) -> None:
    for record in told(packets_with(talk(name), PORTS[name])):
        assert tiles(annotate(record), 0, record.length)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_hole_is_told_and_reading_goes_on(name: str) -> None:
    sent = talk(name)
    whole = packets_with(sent, PORTS[name])
    lost = 3 + len(sent) // 2
    records = told([packet for packet in whole if packet.number != lost + 1])
    missing = sent[lost - 3]
    (gap,) = [record for record in records if record.kind == "gap"]
    assert (gap.side, gap.length) == (missing.side, len(missing.data))
    expected = [each.data for at, each in enumerate(sent) if at != lost - 3]
    assert sorted(record.raw for record in records if record.kind == "frame") == sorted(expected)
    assert annotate(gap) == []


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_capture_that_begins_in_the_middle(name: str) -> None:
    sent = talk(name)
    side, data = sent[8]
    cut = [Sent(side, data[5:]), *sent[9:]]
    records = told(packets_with(cut, PORTS[name], begin=False))
    frames = [record for record in records if record.kind == "frame"]
    assert len(frames) >= len(cut) - 2
    assert {record.raw for record in frames} <= {each.data for each in sent}
    assert not [record for record in records if record.kind == "problem" and not record.length]


def test_several_captures_are_one() -> None:
    packets = packets_with(talk("pravega"), 12345)
    even, odd = packets[::2], packets[1::2]
    files = [BytesIO(pcap_bytes(half)) for half in (odd, even)]
    records = list(read(files))
    assert [record.raw for record in records] == [each.data for each in talk("pravega")]


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_bytes(packets_with(talk("sbp"), 10911)))
    assert len(list(read(str(path)))) == len(list(read(path))) == len(list(read([str(path)]))) == len(talk("sbp"))


def test_what_is_before_the_damage_is_told() -> None:
    raw = pcap_bytes(packets_with(talk("pravega"), 12345))
    records: list[Record] = []
    with pytest.raises(CaptureError, match="byte"):
        records.extend(read(BytesIO(raw[: len(raw) // 2])))
    assert 10 < len(records) < len(talk("pravega"))


def test_an_empty_capture_is_nothing() -> None:
    assert list(read(BytesIO(pcap_bytes([])))) == []


# -- which protocol ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pravega", "sbp", "offramp"])
def test_ports_say_what_is_spoken(name: str) -> None:
    packets = packets_with(talk(name), 7777)
    assert {record.protocol for record in told(packets, ports={7777: name})} == {name}
    assert {record.protocol for record in told(packets)} == {name}


def test_a_protocol_that_is_named_for_a_port_is_not_overruled_by_the_bytes() -> None:
    packets = packets_with([*talk("pravega")], 12345)
    notes: list[str] = []
    assert {record.protocol for record in told(packets, notes=notes.append)} == {"pravega"}
    assert {record.protocol for record in told(packets, ports={12345: "sbp"}, notes=notes.append)} == {"sbp"}
    assert notes == []


def test_a_protocol_can_be_forced() -> None:
    notes: list[str] = []
    packets = packets_with(talk("pravega"), 12345)
    records = told(packets, protocol="pravega-draft", notes=notes.append)
    assert {record.protocol for record in records} == {"pravega-draft"}
    assert notes == []


def test_a_guess_is_said() -> None:
    notes: list[str] = []
    told(packets_with([Sent("client", b"\x7f\xff\xff\xff\xff\xff\xff\xff?")], 12346), notes=notes.append)
    assert notes == ["connection 0 (10.0.0.2:12346): read as pravega because of its port alone"]


@pytest.mark.parametrize("options", [{"protocol": "pravga"}, {"ports": {7: "pravga"}}])
def test_a_protocol_that_is_none(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no protocol is called 'pravga'"):
        told([], **options)


def test_a_stranger_is_one_record_a_direction() -> None:
    hello, answer = b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x03\x00\x06answer"
    sent: list[tuple[Side, bytes]] = [("client", hello), ("server", answer), ("client", b"x" * 5_000)]
    records = told(tcp_packets(sent, server=("10.0.0.2", 443)))
    why = "TLS; not decrypted: its beginning was not captured"
    assert [(each.kind, each.side, each.offset, each.length, each.why) for each in records] == [
        ("other", "client", 0, 5_000 + len(hello), why),
        ("other", "server", 0, len(answer), why),
    ]
    assert {record.protocol for record in records} == {""}


def test_connections_are_numbered_as_they_appear() -> None:
    talks = [packets_with(talk(name)[:6], PORTS[name]) for name in ("pravega", "sbp")]
    frames = [packet.data for pair in zip(*talks, strict=False) for packet in pair]
    records = told(packets_of(frames))
    assert {(record.connection, record.protocol) for record in records} == {(0, "pravega"), (1, "sbp")}


# -- strict ------------------------------------------------------------------------------------------------------------


def test_strict_ends_behind_the_first_problem() -> None:
    sent = [*talk("pravega")[:2], Sent("client", bytes.fromhex("0000006480000000"))]
    records: list[Record] = []
    with pytest.raises(DecodeError, match=r"frame-too-large at byte \d+ \(record 3\)"):
        records.extend(read_from(packets_with(sent, 12345), strict=True))
    assert kinds(records) == ["frame", "frame", "problem"]


def test_strict_has_nothing_against_a_good_capture() -> None:
    packets = packets_with(talk("sbp"), 10911)
    assert list(read_from(packets, strict=True)) == told(packets)


# -- hex ---------------------------------------------------------------------------------------------------------------


def test_hex_is_a_stream_a_line() -> None:
    lines = [f"{HELLO}\n", "\n", f"  {HELLO.upper()}{HELLO}  \n", HELLO[:20]]
    records = list(read_hex(lines, protocol="pravega", side="client"))
    assert [(each.n, each.connection, each.client, each.kind) for each in records] == [
        (1, 0, "line 1", "frame"),
        (2, 1, "line 3", "frame"),
        (3, 1, "line 3", "frame"),
        (4, 2, "line 4", "problem"),
    ]
    assert (records[-1].error, records[-1].length) == ("incomplete", 10)


def test_hex_of_the_middle_of_a_stream() -> None:
    frame = next(each.data for each in talk("sbp") if each.side == "client")
    records = list(read_hex([(b"\xff\xff\xff" + frame).hex()], protocol="sbp", side="client"))
    assert kinds(records) == ["problem", "frame"]


@pytest.mark.parametrize(
    ("line", "why"),
    [("abc", "line 1: byte 1: not hex: half a byte"), ("ffxf", "line 1: byte 1: not hex: 'x' at character 3 is no")],
)
def test_what_is_no_hex(line: str, why: str) -> None:
    with pytest.raises(CaptureError, match=why):
        list(read_hex([line], protocol="pravega", side="client"))


def test_hex_takes_a_protocol_that_is_there() -> None:
    with pytest.raises(UsageError, match="no protocol is called 'auto'"):
        list(read_hex([HELLO], protocol="auto", side="client"))


def test_strict_hex() -> None:
    with pytest.raises(DecodeError, match="incomplete"):
        list(read_hex([HELLO[:-2]], protocol="pravega", side="client", strict=True))


# -- what does not fit the stream --------------------------------------------------------------------------------------


def test_bytes_that_come_again_otherwise_are_a_problem_without_bytes() -> None:
    made = Talk(server=PRAVEGA)
    made.open()
    first = talk("pravega")[0].data
    made.say("client", first)
    made.send("client", ACK, b"X" * len(first), seq=made.next["client"] - len(first))
    made.close("fin")
    ledger = Ledger()
    records = list(read_from(packets_of(made.frames), ledger=ledger))
    check_ledger(records, ledger)
    assert [(each.kind, each.error, each.length) for each in records] == [
        ("frame", "", len(first)),
        ("problem", "overlap-differs", 0),
    ]
    assert ledger.total.duplicate_bytes == len(first)


def test_a_retransmission_is_counted_and_told_once() -> None:
    packets = packets_with(talk("pravega"), SERVER[1] + 4265)
    ledger = Ledger()
    twice = [packet for packet in packets for _ in range(2)]
    numbered = [packet._replace(number=n) for n, packet in enumerate(twice, 1)]
    records = list(read_from(numbered, ledger=ledger))
    check_ledger(records, ledger)
    assert [record.raw for record in records] == [each.data for each in talk("pravega")]
    assert ledger.total.duplicate_bytes == ledger.total.payload_bytes
