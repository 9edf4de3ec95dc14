"""Captures in, a recording out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wiretool.capture.items import Connection, End, Item
from wiretool.capture.packets import Packet
from wiretool.dissect import Dissector
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.records import Record
from wiretool.sessions.dialogues import Dialogue, Ended, Opened, Recording, Told
from wiretool.watch import Watch


def recording_of(
    packets: Iterable[Packet],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
) -> Recording:
    """What the packets recorded; options as in `dissect.read_from`.

    Where the capture is damaged it is what is in front of that, and `notes` is told; CaptureError if that is nothing.
    """
    recording = Recording()

    def listen(connection: Connection, **options: Any) -> Watch:
        return _Listening(recording, connection, **options)

    dissector = Dissector(kind=listen, protocol=protocol, ports=ports, ledger=ledger, notes=notes)
    by_number: dict[int, Dialogue] = {}
    try:
        for record in dissector.records(packets):
            if len(by_number) < len(recording.dialogues):
                by_number = {dialogue.number: dialogue for dialogue in recording.dialogues}
            _tell(recording, by_number[record.connection], record)
    except CaptureError as err:
        if not recording.events:
            raise
        recording.is_cut = True
        if notes is not None:
            notes(f"{err}; what is in front of that is read")
    recording.events.sort(key=lambda event: event.time_ns)
    return recording


def _tell(recording: Recording, dialogue: Dialogue, record: Record) -> None:
    dialogue.protocol = dialogue.protocol or record.protocol
    dialogue.records.append(record)
    recording.events.append(Told(record.time_ns, dialogue, record))


class _Listening(Watch):
    """A watch that notes when its connection begins and how each side ends."""

    def __init__(self, recording: Recording, connection: Connection, **options: Any) -> None:
        super().__init__(connection, **options)
        self._recording = recording
        self._dialogue = Dialogue(connection.id, connection.client, connection.server, is_opened=connection.opened)
        recording.dialogues.append(self._dialogue)
        recording.events.append(Opened(connection.first_ns, self._dialogue))

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if isinstance(item, End):
            side = item.connection.reset_by if item.how == "rst" else item.side
            if side and (item.how == "fin" or item.how == "rst"):
                self._recording.events.append(Ended(item.time_ns, self._dialogue, side, item.how))
        return records
