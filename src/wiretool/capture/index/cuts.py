"""A capture file cut at a moment: from any joint on, before the first packet of a later turn."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from wiretool.capture.files.reading import opened_to_seek
from wiretool.capture.index.split_points import FileIndex, Joint
from wiretool.capture.index.window import packet_at, tables_from
from wiretool.capture.tcp.pending_fragments import Waiting, rows_with_fragments


def cut_after(path: Path, index: FileIndex, since: Joint, turn_ns: int) -> Joint:
    """The joint behind all packets whose turn is `turn_ns` or earlier: `since` at least, the tail of the index at most.

    The packets from the last joint before it on are visited. CaptureError where the file cannot be read.
    """
    joint = known_before(index, since, turn_ns)
    if joint == index.tail:
        return joint
    with ExitStack() as stack:
        name, file, _ = opened_to_seek(path, stack)
        _, tables = tables_from(name, file, index.kind, joint, index.end)
        waiting = Waiting()
        for place in joint.fragments:
            waiting.take(packet_at(name, file, place), place)
        before_ns, packet_ns = joint.before_ns, joint.packet_ns
        for placed in tables:
            table, odd = placed.table, rows_with_fragments(placed.table)
            turns = np.maximum.accumulate(np.maximum(table.times, before_ns))
            row = int(turns.searchsorted(turn_ns, "right"))
            waiting.take_rows(table, placed.base, odd[: odd.searchsorted(row)].tolist())
            if row:
                before_ns, packet_ns = int(turns[row - 1]), int(table.times[row - 1])
            if row < len(turns):
                number = table.first_number + row
                blocks = tables.blocks(number)
                return Joint(int(placed.records[row]), number, before_ns, packet_ns, blocks, waiting.places())
    return index.tail


def known_before(index: FileIndex, since: Joint, turn_ns: int) -> Joint:
    """The last of the joints that are known, from `since` on, up to which no packet has a later turn."""
    known = [joint for joint in (*index.joints, index.tail) if joint.number > since.number]
    return next((joint for joint in reversed(known) if joint.before_ns <= turn_ns), since)
