"""A writer whose connections break anywhere: no event that was acknowledged is lost, and none is stored twice."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.server.talk import SEGMENT, WRITER, Client, Cluster, set_up
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.encoder import AppendEncoder
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import AppendSetup, ConditionalBlockEnd, DataAppended, Hello
from wiretool.protocols.pravega.server.segments import EVENT_COUNT

#: Beside it, on a connection that stays, somebody else writes.
NEIGHBOUR = "99999999-0000-0000-0000-000000000001"


class Writer:
    """A client that sends its events again from where the store says, numbered from 1."""

    def __init__(self, cluster: Cluster, events: Sequence[bytes]) -> None:
        self._cluster = cluster
        self._events = events
        #: The last number that it was told is stored.
        self.acknowledged = 0

    def connect(self, block_size: int, flush_every: int) -> tuple[Client, bytes]:
        """A new connection on which it is set up, and what it will say there."""
        client, encoder = self._cluster.client(), AppendEncoder(block_size)
        client.say(Hello(high_version=16, low_version=5))
        (reply,) = client.say_bytes(encoder.send(set_up()))
        assert isinstance(reply, AppendSetup)
        assert reply.last_event_number >= self.acknowledged or not self.acknowledged
        done = max(0, reply.last_event_number)
        out = b""
        for number, event in enumerate(self._events[done:], done + 1):
            out += encoder.append(WRITER, number, event)
            out += encoder.flush() if number % flush_every == 0 else b""
        return client, out + encoder.flush()

    def listen(self, client: Client, seen: int) -> None:
        """Read what was said on a connection; only `seen` bytes of it arrive."""
        end = 0
        while seen - end >= 8 and (length := 8 + int.from_bytes(client.heard[end + 4 : end + 8], "big")) <= seen - end:
            end += length
        client.heard = client.heard[:end]
        numbers = [reply.event_number for reply in client.hear() if isinstance(reply, DataAppended)]
        assert numbers == sorted(set(numbers))
        self.acknowledged = max([self.acknowledged, *numbers])


def begin() -> tuple[Cluster, Client]:
    cluster = Cluster()
    neighbour = cluster.client()
    neighbour.create(SEGMENT)
    neighbour.set_up(writer=NEIGHBOUR)
    return cluster, neighbour


def check(cluster: Cluster, events: Sequence[bytes], foreign: bytes = b"") -> None:
    segment = cluster.mock.store.segments.info(SEGMENT)
    stored = segment.read(0, 10_000_000)
    assert stored.replace(foreign, b"") == b"".join(events) if foreign else stored == b"".join(events)
    assert segment.attributes.get(WRITER, 0) == len(events)


@given(st.data())
def test_cut_anywhere_again_and_again(data: st.DataObject) -> None:
    events = [
        event_frame(b"%d:" % n + bytes(data.draw(st.integers(0, 90)))) for n in range(data.draw(st.integers(1, 20)))
    ]
    cluster, neighbour = begin()
    writer = Writer(cluster, events)
    for turn in range(data.draw(st.integers(0, 4))):
        client, out = writer.connect(data.draw(st.sampled_from([0, 64, 300])), data.draw(st.integers(1, 5)))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(out)), min_size=1, max_size=4)))
        for at, end in zip([0, *cuts], cuts, strict=False):
            if at < end:
                cluster.do(cluster.mock.received(client.number, out[at:end], cluster.now_ns))
        writer.listen(client, data.draw(st.integers(0, len(client.heard))))
        neighbour.write(turn, b"<neighbour>", NEIGHBOUR)
        if data.draw(st.booleans()):
            client.end()
        else:
            client.drop()
    client, out = writer.connect(0, 1)
    client.heard = b""
    if out:
        cluster.do(cluster.mock.received(client.number, out, cluster.now_ns))
        writer.listen(client, len(client.heard))
        assert writer.acknowledged == len(events)
    check(cluster, events, b"<neighbour>")
    assert cluster.mock.store.segments.info(SEGMENT).attributes[EVENT_COUNT] >= len(events)


def test_cut_at_every_byte() -> None:
    events = [event_frame(b"event %d" % number) for number in range(6)]
    length = len(Writer(begin()[0], events).connect(40, 4)[1])
    for cut in range(length + 1):
        cluster, _ = begin()
        writer = Writer(cluster, events)
        client, out = writer.connect(40, 4)
        cluster.do(cluster.mock.received(client.number, out[:cut], cluster.now_ns) if cut else [])
        writer.listen(client, len(client.heard))
        client.drop()
        client, out = writer.connect(0, 1)
        cluster.do(cluster.mock.received(client.number, out, cluster.now_ns) if out else [])
        check(cluster, events)


def test_conditional_appends_cut_at_every_byte() -> None:
    """As of an event of more than 8 MiB: raw pieces, each at its offset."""
    pieces = [b"first piece", b"second", b"third one"]
    cluster, _ = begin()
    said = [
        ConditionalBlockEnd(
            writer_id=WRITER,
            event_number=number,
            expected_offset=sum(map(len, pieces[: number - 1])),
            data=piece,
            request_id=number,
        )
        for number, piece in enumerate(pieces, 1)
    ]
    whole = b"".join(encode(message, "client") for message in said)
    for cut in range(len(whole) + 1):
        cluster, _ = begin()
        client = cluster.client()
        client.set_up()
        client.say_bytes(whole[:cut]) if cut else None
        client.drop()
        again = cluster.client()
        last = max(0, again.set_up())
        for message in said[last:]:
            again.say(message)
        check(cluster, pieces)
