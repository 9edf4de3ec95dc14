"""What the column path says of a stretch of captures: columns of many frames, and Records of all else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Bytes, Integers
from wiretool.codec.message import Side
from wiretool.protocols.base.columns import Frames, Group
from wiretool.records import Record


class Ends(NamedTuple):
    """The number of a connection, and its two ends."""

    connection: int
    client: str
    server: str


@dataclass(frozen=True, slots=True)
class FrameRun:
    """Frames of one protocol as columns of one length, in the order of their numbers `frames.numbers`.

    Frame i is of `connections[connection_of[i]]` and of one of the `groups`. `offsets` count in the stream of each
    side, times are ns since the epoch.
    """

    connections: Sequence[Ends]
    connection_of: Integers
    protocol: str
    frames: Frames
    offsets: Integers
    first_packets: Integers
    last_packets: Integers
    times: Integers
    groups: Sequence[Group]

    def side(self, row: int) -> Side:
        """Who sent a frame."""
        return "server" if self.frames.is_server[row] else "client"

    def code_sides(self, rows: Integers, code_of: Callable[[Side], int]) -> Integers | int:
        """Return the code of the sender of each of these frames; one of all where that is the same."""
        is_server = self.frames.is_server[rows]
        if is_server.all() or not is_server.any():
            return code_of("server" if is_server.any() else "client")
        codes: Integers = np.where(is_server, code_of("server"), code_of("client"))
        return codes

    def numbers_of_connections(self, rows: Integers | None = None) -> Integers:
        """Return the number of the connection of each of these frames, or of all."""
        owner = self.connection_of if rows is None else self.connection_of[rows]
        numbers = np.array([each.connection for each in self.connections], np.int64)
        return numbers[owner] if len(numbers) > 1 else np.broadcast_to(numbers, owner.shape)

    def without_fields(self) -> "FrameRun":
        """Return the frames without their data and all that was read from it."""
        groups = [Group(group.cls, group.name, group.rows, {}) for group in self.groups]
        return replace(self, frames=replace(self.frames, data=b""), groups=groups)

    def apart(self) -> "Iterator[FrameRun]":
        """Yield the frames of each connection that has some in columns, as a run by themselves."""
        if len(self.connections) == 1:
            yield self
            return
        for index, ends in enumerate(self.connections):
            mine = np.flatnonzero(self.connection_of == index)
            groups = [group.take(self.connection_of[group.rows] == index) for group in self.groups]
            groups = [replace(group, rows=np.searchsorted(mine, group.rows)) for group in groups if len(group.rows)]
            if not groups:
                continue
            yield FrameRun(
                [ends],
                np.zeros(len(mine), np.int64),
                self.protocol,
                self.frames.take(mine),
                self.offsets[mine],
                self.first_packets[mine],
                self.last_packets[mine],
                self.times[mine],
                groups,
            )


@dataclass(frozen=True, slots=True)
class Batch:
    """The records numbered from `first_n` on, `count` of them: some as columns in `runs`, the others as they are."""

    first_n: int
    count: int
    runs: Sequence[FrameRun]
    records: Sequence[Record]
    #: All of them as text in UTF-8, in parts, where a sink of another process made it: then no run has fields.
    text: Sequence[Bytes] | None = None


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Return adjacent batches as one; there is at least one."""
    count = sum(batch.count for batch in batches)
    runs = [run for batch in batches for run in batch.runs]
    records = [record for batch in batches for record in batch.records]
    return Batch(batches[0].first_n, count, runs, records)
