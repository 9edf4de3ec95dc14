"""Seeds from vectors: messages of clients as hexadecimal digits in a JSON file, one or a few in each vector."""

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from wiretool.errors import InputError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.part import SessionTable
from wiretool.fuzz.seeds.building import Event, Seen, sequence_from
from wiretool.fuzz.seeds.tables import places_by_phase, plain_seeds
from wiretool.fuzz.sequences.sequence import Connect, FuzzSequence, Sending, Step
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.printable import printable

#: Files of vectors have names that end so.
SUFFIX = ".json"
_EXPECTED = "expected a list of vectors, each with the bytes of messages in hex"


class Vector(NamedTuple):
    """Bytes that a client may send; with the place they come from as a name."""

    name: str
    data: bytes


# -- files -------------------------------------------------------------------------------------------------------------


def is_vector_file(path: Path) -> bool:
    """Return whether the name of a file is that of vectors."""
    return path.suffix.lower() == SUFFIX


def read_vectors(path: Path) -> list[Vector]:
    """Return the vectors of a file: the objects with `hex`, in a list or in lists that are members of an object.

    InputError for a file without one, and for `hex` that is not hexadecimal.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as err:
        raise InputError(f"{path}: {why_unreadable(err)}; {_EXPECTED}") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: {json_problem(err)}; {_EXPECTED}") from err
    lists = content.values() if isinstance(content, dict) else [content]
    found = [
        _vector(path, number, entry)
        for entries in lists
        if isinstance(entries, list)
        for number, entry in enumerate(entries, 1)
        if isinstance(entry, dict) and "hex" in entry
    ]
    if not found:
        raise InputError(f"{path}: no vectors; {_EXPECTED}")
    return found


def _vector(path: Path, number: int, entry: dict[str, Any]) -> Vector:
    name = f"{path}, {printable(str(entry.get('name', f'vector {number}')))}"
    try:
        return Vector(name, bytes.fromhex(entry["hex"]))
    except (ValueError, TypeError) as err:
        raise InputError(f"{name}: hex is not hexadecimal digits in pairs; {_EXPECTED}") from err


# -- sequences ---------------------------------------------------------------------------------------------------------


def vector_sequences(
    vectors: Sequence[Vector], protocol: Protocol, table: SessionTable | None, seeds: Sequence[FuzzSequence]
) -> Iterator[FuzzSequence]:
    """Yield a session with each vector that has valid messages of a client: at its beginning, or as early as may be.

    `seeds` are sessions that the vector can come after. Vectors that are valid after none of them are skipped.
    """
    beginnings: list[Sequence[Step]] = [(Connect(1),)]
    if table is not None:
        beginnings += _beginnings(table, plain_seeds(table, seeds, protocol))
    for vector in vectors:
        found = (_after(steps, vector, protocol) for steps in beginnings)
        sequence = next((each for each in found if each is not None), None)
        if sequence is not None:
            yield sequence


def _beginnings(table: SessionTable, seeds: Sequence[FuzzSequence]) -> list[Sequence[Step]]:
    """Return the shortest session to each phase, the shorter ones first."""
    shortest = [
        min((seed.steps[:end] for seed, end in places), key=len)
        for phase, places in places_by_phase(table, seeds).items()
        if phase != table.start
    ]
    return sorted(shortest, key=len)


def _after(steps: Sequence[Step], vector: Vector, protocol: Protocol) -> FuzzSequence | None:
    """Return a session that goes on with a vector; None where that is not valid."""
    label = steps[0].connection
    connection = FuzzConnection(protocol, label, count(1))
    for step in steps:
        if isinstance(step, Sending):
            connection.sent(step.data, 0)
    records = connection.sent(vector.data, 0)
    if connection.is_broken or connection.is_in_frame or not records:
        return None
    events: list[Event] = [Seen(label, 0, record) for record in records]
    made = sequence_from(events, protocol, fault_adapter_of(protocol), origin=vector.name)
    return FuzzSequence((*steps, *made.steps), vector.name)
