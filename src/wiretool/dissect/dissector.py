"""Joins capture, framing and codec: captures in, Records out. The only module that knows the whole way."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from wiretool import limits
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet, Tick
from wiretool.capture.tcp.direction import Recent
from wiretool.capture.tcp.reassembler import Connection, Data, End, Item, Streams
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.cursor import Span
from wiretool.codec.message import Side
from wiretool.dissect.closed_connection import EndedWatch
from wiretool.dissect.connection import Watch, connection_number
from wiretool.errors import CaptureError, DecodeError
from wiretool.ledger import ConnectionAccount, Ledger
from wiretool.memory_budget import MemoryBudget
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import protocol_of_start
from wiretool.protocols.base.registry import PROTOCOLS, expected_on, protocol_named, server_ports
from wiretool.records import Record
from wiretool.storage.url_path import path_or_url

#: A path, or an open binary stream.
Source = Path | str | BinaryIO
_EVERY = PROTOCOLS.values()
#: For bytes of which nobody knows who sent them to whom.
NO_ADDRESS = bytes(6)


def read(
    captures: Source | Sequence[Source],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    strict: bool = False,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
    keys: KeyLog | None = None,
) -> Iterator[Record]:
    """The records of captures, several read as one in time order.

    `ports` says which protocol is spoken on a port; `protocol` forces one everywhere. `strict` raises the first
    problem as a DecodeError after its record. `ledger` counts; `notes` is told each guess that was not certain.
    `keys` decrypt TLS, as do those in pcapng files. CaptureError if a file is not a capture or is
    damaged, after all that is before the damage.
    """
    keys = KeyLog() if keys is None else keys
    packets = read_packets(paths_of(captures), keys)
    return read_from(packets, protocol=protocol, ports=ports, strict=strict, ledger=ledger, notes=notes, keys=keys)


def paths_of(captures: Source | Sequence[Source]) -> list[Path | BinaryIO]:
    """One capture or several as a list, names and URLs as paths."""
    sources = list(captures) if isinstance(captures, Sequence) and not isinstance(captures, str) else [captures]
    return [path_or_url(source) if isinstance(source, str) else source for source in sources]


def read_from(
    packets: Iterable[Packet | Tick],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    strict: bool = False,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
    keys: KeyLog | None = None,
) -> Iterator[Record]:
    """Yield the records of packets as they arrive, such as those of an interface; otherwise like `read`.

    After a tick, no messages wait for more evidence of their protocol.
    """
    records = Dissector(protocol=protocol, ports=ports, ledger=ledger, notes=notes, keys=keys).records(packets)
    return strictly(records) if strict else records


def read_hex(
    lines: Iterable[str],
    *,
    protocol: str,
    side: Side,
    strict: bool = False,
    ledger: Ledger | None = None,
) -> Iterator[Record]:
    """The records of bytes pasted from a log: one stream a line in hex, each a connection of its own."""
    dissector = Dissector(protocol=protocol_named(protocol).name, ledger=ledger)
    records = (record for number, data in _streams_of(lines) for record in dissector.stream(data, side, number))
    return strictly(records) if strict else records


def _streams_of(lines: Iterable[str]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        text = "".join(line.split())
        if text:
            yield number, _bytes_of(text, number)


def _bytes_of(text: str, number: int) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as err:
        bad = next((at for at, char in enumerate(text) if char not in "0123456789abcdefABCDEF"), None)
        why = (
            f"{text[bad]!r} at character {bad + 1} is not a hex digit" if bad is not None else "half a byte at the end"
        )
        raise CaptureError(
            f"line {number}", f"not hex: {why}", offset=(len(text) if bad is None else bad) // 2
        ) from err


def annotate(record: Record) -> list[Span]:
    """The span of every field of a frame record, offsets within the frame; they tile it."""
    if record.kind != "frame":
        return []
    conversation = PROTOCOLS[record.protocol].open(False)
    conversation.adopt(record.raw, record.fields)
    return conversation.annotate(record.side, record.raw, 0, len(record.raw))


class Connections:
    """The watches over all connections of one reading, and what they are told of protocols and ports."""

    #: The secrets of TLS connections, if any; the state of an open flow of a pipeline has none.
    _keys: KeyLog | None = None

    def __init__(
        self,
        numbers: Callable[[], int],
        *,
        kind: Callable[..., Watch] = Watch,
        protocol: str = "auto",
        ports: Mapping[int, str] | None = None,
        ledger: Ledger | None = None,
        notes: Callable[[Connection, str], None] | None = None,
        opened: Callable[[Connection, ConnectionAccount], None] | None = None,
        keys: KeyLog | None = None,
    ) -> None:
        """`notes` takes each guess that was not certain, with its connection.

        `opened` takes each watched connection and its account. `keys` decrypt TLS.
        """
        self._numbers = numbers
        self._kind = kind
        self.forced = None if protocol == "auto" else protocol_named(protocol)
        self._ports = {port: protocol_named(name) for port, name in (ports or {}).items()}
        self._ledger = ledger if ledger is not None else Ledger()
        self._notes = notes or (lambda connection, text: None)
        self._opened = opened or (lambda connection, account: None)
        if keys is not None:
            self._keys = keys
        self._count = 0
        #: Those over connections of which not both sides have ended.
        self._watches: dict[Connection, Watch] = {}
        #: What these hold of unfinished frames, in bytes.
        self.unfinished: MemoryBudget[Watch] = MemoryBudget(limits.UNFINISHED_BYTES_MAX, connection_number)

    def __len__(self) -> int:
        return self._count

    def complete_ledger_with(self, count: Callable[[], None]) -> None:
        """Have `count` called before a caller reads the ledger, until `close`."""
        self._ledger.complete_with(count)

    @property
    def packets(self) -> PacketCounts:
        """The counts of the packets that are read."""
        return self._ledger.packets

    @property
    def ports(self) -> frozenset[int]:
        """The ports on which a server is expected."""
        return server_ports() | self._ports.keys()

    def watch(
        self, connection: Connection, *, account: ConnectionAccount | None = None, is_middle: bool = False
    ) -> Watch:
        """A new watch, the reader of the connection from now on; `account` is that of the connection if it has one."""
        account = account or self.open_account(connection)
        watch = connection.reader = self._kind(
            connection,
            forced=self._forced_on(connection.client_port, connection.server_port),
            expected=expected_on(connection.server_port),
            every=_EVERY,
            account=account,
            next_n=self._numbers,
            note=self._notes,
            unfinished=self.unfinished,
            over=self._let_go,
            is_middle=is_middle,
            keys=self._keys,
        )
        self._watches[connection] = watch
        return watch

    def open_account(self, connection: Connection) -> ConnectionAccount:
        """Return a new account of what a connection carries."""
        account = self._ledger.open(connection.id, connection.client, connection.server)
        self._opened(connection, account)
        self._count += 1
        return account

    def discard_unfinished(self) -> Iterator[Record]:
        """Yield the records of what the largest holders lose while all connections hold too much."""
        for watch in self.unfinished.excess():
            yield from watch.discard_unfinished()

    def settle(self, until_ns: int) -> Iterator[Record]:
        """Yield the records that watches hold, captured up to `until_ns`, for more evidence of their protocol."""
        for watch in list(self._watches.values()):
            yield from watch.settle(until_ns)

    def close(self) -> None:
        """When nothing more will come."""
        for connection, watch in self._watches.items():
            watch.note_duplicates(connection)
        self._ledger.complete_with(None)

    def _let_go(self, connection: Connection) -> None:
        """Both sides have ended: what the watch has learned is of no use any more."""
        watch = self._watches.pop(connection)
        watch.note_duplicates(connection)
        connection.reader = watch.after()

    def protocol_of_start(self, client_port: int, server_port: int, side: Side, data: bytes) -> Protocol | None:
        """Return the protocol that the first payload of a connection proves, if `recognise` need not tell."""
        every = () if self._forced_on(client_port, server_port) else _EVERY
        return protocol_of_start(side, data, self.expected_on(client_port, server_port), every)

    def expected_on(self, client_port: int, server_port: int) -> Sequence[Protocol]:
        """Return the protocols that are expected on a connection."""
        forced = self._forced_on(client_port, server_port)
        return (forced,) if forced else expected_on(server_port)

    def _forced_on(self, client_port: int, server_port: int) -> Protocol | None:
        """Return the protocol that the caller named, for all connections or for a port of this one."""
        return self.forced or self._ports.get(server_port) or self._ports.get(client_port)


def note_text(connection: Connection, text: str, *, has_number: bool) -> str:
    """Return a note on a connection, which a number names that users know, or both of its addresses."""
    if has_number:
        return f"connection {connection.id} ({connection.server}): {text}"
    return f"connection {connection.client} -> {connection.server}: {text}"


class Dissector:
    """Everything that one reading of packets has to remember; `options` are those of Connections."""

    def __init__(
        self,
        *,
        notes: Callable[[str], None] | None = None,
        name: Callable[[Segment], int] | None = None,
        recent: Recent | None = None,
        **options: Any,
    ) -> None:
        """`name` says by what number a connection is known that begins with a segment; by default they are counted.

        `recent` as in `Streams`.
        """
        self._name = name
        self._recent = recent
        self._tell = notes
        self._connections = Connections(itertools.count(1).__next__, notes=self._note, **options)

    def _note(self, connection: Connection, text: str) -> None:
        if self._tell is not None:
            self._tell(note_text(connection, text, has_number=self._name is None))

    def records(self, packets: Iterable[Packet | Tick]) -> Iterator[Record]:
        """The records of packets, as they come; CaptureError once all that came before the damage is told."""
        return self.records_of(read_segments(packets, self._connections.packets))

    def records_of(self, segments: Iterable[Segment | Tick]) -> Iterator[Record]:
        """The records of TCP segments."""
        streams = Streams(self._connections.ports, self._recent, name=self._name)
        failure: CaptureError | None = None
        try:
            for segment in segments:
                if isinstance(segment, Tick):
                    yield from self._settled(streams, segment.time_ns - limits.UNDECIDED_NS_MAX)
                    continue
                for item in streams.feed(segment):
                    yield from self._take(item)
        except CaptureError as err:
            failure = err
        for item in streams.end():
            yield from self._take(item)
        self._connections.close()
        if failure is not None:
            raise failure

    def _settled(self, streams: Streams, until_ns: int) -> Iterator[Record]:
        """Yield the records of what was captured up to `until_ns` and waits for earlier bytes or more evidence."""
        for item in streams.settle(until_ns):
            yield from self._take(item)
        yield from self._connections.settle(until_ns)

    def stream(self, data: bytes, side: Side, line: int) -> list[Record]:
        """The records of one stream of bytes, pasted as a line: no packets, no addresses, no times."""
        connection = Connection(len(self._connections), NO_ADDRESS, NO_ADDRESS, 0)
        connection.client, connection.server = f"line {line}", "-"
        connection.opened = True
        forced = self._connections.forced
        begins = forced.begins if forced else None
        self._connections.watch(connection, is_middle=begins is not None and not begins(side, data))
        records = self._take(Data(connection, side, 0, data, 0, 0))
        return records + self._take(End(connection, "", "capture-end", 0, 0))

    def _take(self, item: Item) -> list[Record]:
        """The records that an item completes."""
        watch: Watch | EndedWatch = item.connection.reader or self._connections.watch(item.connection)
        records = watch.take(item)
        if self._connections.unfinished.is_exceeded:
            records += self._connections.discard_unfinished()
        return records


def strictly(records: Iterator[Record]) -> Iterator[Record]:
    """The records up to the first problem, which is raised as a DecodeError behind its record."""
    for record in records:
        yield record
        if record.kind == "problem":
            raise DecodeError(record.error, record.why, path=f"record {record.n}", offset=record.offset)
