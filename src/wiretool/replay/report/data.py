"""A finished replay as plain data: what was judged how, where, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import msgspec

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.filter.names import spelt
from wiretool.records import Record
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.judging.coverage import MIN_JUDGED, Coverage, coverage_of
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import END_NAME, Accounted, Outcome
from wiretool.replay.script import Script
from wiretool.units import counted


class Wording(NamedTuple):
    """How things are called in a replay, or in a comparison of two captures."""

    title: str
    recorded: str
    live: str


REPLAY = Wording("wiretool replay", "recorded", "live")


#: Characters of a value that are kept of a difference that is not a finding.
KEPT_MAX = 1_000


class Differing(msgspec.Struct, frozen=True, omit_defaults=True):
    """One place that is not as recorded; a value that is not there is left out."""

    message: str
    #: As expressions spell it; empty where the message itself is missing, too much or another.
    path: str
    recorded: Any = msgspec.UNSET
    live: Any = msgspec.UNSET
    #: Of a difference that is not a finding: how it was judged, and why.
    verdict: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """How people are told of the place."""
        if not self.path:
            return self.message
        return f"{self.message}{self.path if self.path.startswith('[') else f'.{self.path}'}"


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """One outcome. Numbers of records and packets are those of the recording, or if `is_live` of the live side."""

    n: int | None
    connection: int
    #: The message that was asked with; null where the server spoke by itself.
    request: str | None
    verdict: str
    reasons: list[str]
    differences: list[Differing]
    packets: tuple[int, int] | None
    protocol: str
    #: The messages that were answered.
    recorded: list[str] = []
    live: list[str] = []
    is_live: bool = False
    #: Number and packets of the record that only the live side has.
    live_n: int | None = None
    live_packets: tuple[int, int] | None = None
    #: Of a connection as a whole: the number of its exchanges.
    exchanges: int = 1


class Group(NamedTuple):
    """So many things for one reason."""

    what: str
    why: str
    many: int


@dataclass(frozen=True, slots=True)
class Report:
    """All that is told of a replay. Outcomes are in the order of the recording, what is not in it last."""

    wording: Wording
    outcomes: Sequence[Outcome]
    counts: Mapping[Verdict, int]
    by_dialogue: Mapping[Dialogue, Mapping[Verdict, int]]
    #: Of what is explained or unknown.
    reasons: Sequence[Group]
    left_out: Sequence[Group]
    remarks: Sequence[str]
    recorded: frozenset[Dialogue]
    coverage: Coverage

    def is_live(self, outcome: Outcome) -> bool:
        """Whether an outcome is of a connection that was not recorded."""
        return outcome.dialogue not in self.recorded

    @property
    def findings(self) -> list[Outcome]:
        """The outcomes for which the replay has failed."""
        return [outcome for outcome in self.outcomes if outcome.verdict.is_finding]

    @property
    def headline(self) -> str:
        """How many exchanges there were, and how many of them could not be judged."""
        return self.coverage.subject(counted(len(self.by_dialogue), "connection"))

    @property
    def result(self) -> str:
        """What came of it: findings, too little evidence, or neither."""
        found = len(self.findings)
        shortfall = self.coverage.shortfall
        if self.coverage.judged and self.coverage.share < self.coverage.required:
            shortfall += f" (--min-judged {self.coverage.required:.0%})"
        parts = [counted(found, "finding") if found else "", shortfall]
        return ", ".join(part for part in parts if part) or "no finding"

    @property
    def is_success(self) -> bool:
        """Whether enough was judged, and nothing found."""
        return not self.findings and self.coverage.is_enough


def report_of(
    recording: Recording,
    script: Script,
    outcomes: Sequence[Outcome],
    *,
    wording: Wording = REPLAY,
    remarks: Sequence[str] = (),
    min_judged: float = MIN_JUDGED,
    is_prepared: bool = True,
) -> Report:
    """Return the report of what came of a script of a recording."""
    ours = frozenset(recording.dialogues)
    ordered = sorted(outcomes, key=lambda outcome: _order(outcome, is_recorded=outcome.dialogue in ours))
    by_dialogue: dict[Dialogue, Counter[Verdict]] = {}
    reasons: Counter[tuple[Verdict, str]] = Counter()
    for outcome in ordered:
        by_dialogue.setdefault(outcome.counterpart or outcome.dialogue, Counter())[outcome.verdict] += outcome.many
        if outcome.verdict in (Verdict.EXPLAINED, Verdict.UNKNOWN):
            reasons[outcome.verdict, "; ".join(outcome.reasons) or "not recorded"] += outcome.many
    counts: Counter[Verdict] = Counter()
    for outcome in ordered:
        counts[outcome.verdict] += outcome.many
    groups = [Group(verdict.name.lower(), why, count) for (verdict, why), count in reasons.most_common()]
    left_out = _left_out(recording, script)
    coverage = coverage_of(ordered, min_judged, is_prepared=is_prepared)
    return Report(wording, ordered, counts, by_dialogue, groups, left_out, remarks, ours, coverage)


def _order(outcome: Outcome, *, is_recorded: bool) -> tuple[bool, float, int]:
    record = record_of(outcome)
    return not (is_recorded and record), record.n if record else inf, outcome.dialogue.number


def _left_out(recording: Recording, script: Script) -> list[Group]:
    groups: Counter[tuple[str, str]] = Counter()
    for dialogue, record, why in script.left_out:
        groups[_kind_of(record), why or dialogue.protocol] += 1
    strangers = sum(not dialogue.protocol for dialogue in recording.dialogues)
    if strangers:
        groups["connection", "of an unknown protocol"] += strangers
    return [Group(what, why, count) for (what, why), count in groups.most_common()]


def _kind_of(record: Record | None) -> str:
    if record is None:
        return "connection"
    return record.message or record.kind


def record_of(outcome: Outcome) -> Record | None:
    """Where in the recording an outcome belongs: its request, or what the server said by itself."""
    if outcome.request is not None:
        return outcome.request
    if outcome.is_connection:
        return outcome.dialogue.records[0]
    if outcome.is_live_only:
        return outcome.live[0]
    return outcome.recorded[0] if outcome.recorded else None


def packets_of(outcome: Outcome) -> tuple[int, int] | None:
    """The packets in which an outcome is seen: of a connection as a whole, all of its records."""
    record = record_of(outcome)
    if record is None:
        return None
    last = outcome.dialogue.records[-1] if outcome.is_connection else record
    return record.packets[0], last.packets[1]


def judged(report: Report, outcome: Outcome) -> Judged:
    """An outcome as data."""
    record, packets, is_live_only = record_of(outcome), packets_of(outcome), outcome.is_live_only
    return Judged(
        n=record.n if record and not is_live_only else None,
        connection=outcome.dialogue.number,
        request=outcome.request.message if outcome.request else None,
        verdict=outcome.verdict.name.lower(),
        reasons=[*dict.fromkeys((*outcome.reasons, *(each.why for each in outcome.accounted if each.why)))],
        differences=[
            *(differing(outcome, difference) for difference in outcome.differences),
            *(_accounted(outcome, each) for each in outcome.accounted),
            *_ended(outcome),
        ],
        packets=None if is_live_only else packets,
        protocol=outcome.dialogue.protocol,
        recorded=[each.message for each in outcome.recorded],
        live=[each.message for each in outcome.live],
        is_live=report.is_live(outcome),
        live_n=record.n if record and is_live_only else None,
        live_packets=packets if is_live_only else None,
        exchanges=outcome.many,
    )


def differing(outcome: Outcome, difference: Difference) -> Differing:
    """A difference as data."""
    return Differing(
        message=message_of(outcome, difference),
        path=spelt(difference.steps),
        recorded=msgspec.UNSET if difference.expected is ABSENT else difference.expected,
        live=msgspec.UNSET if difference.live is ABSENT else difference.live,
    )


def _accounted(outcome: Outcome, each: Accounted) -> Differing:
    """Return a difference that is not a finding as data, without the inside of long values."""
    difference = each.difference
    shown = difference._replace(expected=_kept(difference.expected), live=_kept(difference.live))
    verdict = each.verdict.name.lower()
    return msgspec.structs.replace(differing(outcome, shown), verdict=verdict, why=each.why)


def _ended(outcome: Outcome) -> list[Differing]:
    """Return how the connection ended otherwise as data, where the outcome is about that."""
    if outcome.end is None:
        return []
    found = Differing(message=END_NAME, path="", recorded=outcome.end.recorded, live=outcome.end.live)
    if outcome.verdict.is_finding:
        return [found]
    verdict = outcome.verdict.name.lower()
    return [msgspec.structs.replace(found, verdict=verdict, why="; ".join(outcome.reasons))]


def _kept(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= KEPT_MAX:
        return value
    return f"{value[:KEPT_MAX]}… ({len(value):,} characters)"


def message_of(outcome: Outcome, difference: Difference) -> str:
    """The name of the message that a difference is in: the recorded one, if there is one."""
    if not difference.steps:
        return str(difference.live if difference.expected is ABSENT else difference.expected)
    records = [outcome.request] if difference.at < 0 else outcome.recorded[difference.at :] or outcome.live[-1:]
    return records[0].message if records and records[0] is not None else ""
