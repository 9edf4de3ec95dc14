"""Users whose connection does not fall silent, as servers of SBP close one that does."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gevent

from wiretool.load.link import Failed
from wiretool.load.users.user import LoadUser

#: How often a client that has nothing to say shows that it is there; a range server waits 6 s (sbp.md §4.2).
HEARTBEAT_S = 3.0


class Beating(LoadUser):
    """A user that sends heartbeats while it has nothing to say."""

    abstract = True

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._beating: Any = None

    def set_up(self) -> None:
        super().set_up()  # type: ignore[safe-super]  # that of the user which this is mixed into
        self._beating = gevent.spawn(self._beat, self.new_heartbeats())

    def tear_down(self) -> None:
        super().tear_down()
        if self._beating is not None:
            self._beating.kill()
            self._beating = None

    @abstractmethod
    def new_heartbeats(self) -> Callable[[], bytes]:
        """What gives the heartbeats of a new connection."""

    @abstractmethod
    def is_under_way(self) -> bool:
        """Whether something is being said: it may not be whole, so that nothing goes in between."""

    def _beat(self, beat: Callable[[], bytes]) -> None:
        with suppress(Failed):  # whoever works on the connection sees it too
            while not self.session.is_over:
                gevent.sleep(HEARTBEAT_S)
                if self._link is not None and not self.is_under_way():
                    self._link.send(beat())
