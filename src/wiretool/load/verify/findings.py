"""What a check of stored events found: each defect once, as a sentence with its evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from wiretool import limits
from wiretool.load.events import writer_name
from wiretool.load.result import Verification
from wiretool.sinks.printable import printable

#: Those of a list that are told.
_TOLD = slice(limits.BENCH_FINDINGS_MAX)


class Kind(StrEnum):
    """What may be wrong with what is stored."""

    LOST = "lost"
    DOUBLED = "doubled"
    OUT_OF_ORDER = "out of order"
    CHANGED = "changed"
    #: Bytes that are no event at all.
    BROKEN = "broken"
    #: Events that nobody sent here.
    NEVER_SENT = "never sent"
    #: The segment ends within an event.
    CUT = "cut"


@dataclass(slots=True)
class Finding:
    """One defect, which may take in several events in a row: those of `writer` from `first` to `last`.

    `offset` is the byte of the segment where it shows, `{events}` in `words` are the events.
    """

    kind: Kind
    offset: int
    words: str
    writer: int = 0
    first: int = 0
    last: int = 0

    def told(self, segment: str) -> str:
        """The sentence, fit for a terminal."""
        where = f"{self.kind}: segment {printable(segment)}, byte {self.offset:,}: "
        return where + self.words.replace("{events}", events_named(self.writer, self.first, self.last))


def events_named(writer: int, first: int, last: int) -> str:
    """Events of a writer in words."""
    numbers = f"event {first:,}" if first == last else f"events {first:,} to {last:,}"
    return f"{numbers} of writer {writer_name(writer)}"


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """What came of the check of one segment, or of several: `checked` events of the run were there, whole.

    `foreign` events were written by somebody else: they are counted and no finding. `findings` are the first hundred.
    """

    acknowledged: int = 0
    checked: int = 0
    foreign: int = 0
    found: int = 0
    #: Of `found`, by kind.
    kinds: dict[str, int] = {}
    findings: list[str] = []


#: Of a check of nothing.
NOTHING = Outcome()


class Findings:
    """Collects the findings about one segment."""

    def __init__(self) -> None:
        self.kinds: dict[Kind, int] = {}
        self._kept: list[tuple[int, Finding]] = []

    def add(self, finding: Finding) -> None:
        """One more. It may be changed later on, as it takes in more events."""
        rank = self.kinds.get(finding.kind, 0)
        self.kinds[finding.kind] = rank + 1
        if rank < limits.BENCH_FINDINGS_MAX:
            self._kept.append((rank, finding))

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.kinds.values())

    def told(self, segment: str) -> list[str]:
        """The first of each kind, a hundred in all, in the order of the segment."""
        fair = sorted(self._kept, key=lambda ranked: (ranked[0], ranked[1].offset))[_TOLD]
        return [finding.told(segment) for _, finding in sorted(fair, key=lambda ranked: ranked[1].offset)]


def joined(outcomes: Iterable[Outcome]) -> Outcome:
    """What came of several checks together."""
    every = list(outcomes)
    kinds: dict[str, int] = {}
    for outcome in every:
        for kind, count in outcome.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    return Outcome(
        acknowledged=sum(outcome.acknowledged for outcome in every),
        checked=sum(outcome.checked for outcome in every),
        foreign=sum(outcome.foreign for outcome in every),
        found=sum(outcome.found for outcome in every),
        kinds=kinds,
        findings=[finding for outcome in every for finding in outcome.findings][_TOLD],
    )


def distinct(outcomes: Iterable[Outcome]) -> Outcome:
    """What came of several checks of bytes that may be the same: what all say in the same words was found once."""
    whole = joined(outcomes := list(outcomes))
    told = [finding for outcome in outcomes for finding in outcome.findings]
    once = list(dict.fromkeys(told))
    return msgspec.structs.replace(whole, found=whole.found - len(told) + len(once), findings=once[_TOLD])


def verification_of(outcome: Outcome, fetched: Outcome = NOTHING) -> Verification:
    """The same as the report has it: what was read back, and what fetchers got while loading."""
    more = [finding for finding in fetched.findings if finding not in outcome.findings]
    return Verification(
        is_on=True,
        acknowledged_events=outcome.acknowledged,
        checked_events=outcome.checked,
        fetched_events=fetched.checked,
        found=outcome.found + fetched.found - len(fetched.findings) + len(more),
        findings=[*outcome.findings, *(f"{finding} (as it was fetched)" for finding in more)][_TOLD],
    )
