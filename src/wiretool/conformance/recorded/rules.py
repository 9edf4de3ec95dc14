"""Rules: requirements that every recording can be judged by, whatever its clients do."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.conformance.levels import Level
from wiretool.conformance.recorded.observed import Closing, ObservedConnection

NS_PER_S = 1_000_000_000
#: Kinds of problems with bytes that lie beside a gap or at the edge of a recording: of a part of a frame, and of
#: what comes before the next frame.
_CUT, _LOST = "incomplete", "unsynchronised"


class Observation(NamedTuple):
    """A place where a requirement was exercised; `problem` is empty where it was kept."""

    #: The number of the record.
    n: int
    problem: str = ""


#: Judges one connection: an observation for each place that exercises the requirement.
Judge = Callable[[ObservedConnection], Iterable[Observation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement on recorded traffic."""

    id: str
    level: Level
    requirement: str
    source: str
    #: The side that has to keep it.
    side: Side
    judge: Judge


#: Makes a rule from its id without the protocol (`server/1`), level, requirement, source and judge.
RuleMaker = Callable[[str, Level, str, str, Judge], Rule]


def rule_maker(protocol: str, reference: str, *, documents: tuple[str, ...] = ()) -> RuleMaker:
    """Return a maker of rules on one protocol, whose sources are sections of its `reference`.

    A source that begins with the name of one of the other `documents` stands by itself.
    """

    def rule(id: str, level: Level, requirement: str, source: str, judge: Judge) -> Rule:
        side: Side = "server" if id.startswith("server/") else "client"
        where = source if source.startswith(documents) else f"{reference} {source}"
        return Rule(f"{protocol}/traffic/{id}", level, requirement, where, side, judge)

    return rule


def pairs(request: str, reply: str, check: Callable[[dict[str, object], dict[str, object]], str]) -> Judge:
    """Return a judge of the replies of one name to requests of one name; `check` returns what is wrong, or nothing."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for asked, answered in connection.exchanges():
            if (asked.name, answered.name) == (request, reply):
                yield Observation(answered.n, check(dict(asked.fields), dict(answered.fields)))

    return judge


def decodable(side: Side, *, apart_from: Collection[str] = ()) -> Judge:
    """Return a judge that every message of a side can be decoded and comes at a time when it may.

    Some kinds of problems may be left to other rules. Problems that a gap can explain are not failures.
    """

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        others = {_LOST, *apart_from, *((_CUT,) if _may_be_cut(connection, side) else ())}
        for message in connection.sent_by(side):
            found = [each for each in message.problems if kind_of(each) not in others]
            if found or not message.problems:
                yield Observation(message.n, found[0] if found else "")

    return judge


def _may_be_cut(connection: ObservedConnection, side: Side) -> bool:
    """Return whether a part of a frame says nothing against its sender, who need not have ended after it."""
    ends = [item.how for item in connection.items if isinstance(item, Closing) and item.side == side]
    return connection.has_gap or not connection.is_whole or ends[:1] != ["fin"]


def free_of(side: Side, kinds: Collection[str], *, names: Collection[str] = ()) -> Judge:
    """Return a judge that no message of a side has a problem of these kinds; `names`: of messages that may have one."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            found = [each for each in message.problems if kind_of(each) in kinds]
            if found or (not message.problems and (not names or message.name in names)):
                yield Observation(message.n, found[0] if found else "")

    return judge


def kind_of(problem: str) -> str:
    """Return the kind of a problem that an observed message has."""
    return problem.partition(":")[0]


def is_overdue(connection: ObservedConnection, time_ns: int, *, within_s: float) -> bool:
    """Return whether a reply to what was sent then is missing: the connection stays open and recorded for so long."""
    closings = [item.time_ns for item in connection.items if isinstance(item, Closing)]
    return min([*closings, connection.recorded_until_ns]) - time_ns >= round(within_s * NS_PER_S)
