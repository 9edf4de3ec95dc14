"""Stands between clients and a server: bytes pass both ways, through the interceptor that watches them."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.errors import UsageError, WiretoolError
from wiretool.faults import Cut, Deliver, Effect, Interceptor, Misdeed, Rule, parse_rule
from wiretool.faults.standing import Standing
from wiretool.net.addresses import Address, reachable
from wiretool.net.serving.station import Station, named_counts
from wiretool.net.sockets import Socket, why_lost
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record

#: The doors of Pravega: clients learn of the first from the second.
STORE, CONTROLLER = "pravega", "pravega-controller"
#: The label of sockets that we dialled; those that we accepted are labelled by their way.
UPSTREAM = "upstream"
#: How long the upstream may take to accept.
CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Way:
    """Which server is behind a door of the tap, and what is spoken there."""

    protocol: Protocol
    upstream: Address
    context: ssl.SSLContext | None = None


@dataclass(slots=True)
class Pair:
    """Both sockets of one connection; the server's is there once it has accepted."""

    way: Way
    ends: dict[Side, Socket]
    dialling: asyncio.Task[None] | None = None
    #: What the client has sent before, and whether it has ended: some loops read on for a moment when they are paused.
    early: list[bytes] = field(default_factory=list)
    is_ended_early: bool = False
    #: Sides whose last byte has been told to the interceptor, and those of which it has passed on the last.
    ended: set[Side] = field(default_factory=set)
    passed: set[Side] = field(default_factory=set)
    is_paused: bool = False

    @property
    def is_joined(self) -> bool:
        """Whether both sockets are there."""
        return len(self.ends) == len(SIDES)

    def is_over(self) -> bool:
        """Whether nothing more can arrive at either end."""
        return all(side in self.passed or not self.ends[other_side(side)].is_open for side in SIDES)


