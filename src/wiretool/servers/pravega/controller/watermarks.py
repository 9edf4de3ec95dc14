"""How far writers are by their own clocks, as they tell it. No watermarks are made of it."""

from wiretool.servers.pravega.controller.refused import Refused, Why
from wiretool.servers.pravega.controller.scopes import Scopes
from wiretool.servers.pravega.controller.streams import Cut, Mark


class WriterMarks:
    """The last timestamp of every writer."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def note(self, scope: str, stream: str, writer: str, timestamp: int, cut: Cut) -> None:
        """A writer has written all its events up to a time before a cut; neither may go back."""
        found = self._scopes.stream(scope, stream)
        last = found.marks.get(writer)
        if last is not None and timestamp < last.timestamp:
            raise Refused(Why.INVALID_TIME, f"{timestamp} from {writer}")
        is_known = all(segment in found for segment in cut)
        if not is_known or (last is not None and not found.is_at_or_behind(cut, last.cut)):
            raise Refused(Why.INVALID_POSITION, f"position of {writer}")
        found.marks[writer] = Mark(timestamp, dict(cut))

    def remove(self, scope: str, stream: str, writer: str) -> None:
        """A writer will write no more."""
        if self._scopes.stream(scope, stream).marks.pop(writer, None) is None:
            raise Refused(Why.UNKNOWN_WRITER, writer)
