"""What the recording takes for granted of a store: the segments before it, and what others did to them meanwhile."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from wiretool.analysis.dialogues import Dialogue
from wiretool.protocols.pravega.replay.appends import AppendLog
from wiretool.protocols.pravega.replay.content import Contents


@dataclass(eq=False, slots=True)
class Before:
    """A segment that was there before the recording."""

    name: str
    is_table: bool = False
    length: int = 0
    start: int = 0
    is_sealed: bool = False
    #: Writers' last event numbers among them.
    attributes: dict[str, int] = field(default_factory=dict)
    #: Tables: the length of every key; 0 for keys of any length.
    key_length: int = 0
    entries: dict[bytes, "Held"] = field(default_factory=dict)
    #: Tables: keys that were not there, and places in the log from which deltas were read.
    absent: set[bytes] = field(default_factory=set)
    positions: set[int] = field(default_factory=set)


class Held(NamedTuple):
    """An entry of a table; of some it is only known that they are there."""

    version: int | None
    value: bytes


class Create(NamedTuple):
    """Somebody made a segment."""

    segment: str


class Extend(NamedTuple):
    """Somebody appended to a segment, or merged another into it."""

    segment: str
    data: bytes
    #: Bytes in front of these that are not made again: they are too many.
    skipped: int = 0


class Seal(NamedTuple):
    """Somebody sealed a segment."""

    segment: str


class Delete(NamedTuple):
    """Somebody removed a segment."""

    segment: str


class Truncate(NamedTuple):
    """Somebody dropped the beginning of a segment."""

    segment: str
    offset: int


class SetAttribute(NamedTuple):
    """Somebody set an attribute of a segment."""

    segment: str
    attribute: str
    value: int


class Put(NamedTuple):
    """Somebody put an entry into a table."""

    segment: str
    key: bytes
    held: Held


class Remove(NamedTuple):
    """Somebody removed a key from a table."""

    segment: str
    key: bytes


Change = Create | Extend | Seal | Delete | Truncate | SetAttribute | Put | Remove


class Plain:
    """A plain segment as the model has it; `exists` is None until something is known of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exists: bool | None = None
        #: As it was before the recording.
        self.before: Before | None = None
        self.length = self.start = 0
        self.is_sealed = False
        self.attributes: dict[str, int] = {}
        #: Somebody has used it as one that is not sealed.
        self.was_open = False
        self.was_deleted = self.was_merged = False
        #: Bytes that others appended meanwhile, as far as they are made again.
        self.extended = 0


class Tear(NamedTuple):
    """Where bytes of a client are missing: after which record, and the record of the gap itself."""

    after: int
    gap: int


@dataclass(slots=True)
class Past:
    """All that is inferred from a recording."""

    log: AppendLog = field(default_factory=AppendLog)
    before: dict[str, Before] = field(default_factory=dict)
    #: Number of a record -> what others did before it, in turn.
    changes: dict[int, list[Change]] = field(default_factory=dict)
    #: Every segment that is named.
    segments: dict[str, None] = field(default_factory=dict)
    #: Segments -> the lowest place that a client names.
    lowest: dict[str, int] = field(default_factory=dict)
    #: Numbers of frames that are not said again, and why.
    unsaid: dict[int, str] = field(default_factory=dict)
    #: Numbers of appends to segments that took none any more.
    vain: set[int] = field(default_factory=set)
    #: Numbers of requests to merge what was merged before, and of those that did.
    merged_again: dict[int, int] = field(default_factory=dict)
    #: By the number of a MergeSegmentsBatch: how long the target is behind each of its sources.
    merge_ends: dict[int, list[int]] = field(default_factory=dict)
    #: Numbers of replies to what was not recorded.
    orphans: set[int] = field(default_factory=set)
    #: Connections of which bytes of the client are missing, and the segments that these may be about.
    torn_connections: dict[Dialogue, "Tear"] = field(default_factory=dict)
    torn: dict[str, "Tear"] = field(default_factory=dict)
    #: Tables that were appended to -> the record from which on the real store does not answer for them.
    broken: dict[str, int] = field(default_factory=dict)
    #: Segments that were not there before and were created in the course of the recording.
    created: set[str] = field(default_factory=set)
    #: Segments that were sealed at last.
    ended: set[str] = field(default_factory=set)
    #: Names that the server made up.
    made_up: set[str] = field(default_factory=set)

    def tear(self, names: Iterable[str], tear: Tear) -> None:
        """Note that missing bytes may be about segments; the first of several tears counts."""
        for name in names:
            self.torn[name] = min(tear, self.torn.get(name, tear))

    @property
    def contents(self) -> Contents:
        """What is known of the bytes in segments."""
        return self.log.contents
