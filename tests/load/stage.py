"""A server in memory where a load process has its connection, and a clock that counts."""

from tests.protocols.pravega.server.talk import Cluster
from wiretool.load.link import Failed, Link


class Wire(Link):
    """A connection to a mock store without a socket."""

    def __init__(self, cluster: Cluster | None = None) -> None:
        self.name = "memory"
        self.cluster = cluster or Cluster()
        self.client = self.cluster.client()

    def send(self, data: bytes | bytearray) -> None:
        cluster = self.cluster
        cluster.do(cluster.mock.received(self.client.number, bytes(data), cluster.now_ns))

    def receive(self) -> bytes:
        heard, self.client.heard = self.client.heard, b""
        if not heard:
            raise Failed("nothing to receive", kind="silence")
        return heard

    def receive_within(self, seconds: float) -> bytes:
        heard, self.client.heard = self.client.heard, b""
        return heard

    def wait(self, seconds: float | None) -> None:
        """Nothing takes any time here."""

    def close(self) -> None:
        """Nothing to let go of."""
