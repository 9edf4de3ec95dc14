"""Captures that grow, as a capture program writes them: `python -m tests.bench.growing FOLDER [--live] [...]`.

Conversations of Pravega writers and SBP clients, many open at once, each with a beginning and an end, but for the last
ones, which stay open. A file takes over from the one before it when that is full. What is written goes to the file in
pieces that end in the middle of a record. But for the times of live ones equal arguments give equal files.
"""

import argparse
import json
import random
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.bench import pravega_appends, sbp_requests
from tests.bench.segments import ACK, FIN, START_TIME_S, End, segment

MB = 1_000_000
#: The beginning of a pcap file of Ethernet packets with times in nanoseconds.
HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
RECORD = struct.Struct("<IIII")
#: A file may end so many bytes before a record does: fewer than the shortest has.
CUT_BYTES_MAX = 64
#: How much later than the tap before it one sees a packet.
TAP_NS = 40_000
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Growth:
    """What is written where: `connections` of each protocol are open at once, each of about `packets`.

    Appends have events of `event_bytes`. `rate` is in bytes a second for each tap, 0 for as fast as it goes; `keep` is
    how many files of a tap are left when a new one begins, 0 for all. A tap misses one of `misses` packets, 0 for none.
    Live packets have the time at which they are written, others are `interval_ns` apart.
    """

    folder: Path
    name: str = "growing"
    rate: float = 0
    rotate_bytes: int = 10 * MB
    connections: int = 50
    packets: int = 300
    event_bytes: int = 600
    piece_bytes: int = 256 * 1024
    interval_ns: int = 25_000
    taps: int = 1
    misses: int = 0
    keep: int = 0
    is_live: bool = False
    seed: int = 1


# -- what is said ------------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Records as they stand in a file, and where each begins."""

    data: bytearray
    starts: Integers

    def timed(self, times_ns: Integers) -> "Piece":
        """The same records with these times, in nanoseconds since the epoch."""
        data = self.data.copy()
        heads = np.column_stack(np.divmod(times_ns, 10**9)).astype("<u4").view(np.uint8)
        np.frombuffer(data, np.uint8)[self.starts[:, None] + np.arange(8)] = heads
        return Piece(data, self.starts)

    def seen(self, is_seen: NDArray[np.bool_]) -> bytes | bytearray:
        """The records that a tap has seen."""
        if is_seen.all():
            return self.data
        bounds = [*self.starts.tolist(), len(self.data)]
        return b"".join(self.data[bounds[at] : bounds[at + 1]] for at in np.flatnonzero(is_seen).tolist())


def pieces(growth: Growth) -> Iterator[Piece]:
    """Records of all conversations, without end and without times."""
    packets = spoken(growth)
    while True:
        data, starts = bytearray(), list[int]()
        while len(data) < growth.piece_bytes:
            packet = next(packets)
            starts.append(len(data))
            data += RECORD.pack(0, 0, len(packet), len(packet)) + packet
        yield Piece(data, np.array(starts, np.int64))


def spoken(growth: Growth) -> Iterator[bytes]:
    """The packets of conversations side by side; where one ends another begins."""
    rng = random.Random(growth.seed)
    number = 2 * growth.connections
    talks = [conversation(index, rng, growth) for index in range(number)]
    while True:
        lane = rng.randrange(len(talks))
        packet = next(talks[lane], None)
        if packet is None:
            talks[lane] = conversation(number, rng, growth)
            number += 1
        else:
            yield packet


