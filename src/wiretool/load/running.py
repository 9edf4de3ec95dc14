"""The course of a run in one load process: users set up, all warm up, seconds are measured, the rest is waited for."""

from collections.abc import Callable, Mapping
from itertools import count as counted
from math import ceil
from time import time

import gevent

from wiretool.load.findings import distinct
from wiretool.load.intervals import Ended, Interval, Ready, Said, Tally
from wiretool.load.plan import Plan
from wiretool.load.session import Session

#: How long users may take to set up, each of them having its own limits besides.
SETUP_S = 60.0
#: How long what is on the way when the time is up may take to come.
GRACE_S = 5.0
#: How often is looked whether something has happened.
LOOK_S = 0.01
#: Every so many looks what was counted is folded: little by little it holds up nobody.
FOLDING_TURNS = 5
#: How often is looked whether the server is there.
CHECK_S = 0.25
#: How long no user may have a connection before the server is taken for gone.
GONE_S = 3.0


class Running:
    """One run; `say` is told what happens, `count` what was counted, `may_begin` returns once others are ready too."""

    def __init__(
        self,
        plan: Plan,
        session: Session,
        say: Callable[[Said], None],
        may_begin: Callable[[], object] = lambda: None,
        count: Callable[[Mapping[str, Tally]], None] = lambda tallies: None,
    ) -> None:
        self._plan = plan
        self._session = session
        self._say = say
        self._may_begin = may_begin
        self._count = count
        #: When a user was last seen to have a connection, by the session's clock.
        self._seen_s = 0.0

    def run(self, users: int) -> None:
        """From the first of so many users, who are being spawned, to the last word."""
        lagging = gevent.spawn(self._watch_lag)
        try:
            self._wait(lambda: self._session.ready >= users or self._session.is_over, SETUP_S)
            if self._session.ready < users:
                self._session.fail(f"{users - self._session.ready} of {users} users could not set up in {SETUP_S:g} s")
            measured_s, unfinished = self._measure(users)
        finally:
            lagging.kill()
        self._wait(lambda: not any(count for count, _ in self._session.unfinished(0.0).values()), GRACE_S)
        session = self._session
        outcome = distinct([check() for check in session.checks])
        self._say(
            Ended(
                worker=session.worker,
                duration_s=measured_s,
                unfinished=unfinished,
                failure=session.failure,
                has_defect=session.has_defect,
                writers=session.writers,
                checked=outcome.checked,
                found=outcome.found,
                findings=outcome.findings,
            )
        )

    def _measure(self, users: int) -> tuple[float, dict[str, tuple[int, int]]]:
        """Warm-up and measured seconds; how long was measured, and what was unfinished then."""
        session, plan = self._session, self._plan
        if session.is_over:
            return 0.0, {}
        lead_s = plan.ramp_s + plan.warmup_s
        self._say(Ready(worker=session.worker, plan=plan, users=users, begins_in_s=lead_s))
        self._may_begin()
        if session.is_over:
            return 0.0, {}
        session.health.begin()
        session.open()
        self._seen_s = session.began_s
        zero_s = session.began_s + lead_s
        end_s = zero_s + plan.duration_s
        for second in range(-ceil(lead_s), ceil(plan.duration_s)):
            began_at = time()
            self._sleep_until(min(zero_s + second + 1, end_s))
            unfinished = session.unfinished(session.clock())
            self._tell(second, began_at)
            if session.is_over:
                break
        measured_s = max(min(session.clock(), end_s) - zero_s, 0.0)
        session.end()
        return measured_s, unfinished

    def _tell(self, second: int, began_at: float) -> None:
        """All that was counted in a second."""
        session = self._session
        tallies = session.meter.drain()
        self._count(tallies)
        self._say(Interval(second=second, began_at=began_at, pulse=session.pulse(), operations=tallies))

    def _sleep_until(self, end_s: float) -> None:
        """Let the users work until then, or until it is over."""
        session = self._session
        while not session.is_over and (left_s := end_s - session.clock()) > 0:
            gevent.sleep(min(left_s, CHECK_S))
            self._look_for_server()

    def _look_for_server(self) -> None:
        """End the run where no user has had a connection for long."""
        session = self._session
        if session.connected:
            self._seen_s = session.clock()
        elif session.clock() - self._seen_s >= GONE_S:
            session.fail(f"the server is gone: no user could connect for {GONE_S:g} s")

    def _wait(self, is_so: Callable[[], bool], limit_s: float) -> None:
        end_s = self._session.clock() + limit_s
        while not is_so() and self._session.clock() < end_s:
            gevent.sleep(LOOK_S)

    def _watch_lag(self) -> None:
        """See how much later than it wanted a greenlet comes to its turn."""
        session = self._session
        for turn in counted():
            wanted = session.clock() + LOOK_S
            gevent.sleep(LOOK_S)
            session.health.lag(session.clock() - wanted)
            if turn % FOLDING_TURNS == 0:
                session.meter.fold()
