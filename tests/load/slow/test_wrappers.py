"""Users of a mock store in memory, watched for what takes long: whatever the pieces are in which answers come."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.load.stage import Wire
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Following
from wiretool.load.link import Failed
from wiretool.load.measure.intervals import Writer
from wiretool.load.run.session import Session
from wiretool.load.slow.model import Slow, SlowExchange
from wiretool.load.slow.recorder import Keeper, Kept, told
from wiretool.load.slow.setup_bytes import Opened
from wiretool.load.slow.top_n import Slowest
from wiretool.load.slow.wrappers import WatchedAppends, WatchedReads
from wiretool.protocols.pravega.framing import encode, parse
from wiretool.protocols.pravega.load.client import HEAD, Acks, Appends, Store
from wiretool.protocols.pravega.load.segment_reader import Reads
from wiretool.protocols.pravega.messages import DataAppended, KeepAlive, SegmentRead

SEGMENT = "bench-run/load/0.#epoch.0"
#: What a time of the session is ahead of the one that is told.
EPOCH_NS = 1_700_000_000_000_000_000


class Scene:
    """A writer that is set up, with as many appends on the way as are sent; the clock stands until it is moved."""

    def __init__(self, keep: int = 3, events: int = 2) -> None:
        self.now_s = 1.0
        self.wire = Wire()
        store = Store(self.wire)
        store.make_segment(SEGMENT)
        key = writer_of("run", 0, 0)
        self.writer = Writer(key=key, wire_id=str(UUID(int=key)), segment=SEGMENT)
        store.set_up(self.writer.wire_id, SEGMENT)
        self.slowest: Slowest[Kept] = Slowest(keep)
        self.slowest.open()
        opened = Opened(("127.0.0.1", 40_001), ("127.0.0.1", 12_345), 0.5)
        opened.opening.said(0.5, "client", b"hello")
        self.keeper = Keeper(self.slowest, lambda: self.now_s, opened)
        source = Appends(self.writer.wire_id, Maker(key, head=HEAD, filler=Filler(0)), events=events, size=100)
        self.on_the_way: list[tuple[float, float]] = []
        self.frames: list[bytes] = []
        self.watched = WatchedAppends(
            self.keeper, self.writer, source, Acks(self.writer.wire_id), lambda: iter(self.on_the_way)
        )

    def send(self, late_s: float = 0.0) -> None:
        """One append, which was due so much before."""
        self.frames.append(self.watched.next())
        self.on_the_way.append((self.now_s - late_s, self.now_s))
        self.wire.send(self.frames[-1])

    def take(self, data: bytes) -> None:
        """What the server says, as a loop takes it."""
        acknowledged = self.watched.feed(data)
        first = self.watched.last - self.watched.events * len(self.on_the_way)
        done = max((acknowledged - first) // self.watched.events, 0)
        del self.on_the_way[:done]

    def told(self) -> Slow:
        return told(self.slowest, "load 0", lambda at_s: round(at_s * 1e9) + EPOCH_NS)

    def exchanges(self) -> list[SlowExchange]:
        return [exchange for connection in self.told().connections for exchange in connection.exchanges]


def answered(exchange: SlowExchange) -> int:
    """The number of the last event that its reply acknowledges, which is one frame."""
    reply = parse(exchange.reply)
    assert isinstance(reply, DataAppended)
    assert len(encode(reply, "server")) == len(exchange.reply)
    return reply.event_number


def test_a_slow_append_is_kept_as_it_went_over_the_wire() -> None:
    scene = Scene()
    scene.send(late_s=0.25)
    scene.now_s += 0.5
    scene.take(scene.wire.receive())
    told = scene.told()
    assert (told.worker, told.left_out) == ("load 0", 0)
    (connection,) = told.connections
    assert (connection.client, connection.server) == (("127.0.0.1", 40_001), ("127.0.0.1", 12_345))
    assert connection.opened_ns == EPOCH_NS + 500_000_000
    assert [(piece.side, piece.data) for piece in connection.opening] == [("client", b"hello")]
    (exchange,) = connection.exchanges
    assert (exchange.operation, exchange.about) == ("append", f"writer {scene.writer.wire_id}, events 1 to 2")
    assert exchange.request == scene.frames[0]
    assert answered(exchange) == 2
    assert (exchange.service_ms, exchange.response_ms) == (500.0, 750.0)
    assert exchange.sent_ns == EPOCH_NS + 1_000_000_000


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(1, 6))
def test_the_slowest_are_kept_however_their_answers_are_cut(seed: int, waits_ms: list[int], pipeline: int) -> None:
    """Times of all against times of those kept; what is between them does not matter to either."""
    scene, random, times = Scene(), Random(seed), []
    for wait_ms in waits_ms:
        for _ in range(pipeline):
            scene.send()
            scene.now_s += 0.001
        scene.now_s += wait_ms / 1000
        data = scene.wire.receive() + encode(KeepAlive(), "server")
        while data:
            size = random.randint(1, len(data))
            before = [*scene.on_the_way]
            scene.take(data[:size])
            times += [scene.now_s - due_s for due_s, _ in before[: len(before) - len(scene.on_the_way)]]
            data = data[size:]
            scene.now_s += 0.0001
    assert len(times) == len(scene.frames) == pipeline * len(waits_ms)
    kept = scene.exchanges()
    assert sorted(one.response_ms for one in kept) == pytest.approx([1e3 * took for took in sorted(times)[-3:]])
    for one in kept:
        last = answered(one)
        assert one.about.endswith(f"events {last - 1} to {last}")
        assert one.request == scene.frames[last // 2 - 1]


def test_one_answer_to_several_is_one_answer() -> None:
    scene = Scene()
    scene.send()
    scene.send()
    both = scene.wire.receive()
    scene.now_s += 1.0
    scene.take(both[len(both) // 2 :])
    first, second = scene.exchanges()
    assert first.reply == second.reply
    assert first.reply_number == second.reply_number
    assert answered(first) == 4


def test_what_is_fast_is_fed_in_one_go_and_not_kept() -> None:
    scene = Scene(keep=1)
    for wait_s in (0.5, 0.1, 0.2):
        scene.send()
        scene.now_s += wait_s
        scene.take(scene.wire.receive())
    (one,) = scene.exchanges()
    assert one.service_ms == pytest.approx(500.0)
    assert scene.keeper.connection.replies == 1


def test_nothing_is_kept_while_it_is_closed() -> None:
    scene = Scene()
    scene.slowest.close()
    scene.send()
    scene.now_s += 1.0
    scene.slowest.open()
    scene.take(scene.wire.receive())
    assert len(scene.exchanges()) == 1
    scene.slowest.close()
    scene.send()
    scene.now_s += 1.0
    scene.take(scene.wire.receive())
    assert len(scene.exchanges()) == 1


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        encode(
            SegmentRead(segment="s", offset=0, at_tail=False, end_of_segment=False, data=b"", request_id=0), "server"
        ),
    ],
)
def test_what_is_no_answer_is_refused_as_ever(said: bytes) -> None:
    scene = Scene()
    scene.send()
    scene.now_s += 1.0
    with pytest.raises(Failed):
        scene.take(said)
    assert scene.exchanges() == []


def test_a_slow_read_is_kept_but_for_one_that_waits_for_appends() -> None:
    scene = Scene()
    scene.send()
    scene.wire.receive()
    following = Following(Session(run="run"), SEGMENT)
    reads = WatchedReads(scene.keeper, following, Reads(SEGMENT))
    for is_behind, kept in ((False, 0), (True, 1)):
        following.is_behind = is_behind
        frame = bytes(reads.at(0))
        scene.wire.send(frame)
        scene.now_s += 0.25
        data = scene.wire.receive()
        assert reads.feed(data[:7]) is None
        piece = reads.feed(data[7:])
        assert piece is not None
        assert len(scene.exchanges()) == kept
    (one,) = scene.exchanges()
    assert (one.operation, one.request, one.reply) == ("fetch", frame, data)
    assert piece is not None
    assert one.about == f"{len(piece.data)} bytes of {SEGMENT} from 0 on"
    assert one.response_ms == one.service_ms == pytest.approx(250.0)