class Tap(Station):
    """Any number of doors with a way each, all watched by one interceptor; `on_record` gets every record."""

    interceptor: Interceptor

    def __init__(
        self,
        ways: Mapping[str, Way],
        rules: Iterable[Rule],
        seed: int,
        on_record: Callable[[Record], None],
        tell: Callable[[str], None],
        *,
        connections_max: int = limits.MOCK_CONNECTIONS_MAX,
        advertise: Address | None = None,
    ) -> None:
        super().__init__(tell, connections_max)
        self.ways = ways
        self.pairs: dict[int, Pair] = {}
        self._paused: set[int] = set()
        self._on_record = on_record
        self._advertise = advertise
        self._counts: Counter[tuple[Side, str]] = Counter()
        self.interceptor = Interceptor(
            rules,
            seed=seed,
            on_record=self._seen,
            on_note=lambda text: self.tell(text),
            on_hit=self._hit,
            is_watching=True,
            is_relay=True,
        )

    def _seen(self, record: Record) -> None:
        if record.kind == "frame":
            self._counts[record.side, record.message] += 1
        if self.observer is not None:
            self.observer.note(record)
        if self.failure is not None:
            return
        try:
            self._on_record(record)
        except (BrokenPipeError, WiretoolError) as err:
            self.fail(err)

    def _hit(self, standing: Standing) -> None:
        if self.observer is not None:
            self.observer.note_hit(standing)

    # -- doors -----------------------------------------------------------------------------------------------------

    @property
    def protocols(self) -> tuple[str, ...]:
        return tuple(way.protocol.name for way in self.ways.values())

    @property
    def open_count(self) -> int:
        return len(self.pairs)

    def bound(self, door: str, address: Address, *, is_tls: bool) -> None:
        """Let the controller send its clients to the tap: in its answers that is where every store is."""
        if door != STORE or CONTROLLER not in self.ways:
            return
        told = self._advertise or Address(reachable(address.host, is_tls=is_tls), 0)
        rule = f'message == "getURI" and side == "server": set endpoint="{told.host}", port={told.port or address.port}'
        self.interceptor.add(parse_rule(rule, protocols=self.protocols, origin="tap"))

    def say_goodbye(self) -> None:
        for pair in list(self.pairs.values()):
            for end in pair.ends.values():
                end.close()

    def abort_all(self) -> None:
        for number in list(self.pairs):
            self._drop(number, is_abort=True)

    # -- both ends -------------------------------------------------------------------------------------------------

    def opened(self, end: Socket) -> None:
        if end.label == UPSTREAM:
            self._joined(end)
            return
        if not self.has_room(end):
            return
        way = self.ways[end.label]
        pair = self.pairs[end.number] = Pair(way, {"client": end})
        end.pause()
        pair.dialling = asyncio.ensure_future(self._dial(end, way))

    async def _dial(self, client: Socket, way: Way) -> None:
        """Connect to the server; where it does not take us, the client is reset, as it would have been."""
        loop = asyncio.get_running_loop()

        def join() -> Socket:
            return Socket(self, client.number, UPSTREAM)

        name = way.upstream.host if way.context is not None else None
        dialled = loop.create_connection(join, *way.upstream, ssl=way.context, server_hostname=name)
        try:
            await asyncio.wait_for(dialled, CONNECT_S)
        except (OSError, TimeoutError, UnicodeError) as err:
            why = f"no answer in {CONNECT_S:g} s" if isinstance(err, TimeoutError) else why_lost(err)
            self.tell(f"connection {client.number} ({client.peer}): cannot reach {way.upstream}: {why}")
            self._drop(client.number, is_abort=True)

    def _joined(self, server: Socket) -> None:
        pair = self.pairs.get(server.number)
        if pair is None:  # the client has gone meanwhile
            server.abort()
            return
        client = pair.ends["client"]
        pair.ends["server"] = server
        self.record(lambda recording, now_ns: recording.opened(client.number, client.peer, server.peer, now_ns))
        now_ns = self.clock.now_ns()
        self.interceptor.opened(client.number, pair.way.protocol, str(client.peer), str(server.peer), now_ns)
        client.resume()
        for data in pair.early:
            self.received(client, data)
        if pair.is_ended_early:
            self.ended(client)

    # -- what sockets say ------------------------------------------------------------------------------------------

    def received(self, end: Socket, data: bytes) -> None:
        number, side = end.number, _side(end)
        pair = self.pairs.get(number)
        if pair is None:
            return
        if not pair.is_joined:
            pair.early.append(data)
            return
        if side == "client":
            self.traffic.received[pair.way.protocol.name] += len(data)
        else:
            self.traffic.sent[pair.way.protocol.name] += len(data)
        self.record(lambda recording, now_ns: recording.sent(number, side, data, now_ns))
        self._apply(self.interceptor.feed(number, side, data, self.clock.now_ns()))
        if not pair.is_paused and self._is_full(number):
            pair.is_paused = True
            self._paused.add(number)
            for each in pair.ends.values():
                each.pause()

    def ended(self, end: Socket) -> None:
        pair = self.pairs.get(end.number)
        if pair is None:
            return
        if pair.is_joined:
            self._end_side(pair, end.number, _side(end))
        else:
            pair.is_ended_early = True

    def _end_side(self, pair: Pair, number: int, side: Side) -> None:
        """A side has sent its last byte."""
        if side in pair.ended:
            return
        pair.ended.add(side)
        self.record(lambda recording, now_ns: recording.finished(number, side, now_ns))
        self._apply(self.interceptor.end(number, side, self.clock.now_ns()))

    def full(self, end: Socket) -> None:
        other = self._other(end)
        if other is not None:
            other.pause()

    def drained(self, end: Socket) -> None:
        pair, other = self.pairs.get(end.number), self._other(end)
        if pair is not None and other is not None and not pair.is_paused:
            other.resume()

    def lost(self, end: Socket, why: str) -> None:
        """One end is gone. What it said may wait in the interceptor still, for the other."""
        number, side = end.number, _side(end)
        pair = self.pairs.get(number)
        if pair is None or pair.ends.get(side) is not end:
            return
        if why or not pair.is_joined:
            if pair.is_joined:
                self.record(lambda recording, now_ns: recording.lost(number, side, now_ns))
            self._drop(number, is_abort=bool(why))
            return
        self._end_side(pair, number, side)
        self._drop_if_over(number)

    # -- what is to be done ----------------------------------------------------------------------------------------

    def _apply(self, effects: Iterable[Effect]) -> None:
        """Let what the interceptor passes on arrive at the other end."""
        for effect in effects:
            pair = self.pairs.get(effect.connection)
            if pair is None:
                continue
            if isinstance(effect, Cut):
                self._drop(effect.connection, is_abort=effect.is_abort)
                continue
            assert not isinstance(effect, Misdeed), "no rule of a relay keeps anything"
            other = pair.ends[other_side(effect.side)]
            if isinstance(effect, Deliver):
                other.send(effect.data)
            else:
                pair.passed.add(effect.side)
                other.finish()
                self._drop_if_over(effect.connection)
        self.bell.ring()
        if self._paused:
            self._release()
        self._alarm.set(self.interceptor.wake_ns)

    def _drop_if_over(self, number: int) -> None:
        pair = self.pairs.get(number)
        if pair is not None and pair.is_over():
            self._drop(number, is_abort=False)

    def _drop(self, number: int, *, is_abort: bool) -> None:
        pair = self.pairs.pop(number, None)
        if pair is None:
            return
        if pair.dialling is not None:
            pair.dialling.cancel()
        self.interceptor.lost(number)
        self.note_closed(number)
        self.record(lambda recording, _: recording.forget(number))
        for end in pair.ends.values():
            if is_abort:
                end.abort()
            else:
                end.close()

    def _other(self, end: Socket) -> Socket | None:
        pair = self.pairs.get(end.number)
        return None if pair is None else pair.ends.get(other_side(_side(end)))

    # -- what waits in the interceptor -----------------------------------------------------------------------------

    def _is_full(self, number: int) -> bool:
        return any(self.interceptor.is_full(number, side) for side in SIDES)

    def _release(self) -> None:
        """Read on where no longer too much of a connection waits in the interceptor."""
        for number in [each for each in self._paused if not self._is_full(each)]:
            self._paused.discard(number)
            pair = self.pairs.get(number)
            if pair is None:
                continue
            pair.is_paused = False
            for side, end in pair.ends.items():
                if not pair.ends[other_side(side)].is_full:
                    end.resume()

    def _ring(self) -> None:
        self._apply(self.interceptor.woken(self.clock.now_ns()))

    # -- control ---------------------------------------------------------------------------------------------------

    @property
    def faults(self) -> Interceptor:
        """The interceptor."""
        return self.interceptor

    def connections(self) -> Iterator[Socket]:
        """The clients' ends of those that are open."""
        return iter([pair.ends["client"] for pair in self.pairs.values()])

    def messages(self) -> Mapping[str, Mapping[str, int]]:
        return named_counts(self._counts)

    def operate(self, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """UsageError: the server's state is its own."""
        raise UsageError(f"{what}: not available in a tap; the server holds the state")

    def restart(self) -> None:
        """UsageError, likewise."""
        raise UsageError("restart: not available in a tap; the server holds the state")

    def cut(self, connection: int, *, is_abort: bool) -> bool:
        """Close a connection; whether there was one of that number."""
        is_there = connection in self.pairs
        self._drop(connection, is_abort=is_abort)
        return is_there


def _side(end: Socket) -> Side:
    """Who is at the other end of a socket."""
    return "server" if end.label == UPSTREAM else "client"
