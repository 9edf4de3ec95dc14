"""decode | encode --format pcap | decode gives the same records, for every capture that decodes without problems."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.truth import captures_below
from wiretool.analysis.script import read_script
from wiretool.codec.message import Side
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError, EncodeError
from wiretool.records import Record
from wiretool.sinks.frames import write_frames
from wiretool.sinks.ndjson import RecordText, json_record
from wiretool.sinks.output import Output
from wiretool.sinks.pcap import FILE_HEADER

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
ROOT = Path(__file__).parents[1]
#: Each capture once, though it may lie in both folders.
CAPTURES = {
    (path.name, path.stat().st_size): path
    for folder in (ROOT.parent / "shared" / "captures", ROOT / "captures")
    for path, _ in captures_below(folder)
    if path.stat().st_size < 3_000_000
}
#: FlatBuffers of one meaning have different lengths, depending on the library that wrote them.
LENGTHS = {"frame_length", "header_length", "total_bytes"}


def encoded(records: Iterable[Record]) -> bytes:
    """What `encode --format pcap` makes of the lines of `decode --format ndjson`."""
    text, file = RecordText(), BytesIO()
    with Output(file) as output:
        write_frames(read_script(text.of(record) for record in records), output, "pcap")
    return file.getvalue()


def conversations(records: Sequence[Record]) -> dict[Any, list[Any]]:
    """By the ends of each connection, what its records say; with gaps, whose time nobody knows, side by side."""
    numbers = {record.n: record for record in records}
    found: dict[tuple[str, str], dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.kind != "other":  # its bytes are in no record
            found[record.client, record.server][record.connection].append(record)
    out = {}
    for ends, connections in found.items():
        for order, number in enumerate(sorted(connections)):
            mine = connections[number]
            if any(record.kind == "gap" for record in mine):
                out[*ends, order] = [said(record, {}) for record in sorted(mine, key=lambda record: record.side)]
            else:
                out[*ends, order] = [said(record, numbers) for record in mine]
    return out


def said(record: Record, numbers: dict[int, Record]) -> tuple[Any, ...]:
    """A record without what the encoder decides: the lengths of FlatBuffers, which depend on who writes them."""
    fields = json_record(record).get("fields")
    if isinstance(fields, dict) and record.protocol.startswith("sbp"):
        fields = {name: value for name, value in fields.items() if name not in LENGTHS}
    asked = numbers.get(record.reply_to or 0)
    size = record.length if record.kind == "gap" else None
    return record.kind, record.side, record.protocol, record.message, fields, size, asked and asked.message


def in_order(records: Sequence[Record]) -> list[Any]:
    """Return what each record says, and the place of the record that it answers, in the order of the records."""
    kept = [record for record in records if record.kind != "other"]  # its bytes are in no record
    places = {record.n: place for place, record in enumerate(kept)}
    return [(record.client, record.server, said(record, {}), places.get(record.reply_to or 0)) for record in kept]


def packet_times(capture: bytes) -> list[int]:
    """Return the times of the packets of a capture that encode wrote, in ns."""
    times, at = [], len(FILE_HEADER)
    while at < len(capture):
        seconds, nanos, size = (int.from_bytes(capture[at + n : at + n + 4], "big") for n in (0, 4, 8))
        times.append(seconds * 1_000_000_000 + nanos)
        at += 16 + size
    return times


def until_damage(path: Path) -> Iterator[Record]:
    """The records of a capture up to where it is damaged."""
    with suppress(CaptureError):
        yield from read(path)


def replies(records: Sequence[Record]) -> dict[Any, list[int | None]]:
    """By the ends of each connection, which of its frames each frame answers."""
    places: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    out = defaultdict(list)
    for record in records:
        if record.kind == "frame":
            ends = record.client, record.server
            places[ends][record.n] = len(places[ends])
            out[ends].append(places[ends].get(record.reply_to or 0))
    return out


def has_late_records(records: Sequence[Record]) -> bool:
    """Return whether records come after those of later packets: their first bytes fit several protocols."""
    packets = [record.packets[1] for record in records]
    return packets != sorted(packets)


def check_refused_clearly(records: Sequence[Record]) -> None:
    """What has no encoding is refused with the number of its line."""
    outcome = b""
    try:
        outcome = encoded(records)
    except EncodeError as err:
        outcome = str(err).encode()
    if any(record.kind == "frame" for record in records):
        assert outcome.startswith((FILE_HEADER, b"stdin: line "))
    else:
        assert outcome == b"" or outcome.startswith(b"stdin: line ")


@pytest.mark.parametrize("path", CAPTURES.values(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_capture_survives_the_round_trip(path: Path) -> None:
    records = list(until_damage(path))
    if any(record.kind == "problem" for record in records):
        check_refused_clearly(records)
        return
    capture = encoded(records)
    back = list(read(BytesIO(capture)))
    assert conversations(back) == conversations(records)
    if not any(record.kind == "gap" for record in records):
        assert replies(back) == replies(records)
        assert in_order(back) == in_order(records) or has_late_records(records) or has_late_records(back)
        times = packet_times(capture)
        if [record.time_ns for record in records] == sorted(record.time_ns for record in records):
            assert times == sorted(times)


def test_two_connections_with_the_same_ends_stay_two() -> None:
    line: list[tuple[Side, bytes]] = [("client", HELLO), ("server", HELLO)]
    first, again = (
        tcp_packets(line, server=("10.0.0.2", 12345)),
        tcp_packets(line, server=("10.0.0.2", 12345), isn=(900_000, 70_000)),
    )
    records = list(read(BytesIO(pcap_bytes([*first, *again]))))
    assert [record.connection for record in records] == [0, 0, 1, 1]
    assert conversations(list(read(BytesIO(encoded(records))))) == conversations(records)


@needs_protocol("offramp")
def test_half_a_surrogate_pair_is_read_as_decode_writes_it() -> None:
    line = '{"message": "ERROR", "side": "server", "fields": {"reason": "half \\ud83d"}}'
    (sent,) = read_script([line], protocol="offramp")
    assert b"\\ud83d" in sent.data
