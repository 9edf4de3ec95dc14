"""What every user of ours is to Locust: it sets up, waits at the gate, works until the run is over."""

from abc import abstractmethod
from collections import Counter
from time import sleep
from typing import ClassVar

from locust import User, task
from locust.env import Environment
from locust.exception import StopUser

from wiretool.load.link import Failed, Link
from wiretool.load.loops import Arrivals, AtOnce, OnSchedule
from wiretool.load.planning.schedule import Schedule
from wiretool.load.slow.recorder import Keeper
from wiretool.load.slow.setup_bytes import OpenedLink
from wiretool.load.users.sessions import session_of
from wiretool.net.addresses import address_from

#: Between one attempt to come back to a server and the next.
RETRY_S = 0.1


class LoadUser(User):
    """A user on one connection. What it does stands in its class, under the names that `wiretool bench` has."""

    abstract = True
    #: Where times go.
    operation: ClassVar[str]
    #: Bytes of an event, as `--event-size` has it; events of one append; exchanges on the way at most.
    event_size: ClassVar[str] = "100"
    batch: ClassVar[int] = 1
    pipeline: ClassVar[int] = 1
    segments: ClassVar[int] = 1
    verify: ClassVar[bool] = True
    seed: ClassVar[int] = 0
    #: Exchanges a second of this user, on schedule; None: each as soon as it can.
    rate: ClassVar[float | None] = None
    #: How many users take turns, and the seconds over which they begin.
    of_users: ClassVar[int] = 1
    ramp: ClassVar[float] = 0.0

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.session = session_of(environment)
        #: In its process, among those who do the same, from 0 on.
        self.number = self.session.next_user(self.operation)
        #: Among those of all processes, as Locust spreads them evenly.
        self.place = self.number * self.session.workers + self.session.worker_number

        self._link: Link | None = None
        #: Whether it counts as connected.
        self._is_there = False

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more for it to do."""
        return self.session.is_over

    @property
    def address(self) -> tuple[str, int]:
        """Where the server is. UsageError where `host` does not say."""
        where = address_from(str(self.host or ""), option="host")
        return where.host, where.port

    def on_start(self) -> None:
        """Connect and set up, then wait until all may begin."""
        try:
            self.set_up()
        except Failed as err:
            self.session.fail(str(err))
            return  # the session is over, which is where its task ends too
        self.session.ready += 1
        self.come()
        self.session.gate.wait()
        if self.rate is None:
            sleep(self.ramp * self._turn / self.of_users)

    @property
    def _turn(self) -> int:
        return self.place % self.of_users

    def arrivals(self) -> Arrivals:
        """When its exchanges are due, once the gate is open."""
        if self.rate is None:
            return AtOnce()
        began_s, rate_per_s = self.session.began_s, self.rate * self.of_users
        return OnSchedule(
            Schedule(began_s, user=self._turn, users=self.of_users, rate_per_s=rate_per_s, ramp_s=self.ramp)
        )

    @task
    def run_load(self) -> None:
        """All there is to do: it ends when the run does."""
        self.await_work()
        while not self.is_over:
            try:
                self.work()
            except Failed as err:
                self._lost(err)
        self.leave()
        raise StopUser

    def on_stop(self) -> None:
        """Let go of the connection."""
        self.tear_down()

    def await_work(self) -> None:
        """Once all may begin, until this one may: at once."""

    def come(self) -> None:
        """It is connected."""
        self.session.connected += not self._is_there
        self._is_there = True

    def leave(self) -> None:
        """It is not connected any more, or has nothing to be connected for."""
        self.session.connected -= self._is_there
        self._is_there = False

    def come_back(self) -> None:
        """Connect and set up, as often as it takes, until there is nothing more to do."""
        while not self.is_over:
            try:
                self.set_up()
            except Failed as err:
                self._errors[err.kind] += 1
                sleep(RETRY_S)
            else:
                self.come()
                return

    @property
    def _errors(self) -> Counter[str]:
        return self.session.samples(self.operation).errors

    def _lost(self, err: Failed) -> None:
        """Count what went wrong, then come back."""
        self._errors[err.kind] += 1
        self.leave()
        sleep(RETRY_S)
        self.come_back()

    @abstractmethod
    def set_up(self) -> None:
        """Connect, and go on where it was; Failed where the server does not let it."""

    @abstractmethod
    def work(self) -> None:
        """Exchanges until the session is over; Failed where the connection is lost or the server refuses."""

    def connect(self) -> Link:
        """A new connection in place of the one there was. Failed where the server does not accept."""
        self.tear_down()
        host, port = self.address
        session = self.session
        self._link = OpenedLink(host, port, session.clock) if session.slowest.limit else Link(host, port)
        return self._link

    def keeper(self, held: int = 0) -> Keeper | None:
        """What keeps its slowest exchanges, once it is set up; None where nobody wants them.

        Of what came meanwhile the last bytes, so many, are the beginning of something else.
        """
        link = self._link
        if not isinstance(link, OpenedLink):
            return None
        link.opened.opening.end(held)
        return Keeper(self.session.slowest, self.session.clock, link.opened)

    def tear_down(self) -> None:
        """Let go of the connection, if there is one."""
        if self._link is not None:
            self._link.close()
            self._link = None
