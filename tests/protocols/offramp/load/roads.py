"""An Offramp server in memory where a load process has its connection."""

from tests.protocols.offramp.server.network import SECOND_NS, Network
from wiretool.load.link import Failed, Link
from wiretool.protocols.offramp.server import OfframpMock

#: By how much time goes on while somebody waits.
STEP_S = 0.005


class RoadWire(Link):
    """A connection to a mock without a socket. While nothing is heard, time passes."""

    def __init__(self, network: Network | None = None) -> None:
        self.name = "memory:8080"
        self.network = network or Network(OfframpMock())
        self.number = self.network.connect()
        self.sent: list[bytes] = []

    def send(self, data: bytes | bytearray) -> None:
        self.sent.append(bytes(data))
        self.network.send(self.number, bytes(data))

    def receive(self) -> bytes:
        heard = self.receive_within(1.0)
        if not heard:
            raise Failed("nothing to receive", kind="silence")
        return heard

    def receive_within(self, seconds: float) -> bytes:
        got = self.network.got[self.number]
        end_ns = self.network.now_ns + int(seconds * SECOND_NS)
        while not got and self.network.now_ns < end_ns:
            self.network.wait(STEP_S)
        heard = bytes(got)
        got.clear()
        return heard

    def wait(self, seconds: float | None) -> None:
        """Nothing is set."""

    def close(self) -> None:
        """Be gone."""
        self.network.lose(self.number)

    def now_s(self) -> float:
        """The time there, in seconds since 1970."""
        return self.network.now_ns / SECOND_NS
