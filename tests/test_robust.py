"""No input, whatever its bytes, ends in a traceback, unbounded memory or a hang, and every byte is accounted for."""

import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.talk import Sent, segments
from tests.helpers.captures import Talk, packets_of, pcap_bytes, tcp_packets
from tests.helpers.examples import ABSENT
from tests.helpers.frames import TALKS, talk
from tests.helpers.hostile import MB, peak_bytes, sinks, streamed, write_all
from tests.helpers.hostile import in_time as in_time
from tests.helpers.records import Paper
from tests.helpers.truth import check_ledger
from wiretool import limits
from wiretool.capture.tcp.segments_of_packets import SYN
from wiretool.codec.message import Side
from wiretool.dissect.dissector import Dissector, annotate, read, read_hex
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record
from wiretool.sinks.choose import sink_for

HERE = Path(__file__).parent
CAPTURES = HERE.parent / "captures"
#: Small ones, of each protocol, link type and file format.
SMALL = (
    "offramp/plain.pcap",
    "offramp/plain_any_sll2.pcap",
    "offramp/plain_ipv6.pcap",
    "offramp/plain_dumpcap.pcapng",
    "offramp/err_malformed.pcap",
    "offramp/payloads_intl.pcap",
    "pravega-draft/blocks.pcap",
    "pravega/mgmt.pcap",
    "pravega/txn.pcap",
    "sbp-0.1/s1_streams.pcap",
    "sbp-0.1/pm_s2_batch.pcap",
    "sbp/rs_errors.pcap",
    "sbp/rs_append.pcap",
    "sbp/pd_malformed.pcap",
    "offramp/u2k_gzip.pcap.gz",
)


# -- what must hold of any reading -------------------------------------------------------------------------------------


def read_all(data: bytes, protocol: str = "auto") -> list[Record]:
    """The records of a capture file, up to where it is damaged; the ledger fits."""
    ledger = Ledger()
    records: list[Record] = []
    # What came before the damage is kept.
    with suppress(CaptureError):
        records.extend(read(BytesIO(data), protocol=protocol, ledger=ledger))
    check_ledger(records, ledger)
    return records


def survives(data: bytes, protocol: str = "auto") -> list[Record]:
    records = read_all(data, protocol)
    write_all(records)
    return records


# -- damaged captures --------------------------------------------------------------------------------------------------


def mutations(size: int) -> st.SearchStrategy[list[tuple[str, int, int, bytes]]]:
    """What is done to so many bytes, one thing after the other."""
    places = st.integers(0, max(size - 1, 0))
    kinds = st.sampled_from(["flip", "cut", "repeat", "insert", "end"])
    return st.lists(st.tuples(kinds, places, st.integers(0, 400), st.binary(min_size=1, max_size=12)), max_size=6)


def mutate(data: bytes, changes: Sequence[tuple[str, int, int, bytes]]) -> bytes:
    out = bytearray(data)
    for kind, at, count, raw in changes:
        if kind == "flip":
            for index in range(at, min(at + len(raw), len(out))):
                out[index] ^= raw[index - at]
        elif kind == "cut":
            del out[at : at + count]
        elif kind == "repeat":
            out[at:at] = out[at : at + count]
        elif kind == "insert":
            out[at:at] = raw
        elif at > len(out) // 2:
            del out[at:]
    return bytes(out)


@pytest.mark.parametrize("name", SMALL)
@given(data=st.data())
@settings(max_examples=5)
def test_a_damaged_capture(name: str, data: st.DataObject) -> None:
    raw = (CAPTURES / name).read_bytes()
    survives(mutate(raw, data.draw(mutations(len(raw)))))


@pytest.mark.parametrize("name", [name for name in SMALL if not name.endswith((".gz", "ng"))])
@given(data=st.data())
@settings(max_examples=5)
def test_a_capture_whose_packets_are_damaged(name: str, data: st.DataObject) -> None:
    """The file itself stays whole: the damage is in the packets, so it gets as far as the protocols."""
    raw = bytearray((CAPTURES / name).read_bytes())
    places = list(payload_places(raw))
    for at in data.draw(st.lists(st.sampled_from(places), max_size=30)):
        raw[at] = data.draw(st.sampled_from([0, 0xFF, 0x7F, 0x80, 0x1B, raw[at] ^ 1, raw[at] ^ 0x10]))
    survives(bytes(raw))


def payload_places(raw: bytes | bytearray) -> Iterator[int]:
    """Every byte of a packet behind its link, network and TCP headers, about."""
    order = "little" if raw[0] in (0xD4, 0x4D) else "big"
    at = 24
    while at + 16 <= len(raw):
        length = int.from_bytes(raw[at + 8 : at + 12], order)  # type: ignore[arg-type]
        yield from range(at + 16 + 66, at + 16 + length)
        at += 16 + length


