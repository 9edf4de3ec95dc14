"""Stands between clients and a server: bytes pass both ways, through the interceptor that watches them."""

import asyncio
import itertools
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.codec.message import Side, other_side
from wiretool.errors import UsageError
from wiretool.faults import Cut, Deliver, Effect, Interceptor, Rule, parse_rule
from wiretool.net.addresses import Address, reachable
from wiretool.net.alarm import Alarm
from wiretool.net.bell import Bell
from wiretool.net.clock import Clock
from wiretool.net.running import GOODBYE_S, Traffic, listening
from wiretool.net.sockets import Owner, Socket
from wiretool.protocols.conversation import Protocol
from wiretool.records import Record
from wiretool.sinks.pcapng import Recording
from wiretool.sinks.text.counters import Snapshot

SIDES: tuple[Side, Side] = ("client", "server")
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
    #: What the client has sent before, and whether it has ended: some loops read on for a moment when they are paused.
    early: list[bytes] = field(default_factory=list)
    is_ended_early: bool = False


@dataclass(slots=True)
class Tap(Owner):
    """Any number of doors with a way each, all watched by one interceptor."""

    ways: Mapping[str, Way]
    rules: Iterable[Rule]
    seed: int
    #: Gets every record, as in decode.
    on_record: Callable[[Record], None]
    tell: Callable[[str], None]
    recording: Recording | None = None
    connections_max: int = limits.MOCK_CONNECTIONS_MAX
    clock: Clock = field(default_factory=Clock)
    bell: Bell = field(default_factory=Bell)
    traffic: Traffic = field(default_factory=Traffic)
    pairs: dict[int, Pair] = field(default_factory=dict)
    _listening: list[asyncio.Server] = field(default_factory=list)
    _dialling: set[asyncio.Task[None]] = field(default_factory=set)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _counts: "Counter[tuple[str, str]]" = field(default_factory=Counter)
    _paused: set[int] = field(default_factory=set)
    interceptor: Interceptor = field(init=False)
    _alarm: Alarm = field(init=False)

    def __post_init__(self) -> None:
        self._alarm = Alarm(self.clock, self._ring)
        self.interceptor = Interceptor(
            self.rules, seed=self.seed, on_record=self._seen, on_note=lambda text: self.tell(text)
        )

    def _seen(self, record: Record) -> None:
        if record.kind == "frame":
            self._counts[record.side, record.message] += 1
        self.on_record(record)

    # -- listening -------------------------------------------------------------------------------------------------

    @property
    def protocols(self) -> tuple[str, ...]:
        """Which protocols are spoken at its doors."""
        return tuple(way.protocol.name for way in self.ways.values())

    async def listen(self, door: str, address: Address, context: ssl.SSLContext | None) -> Address:
        """Open a door; where it is. PeerError where that cannot be."""

        def accept() -> Socket:
            return Socket(self, next(self._numbers), door)

        server, bound = await listening(accept, door, address, context)
        self._listening.append(server)
        if door == STORE and CONTROLLER in self.ways:
            self._redirect(reachable(bound.host, is_tls=context is not None), bound.port)
        return bound

    def _redirect(self, host: str, port: int) -> None:
        """Let the controller send its clients to the tap: in its answers that is where every store is."""
        rule = f'message == "getURI" and side == "server": set endpoint="{host}", port={port}'
        self.interceptor.add(parse_rule(rule, protocols=self.protocols, origin="tap"))

    async def stop(self) -> None:
        """Accept no more and close every connection."""
        for server in self._listening:
            server.close()
        for task in self._dialling:
            task.cancel()
        for pair in list(self.pairs.values()):
            for end in pair.ends.values():
                end.close()
        deadline = asyncio.get_running_loop().time() + GOODBYE_S
        while self.pairs and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for number in list(self.pairs):
            self._drop(number, is_abort=True)
        self._alarm.cancel()

    # -- what sockets say ------------------------------------------------------------------------------------------

    def opened(self, end: Socket) -> None:
        pair = self.pairs.get(end.number)
        if pair is not None:
            self._joined(pair, end)
            return
        if len(self.pairs) >= self.connections_max:
            self.traffic.refused += 1
            self.tell(f"connection {end.number} ({end.peer}): refused: {self.connections_max:,} are open already")
            end.abort()
            return
        self.traffic.opened += 1
        way = self.ways[end.label]
        self.pairs[end.number] = Pair(way, {"client": end})
        end.pause()
        task = asyncio.ensure_future(self._dial(end, way))
        self._dialling.add(task)
        task.add_done_callback(self._dialling.discard)

    async def _dial(self, client: Socket, way: Way) -> None:
        """Connect to the server; where it does not take us, the client is reset, as it would have been."""
        loop = asyncio.get_running_loop()

        def join() -> Socket:
            return Socket(self, client.number, UPSTREAM)

        name = way.upstream.host if way.context is not None else None
        dialled = loop.create_connection(join, *way.upstream, ssl=way.context, server_hostname=name)
        try:
            await asyncio.wait_for(dialled, CONNECT_S)
        except (OSError, TimeoutError) as err:
            why = getattr(err, "strerror", None) or str(err) or f"no answer in {CONNECT_S:g} s"
            self.tell(f"connection {client.number} ({client.peer}): cannot reach {way.upstream}: {why}")
            self._drop(client.number, is_abort=True)

    def _joined(self, pair: Pair, server: Socket) -> None:
        client = pair.ends["client"]
        pair.ends["server"] = server
        now_ns = self.clock.now_ns()
        if self.recording is not None:
            self.recording.opened(client.number, client.peer, server.peer, now_ns)
        self.interceptor.opened(client.number, pair.way.protocol, str(client.peer), str(server.peer), now_ns)
        client.resume()
        for data in pair.early:
            self.received(client, data)
        if pair.is_ended_early:
            self.ended(client)

    def received(self, end: Socket, data: bytes) -> None:
        side = _side(end)
        pair = self.pairs.get(end.number)
        if pair is None:
            return
        if len(pair.ends) < len(SIDES):
            pair.early.append(data)
            return
        now_ns = self.clock.now_ns()
        if side == "client":
            self.traffic.received_bytes += len(data)
        else:
            self.traffic.sent_bytes += len(data)
        if self.recording is not None:
            self.recording.sent(end.number, side, data, now_ns)
        self._apply(self.interceptor.feed(end.number, side, data, now_ns))
        if self.interceptor.is_full(end.number, side):
            self._paused.add(end.number)
            end.pause()

    def ended(self, end: Socket) -> None:
        side = _side(end)
        now_ns = self.clock.now_ns()
        pair = self.pairs.get(end.number)
        if pair is None:
            return
        if len(pair.ends) < len(SIDES):
            pair.is_ended_early = True
            return
        if self.recording is not None:
            self.recording.finished(end.number, side, now_ns)
        self._apply(self.interceptor.end(end.number, side, now_ns))

    def full(self, end: Socket) -> None:
        other = self._other(end)
        if other is not None:
            other.pause()

    def drained(self, end: Socket) -> None:
        other = self._other(end)
        if other is not None:
            other.resume()

    def lost(self, end: Socket, why: str) -> None:
        pair = self.pairs.get(end.number)
        if pair is None or pair.ends.get(_side(end)) is not end:
            return
        if self.recording is not None and why and len(pair.ends) == len(SIDES):
            self.recording.lost(end.number, _side(end), self.clock.now_ns())
        self._drop(end.number, is_abort=bool(why))

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
            other = pair.ends.get(other_side(effect.side))
            if other is None:
                continue
            if isinstance(effect, Deliver):
                other.send(effect.data)
            else:
                other.finish()
        self.bell.ring()
        self._alarm.set(self.interceptor.wake_ns)

    def _drop(self, number: int, *, is_abort: bool) -> None:
        pair = self.pairs.pop(number, None)
        if pair is None:
            return
        self.interceptor.lost(number)
        if self.recording is not None:
            self.recording.forget(number)
        for end in pair.ends.values():
            if is_abort:
                end.abort()
            else:
                end.close()

    def _other(self, end: Socket) -> Socket | None:
        pair = self.pairs.get(end.number)
        return None if pair is None else pair.ends.get(other_side(_side(end)))

    def _ring(self) -> None:
        self._apply(self.interceptor.woken(self.clock.now_ns()))
        for number in list(self._paused):
            self._resume(number)

    def _resume(self, number: int) -> None:
        """Read on where no longer too much of a connection waits in the interceptor."""
        pair = self.pairs.get(number)
        ends = {} if pair is None else pair.ends
        if any(self.interceptor.is_full(number, side) for side in ends):
            return
        self._paused.discard(number)
        for side, end in ends.items():
            if not ends[other_side(side)].is_full:
                end.resume()

    # -- control ---------------------------------------------------------------------------------------------------

    @property
    def faults(self) -> Interceptor:
        """The interceptor."""
        return self.interceptor

    def connections(self) -> Iterator[Socket]:
        """The clients' ends of those that are open."""
        return iter([pair.ends["client"] for pair in self.pairs.values()])

    def messages(self) -> Mapping[str, Mapping[str, int]]:
        """How many of each name each side has sent."""
        counts: dict[str, dict[str, int]] = {"client": {}, "server": {}}
        for (side, name), count in sorted(self._counts.items()):
            counts[side][name] = count
        return counts

    def snapshot(self) -> Snapshot:
        """What has happened so far."""
        traffic = self.traffic
        return Snapshot(
            self.clock.now_ns(),
            len(self.pairs),
            traffic.opened,
            traffic.received_bytes,
            traffic.sent_bytes,
            self.messages(),
        )

    def operate(self, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """UsageError: the server's state is its own."""
        raise UsageError(f"{what}: a tap passes bytes on, the state is the server's")

    def wake(self) -> None:
        """Let go on what a rule that is removed has held."""
        self._ring()

    def restart(self) -> None:
        """UsageError, likewise."""
        raise UsageError("restart: a tap has no state, the server is another program")

    def cut(self, connection: int, *, is_abort: bool) -> bool:
        """Close a connection; whether there was one of that number."""
        is_there = connection in self.pairs
        self._drop(connection, is_abort=is_abort)
        return is_there


def _side(end: Socket) -> Side:
    """Who is at the other end of a socket."""
    return "server" if end.label == UPSTREAM else "client"
