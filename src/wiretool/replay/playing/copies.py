"""Copies of a recording in which clients have other names, so that they do not get in each other's way."""

from collections.abc import Mapping

from wiretool.analysis.dialogues import Dialogue, Recording, Told
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter


def copy_of(recording: Recording, manners: Mapping[str, ReplayAdapter], number: int) -> Recording:
    """The recording under other names; copy 0 is the recording itself."""
    if not number:
        return recording
    others: dict[Dialogue, Dialogue] = {}
    renamed: dict[int, Record] = {}
    for each in recording.dialogues:
        manner = manners.get(each.protocol)
        other = others[each] = Dialogue(
            each.number, each.client, each.server, each.protocol, each.is_opened, each.is_heard
        )
        other.copies = (*each.copies, number)
        other.records = [record if manner is None else manner.alias(record, number) for record in each.records]
        renamed |= {record.n: record for record in other.records}
    copy = Recording(list(others.values()), is_cut=recording.is_cut)
    for event in recording.events:
        moved = event._replace(dialogue=others[event.dialogue])
        copy.events.append(moved._replace(record=renamed[moved.record.n]) if isinstance(moved, Told) else moved)
    return copy
