"""A pcapng file of packets as they were captured."""

from collections.abc import Callable
from itertools import chain

import numpy as np

from wiretool.capture.files.pcapng_blocks import Kind
from wiretool.capture.files.tables import PacketTable
from wiretool.codec.columns import Integers
from wiretool.errors import UsageError
from wiretool.sinks.output import Output
from wiretool.sinks.pcapng import ETHERNET, NANOSECONDS, interface, section, tls_secrets

#: An enhanced packet block without its data: seven words in front (type, length, interface, time as two words, bytes
#: captured, bytes on the wire) and its length again behind.
HEAD_BYTES, BLOCK_BYTES = 28, 32
#: Option if_tsoffset, in front of the end of the options: times before 1970 count from 1678 on, as far back as they go.
EARLY_S = -((1 << 63) // 1_000_000_000)
EARLY = NANOSECONDS[:-4] + bytes.fromhex("0e00 0800") + EARLY_S.to_bytes(8, "little", signed=True) + bytes(4)


class Packets:
    """Writes packets in the order in which they are given: their bytes, link types, times and lengths are kept."""

    def __init__(self, output: Output, secrets: Callable[[], bytes] = bytes) -> None:
        """`secrets` returns the lines of a TLS key log that the file gets in front of its next packets."""
        if output.is_terminal:
            raise UsageError("refusing to write pcapng to a terminal; use -o FILE or a pipe")
        self._output = output
        self._secrets = secrets
        #: The index of each interface: one for every link type and sign of the times.
        self._interfaces: dict[int, int] = {}
        #: Whether anything is in the file, and how many packets.
        self.has_begun = False
        self.count = 0

    def write(self, table: PacketTable, rows: Integers) -> None:
        """Some packets of a table."""
        self._begin()
        if not len(rows):
            return
        self.count += len(rows)
        kinds, codes = np.unique(table.links[rows] * 2 + (table.times[rows] < 0), return_inverse=True)
        interfaces = np.array([self._interface(kind) for kind in kinds.tolist()], np.int64)
        self._output.write_bytes(_blocks(table, rows, interfaces[codes]))

    def end(self) -> None:
        """Behind the last packet. A file of none has an interface too: some readers want one."""
        self._begin()
        if not self._interfaces:
            self._interface(ETHERNET * 2)

    def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            self._output.write_bytes(section())
        if lines := self._secrets():
            self._output.write_bytes(tls_secrets(lines))

    def _interface(self, kind: int) -> int:
        if kind not in self._interfaces:
            self._interfaces[kind] = len(self._interfaces)
            self._output.write_bytes(interface(kind // 2, EARLY if kind % 2 else NANOSECONDS))
        return self._interfaces[kind]


def _blocks(table: PacketTable, rows: Integers, interfaces: Integers) -> bytes:
    """The blocks of some packets."""
    starts, captured, times = table.starts[rows], table.lengths[rows], table.times[rows]
    ticks = np.where(times < 0, times - EARLY_S * 1_000_000_000, times)
    padding = -captured % 4
    sizes = captured + padding + BLOCK_BYTES
    words = (np.full(len(rows), Kind.PACKET), sizes, interfaces, ticks >> 32, ticks, captured, table.wire_lengths[rows])
    heads = np.stack([word & 0xFFFF_FFFF for word in words], 1).astype("<u4").tobytes()
    tails = sizes.astype("<u4").tobytes()
    data = memoryview(table.data)
    spans = zip(starts.tolist(), (starts + captured).tolist(), padding.tolist(), strict=True)
    parts = (
        (heads[at * HEAD_BYTES : (at + 1) * HEAD_BYTES], data[start:end], bytes(pad), tails[at * 4 : at * 4 + 4])
        for at, (start, end, pad) in enumerate(spans)
    )
    return b"".join(chain.from_iterable(parts))
