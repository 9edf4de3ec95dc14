"""Whether two ranges of a capture meet: what reading one ends with is what the next one begins with.

An index says for each joint what a reader has to know there. Whoever reads up to a joint knows it too. So no joint has
to be believed: an index that leaves out packets, or has them read in another way, is found out.
"""

from typing import BinaryIO

from wiretool.capture.index.split_points import Joint, Span
from wiretool.capture.index.window import Placed, Tables, changed, packet_at
from wiretool.capture.tcp.pending_fragments import Waiting, rows_with_fragments
from wiretool.limits import JOINT_PLACES_MAX


class Passed:
    """What is known at the end of what was read so far."""

    def __init__(self, name: str, file: BinaryIO, since: Joint) -> None:
        self._name = name
        self._number = since.number
        self._turn_ns, self._packet_ns = since.before_ns, since.packet_ns
        self._waiting = Waiting()
        for place in since.fragments:
            self._waiting.take(packet_at(name, file, place), place)

    def take(self, placed: Placed) -> None:
        """Read on over the packets of a table."""
        table = placed.table
        self._number = table.first_number + len(table.starts)
        self._turn_ns = max(self._turn_ns, int(table.times.max()))
        self._packet_ns = int(table.times[-1])
        self._waiting.take_rows(table, placed.base, rows_with_fragments(table).tolist())

    def check(self, span: Span, tables: Tables) -> None:
        """CaptureError where the span was to end with something else."""
        if self._number != span.next_number:
            raise changed(self._name, span.end)
        if span.until is not None and not self._is_at(span.until, tables):
            raise changed(self._name, span.end)

    def _is_at(self, until: Joint, tables: Tables) -> bool:
        # Where very many fragments wait there is no joint, and the end of a file is not gone on from.
        is_counted = self._waiting.count <= JOINT_PLACES_MAX
        return (
            (self._turn_ns, self._packet_ns) == (until.before_ns, until.packet_ns)
            and tables.blocks(self._number) == until.blocks
            and (not is_counted or self._waiting.places() == until.fragments)
        )
