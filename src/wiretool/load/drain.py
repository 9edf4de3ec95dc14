"""The drain of a backlog in one process: when it begins, what there is to read, and how far each reader is."""

from dataclasses import dataclass, field

from gevent.event import Event

from wiretool.load.measure.intervals import Drained, Written

#: All that is counted in a drain. What appends still come to then is of no time that is measured.
DRAINED = frozenset({"fetch"})
NOBODY = ""


@dataclass(slots=True, eq=False)
class Reader:
    """How far one reader of a segment is, where its writer went on elsewhere in the last of these."""

    segment: str
    bytes: int = 0
    #: What it has read before.
    behind: list[str] = field(default_factory=list)
    #: When it had all, by the session's clock; None while it has not.
    done_s: float | None = None


@dataclass(slots=True)
class Drain:
    """Readers come to it, and read once the gate is open."""

    gate: Event = field(default_factory=Event)
    has_begun: bool = False
    began_s: float = 0.0
    #: Whether nobody is to read any more.
    is_over: bool = False
    #: What all writers of all processes have appended.
    written: Written = field(default_factory=lambda: Written(worker=NOBODY, events={}, bytes=0))
    readers: list[Reader] = field(default_factory=list)

    def begin(self, written: Written, now: float) -> None:
        """All has been written: read it."""
        self.written, self.began_s, self.has_begun = written, now, True
        self.gate.set()

    def place_of(self, reader: Reader, worker: str) -> int:
        """Its number among the readers of all processes, of which that is its own."""
        before = sum(count for name, count in self.written.readers.items() if name < worker)
        return before + self.readers.index(reader)

    def end(self) -> None:
        """Read no more."""
        self.is_over = True
        self.gate.set()

    @property
    def is_done(self) -> bool:
        """Whether all readers have all."""
        return all(reader.done_s is not None for reader in self.readers)

    def outcome(self, now: float) -> Drained:
        """How it went until now."""
        left = [reader for reader in self.readers if reader.done_s is None]
        done = [reader.done_s for reader in self.readers if reader.done_s is not None]
        end_s = now if left else max(done, default=self.began_s)
        return Drained(
            lasted_s=max(end_s - self.began_s, 0.0),
            readers=len(self.readers),
            left=len(left),
            left_bytes=sum(max(self._bytes_in(reader.segment) - reader.bytes, 0) for reader in left),
            segments=sorted({segment for reader in self.readers for segment in (*reader.behind, reader.segment)}),
        )

    def _bytes_in(self, segment: str) -> int:
        """What is stored there, with events of the average size."""
        all_events = sum(self.written.events.values())
        return round(self.written.bytes * self.written.events.get(segment, 0) / all_events) if all_events else 0
