"""The third role: frames that are more, or less, than a message."""

from collections.abc import Sequence

from wiretool.faults.adapter.messages import Form
from wiretool.faults.remnants import Piece
from wiretool.records import Record


class Watching:
    """The carriage of messages, greetings, and parts of larger messages."""

    def is_carriage(self, record: Record) -> bool:
        """Whether a frame only serves to carry others, and says nothing that a caller asked or was told."""
        return False

    def carriage_in(self, record: Record, form: Form) -> Sequence[tuple[str | int, ...]]:
        """Where in a frame stands what belongs to its connection, and not to what is asked or told."""
        return ()

    def opening(self, record: Record) -> Record | None:
        """A frame of the greeting as it has to be for faults to work; None where it may stay as it is."""
        return None

    def is_greeting(self, record: Record) -> bool:
        """Whether `opening` wants to see what this side sends behind this frame."""
        return False

    def is_part(self, record: Record) -> bool:
        """Whether the frame is a part of a message that later frames complete."""
        return False

    def is_aside(self, record: Record) -> bool:
        """Whether the frame is none of the message that is being completed, though it stands inside it."""
        return False

    def piece(self, record: Record) -> Piece | None:
        """The call that the frame is a piece of, where calls take several frames and one side can end them alone."""
        return None

    def credit(self, record: Record) -> bytes:
        """What the receiver of a frame that was taken out would have said, so that its sender may go on for ever."""
        return b""