@pytest.mark.parametrize("name", list(PROTOCOLS))
@given(data=st.data())
@settings(max_examples=12)
def test_a_damaged_conversation(name: str, data: st.DataObject) -> None:
    """Streams of which bytes were changed, lost and added, and of which some segments are missing."""
    says: list[tuple[Side, bytes]] = []
    for side, raw in talk(name):
        is_hit = data.draw(st.integers(0, 9)) == 0
        says.append((side, mutate(raw, data.draw(mutations(len(raw)))) if is_hit else raw))
    lost = data.draw(st.sets(st.integers(0, 140), max_size=6))
    port = PROTOCOLS[name].ports[0]
    packets = tcp_packets(says, server=("10.0.0.2", port), begin=data.draw(st.booleans()), drop=lost)
    survives(pcap_bytes(packets), data.draw(st.sampled_from(["auto", name, *PROTOCOLS])))


def vector_bytes() -> list[tuple[str, bytes]]:
    """The bytes of the vectors, with the protocol that each is of."""
    found: list[tuple[str, bytes]] = []
    for file in sorted((HERE / "vectors").glob("*.json")):
        content = json.loads(file.read_text())
        for records in [content] if isinstance(content, list) else content.values():
            if isinstance(records, list):
                found += [(file.stem, bytes.fromhex(each["hex"])) for each in records if "hex" in each]
    assert found
    return found


VECTORS = vector_bytes()


@given(data=st.data())
@settings(max_examples=200)
def test_damaged_vectors(data: st.DataObject) -> None:
    stem, raw = data.draw(st.sampled_from(VECTORS))
    near = [name for name in PROTOCOLS if name.startswith(stem)]
    protocol = data.draw(st.sampled_from(near))
    side: Side = data.draw(st.sampled_from(["client", "server"]))
    line = mutate(raw, data.draw(mutations(len(raw)))).hex()
    ledger = Ledger()
    records = list(read_hex([line, raw.hex()], protocol=protocol, side=side, ledger=ledger))
    check_ledger(records, ledger)
    write_all(records)


@given(raw=st.binary(max_size=400))
def test_any_file(raw: bytes) -> None:
    survives(raw)


# -- adversaries -------------------------------------------------------------------------------------------------------


