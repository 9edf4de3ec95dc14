"""The judgement of recordings: every case that is recognised there, and every rule."""

from collections.abc import Iterable, Mapping, Sequence

from wiretool.conformance.case import Case, Conformance, Verdict
from wiretool.conformance.recorded.attribution import attributed
from wiretool.conformance.recorded.losses import complete_parts, is_before_losses
from wiretool.conformance.recorded.observed import ObservedConnection
from wiretool.conformance.recorded.prefixes import FailedPrefixes
from wiretool.conformance.recorded.rules import Observation, Rule
from wiretool.conformance.recorded.script_match import CaseSearch
from wiretool.conformance.recorded.sighting import Sighting
from wiretool.conformance.recorded.traffic_index import TrafficIndex
from wiretool.conformance.results import CaseResult, Event, events_around

#: Verdicts, the worst first; and messages that a transcript shows.
_WORST = (Verdict.FAIL, Verdict.LENIENT, Verdict.UNSUPPORTED, Verdict.PASS)
_SHOWN_BEFORE, _SHOWN_AFTER = 6, 1


def judge_recording(
    part: Conformance,
    connections: Sequence[ObservedConnection],
    cases: Sequence[Case | Rule],
    setup: str | None = None,
) -> list[CaseResult]:
    """Return a result for each case and rule; what the recording does not show is not exercised.

    `setup` is that of the recorded server, by its name in `Conformance.variants`; None for servers in all setups.
    """
    by_case = _sightings(part, connections, setup) if any(isinstance(each, Case) for each in cases) else {}
    results = []
    for case in cases:
        if isinstance(case, Rule):
            results.append(_by_rule(case, connections))
        elif setup is not None and case.variant != setup:
            why = f"requires a server in the setup {case.variant or 'default'}; see --setup"
            results.append(CaseResult(case, Verdict.NOT_EXERCISED, why))
        else:
            results.append(_by_script(case, by_case.get(case.id, ()), connections))
    return results


def _sightings(
    part: Conformance, connections: Sequence[ObservedConnection], setup: str | None
) -> Mapping[str, Sequence[Sighting]]:
    """Return where each case of the protocol was exercised, the selected ones and the others: any may explain one."""
    two_sided = {each.number: each for each in connections if each.is_two_sided}
    index = TrafficIndex(part, list(two_sided.values()))
    failed = FailedPrefixes(part)
    found: dict[str, list[Sighting]] = {}
    for case in part.cases:
        if setup is not None and case.variant != setup:
            continue
        search = CaseSearch(case, part, index, failed)
        found[case.id] = [each for each in search.sightings() if _is_shown(two_sided[each.connection], each)]
    return attributed(found)


def _is_shown(connection: ObservedConnection, sighting: Sighting) -> bool:
    """Return whether the recording shows the verdict: missing bytes may explain what comes after them."""
    return sighting.is_kept or is_before_losses(connection, sighting.n, sighting.time_ns)


def _by_script(case: Case, found: Sequence[Sighting], connections: Sequence[ObservedConnection]) -> CaseResult:
    if not found:
        return CaseResult(case, Verdict.NOT_EXERCISED, "the recording does not show it")
    worst = min(found, key=lambda each: _WORST.index(each.verdict))
    where = f"record {worst.n}, connection {worst.connection}: " if worst.n else f"connection {worst.connection}: "
    why = where + worst.why if worst.verdict is not Verdict.PASS else f"seen {len(found)} times"
    return CaseResult(case, worst.verdict, why, worst.expected, events=_around(connections, worst))


def _by_rule(rule: Rule, connections: Sequence[ObservedConnection]) -> CaseResult:
    count, first = 0, Sighting(Verdict.PASS)
    for connection in connections:
        for observation in _observations(rule, connection):
            count += 1
            if count == 1:
                first = Sighting(Verdict.PASS, connection=connection.number, n=observation.n)
            if observation.problem:
                sighting = Sighting(Verdict.FAIL, observation.problem, "", connection.number, observation.n)
                why = f"record {observation.n}, connection {connection.number}: {observation.problem}"
                return CaseResult(rule, Verdict.FAIL, why, events=_around(connections, sighting))
    if not count:
        return CaseResult(rule, Verdict.NOT_EXERCISED, "the recording does not show it")
    return CaseResult(rule, Verdict.PASS, f"seen {count} times", events=_around(connections, first))


def _observations(rule: Rule, connection: ObservedConnection) -> Iterable[Observation]:
    """Yield what a rule observes on a connection, without failures that missing bytes may explain."""
    found = list(rule.judge(connection))
    is_complete = connection.is_two_sided and not connection.has_gap
    if is_complete or not any(each.problem for each in found):
        return found
    proven = {each.n for part in complete_parts(connection) for each in rule.judge(part) if each.problem}
    return [each for each in found if not each.problem or each.n in proven]


def _around(connections: Iterable[ObservedConnection], sighting: Sighting) -> tuple[Event, ...]:
    """Return the messages around a record of a connection."""
    connection = next((each for each in connections if each.number == sighting.connection), None)
    if connection is None or not sighting.n:
        return ()
    return events_around(connection, sighting.n, before=_SHOWN_BEFORE, after=_SHOWN_AFTER)
