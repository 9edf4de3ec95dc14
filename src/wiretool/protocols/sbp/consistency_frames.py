"""The parts of SBP's frames that consistency models read, from their JSON form."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from wiretool import limits
from wiretool.consistency.batch_log import AppendedBatch, BatchLog, Fetch
from wiretool.consistency.model import Anomaly
from wiretool.memory_budget import MemoryBudget
from wiretool.records import Record

Fields = Mapping[str, Any]


def header_of(record: Record) -> Fields:
    """Return the fields of the table that the header is; empty where it is none."""
    header = record.fields["header"] if isinstance(record.fields, Mapping) else None
    return header.get("fields", {}) if isinstance(header, Mapping) else {}


def parts_of(record: Record, key: str) -> Iterator[tuple[Fields, bytes]]:
    """Yield the batches of the payload, whose name in the form is `key`: their forms, and their bytes."""
    payload = record.fields["payload"] if isinstance(record.fields, Mapping) else None
    if not payload:
        return
    data, at = bytes.fromhex(payload["hex"]), 0
    for batch in payload.get(key, ()):
        yield batch, data[at : at + batch["length"]]
        at += batch["length"]


def is_intact(record: Record) -> bool:
    """Return whether the payload has its checksum; an empty one needs none."""
    fields = record.fields
    assert isinstance(fields, Mapping)
    payload = fields["payload"]
    return payload is None or f"{crc32(bytes.fromhex(payload['hex'])):08x}" == fields["checksum"]


def code_of(table: Fields | None) -> int:
    """Return the code of a table's status; 0 where it has none."""
    status = (table or {}).get("status") or {}
    code: int = status.get("code", 0)
    return code


class BatchLogs:
    """The batches of all places of one reading. A place belongs to one server: each has data of its own."""

    def __init__(self, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self._logs: dict[tuple[Any, ...], BatchLog] = {}
        self._judged = 0
        self._budget: MemoryBudget[tuple[Any, ...]] = MemoryBudget(limits.CONSISTENCY_BYTES_MAX)

    @property
    def judged(self) -> int:
        """Return the number of acknowledged events that reads returned or showed to be missing."""
        return self._judged + sum(log.judged for log in self._logs.values())

    def items(self) -> Sequence[tuple[tuple[Any, ...], BatchLog]]:
        """Return the places with something to read back."""
        return [(key, log) for key, log in self._logs.items() if log.has_acknowledged]

    def acknowledge(self, key: tuple[Any, ...], label: str, batch: AppendedBatch) -> list[Anomaly]:
        """A batch was acknowledged at a place; where all hold too much, the largest places are forgotten."""
        log = self._logs.setdefault(key, BatchLog(label, is_strict=self._is_strict))
        anomalies = log.acknowledge(batch)
        self._budget.note(key, log.held_bytes)
        for largest in self._budget.excess():
            self.forget(largest)
        return anomalies

    def read(self, key: tuple[Any, ...], fetch: Fetch) -> list[Anomaly]:
        """A place was read."""
        log = self._logs.get(key)
        return [] if log is None else log.read(fetch)

    def trim(self, key: tuple[Any, ...], offset: int) -> None:
        """Batches of all places of that beginning may be gone, up to an offset."""
        for each, log in self._logs.items():
            if each[: len(key)] == key:
                log.trim(offset)

    def forget(self, key: tuple[Any, ...] = ()) -> None:
        """Forget all places of that beginning."""
        for each in [each for each in self._logs if each[: len(key)] == key]:
            self._judged += self._logs.pop(each).judged
            self._budget.note(each, 0)