def assert_no_square(work: Callable[[int], None], count: int) -> None:
    """AssertionError where sixteen times the work takes far more than sixteen times as long, on any machine.

    What grows with the square would take 256 times as long. One good time of three is enough: a machine that is busy
    with other things tells badly what takes how long.
    """
    ratios = (_taken_s(work, count) / _taken_s(work, count // 16) for _ in range(3))
    assert any(ratio < 80 for ratio in ratios)


def _taken_s(work: Callable[[int], None], count: int) -> float:
    begun_s = time.process_time()
    work(count)
    return time.process_time() - begun_s


every = pytest.mark.parametrize("name", list(PROTOCOLS))


@every
@pytest.mark.usefixtures("in_time")
def test_good_frames_and_garbage_in_turn(name: str) -> None:
    sent = talk(name)
    body = sorted((each.data for each in sent[4:] if each.side == "client"), key=len)[:2]
    begin = list(sent[:4])

    def read_turns(count: int) -> None:
        stream = b"".join(body[n % len(body)] + b"\xfe" for n in range(count))
        records = streamed([*begin, Sent("client", stream)], PROTOCOLS[name].ports[0])
        assert sum(record.kind == "frame" for record in records) > len(begin)

    assert_no_square(read_turns, 1_200)


@every
@pytest.mark.parametrize("byte", [0x00, 0x17, 0x81, 0xFF, 0x7B])
@pytest.mark.usefixtures("in_time")
def test_a_megabyte_of_one_byte(name: str, byte: int) -> None:
    sent = talk(name)
    count = MB // 8 if name == "offramp" and byte in (0x00, 0x81) else MB  # there a few bytes are a frame
    streamed([*sent, Sent("client", bytes((byte,)) * count), *sent[4:]], PROTOCOLS[name].ports[0])


@every
@pytest.mark.usefixtures("in_time")
def test_random_bytes(name: str) -> None:
    sent = talk(name)
    noise = random.Random(5).randbytes(MB)
    records = streamed([*sent, Sent("server", noise), *sent[4:]], PROTOCOLS[name].ports[0])
    frames = [record for record in records if record.kind == "frame"]
    assert len(frames) >= len(sent)


#: Beginnings of frames that say they are very long.
HUGE: dict[str, bytes] = {
    "pravega": bytes.fromhex("00000000 00ffffff"),
    "pravega-draft": bytes.fromhex("00000000 00ffffff"),
    "sbp": bytes.fromhex("01000000 17 0001 00 00000000 01 000000"),
    "sbp-0.1": bytes.fromhex("01000000 17 0001 00 00000000 01 000000"),
    "pravega-controller": bytes.fromhex("3fffff 00 00 00000001"),
    "offramp": bytes.fromhex("82ff 7fffffffffffffff 00000000"),
}


@every
@pytest.mark.usefixtures("in_time")
def test_huge_lengths(name: str) -> None:
    sent = talk(name)
    stream = HUGE[name] * 5_000
    streamed([*sent, Sent("client", stream)], PROTOCOLS[name].ports[0])
    lossy = segments([*sent, Sent("client", stream)], port=PROTOCOLS[name].ports[0], segment_bytes=1_448)
    del lossy[len(lossy) // 2]
    list(Dissector().records_of(lossy))


@every
@pytest.mark.usefixtures("in_time")
def test_a_hundred_thousand_tiny_segments(name: str) -> None:
    stream = b"".join(each.data for each in talk(name) if each.side == "client")
    stream = (stream * (100_000 // len(stream) + 1))[:100_000]
    records = streamed([Sent("client", stream)], PROTOCOLS[name].ports[0], segment_bytes=1)
    assert records


@pytest.mark.usefixtures("in_time")
def test_a_long_frame_in_tiny_segments() -> None:
    """Looking again at all that is there for each byte that comes would be quadratic."""
    for name in {"pravega", "pravega-controller", "sbp", "offramp"} - ABSENT:
        stream = HUGE[name] + bytes(20_000)
        streamed([*talk(name)[:4], Sent("client", stream)], PROTOCOLS[name].ports[0], segment_bytes=1)
        lossy = segments([*talk(name)[:4], Sent("client", stream)], port=PROTOCOLS[name].ports[0], segment_bytes=1)
        del lossy[5]
        list(Dissector().records_of(lossy))


def shared_tables(depth: int, width: int) -> bytes:
    """A root whose vector of tables names the same table `width` times, which does so again, and so on down."""
    out = bytearray(b"\0\0\0\0")
    places: list[int] = []
    for level in range(depth):
        while len(out) % 4:
            out += b"\0"
        vtable = len(out)
        out += b"\x06\0\x08\0\x04\0" + b"\0\0"
        table = len(out)
        out += (table - vtable).to_bytes(4, "little", signed=True) + b"\0\0\0\0"
        vector = len(out)
        out[table + 4 : table + 8] = (vector - (table + 4)).to_bytes(4, "little")
        out += width.to_bytes(4, "little") + bytes(4 * width)
        if level:
            above = places[-1]
            for index in range(width):
                at = above + 4 + 4 * index
                out[at : at + 4] = (table - at).to_bytes(4, "little")
        else:
            out[:4] = table.to_bytes(4, "little")
        places.append(vector)
    return bytes(out)


@pytest.mark.parametrize("opcode", [0x0003, 0x1001, 0x1002, 0x2001, 0x2002, 0x3001, 0x3004, 0x4001])
@pytest.mark.parametrize("port_of", ["sbp", "sbp-0.1"])
@pytest.mark.usefixtures("in_time")
def test_flatbuffers_that_share(opcode: int, port_of: str) -> None:
    for depth, width in ((40, 8), (3, 3_000), (200, 2)):
        header = shared_tables(depth, width)
        body = b"\x17" + opcode.to_bytes(2, "big") + b"\x01" + bytes(4) + b"\x01" + len(header).to_bytes(3, "big")
        data = body + header + bytes(4)
        ledger = Ledger()
        raw = (len(data).to_bytes(4, "big") + data).hex()
        records = list(read_hex([raw] * 3, protocol=port_of, side="server", ledger=ledger))
        check_ledger(records, ledger)
        write_all(records)


@pytest.mark.usefixtures("in_time")
def test_a_packed_capture_that_unpacks_without_end() -> None:
    """Packets of length 0 without end."""
    header = pcap_bytes([])
    packed = gzip.compress(header + bytes(2 * MB), 9)
    peak = peak_bytes(lambda: sum(1 for _ in _tolerant(BytesIO(packed))))
    assert peak < 2 * MB


def _tolerant(file: BytesIO) -> Iterator[Record]:
    try:
        yield from read(file)
    except CaptureError:
        return


@pytest.mark.usefixtures("in_time")
def test_twenty_thousand_syns() -> None:
    packets = []
    for number in range(20_000):
        ends = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 40_000), ("10.200.0.1", 12_345)
        opening = Talk(*ends)
        opening.send("client", SYN, ack=0)
        packets += opening.frames
    ledger = Ledger()
    records: list[Record] = []
    records.extend(read(BytesIO(pcap_bytes(packets_of(packets))), ledger=ledger))
    assert records == []
    assert ledger.total.payload_bytes == 0


@pytest.mark.usefixtures("in_time")
def test_bytes_held_while_searching_are_bounded() -> None:
    """A stream that never comes into step again is let go of."""
    noise = random.Random(9).randbytes(64 * 1024)
    carriers = segments(
        [*talk("sbp"), Sent("client", noise * (limits.RESYNC_BYTES_MAX // len(noise) + 40))],
        port=10911,
        segment_bytes=60_000,
    )
    ledger = Ledger()
    count = 0
    for record in Dissector(ledger=ledger).records_of(carriers):
        assert record.length <= limits.RESYNC_BYTES_MAX + 60_000
        count += 1
    assert ledger.total.problem_bytes > limits.RESYNC_BYTES_MAX
    assert count < 1_000


def test_the_sinks_here_are_those_of_the_command_line() -> None:
    for form in ("text", "json", "ndjson", "csv"):
        made = sink_for(form, Paper(), columns=None, annotate=annotate)
        assert any(type(sink) is type(made) for sink, _ in sinks())
    assert set(TALKS) == set(PROTOCOLS)
