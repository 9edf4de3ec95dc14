"""One TLS connection: the items of its streams in, those of the streams that it protects out.

Both sides share what the hellos agree on. A client's records wait for the hello of its server.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item
from wiretool.capture.tls.epochs import Epoch, Epochs, epoch_1_3
from wiretool.capture.tls.hello import (
    CHANGE_CIPHER,
    CLIENT_HELLO,
    DATA,
    ENCRYPTED_EXTENSIONS,
    END_OF_EARLY_DATA,
    FINISHED,
    HANDSHAKE,
    KEY_UPDATE,
    SERVER_HELLO,
    TLS_1_2,
    TLS_1_3,
    ClientHello,
    MalformedHello,
    ServerHello,
    accepts_early_data,
    read_client_hello,
    read_server_hello,
    version_name,
)
from wiretool.capture.tls.keylog import MASTER_SECRET, KeyLog
from wiretool.capture.tls.protection import Opened, protection_1_2
from wiretool.capture.tls.record_buffer import Arrival
from wiretool.capture.tls.schedule import secret_label, session_keys
from wiretool.capture.tls.side import OpenedRecord, TlsSide, UnreadBytes
from wiretool.capture.tls.suites import SUITES, Suite
from wiretool.codec.message import SIDES, Side, other_side

#: The problem of bytes that the keys do not open.
UNDECRYPTED = "tls-undecrypted"


class TlsBytes(NamedTuple):
    """Bytes of TLS itself, or, where `is_read` is false, bytes that could not be decrypted."""

    side: Side
    size: int
    arrival: Arrival
    is_read: bool


class TlsConnection:
    """Decrypts both sides of a connection whose secrets are in a key log."""

    def __init__(self, connection: Connection, keylog: KeyLog) -> None:
        self._connection = connection
        self._keylog = keylog
        self._sides: Mapping[Side, TlsSide] = {"client": TlsSide(), "server": TlsSide()}
        #: Decrypted bytes so far; those of a gap are counted as they were captured.
        self._offsets: dict[Side, int] = {"client": 0, "server": 0}
        self._secrets: Mapping[str, bytes] = {}
        self._client: ClientHello | None = None
        self._server: ServerHello | None = None
        #: Whether the client has sent a hello that its server did not answer yet.
        self._awaits_server = False
        #: Whether the server takes early data; None as long as it has not answered.
        self._takes_early: bool | None = None
        self._is_over = False
        self._reported: set[Side] = set()

    @property
    def version(self) -> str:
        """Return the name of the version that the server has chosen; empty as long as it has not."""
        return "" if self._server is None else version_name(self._server.version)

    @property
    def is_failed(self) -> bool:
        """Return whether neither side can be read any more."""
        return all(side.failure for side in self._sides.values())

    def take(self, item: Item) -> list[Item | TlsBytes]:
        """Return the items that the next one completes: decrypted bytes, problems, and bytes of TLS itself."""
        if isinstance(item, Data):
            self._sides[item.side].buffer.append(item.data, item.packet, item.time_ns)
            return list(self._read_both(item.side))
        if isinstance(item, Gap):
            return [*self._drop_cut_record(item.side), *self._skip_gap(item)]
        if isinstance(item, End):
            return [*self._end(item), item]
        return [item]

    def _skip_gap(self, gap: Gap) -> Iterator[Item]:
        side = self._sides[gap.side]
        side.lose(gap.length)
        yield gap._replace(offset=self._offsets[gap.side])
        self._offsets[gap.side] += gap.length

    def _drop_cut_record(self, side: Side) -> Iterator[TlsBytes]:
        unread = self._sides[side].drop(len(self._sides[side].buffer))
        if unread is not None:
            self._sides[side].lose(unread.size)
            yield TlsBytes(side, unread.size, unread.arrival, False)

    def _end(self, end: End) -> Iterator[Item | TlsBytes]:
        """Yield what the end of a side, or of both, leaves unread: no more bytes come."""
        self._awaits_server, self._is_over = False, True
        yield from self._read_both("client")
        for side in (end.side,) if end.side else SIDES:
            state = self._sides[side]
            size, offset = len(state.buffer), self._offsets[side]
            if size and not state.is_searching and not state.failure:
                why = f"a TLS record is not complete: {size} bytes of {state.buffer.record_length() or 'its header'}"
                data = state.buffer.peek(size)
                arrival = state.buffer.skip(size)
                place = self._connection, side, offset, size, "incomplete", why, arrival.time_ns, arrival.packet, data
                yield Finding(*place)
            elif size:
                yield TlsBytes(side, size, state.buffer.skip(size), False)

    def _read_both(self, first: Side) -> Iterator[Item | TlsBytes]:
        """Yield what can be read: one side may depend on the other."""
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for side in (first, other_side(first)):
                for item in self._read(side):
                    is_going_on = True
                    yield item

    def _read(self, side: Side) -> Iterator[Item | TlsBytes]:
        state = self._sides[side]
        while not self._must_wait(side):
            found = state.next_record()
            if found is None:
                return
            if isinstance(found, OpenedRecord):
                yield from self._take_record(side, found)
                yield from self._report(side, found.arrival)
            else:
                yield from self._report(side, found.arrival)
                yield TlsBytes(side, found.size, found.arrival, self._is_expected(found))

    def _is_expected(self, unread: UnreadBytes) -> bool:
        """Return whether unread bytes are early data that the server did not take."""
        return self._takes_early is False and not self._sides["client"].failure and unread.size > 0

    def _report(self, side: Side, arrival: Arrival) -> Iterator[Finding]:
        """Yield the problem from which on a side is not read, once."""
        state = self._sides[side]
        if not state.failure or side in self._reported:
            return
        self._reported.add(side)
        place = self._connection, side, self._offsets[side], 0
        why = f"{state.failure}; the rest of this side is not decrypted"
        yield Finding(*place, UNDECRYPTED, why, arrival.time_ns, arrival.packet)

    def _must_wait(self, side: Side) -> bool:
        """Return whether the next records of a side depend on the other one."""
        state = self._sides[side]
        if side == "server" or state.failure or state.is_holding_too_much:
            return False
        is_early = state.epochs is not None and state.epochs.current.name == "EARLY"
        return self._awaits_server or (is_early and self._awaits_early_answer)

    @property
    def _awaits_early_answer(self) -> bool:
        """Return whether the server may still take or refuse early data."""
        server = self._sides["server"]
        if self._takes_early is not None or self._is_over or server.failure or server.epochs is None:
            return False
        return server.epochs.current.name == "HANDSHAKE" and server.epochs.current.protection is not None

    def _take_record(self, side: Side, record: OpenedRecord) -> Iterator[Item | TlsBytes]:
        opened, arrival, size = record.opened, record.arrival, record.size
        if opened.kind == DATA and self._sides[side].epochs is not None:
            size -= len(opened.content)
            yield TlsBytes(side, size, arrival, True)
            if opened.content:
                place = self._connection, side, self._offsets[side]
                yield Data(*place, opened.content, arrival.time_ns, arrival.packet)
                self._offsets[side] += len(opened.content)
            return
        self._take_handshake(side, opened)
        yield TlsBytes(side, size, arrival, True)

    def _take_handshake(self, side: Side, opened: Opened) -> None:
        state = self._sides[side]
        if opened.kind == DATA and self._has_refused_early_data:
            return
        if opened.kind == DATA:
            state.failure = "encrypted before the hellos were exchanged"
        elif opened.kind == CHANGE_CIPHER and state.pending is not None:
            state.epochs, state.pending = state.pending, None
        elif opened.kind == HANDSHAKE:
            for message in state.messages_in(opened.content):
                self._take_message(side, message)

    @property
    def _has_refused_early_data(self) -> bool:
        """Return whether the server has asked for another hello: it skips early data (RFC 8446 §4.2.10)."""
        is_retry = self._server is not None and self._server.is_retry
        return is_retry and self._client is not None and self._client.has_early_data

    def _take_message(self, side: Side, message: bytes) -> None:
        state, kind = self._sides[side], message[0]
        try:
            if side == "client" and kind == CLIENT_HELLO:
                self._take_client_hello(read_client_hello(message))
            elif side == "server" and kind == SERVER_HELLO:
                self._take_server_hello(read_server_hello(message))
            elif not self._is_tls_1_3 or state.epochs is None:
                return
            elif side == "server" and kind == ENCRYPTED_EXTENSIONS:
                self._take_early_answer(takes_early=accepts_early_data(message))
            elif kind in (FINISHED, END_OF_EARLY_DATA, KEY_UPDATE):
                state.epochs.advance()
        except MalformedHello as err:
            state.failure = f"a handshake message of type {kind} {err}"

    @property
    def _is_tls_1_3(self) -> bool:
        return self._server is not None and self._server.version == TLS_1_3

    def _take_client_hello(self, hello: ClientHello) -> None:
        is_first = self._sides["client"].epochs is None
        self._client = hello
        self._secrets = self._keylog.secrets_of(hello.random)
        self._awaits_server = is_first

    def _take_server_hello(self, hello: ServerHello) -> None:
        self._server, self._awaits_server = hello, False
        if hello.is_retry:
            return
        suite = SUITES.get(hello.suite)
        why = self._why_unreadable(hello, suite)
        if why or suite is None:
            for state in self._sides.values():
                state.failure = why
        elif hello.version == TLS_1_3:
            self._begin_1_3(suite)
        else:
            self._begin_1_2(hello, suite)

    def _why_unreadable(self, hello: ServerHello, suite: Suite | None) -> str:
        """Return why the connection that a server agrees to cannot be read; empty if it can."""
        if hello.version not in (TLS_1_2, TLS_1_3):
            return f"{version_name(hello.version)} cannot be decrypted; expected TLS 1.2 or 1.3"
        if suite is None or (suite.cipher == "cbc" and hello.version == TLS_1_3):
            return f"cipher suite 0x{hello.suite:04x} cannot be decrypted"
        if hello.version == TLS_1_2 and MASTER_SECRET not in self._secrets:
            return f"the key log lacks {MASTER_SECRET} of this connection"
        return ""

    def _begin_1_3(self, suite: Suite) -> None:
        for side, state in self._sides.items():
            names = ["HANDSHAKE", "TRAFFIC"]
            if side == "client" and self._client is not None and self._client.has_early_data:
                names.insert(0, "EARLY")
            secrets = [(name, self._secrets.get(secret_label(side, name), b"")) for name in names]
            state.epochs = Epochs(suite, [epoch_1_3(name, secret, suite) for name, secret in secrets])
            if not secrets[-1][1]:
                state.failure = f"the key log lacks {secret_label(side, 'TRAFFIC')} of this connection"

    def _begin_1_2(self, hello: ServerHello, suite: Suite) -> None:
        randoms = hello.random, b"" if self._client is None else self._client.random
        for side, state in self._sides.items():
            keys = session_keys(self._secrets[MASTER_SECRET], *randoms, suite, side)
            protection = protection_1_2(suite, keys, encrypts_then_macs=hello.encrypts_then_macs)
            state.pending = Epochs(suite, [Epoch("SESSION", protection)])

    def _take_early_answer(self, *, takes_early: bool) -> None:
        client = self._sides["client"].epochs
        self._takes_early = takes_early
        if client is not None and client.current.name == "EARLY" and not takes_early:
            client.refuse_early()
