"""The course of a run in one load process: users set up, all warm up, seconds are measured, the rest is waited for.

Where a backlog is built up, its drain comes behind that, whose seconds are counted on.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count as counted
from math import ceil
from time import time

import gevent

from wiretool.load.drain import DRAINED
from wiretool.load.findings import distinct
from wiretool.load.intervals import Drained, Ended, Interval, Ready, Said, Tally, Written
from wiretool.load.part import load_part
from wiretool.load.plan import GRACE_S, Plan
from wiretool.load.session import Session

#: How long users may take to set up, each of them having its own limits besides.
SETUP_S = 60.0
#: How often is looked whether something has happened.
LOOK_S = 0.01
#: Every so many looks what was counted is folded: little by little it holds up nobody.
FOLDING_TURNS = 5
#: How often is looked whether the server is there.
CHECK_S = 0.05
#: How long no user may have a connection before the server is taken for gone.
GONE_S = 3.0
#: From here on time without a connection at the end of a run is told apart: users who let go may take some of it.
ABSENT_S = 1.0


class Running:
    """One run; `say` is told what happens, `count` what was counted, `may_begin` returns once others are ready too.

    `may_drain` is given what was written here, and gives what was written anywhere once others have built up too.
    """

    def __init__(
        self,
        plan: Plan,
        session: Session,
        say: Callable[[Said], None],
        may_begin: Callable[[], object] = lambda: None,
        count: Callable[[Mapping[str, Tally]], None] = lambda tallies: None,
        may_drain: Callable[[Written], Written] = lambda written: written,
    ) -> None:
        self._plan = plan
        self._session = session
        self._say = say
        self._may_begin = may_begin
        self._count = count
        self._may_drain = may_drain
        #: Events that were acknowledged so far, and their bytes without heads.
        self._appended = self._appended_bytes = 0
        self._users = 0
        self._writes = load_part(plan.protocol).writes
        #: When a user was last seen to have a connection, by the session's clock.
        self._seen_s = 0.0
        #: How long up to the end of what was measured no user had one.
        self._absent_s = 0.0
        #: Appends of each user that were due and not answered when the time was up.
        self._due: list[int] = []

    def run(self, users: int) -> None:
        """From the first of so many users, who are being spawned, to the last word."""
        self._users = users
        lagging = gevent.spawn(self._watch_lag)
        try:
            self._wait(lambda: self._session.ready >= users or self._session.is_over, SETUP_S)
            if self._session.ready < users:
                self._session.fail(f"{users - self._session.ready} of {users} users could not set up in {SETUP_S:g} s")
            measured_s, unfinished = self._measure(users)
            self._wait(self._is_settled, GRACE_S)
            unanswered = self._unanswered()
            drained = self._drain(unfinished)
        finally:
            lagging.kill()
        session = self._session
        if session.slowest.limit:
            self._say(session.told_slow())
        outcome = distinct([check() for check in session.checks])
        self._say(
            Ended(
                worker=session.worker,
                users=users,
                duration_s=measured_s,
                absent_s=self._absent_s,
                unfinished=unfinished,
                unanswered=unanswered,
                failure=session.failure,
                has_defect=session.has_defect,
                writers=session.writers,
                checked=outcome.checked,
                found=outcome.found,
                findings=outcome.findings,
                drained=drained,
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
            if second == 0:
                session.slowest.open()
            began_at = time()
            self._sleep_until(min(zero_s + second + 1, end_s), lambda: session.is_over, CHECK_S)
            now = session.clock()
            unfinished, self._due = session.unfinished(now), session.due_appends(now, self._writes)
            self._tell(second, began_at, self._counted())
            if session.is_over:
                break
        measured_s = max(min(session.clock(), end_s) - zero_s, 0.0)
        self._absent_s = min(self._absent(), measured_s)
        session.slowest.close()
        session.finish()
        return measured_s, unfinished

    def _drain(self, unfinished: dict[str, tuple[int, int]]) -> Drained | None:
        """Read all that was written, if that is wanted; what was unfinished in the end is added to the other.

        It ends with the last reader: its last second is seldom whole, and its pulse is of no time behind that.
        """
        session, plan, drain = self._session, self._plan, self._session.drain
        if drain is None or drain.is_over:
            return None
        self._counted()  # what came after the time was up is of no second
        written = self._may_drain(self._written())
        if drain.is_over:
            return None
        session.health.begin()
        session.slowest.open()
        drain.begin(written, session.clock())
        self._seen_s = drain.began_s
        end_s = drain.began_s + plan.drain_s
        for second in counted():
            began_at = time()
            self._sleep_until(min(drain.began_s + second + 1, end_s), lambda: drain.is_over or drain.is_done, LOOK_S)
            now = session.clock()
            tallies, left = self._counted(), session.unfinished(now)
            fetched = {name: tallies[name] for name in DRAINED & {*tallies}}
            if fetched or not drain.is_done:  # who has nothing to read has a pulse of microseconds, which tells nothing
                self._tell(ceil(plan.duration_s) + second, began_at, fetched)
            if drain.is_over or drain.is_done or now >= end_s:
                break
        unfinished |= {name: left[name] for name in DRAINED & {*left}}
        session.slowest.close()
        session.end()
        return drain.outcome(now - self._absent())

    def _written(self) -> Written:
        """What the writers of this process have appended, which is said."""
        session, events = self._session, Counter[str]()
        for writer in session.writers:
            events[writer.segment] += writer.acknowledged
        stored = load_part(self._plan.protocol).stored
        head_bytes = 0 if stored is None else stored.head.width
        size = self._appended_bytes / self._appended + head_bytes if self._appended else 0
        readers = {session.worker: 0 if session.drain is None else len(session.drain.readers)}
        written = Written(worker=session.worker, events=events, bytes=round(size * events.total()), readers=readers)
        self._say(written)
        return written

    def _is_settled(self) -> bool:
        """Whether nothing is on the way any more."""
        return not any(count for count, _ in self._session.unfinished(0.0).values())

    def _unanswered(self) -> int:
        """Return the appends due when the time was up, of users whose oldest is still not answered.

        A pause of the server that lasts beyond the end costs none. A lost connection is an error, not counted here.
        """
        if self._session.failure or self._absent_s:
            return 0
        left = self._session.due_appends(0.0, self._writes)
        return sum(count for count, is_left in zip(self._due, left, strict=False) if is_left)

    def _counted(self) -> dict[str, Tally]:
        """What was counted since the last time."""
        tallies = self._session.meter.drain()
        if "append" in tallies:
            self._appended += tallies["append"].events
            self._appended_bytes += tallies["append"].bytes
        return tallies

    def _tell(self, second: int, began_at: float, tallies: dict[str, Tally]) -> None:
        """All that was counted in a second."""
        self._count(tallies)
        self._say(Interval(second=second, began_at=began_at, pulse=self._session.pulse(), operations=tallies))

    def _sleep_until(self, end_s: float, is_over: Callable[[], bool], look_s: float) -> None:
        """Let the users work until then, or until it is over, which is looked for every so many seconds."""
        session = self._session
        while not is_over() and (left_s := end_s - session.clock()) > 0:
            gevent.sleep(min(left_s, look_s))
            self._look_for_server()

    def _look_for_server(self) -> None:
        """End the run where no user has had a connection for long."""
        session = self._session
        if session.connected or not self._users:  # of more processes than users some have none
            self._seen_s = session.clock()
        elif session.clock() - self._seen_s >= GONE_S:
            session.fail(f"the server is gone: no user could connect for {GONE_S:g} s")

    def _absent(self) -> float:
        """For how many seconds no user has had a connection; 0 of less than what letting go takes."""
        absent_s = self._session.clock() - self._seen_s
        return absent_s if absent_s >= ABSENT_S else 0.0

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
