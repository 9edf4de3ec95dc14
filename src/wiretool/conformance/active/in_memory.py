"""A run against a mock server in memory: no sockets, and a counted clock, so that waiting costs nothing."""

from collections import deque
from collections.abc import Iterable

from wiretool.net.calling.caller import Abort, Act, Caller, Dial, Finish, Send
from wiretool.server.mock import Action, Close, Mock
from wiretool.server.mock import Send as MockSend
from wiretool.sinks.pcapng import Recording

#: When the counted clock starts, ns since 1970. The mocks put it into times that clients see.
START_NS = 1_800_000_000_000_000_000
#: Addresses in recordings: the loopback, a port of its own for each connection of the client.
LOOPBACK = "127.0.0.1"
FIRST_CLIENT_PORT, CLIENT_PORTS = 20_000, 45_000


class InMemory:
    """Joins a caller and a mock; what they send can be recorded."""

    def __init__(
        self, caller: Caller, mock: Mock, *, recording: Recording | None = None, now_ns: int = START_NS
    ) -> None:
        self._caller = caller
        self._mock = mock
        self._recording = recording
        self.now_ns = now_ns
        self._acts: deque[Act] = deque()
        self._is_acting = False
        self._open: set[int] = set()
        #: Connections of which the mock has sent the last byte.
        self._ended: set[int] = set()

    def run(self) -> None:
        """Run the caller to its end."""
        self._act(self._caller.start(self.now_ns))
        while not self._caller.is_over:
            wakes = [wake for wake in (self._caller.wake_ns, self._mock.wake_ns) if wake is not None]
            assert wakes, "the caller waits for something that cannot happen"
            self.now_ns = max(min(wakes), self.now_ns)
            if self._mock.wake_ns is not None and self._mock.wake_ns <= self.now_ns:
                self._answer(self._mock.woken(self.now_ns))
            if self._caller.wake_ns is not None and self._caller.wake_ns <= self.now_ns:
                self._act(self._caller.woken(self.now_ns))

    def _act(self, acts: Iterable[Act]) -> None:
        """Carry out acts, and those that follow from them, one after the other."""
        self._acts.extend(acts)
        if self._is_acting:
            return
        self._is_acting = True
        try:
            while self._acts:
                self._carry_out(self._acts.popleft())
        finally:
            self._is_acting = False

    def _carry_out(self, act: Act) -> None:
        number = act.connection
        if isinstance(act, Dial):
            self._dial(act)
        elif number not in self._open:
            return
        elif isinstance(act, Send):
            if number not in self._ended:
                self._record_sent(number, "client", act.data)
                self._answer(self._mock.received(number, act.data, self.now_ns))
        elif isinstance(act, Finish):
            if self._recording is not None:
                self._recording.finished(number, "client", self.now_ns)
            self._answer(self._mock.ended(number, self.now_ns))
        elif isinstance(act, Abort):
            self._abort(number)

    def _dial(self, act: Dial) -> None:
        door = next(each for each in self._mock.doors if act.door in ("", each.name))
        number = act.connection
        self._open.add(number)
        if self._recording is not None:
            client = (LOOPBACK, FIRST_CLIENT_PORT + number % CLIENT_PORTS)
            self._recording.opened(number, client, (LOOPBACK, door.port), self.now_ns)
        actions = self._mock.opened(number, door.name, self.now_ns)
        self._act(self._caller.opened(number, self.now_ns))
        self._answer(actions)

    def _abort(self, number: int) -> None:
        self._open.discard(number)
        if self._recording is not None:
            self._recording.lost(number, "client", self.now_ns)
            self._recording.forget(number)
        self._answer(self._mock.lost(number, self.now_ns))

    def _answer(self, actions: Iterable[Action]) -> None:
        sent = set()
        for action in actions:
            number = action.connection
            if number not in self._open or number in self._ended:
                continue
            if isinstance(action, MockSend):
                sent.add(number)
                self._record_sent(number, "server", action.data)
                self._act(self._caller.received(number, action.data, self.now_ns))
            elif isinstance(action, Close):
                self._close(number, is_abort=action.is_abort)
        for number in sent & self._open:
            if more := self._mock.drained(number, self.now_ns):
                self._answer(more)

    def _close(self, number: int, *, is_abort: bool) -> None:
        self._ended.add(number)
        if self._recording is not None:
            if is_abort:
                self._recording.lost(number, "server", self.now_ns)
            else:
                self._recording.finished(number, "server", self.now_ns)
        self._act(self._caller.ended(number, self.now_ns))

    def _record_sent(self, number: int, side: str, data: bytes) -> None:
        if self._recording is not None:
            self._recording.sent(number, side, data, self.now_ns)  # type: ignore[arg-type]
