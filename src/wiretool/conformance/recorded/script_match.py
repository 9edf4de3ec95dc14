"""Recognise the conversation of a case in recorded traffic, and judge the server's replies there.

A recording exercises a case where the client's messages are those that the case sends: literal values are equal, and
placeholders are bound to the recorded values. A name that the case generates must be new, as it is in an active run.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from wiretool.conformance.active.case_run import NS_PER_S
from wiretool.conformance.case import (
    Case,
    Conformance,
    Connect,
    Expect,
    ExpectAll,
    Finish,
    Reset,
    Send,
    SendBytes,
    Step,
    Verdict,
    Wait,
)
from wiretool.conformance.recorded.match_state import FollowedConnection, MatchState
from wiretool.conformance.recorded.observed import ObservedConnection
from wiretool.conformance.recorded.prefixes import FailedPrefixes
from wiretool.conformance.recorded.reply_match import judge_end, judge_expect, judge_expect_all
from wiretool.conformance.recorded.sent_match import match_bytes, match_closing, match_send
from wiretool.conformance.recorded.sighting import Decided, NotShown, Sighting
from wiretool.conformance.recorded.traffic_index import TrafficIndex

#: Connections that may be the next one of a case, in the order in which they were opened.
NEIGHBOURS_MAX = 4
#: Attempts with different connections for the later labels of a case.
ATTEMPTS_MAX = 8


class CaseSearch:
    """Finds the conversation of one case in a recording."""

    def __init__(self, case: Case, part: Conformance, index: TrafficIndex, failed: FailedPrefixes) -> None:
        self._case = case
        self._part = part
        self._protocol = part.protocol_in(case.variant)
        self._index = index
        self._failed = failed

    @cached_property
    def _prefixes(self) -> list[int]:
        """The numbers of the beginnings of the case: needed only where a connection may be its own, as few are."""
        return self._failed.prefixes_of(self._case)

    def sightings(self) -> Iterator[Sighting]:
        """Yield the verdict at each connection with which the case begins."""
        label = next(step.on for step in self._case.steps if not isinstance(step, Wait))
        for connection in self._index.candidates(self._case, label):
            if self._failed.has_failed(self._prefixes, connection.number):
                continue
            sighting = self._look(connection)
            if sighting is not None:
                yield sighting

    def _look(self, connection: ObservedConnection) -> Sighting | None:
        """Return the verdict where the case begins with a connection; None where the case is not exercised there."""
        pending: deque[tuple[int, ...]] = deque([()])
        found: Sighting | None = None
        for _ in range(ATTEMPTS_MAX):
            if not pending:
                break
            state = MatchState(self._case, self._part, self._protocol, self._index)
            attempt = _Attempt(state, pending.popleft())
            sighting = attempt.follow(connection)
            if attempt.failed_at is not None:
                self._failed.add(self._prefixes[attempt.failed_at], connection.number)
            if sighting is not None and (found is None or sighting.is_kept or sighting.is_longer_than(found)):
                found = sighting
            if found is not None and found.is_kept:
                break
            pending.extend(attempt.alternatives())
        return found


class _Attempt:
    """The comparison of one case with a recording, with given connections for its labels."""

    def __init__(self, state: MatchState, choices: tuple[int, ...]) -> None:
        self._state = state
        self._choices = choices
        #: The number of connections that were possible for each label after the first.
        self._options: list[int] = []
        #: The first step that the recording does not show, where it is one on the first connection.
        self.failed_at: int | None = None

    def follow(self, connection: ObservedConnection) -> Sighting | None:
        """Return the verdict where the case begins with this connection; None where it is not exercised there."""
        state = self._state
        label = next(step.on for step in state.case.steps if not isinstance(step, Wait))
        state.begin(connection)
        state.followed[label] = FollowedConnection(connection)
        steps = enumerate(state.case.steps)
        at, is_at_end = 0, False
        try:
            for at, step in steps:  # noqa: B007 - the number is that of the step which does not match
                self._follow_step(step)
                if state.is_over:
                    break
            is_at_end = True
            judge_end(state)
        except NotShown:
            if not self._options and not is_at_end:
                self.failed_at = at
            return None
        except Decided as decided:
            return self._finished(decided.sighting) if self._continues_alike(steps) else None
        verdict = state.graded.verdict if state.graded else Verdict.PASS
        why = state.graded.why if state.graded else ""
        return self._finished(Sighting(verdict, why, "", connection.number, state.start_n, state.now_ns))

    def alternatives(self) -> list[tuple[int, ...]]:
        """Return the choices of connections that follow from this attempt."""
        known = len(self._choices)
        return [
            (*self._choices, *(0 for _ in range(known, at)), choice)
            for at in range(known, len(self._options))
            for choice in range(1, self._options[at])
        ]

    def _finished(self, sighting: Sighting) -> Sighting:
        state = self._state
        explained = {each.connection.number for each in state.followed.values() if state.has_explained(each)}
        matched = {each.connection.number: each.matched for each in state.followed.values()}
        return replace(
            sighting,
            matched=matched[sighting.connection],
            matched_in_all=sum(matched.values()),
            explained=frozenset(explained),
        )

    def _follow_step(self, step: Step) -> None:
        state = self._state
        if isinstance(step, Wait):
            if not any(each.raw_left for each in state.followed.values()):  # else its time is that of the whole frame
                state.now_ns += round(step.seconds * NS_PER_S)
                state.waits_until_ns = state.now_ns
            return
        followed = self._connection(step.on)
        if isinstance(step, Send):
            match_send(state, step, followed)
            followed.is_held = step.is_held
        elif isinstance(step, SendBytes):
            match_bytes(state, step, followed)
            followed.is_held = step.is_held
        elif isinstance(step, Expect):
            judge_expect(state, step, followed)
        elif isinstance(step, ExpectAll):
            judge_expect_all(state, step, followed)
        elif isinstance(step, Finish | Reset):
            match_closing(state, step, followed)
        else:
            assert isinstance(step, Connect)

    def _connection(self, label: str) -> FollowedConnection:
        """Return the connection of a label; a new label takes one of the next that were opened."""
        state = self._state
        if label not in state.followed:
            used = [each.connection for each in state.followed.values()]
            first = used[0]
            free = [
                each
                for each in state.index.candidates(state.case, label)
                if each.number > first.number and each not in used
            ][:NEIGHBOURS_MAX]
            at = len(self._options)
            self._options.append(len(free))
            choice = self._choices[at] if at < len(self._choices) else 0
            if choice >= len(free):
                raise NotShown
            state.followed[label] = FollowedConnection(free[choice])
        return state.followed[label]

    def _continues_alike(self, later: Iterable[tuple[int, Step]]) -> bool:
        """Return whether the client, after the reply that decides the case, sent what the case sends, or no more."""
        state = self._state
        for _, step in later:
            if not isinstance(step, Send | SendBytes) or step.on not in state.followed:
                continue
            if state.has_explained(state.followed[step.on]):
                continue
            try:
                self._follow_step(step)
            except NotShown:
                return False
        return True
