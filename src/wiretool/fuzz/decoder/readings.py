"""One capture through the row path and the column path, with the CPU time and the memory of each."""

import resource
import signal
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from wiretool.batches.rows import records_of
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.tables import tables_of
from wiretool.capture.packets import Packet
from wiretool.dissect.columns.read import BulkDissector
from wiretool.dissect.dissector import read_from
from wiretool.ledger import Ledger
from wiretool.records import Record

#: CPU time of one reading after which it has stalled.
STALL_S = 10.0


class DecoderStalls(Exception):
    """One reading takes more than STALL_S of CPU time."""


@dataclass(slots=True)
class PathReading:
    """The result of one path: `rows` or `columns`."""

    path: str
    records: list[Record] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    notes: list[str] = field(default_factory=list)
    #: The exception that ended it.
    error: Exception | None = None
    cpu_s: float = 0.0
    #: The growth of the process beyond its largest size before, bytes.
    grown_bytes: int = 0
    #: The peak of allocated memory; 0 where it was not measured.
    peak_bytes: int = 0


def read_rows(packets: Iterable[Packet], protocol: str, *, measures_memory: bool = False) -> PathReading:
    """Read packets one record at a time."""
    reading = PathReading("rows")

    def read() -> None:
        reading.records.extend(read_from(packets, protocol=protocol, ledger=reading.ledger, notes=reading.notes.append))

    return _measured(reading, read, measures_memory=measures_memory)


def read_columns(
    packets: Iterable[Packet], protocol: str, table_bytes: int, *, measures_memory: bool = False
) -> PathReading:
    """Read packets in tables, and turn the batches into records again."""
    reading = PathReading("columns")

    def read() -> None:
        dissector = BulkDissector(protocol=protocol, ledger=reading.ledger, notes=reading.notes.append)
        tables = read_segment_tables(tables_of(packets, table_bytes), reading.ledger.packets)
        for batch in dissector.batches(tables):
            reading.records.extend(records_of(batch))

    return _measured(reading, read, measures_memory=measures_memory)


def _measured(reading: PathReading, read: Callable[[], Any], *, measures_memory: bool) -> PathReading:
    largest_kib, started = _largest_kib(), time.process_time()
    if measures_memory:
        tracemalloc.start()
    try:
        with cpu_alarm():
            read()
    except Exception as err:  # noqa: BLE001  (any exception of the decoder is a finding)
        reading.error = err
    finally:
        if measures_memory:
            reading.peak_bytes = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    reading.cpu_s = time.process_time() - started
    reading.grown_bytes = (_largest_kib() - largest_kib) * 1024
    return reading


def _largest_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def cpu_alarm() -> Iterator[None]:
    """Raise DecoderStalls in the code under test after STALL_S of CPU time: other processes do not count."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise DecoderStalls(f"no return in {STALL_S:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, STALL_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
