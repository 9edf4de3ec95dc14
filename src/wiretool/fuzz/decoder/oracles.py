"""Oracles over the two readings of one capture: signs of bugs of the decoder."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from wiretool.codec.message import Side
from wiretool.fuzz.decoder.capture import FuzzCapture, rendered
from wiretool.fuzz.decoder.readings import DecoderStalls, PathReading, cpu_alarm, read_columns, read_rows
from wiretool.fuzz.decoder.round_trip import losses
from wiretool.fuzz.oracles import DIED, DIFFERS, MEMORY, SLOW, WRONG_ANSWER, Bucket, Suspicion, kind_of, place_of
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

#: The two paths read the same bytes in different ways.
#: A reading is slow from here on: seconds of CPU time, and seconds for each byte of the input.
SLOW_S, SLOW_S_PER_BYTE = 1.0, 10e-6
#: Memory at the peak of one reading: bytes, and bytes for each byte of the input.
PEAK_BYTES, PEAK_PER_BYTE = 64 * 1024 * 1024, 200
#: Problems with payload that has no place in its stream.
_OUTSIDE = frozenset({"rst-payload", "before-start", "after-gap", "after-end", "overlap-differs"})
#: What suspicions about single frames have in the place of the path: their spans, their encoding, both.
SPANS, ROUND_TRIP, FRAMES = "spans", "round trip", "frames"
#: Growth of the process in one reading after which its memory is measured exactly.
GROWN_BYTES = 24 * 1024 * 1024


class Judged(NamedTuple):
    """The signs of bugs in one capture, the gravest first, and the records of the row path."""

    suspicions: list[Suspicion]
    records: Sequence[Record]


def judge(capture: FuzzCapture, *, measures_memory: bool = False, has_frames: bool = True) -> Judged:
    """Read a capture on both paths and judge the results; without `has_frames` not those of single frames.

    The peak of memory is measured too where that is asked for, or where the process grows much: it takes twice as long.
    """
    packets = rendered(capture)
    rows = read_rows(packets, capture.protocol, measures_memory=measures_memory)
    columns = read_columns(packets, capture.protocol, capture.table_bytes, measures_memory=measures_memory)
    readings = rows, columns
    if not measures_memory and any(each.grown_bytes > GROWN_BYTES for each in readings):
        return judge(capture, measures_memory=True, has_frames=has_frames)
    suspicions = [each for reading in readings for each in _died(reading)]
    if not suspicions:
        suspicions += [*_differences(rows, columns), *_ledger(rows, capture), *_tiling(rows.records)]
        suspicions += _frames(rows.records) if has_frames else ()
    size = sum(len(packet.data) for packet in packets)
    suspicions += [each for reading in readings for each in _costs(reading, size)]
    return Judged(suspicions, rows.records)


def _suspicion(
    oracle: str, reading: str, why: str, *, message: str = "", region: str = "", reply: str = ""
) -> Suspicion:
    return Suspicion(Bucket(oracle, reading, message, region, reply), why, 0)


# -- exceptions, time, memory ------------------------------------------------------------------------------------------


def _died(reading: PathReading) -> Iterator[Suspicion]:
    error = reading.error
    if isinstance(error, DecoderStalls):
        yield _suspicion(SLOW, reading.path, f"{reading.path}: {error}", reply="stall")
    elif error is not None:
        where = f"{type(error).__name__} at {place_of(error)}"
        yield _suspicion(DIED, reading.path, f"{reading.path}: {where}: {error}", reply=where)


def _costs(reading: PathReading, size: int) -> Iterator[Suspicion]:
    if reading.error is None and not reading.peak_bytes and reading.cpu_s > SLOW_S + SLOW_S_PER_BYTE * size:
        yield _suspicion(SLOW, reading.path, f"{reading.path}: {reading.cpu_s:.1f} s of CPU time for {size:,} bytes")
    if reading.peak_bytes > PEAK_BYTES + PEAK_PER_BYTE * size:
        why = f"{reading.path}: {reading.peak_bytes / 1e6:,.0f} MB at the peak for {size:,} bytes"
        yield _suspicion(MEMORY, reading.path, why)


# -- the two paths -----------------------------------------------------------------------------------------------------


def _differences(rows: PathReading, columns: PathReading) -> Iterator[Suspicion]:
    for row, column in zip_longest(rows.records, columns.records):
        if row != column and repr(row) != repr(column):  # NaN is not equal to itself
            yield _record_differs(row, column)
            return
    for name in ("total", "packets", "connections"):
        ours, theirs = rows.ledger.as_json()[name], columns.ledger.as_json()[name]
        if ours != theirs:
            why = f"ledger, {name}: rows give {_cut(ours)}, columns {_cut(theirs)}"
            yield _suspicion(DIFFERS, "", why, region=f"ledger.{name}")
            return
    if rows.notes != columns.notes:
        why = f"notes: rows give {_cut(rows.notes)}, columns {_cut(columns.notes)}"
        yield _suspicion(DIFFERS, "", why, region="notes")


def _record_differs(row: Record | None, column: Record | None) -> Suspicion:
    known = row or column
    assert known is not None
    message = known.message or known.error or known.kind
    if row is None or column is None:
        which = "columns" if row is None else "rows"
        return _suspicion(DIFFERS, "", f"only the {which} have record {_cut(known)}", message=message, region="count")
    names = [name for name in Record.__struct_fields__ if getattr(row, name) != getattr(column, name)]
    values = "; ".join(
        f"{name}: rows give {_cut(getattr(row, name))}, columns {_cut(getattr(column, name))}" for name in names[:3]
    )
    return _suspicion(DIFFERS, "", f"record {row.n}, {message}: {values}", message=message, region=", ".join(names))


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


# -- every byte in one record ------------------------------------------------------------------------------------------


def _ledger(rows: PathReading, capture: FuzzCapture) -> Iterator[Suspicion]:
    total = rows.ledger.total
    if total.payload_bytes + total.duplicate_bytes != capture.payload_bytes:
        why = (
            f"{capture.payload_bytes} payload bytes in the packets; the ledger has {total.payload_bytes} and "
            f"{total.duplicate_bytes} duplicate ones"
        )
        yield _suspicion(WRONG_ANSWER, "ledger", why, region="captured")
        return
    for row in rows.ledger.connections:
        account = row.account
        counted = account.frame_bytes + account.problem_bytes + account.other_bytes
        mine = [record for record in rows.records if record.connection == row.connection]
        listed = sum(record.length for record in mine if record.kind != "gap")
        if not account.payload_bytes == counted == listed:
            why = f"{account.payload_bytes} payload bytes, {counted} counted by kind, {listed} in records"
            yield _suspicion(WRONG_ANSWER, "ledger", why, region="payload")
            return


def _tiling(records: Sequence[Record]) -> Iterator[Suspicion]:
    """Yield where the records of a side overlap, or leave bytes out.

    One record of another protocol may stand for bytes on both sides of a gap; the ledger has their number.
    """
    sides: dict[tuple[int, Side], list[Record]] = defaultdict(list)
    foreign = {record.connection for record in records if record.kind == "other"}
    for record in records:
        if record.connection not in foreign and record.length and record.error not in _OUTSIDE:
            sides[record.connection, record.side].append(record)
    for mine in sides.values():
        mine.sort(key=lambda record: record.offset)
        at = mine[0].offset
        for record in mine:
            if record.offset != at:
                about = record.message or record.error or record.kind
                why = f"record {record.n}, {about}, begins at {record.offset}; the one before it ends at {at}"
                yield _suspicion(WRONG_ANSWER, "tiling", why, message=about, region="offset")
                return
            at += record.length


# -- single frames -----------------------------------------------------------------------------------------------------


def _frames(records: Sequence[Record]) -> Iterator[Suspicion]:
    """Yield what is wrong with the spans of frames, and with their messages once they are encoded."""
    found: dict[Bucket, Suspicion] = {}
    try:
        with cpu_alarm():
            for record in records:
                for each in _spans(record) if record.kind == "frame" else ():
                    found.setdefault(each.bucket, each)
            for loss in losses(records):
                why = f"{loss.message or 'a connection'}: {loss.problem}"
                bucket = Bucket(WRONG_ANSWER, ROUND_TRIP, loss.message, "", kind_of(loss.problem))
                found.setdefault(bucket, Suspicion(bucket, why, 0))
    except DecoderStalls as err:
        yield _suspicion(SLOW, FRAMES, f"frames: {err}", reply="stall")
    except Exception as err:  # noqa: BLE001  (any exception of the decoder is a finding)
        where = f"{type(err).__name__} at {place_of(err)}"
        yield _suspicion(DIED, FRAMES, f"frames: {where}: {err}", reply=where)
    yield from found.values()


def _spans(record: Record) -> Iterator[Suspicion]:
    """Yield where the spans of a frame do not tile it."""
    at = 0
    for span in PROTOCOLS[record.protocol].open(False).annotate(record.side, record.raw, 0, len(record.raw)):
        if span.offset != at or span.length < 0:
            why = f"{record.message}: span {span.path} begins at {span.offset}; the one before it ends at {at}"
            yield _suspicion(WRONG_ANSWER, SPANS, why, message=record.message, region=span.path)
            return
        at += span.length
    if at != len(record.raw):
        why = f"{record.message}: the spans end at {at} of {len(record.raw)} bytes"
        yield _suspicion(WRONG_ANSWER, SPANS, why, message=record.message)
