"""How much more a live server says on a connection than was recorded and asked for: a flood is not taken in."""

from wiretool import limits
from wiretool.analysis.dialogues import Dialogue
from wiretool.records import Record


class Surplus:
    """Counts what a server says; `why` says what is too much of it, and is empty until then."""

    def __init__(self, dialogue: Dialogue) -> None:
        """What was recorded of the server it may say again, whatever it is asked."""
        self._protocol = dialogue.protocol
        recorded = [record for record in dialogue.records if record.side == "server"]
        self._frames_left = len(recorded) + limits.REPLAY_SURPLUS_FRAMES_MAX
        self._bytes_left = sum(record.length for record in recorded) + limits.REPLAY_SURPLUS_BYTES_MAX
        strange = sum(record.length for record in recorded if record.kind != "frame")
        self._strange_bytes_left = strange + limits.REPLAY_STRANGE_BYTES_MAX
        #: Bytes of which it is not known yet what they are.
        self._untold_bytes = 0
        self.why = ""

    def hear(self, size: int) -> None:
        """The server has said so many bytes, of which records may come."""
        self._untold_bytes += size

    def take(self, record: Record, *, is_asked: bool) -> None:
        """A record of what the server has said, which answers something if it `is_asked`."""
        self._untold_bytes -= record.length
        if record.kind != "frame":
            self._strange_bytes_left -= record.length
        if is_asked:
            self._frames_left += limits.REPLAY_SURPLUS_FRAMES_BESIDE
        else:
            self._frames_left -= 1
            self._bytes_left -= record.length

    def weigh(self, *, is_lost: bool) -> None:
        """See whether it is too much; `is_lost`: where the next frame begins is not known."""
        if self._frames_left < 0:
            self._end(f"{limits.REPLAY_SURPLUS_FRAMES_MAX:,} more frames than recorded")
        elif self._bytes_left < 0:
            self._end(f"{limits.REPLAY_SURPLUS_BYTES_MAX:,} more bytes than recorded")
        elif self._strange_bytes_left < (self._untold_bytes if is_lost else 0):
            self._end(f"{limits.REPLAY_STRANGE_BYTES_MAX:,} bytes that are not {self._protocol}")

    def _end(self, what: str) -> None:
        self.why = self.why or f"the server sent {what}: replay closed the connection"
