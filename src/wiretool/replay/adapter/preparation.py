"""The third role: the state of the server before the recording, and beside it."""

from collections.abc import Iterable, Mapping, Sequence

from wiretool.analysis.dialogues import Recording
from wiretool.records import Record
from wiretool.replay.adapter.analysis import Analysis
from wiretool.replay.adapter.values import Talk
from wiretool.replay.playing.id_map import Values
from wiretool.server.options import MockOptions


class Preparation(Analysis):
    """Mocks and servers in the state that a recording takes for granted."""

    #: Whether its server is prepared before those of other protocols.
    is_first = False

    @property
    def server(self) -> str:
        """The protocol by which a mock is called that has a door for this one."""
        return self.protocol.name

    def anchor(self, values: Values) -> None:
        """Fix the positions in what the recording itself creates: they begin at the same place on every server."""

    def prepare(self, recording: Recording, values: Values) -> Talk:
        """Brings the server into the state that the recording takes for granted, and learns where things are now."""
        yield from ()

    def preparations(self, recording: Recording, values: Values) -> Iterable[tuple[str, Talk]]:
        """What is said to which recorded server before all, in turn: most know of one, whose address says nothing."""
        return (("", self.prepare(recording, values)),)

    def meanwhile(self, record: Record, values: Values) -> Talk | None:
        """What others, of whom nothing was recorded, had done to the server before a frame was said, or heard."""
        return None

    def mock_options(self, recording: Recording, options: MockOptions) -> MockOptions:
        """The options of a mock that is such a server as was recorded."""
        return options

    def options_with_copies(
        self, recording: Recording, copies: Sequence[Recording], options: MockOptions
    ) -> MockOptions:
        """The same, of one that copies find as well: most bring what they need by their preparation."""
        return self.mock_options(recording, options)

    def delays(self, recording: Recording) -> Mapping[int, int]:
        """Requests that were done late, by number, and the frames behind which they are said, to be done at once."""
        return {}

    def unfinished(self, recording: Recording) -> Mapping[int, Record]:
        """The numbers of answers to requests, and these, that a server does some time after it has answered."""
        return {}

    def finish(self, request: Record, answer: Record, values: Values) -> Talk:
        """Asks until the server has done such a request."""
        yield from ()

    def is_timed(self) -> bool:
        """Whether servers of the recording did something by the clock, so that it cannot go faster than it did."""
        return False
