"""Any mock server in memory where a load process has its connection; time passes only while nothing is to be heard."""

from wiretool.load.link import Failed, Link
from wiretool.server.mock import Action, Close, Mock, Send


class Place:
    """A mock, a counted clock and the connections to it."""

    def __init__(self, mock: Mock) -> None:
        self.mock = mock
        self.now_ns = 1_800_000_000_000_000_000
        self.wires: list[MockWire] = []

    def wire(self, door: str = "") -> "MockWire":
        """A new connection."""
        wire = MockWire(self, len(self.wires))
        self.wires.append(wire)
        self.do(self.mock.opened(wire.number, door or self.mock.doors[0].name, self.now_ns))
        return wire

    def do(self, actions: list[Action]) -> None:
        """Carry out what the mock wants."""
        for action in actions:
            wire = self.wires[action.connection]
            if isinstance(action, Send):
                wire.heard += action.data
            elif isinstance(action, Close):
                wire.is_closed = True
        if actions:
            for number in {action.connection for action in actions if isinstance(action, Send)}:
                self.do(self.mock.drained(number, self.now_ns))

    def pass_by(self) -> bool:
        """Let time pass until the mock does something; whether there is anything that it will do."""
        wake_ns = self.mock.wake_ns
        if wake_ns is None:
            return False
        self.now_ns = max(wake_ns, self.now_ns)
        self.do(self.mock.woken(self.now_ns))
        return True


class MockWire(Link):
    """One connection, without a socket."""

    def __init__(self, place: Place, number: int) -> None:
        self.name = "memory"
        self.place = place
        self.number = number
        self.heard = b""
        self.is_closed = False

    def send(self, data: bytes | bytearray) -> None:
        self.place.do(self.place.mock.received(self.number, bytes(data), self.place.now_ns))

    def receive(self) -> bytes:
        while not self.heard and not self.is_closed and self.place.pass_by():
            pass
        return self._take()

    def receive_within(self, seconds: float) -> bytes:
        return self._take() if self.heard else b""

    def _take(self) -> bytes:
        heard, self.heard = self.heard, b""
        if not heard:
            raise self.closed() if self.is_closed else Failed("nothing to receive", kind="silence")
        return heard

    def wait(self, seconds: float | None) -> None:
        """Nothing takes any time here."""

    def close(self) -> None:
        """Nothing to let go of."""


class Saying(MockWire):
    """Says what it is told to, one piece for each that is asked."""

    def __init__(self, place: Place, *said: bytes) -> None:
        super().__init__(place, 0)
        self.said = list(said)

    def send(self, data: bytes | bytearray) -> None:
        """Nobody listens."""

    def receive(self) -> bytes:
        return self.said.pop(0)
