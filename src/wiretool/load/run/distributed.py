"""One load of several processes, on one machine or many: Locust's master and workers, and what they tell each other.

Locust spreads the users and keeps its own statistics. Beside its messages go ours: a worker greets, is given the plan
and says that it has it; says all that a load process says; is told to go, once all users of all workers are set up, or
to stop.
"""

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import gevent
import msgspec
from gevent.event import Event
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from wiretool.load.backlog import joined
from wiretool.load.drain import Drain
from wiretool.load.measure.intervals import Ended, Listening, Orders, Ready, Said, Written
from wiretool.load.planning.plan import GRACE_S, Plan
from wiretool.load.run.course import LOOK_S, SETUP_S, Running
from wiretool.load.run.session import Session, worker_name
from wiretool.load.slow.top_n import Slowest
from wiretool.load.users.figures import feed
from wiretool.load.users.ordered import user_classes
from wiretool.load.users.page import show
from wiretool.load.users.sessions import share
from wiretool.load.users.spreading import EvenDispatcher

#: The messages: from a worker, and to it.
GREET, PLANNED, SAID = "wiretool-greet", "wiretool-planned", "wiretool-said"
PLAN, GO, DRAIN, STOP = "wiretool-plan", "wiretool-go", "wiretool-drain", "wiretool-stop"
#: Where in their data the JSON is.
TEXT = "text"
#: How long workers may take to come, and one of them may say nothing while it is measured.
COME_S = 120.0
SILENT_S = 15.0

_SAID = msgspec.json.Decoder(Said)


class Given(msgspec.Struct, kw_only=True):
    """What a master gives a worker: the plan, and its number among so many."""

    plan: Plan
    number: int
    workers: int


class Master:
    """Waits for workers, lets them begin together, and passes on what they say."""

    def __init__(self, orders: Orders, say: Callable[[Said], None]) -> None:
        assert orders.plan is not None
        self._plan = orders.plan
        self._workers = orders.workers
        self._say = say
        classes = user_classes(self._plan)
        self._users = sum(classes.values())
        environment = Environment(
            user_classes=list(classes),
            host=self._plan.target,
            stop_timeout=GRACE_S,
            dispatcher_class=EvenDispatcher,
        )
        self._runner: MasterRunner = environment.create_master_runner(orders.host, orders.port)
        #: By Locust's name of a worker: its number, and when it was last heard.
        self._numbers: dict[str, int] = {}
        self._heard_s: dict[str, float] = {}
        self._planned: set[str] = set()
        self._ready: set[str] = set()
        self._ended: set[str] = set()
        #: What each worker has written, where that is read when all have.
        self._written: list[Written] = []
        self._is_stopped = False
        for name, listener in ((GREET, self._greeted), (PLANNED, self._was_planned), (SAID, self._heard)):
            self._runner.register_message(name, listener)
        show(environment, orders, self.stop, say)

    def run(self) -> None:
        """From where it is said that workers may come to the end of the last one.

        Who hears that may stop it: what is to do so on a signal has to stand before.
        """
        self._say(Listening(port=self._runner.server.port))
        if not self._wait(lambda: self._is_stopped or len(self._planned) >= self._workers, COME_S):
            self._fail(f"{len(self._planned)} of {self._workers} workers came in {COME_S:g} s")
        elif len(self._planned) < self._workers:
            self._say(Ended(worker="master", duration_s=0.0))
        else:
            self._runner.start(self._users, spawn_rate=self._users)
            self._wait(self._is_over, SETUP_S + self._plan.whole_s + GRACE_S + SILENT_S)
        self._runner.quit()

    def stop(self) -> None:
        """Let all workers end early."""
        self._is_stopped = True
        self._runner.send_message(STOP)

    def _greeted(self, environment: Environment, msg: Any, **_: Any) -> None:
        """A worker is there: it is given the plan, unless there are enough."""
        number = self._numbers.setdefault(msg.node_id, len(self._numbers))
        if number < self._workers:
            given = Given(plan=self._plan, number=number, workers=self._workers)
            self._runner.send_message(PLAN, packed(given), msg.node_id)

    def _was_planned(self, environment: Environment, msg: Any, **_: Any) -> None:
        self._planned.add(msg.node_id)

    def _heard(self, environment: Environment, msg: Any, **_: Any) -> None:
        """Pass on what a worker says; all begin when the last is ready, and end when one cannot go on."""
        said = _SAID.decode(msg.data[TEXT])
        self._heard_s[msg.node_id] = monotonic()
        if isinstance(said, Ready):
            self._ready.add(msg.node_id)
            if len(self._ready) < self._workers:
                return
            self._runner.send_message(GO)
        elif isinstance(said, Written):
            self._written.append(said)
            if len(self._written) >= self._workers:
                self._runner.send_message(DRAIN, packed(joined(self._written)))
        elif isinstance(said, Ended):
            self._ended.add(msg.node_id)
            if said.failure and not self._is_stopped:
                self.stop()
        self._say(said)

    def _is_over(self) -> bool:
        """Whether all have ended; one that has said nothing for long has too."""
        now = monotonic()
        for name, heard_s in self._heard_s.items():
            if len(self._ready) >= self._workers and name not in self._ended and now - heard_s > SILENT_S:
                self._ended.add(name)
                self._fail(f"no heartbeat for {SILENT_S:g} s", self._numbers[name])
        return len(self._ended) >= self._workers

    def _fail(self, why: str, number: int | None = None) -> None:
        worker = "master" if number is None else worker_name(number)
        self._say(Ended(worker=worker, duration_s=0.0, failure=f"{worker}: {why}"))
        self.stop()

    def _wait(self, is_so: Callable[[], bool], limit_s: float) -> bool:
        end_s = monotonic() + limit_s
        while not (found := is_so()) and monotonic() < end_s:
            gevent.sleep(LOOK_S)
        return found


