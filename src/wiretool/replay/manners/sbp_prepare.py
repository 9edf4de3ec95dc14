"""What servers of the Streaming Batch Protocol have to be told before a recording is spoken again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wiretool.replay.manners.manner import Talk
from wiretool.replay.values import Values
from wiretool.sessions.dialogues import Recording

if TYPE_CHECKING:
    from wiretool.replay.manners.sbp import SbpManner


def preparations(manner: "SbpManner", recording: Recording, values: Values) -> Iterable[tuple[str, Talk]]:
    """What is said to which server first."""
    return ()