def conversation(index: int, rng: random.Random, growth: Growth) -> Iterator[bytes]:
    """A connection from its handshake to its FINs: every other one is a Pravega writer's."""
    packets = rng.randrange(growth.packets // 10, growth.packets * 2)
    if index % 2:
        client = sbp_requests.Connection(index)
        yield from sbp_requests.open_connection(client)
        yield from sbp_requests.request_packets([client], packets, 2, growth.event_bytes)
        yield from closed(client.client, client.server)
    else:
        writer = pravega_appends.Connection(index)
        yield from pravega_appends.open_connection(writer)
        yield from pravega_appends.append_packets([writer], packets, 1, growth.event_bytes, 1)
        yield from closed(writer.client, writer.server)


def closed(client: End, server: End) -> Iterator[bytes]:
    """A FIN from both ends."""
    yield segment(client, server, FIN | ACK)
    yield segment(server, client, FIN | ACK)
    yield segment(client, server, ACK)


# -- files -------------------------------------------------------------------------------------------------------------


class Tap:
    """One who captures: NAME_00001.pcap and those after it."""

    def __init__(self, growth: Growth, name: str, seed: int) -> None:
        self.files: list[Path] = []
        self.bytes = 0
        self._growth = growth
        self._name = name
        self._rng = random.Random(seed)
        self._begin()

    def _begin(self) -> None:
        """A new file, empty until something is written to it."""
        path = self._growth.folder / f"{self._name}_{len(self.files) + 1:05d}.pcap"
        self._file = path.open("wb", buffering=0)
        self._held, self._size = bytearray(HEADER), 0
        self.files.append(path)
        if self._growth.keep and len(self.files) > self._growth.keep:
            self.files[-self._growth.keep - 1].unlink(missing_ok=True)

    def write(self, data: bytes | bytearray) -> None:
        """Put records behind those before; the last bytes of them wait for the next ones."""
        self._held += data
        self._flush(self._rng.randrange(CUT_BYTES_MAX))
        if self._size >= self._growth.rotate_bytes:
            self.close()
            self._begin()

    def close(self) -> None:
        """All that was written is in the file."""
        self._flush(0)
        self._file.close()

    def _flush(self, but: int) -> None:
        count = max(len(self._held) - but, 0)
        self._file.write(self._held[:count])
        del self._held[:count]
        self._size += count
        self.bytes += count


class Growing:
    """A capture that grows by a piece whenever it is told to."""

    def __init__(self, growth: Growth, made: Iterator[Piece] | None = None) -> None:
        """`made` are the pieces, if they were made before."""
        growth.folder.mkdir(parents=True, exist_ok=True)
        names = [growth.name] if growth.taps == 1 else [f"{growth.name}-{number + 1}" for number in range(growth.taps)]
        self.taps = [Tap(growth, name, growth.seed + place) for place, name in enumerate(names)]
        #: Packets that were on the wire, and the time of the last one.
        self.packets, self.last_ns = 0, time.time_ns() if growth.is_live else START_TIME_S * 10**9
        self._growth = growth
        self._pieces = made or pieces(growth)
        self._rng = np.random.default_rng(growth.seed)

    @property
    def bytes(self) -> int:
        """What is in the files of the first tap, or was before they were deleted."""
        return self.taps[0].bytes

    def step(self) -> None:
        """Write the next piece."""
        piece = next(self._pieces)
        times = self._times(len(piece.starts))
        for place, tap in enumerate(self.taps):
            is_seen = np.ones(len(times), np.bool_)
            if self._growth.misses:
                is_seen = self._rng.integers(self._growth.misses, size=len(times)) > 0
            tap.write(piece.timed(times + place * TAP_NS).seen(is_seen))
        self.packets += len(times)
        self.last_ns = int(times[-1])

    def _times(self, count: int) -> Integers:
        """Of so many packets: those between the last piece and now, or one after the other."""
        if self._growth.is_live:
            now_ns = max(time.time_ns() - len(self.taps) * TAP_NS, self.last_ns)
            return self.last_ns + (now_ns - self.last_ns) * np.arange(1, count + 1) // count
        return self.last_ns + self._growth.interval_ns * np.arange(1, count + 1)

    def close(self) -> None:
        """Nothing more comes; conversations stay open."""
        for tap in self.taps:
            tap.close()

    def grow(self, size: int) -> float:
        """Write so many bytes at the rate that is wanted, and close; by how many seconds it was late at worst."""
        begun, late = time.monotonic(), 0.0
        while self.bytes < size:
            if self._growth.rate:
                wait = begun + (self.bytes + self._growth.piece_bytes) / self._growth.rate - time.monotonic()
                late = max(late, -wait)
                time.sleep(max(wait, 0))
            self.step()
        self.close()
        return late


def main() -> int:
    """Make what is to be written, write it, and say as JSON what that was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=100, help="of each tap")
    parser.add_argument("--seconds", type=float, help="in place of --megabytes: at the rate")
    parser.add_argument("--rate", type=float, default=0, help="MB/s; as fast as it goes unless given")
    parser.add_argument("--rotate", type=float, default=10, help="MB of a file")
    parser.add_argument("--connections", type=int, default=50, help="of each protocol, open at once")
    parser.add_argument("--packets", type=int, default=300, help="of a connection, about")
    parser.add_argument("--event-bytes", type=int, default=600)
    parser.add_argument("--taps", type=int, default=1, help="that see the same")
    parser.add_argument("--misses", type=int, default=0, help="a tap misses one of so many packets; 0 for none")
    parser.add_argument("--keep", type=int, default=0, help="files of a tap; older ones are deleted")
    parser.add_argument("--live", action="store_true", help="packets have the time at which they are written")
    parser.add_argument("--ahead", action="store_true", help="make all of it in memory before the first file begins")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.seconds is not None and not options.rate:
        parser.error("--seconds are those of a --rate")
    size = round((options.megabytes if options.seconds is None else options.seconds * options.rate) * MB)
    growth = Growth(
        options.folder,
        rate=options.rate * MB,
        rotate_bytes=round(options.rotate * MB),
        connections=options.connections,
        packets=options.packets,
        event_bytes=options.event_bytes,
        taps=options.taps,
        misses=options.misses,
        keep=options.keep,
        is_live=options.live,
        seed=options.seed,
    )
    print(json.dumps(written(growth, size, is_ahead=options.ahead)), flush=True)
    return 0


def written(growth: Growth, size: int, *, is_ahead: bool) -> dict[str, Any]:
    """Write so many bytes; what there is of it."""
    made = pieces(growth)
    if is_ahead:
        made = chain(list(islice(made, size // growth.piece_bytes + 1)), made)
    begun = time.time()
    growing = Growing(growth, made)
    late_s = growing.grow(size)
    files = sum(len(tap.files) for tap in growing.taps)
    told = {"packets": growing.packets, "bytes": growing.bytes, "files": files, "last_ns": growing.last_ns}
    return {**told, "begun_s": begun, "wall_s": time.time() - begun, "late_s": late_s}


if __name__ == "__main__":
    sys.exit(main())