class Worker:
    """Comes to a master, is given its plan there, and runs its share of the users."""

    def __init__(self, orders: Orders, say: Callable[[Said], None]) -> None:
        self._say_here = say
        self._environment = Environment(user_classes=[], stop_timeout=GRACE_S)
        self._runner: WorkerRunner = self._environment.create_worker_runner(orders.host, orders.port)
        self._go = Event()
        self._drain = Event()
        #: What all workers have written, once they have.
        self._written: Written | None = None
        self._over = Event()
        self._session: Session | None = None
        for name, listener in (
            (PLAN, self._plan),
            (GO, lambda **_: self._go.set()),
            (DRAIN, self._may_drain),
            (STOP, lambda **_: self.stop()),
        ):
            self._runner.register_message(name, listener)
        self._runner.send_message(GREET)

    def run(self) -> None:
        """To its last word, or until its master is gone."""
        self._over.wait()
        self._runner.quit()

    def stop(self) -> None:
        """End early."""
        self._go.set()
        self._drain.set()
        if self._session is None:
            self._over.set()
        else:
            self._session.end()

    def _plan(self, environment: Environment, msg: Any, **_: Any) -> None:
        """The plan is there: now users can be spawned."""
        given = msgspec.json.decode(msg.data[TEXT], type=Given)
        drain = Drain() if given.plan.has_backlog else None
        self._session = Session(run=given.plan.run, worker_number=given.number, workers=given.workers, drain=drain)
        self._session.slowest = Slowest(given.plan.keep_slow)
        share(environment, self._session)
        environment.user_classes = list(user_classes(given.plan))
        environment.events.test_start.add_listener(  # type: ignore[no-untyped-call]
            lambda **_: gevent.spawn(self._play, given.plan, self._session)
        )
        self._runner.send_message(PLANNED)

    def _play(self, plan: Plan, session: Session) -> None:
        while self._runner.worker_state != "running":
            gevent.sleep(LOOK_S)
        count = partial(feed, self._environment.stats)
        Running(plan, session, self._say, self._go.wait, count, self._all_written).run(self._runner.target_user_count)
        self._over.set()

    def _may_drain(self, environment: Environment, msg: Any, **_: Any) -> None:
        """All workers have written what they write: now it may be read."""
        self._written = msgspec.json.decode(msg.data[TEXT], type=Written)
        self._drain.set()

    def _all_written(self, written: Written) -> Written:
        """What all workers have written, once they have."""
        self._drain.wait()
        return self._written or written

    def _say(self, said: Said) -> None:
        """Here, and to the master."""
        self._say_here(said)
        self._runner.send_message(SAID, packed(said))


def packed(message: Given | Said) -> dict[str, str]:
    """A message of ours as Locust's data."""
    return {TEXT: msgspec.json.encode(message).decode()}
