"""What live acks say came before them, held against what came before them."""

from collections import defaultdict

from wiretool.protocols.pravega.messages import AppendSetup, DataAppended
from wiretool.records import Record


class Acks:
    """The acks of a live run, by connection and writer, in the order in which they were heard."""

    def __init__(self) -> None:
        #: Connection -> writer -> the number that was told last.
        self._last: defaultdict[int, dict[str, int]] = defaultdict(dict)
        #: Connection and number of an ack -> what was told before it.
        self._before: dict[tuple[int, int], int] = {}

    def hear(self, record: Record) -> None:
        """The next record of a connection; behind a hole it is not known what was told last."""
        message, told = record.fields, self._last[record.connection]
        if record.kind == "gap":
            told.clear()
        elif isinstance(message, AppendSetup):
            told[message.writer_id] = message.last_event_number
        elif isinstance(message, DataAppended):
            if message.writer_id in told:
                self._before[record.connection, record.n] = told[message.writer_id]
            told[message.writer_id] = message.event_number

    def before(self, ack: Record) -> int | None:
        """The writer's number that was told last before an ack; None where that was not heard."""
        return self._before.get((ack.connection, ack.n))
