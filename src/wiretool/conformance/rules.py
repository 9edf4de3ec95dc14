"""Rules: requirements that every recording can be judged by, whatever its clients do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.conformance.levels import Level
from wiretool.conformance.observed import ObservedConnection


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


def pairs(request: str, reply: str, check: Callable[[dict[str, object], dict[str, object]], str]) -> Judge:
    """Return a judge of the replies of one name to requests of one name; `check` returns what is wrong, or nothing."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for asked, answered in connection.exchanges():
            if (asked.name, answered.name) == (request, reply):
                yield Observation(answered.n, check(dict(asked.fields), dict(answered.fields)))

    return judge


def decodable(side: Side) -> Judge:
    """Return a judge that every message of a side can be decoded and comes at a time when it may."""

    def judge(connection: ObservedConnection) -> Iterable[Observation]:
        for message in connection.sent_by(side):
            yield Observation(message.n, message.problems[0] if message.problems else "")

    return judge
