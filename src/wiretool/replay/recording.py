"""Captures in, a recording out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from wiretool.analysis.dialogues import Dialogue, Ended, Event, How, Opened, Recording, Told
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.origins import Origins
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.capture.tcp.stream_events import Connection, Data, End, Item
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.message import Side
from wiretool.dissect.connection import Watch
from wiretool.dissect.dissector import Dissector
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.records import Record


def recording_of(
    packets: Iterable[Packet],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
    origins: Origins | None = None,
    keys: KeyLog | None = None,
) -> Recording:
    """Return the recording of the packets; options as in `dissector.read_from`. `origins` has the capture of each flow.

    Of a damaged capture it is what comes before the damage, which it names; CaptureError if that is nothing.
    """
    recording = Recording()
    ledger = Ledger() if ledger is None else ledger

    by_number: dict[int, Dialogue] = {}

    def listen(connection: Connection, **options: Any) -> Watch:
        watch = _Listening(recording, connection, **options)
        by_number[connection.id] = recording.dialogues[-1]
        return watch

    dissector = Dissector(kind=listen, protocol=protocol, ports=ports, ledger=ledger, notes=notes, keys=keys)
    segments = read_segments(packets, ledger.packets)
    try:
        for record in dissector.records_of(segments if origins is None else origins.noted(segments)):
            _tell(recording, by_number[record.connection], record)
    except CaptureError as err:
        if not recording.events:
            raise
        recording.is_cut, recording.damage = True, err
    recording.events = _in_order(recording.events)
    return recording


def _in_order(events: list[Event]) -> list[Event]:
    """The events by their times, which may go back in a capture; a connection begins before all else that it does."""
    begun: dict[Dialogue, int] = {}
    for event in events:
        begun[event.dialogue] = min(begun.get(event.dialogue, event.time_ns), event.time_ns)
    moved = (each._replace(time_ns=begun[each.dialogue]) if isinstance(each, Opened) else each for each in events)
    return sorted(moved, key=lambda event: (event.time_ns, not isinstance(event, Opened)))


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
        self._dialogue.is_heard = False
        recording.dialogues.append(self._dialogue)
        recording.events.append(Opened(connection.first_ns, self._dialogue))

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if isinstance(item, Data) and item.side == "server":
            self._dialogue.is_heard = True
        elif isinstance(item, End) and (item.how == "fin" or item.how == "rst"):
            self._note_end(item.time_ns, item.connection.reset_by if item.how == "rst" else item.side, item.how)
        return records

    def _note_end(self, time_ns: int, side: Side | Literal[""], how: How) -> None:
        self._dialogue.is_heard = self._dialogue.is_heard or side == "server"
        if side:
            self._recording.events.append(Ended(time_ns, self._dialogue, side, how))
