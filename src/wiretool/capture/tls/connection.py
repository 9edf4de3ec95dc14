"""One TLS connection: the items of its streams in, those of the streams that it protects out.

Both sides share what the hellos agree on. A client's records wait for the hello of its server.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item
from wiretool.capture.tls.epochs import Epochs, FindSecret, epoch_1_2, epoch_1_3
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
from wiretool.capture.tls.keylog import KeyLog
from wiretool.capture.tls.protection import Opened, Protection, protection_1_2
from wiretool.capture.tls.record_buffer import Arrival
from wiretool.capture.tls.schedule import secret_label, session_keys
from wiretool.capture.tls.side import OpenedRecord, TlsSide, UnreadBytes
from wiretool.capture.tls.suites import SUITES, Suite
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.limits import TLS_HELD_BYTES_MAX
from wiretool.units import size_text

#: The problem of bytes that the keys do not open.
UNDECRYPTED = "tls-undecrypted"
#: By handshake message, the epoch of TLS 1.3 that it ends. After a handshake, authentication has a Finished, too.
_ENDS_OF_EPOCHS = {END_OF_EARLY_DATA: "EARLY", FINISHED: "HANDSHAKE", KEY_UPDATE: "TRAFFIC"}


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
        self._sides: Mapping[Side, TlsSide] = {side: TlsSide(may_wait=keylog.may_grow) for side in SIDES}
        #: Decrypted bytes so far; those of a gap are counted as they were captured.
        self._offsets: dict[Side, int] = {"client": 0, "server": 0}
        self._client: ClientHello | None = None
        self._server: ServerHello | None = None
        #: Whether the client has sent a hello that its server did not answer yet.
        self._awaits_server = False
        #: Whether the server takes early data; None as long as it has not answered.
        self._takes_early: bool | None = None
        #: Records of the client that seem to be early data that the server has refused.
        self._refused: list[UnreadBytes] = []
        self._is_over = False
        self._ended: frozenset[Side] = frozenset()
        #: The ends of sides whose last bytes wait for the other side, or for a secret.
        self._held_ends: dict[Side, End] = {}
        self._reported: set[Side] = set()
        self._lacks_early_secret = False

    @property
    def version(self) -> str:
        """Return the name of the version that the server has chosen; empty as long as it has not."""
        return "" if self._server is None else version_name(self._server.version)

    @property
    def is_decrypted(self) -> bool:
        """Return whether the keys have opened a record after the handshake."""
        return any(side.is_decrypted for side in self._sides.values())

    @property
    def held_bytes(self) -> int:
        """Return the bytes that wait for their rest, or for the other side."""
        return sum(len(side.buffer) for side in self._sides.values())

    def take(self, item: Item) -> list[Item | TlsBytes]:
        """Return the items that the next one completes: decrypted bytes, problems, and bytes of TLS itself."""
        return [*self._take(item), *self._late_ends()]

    def settle(self, now_ns: int) -> list[Item | TlsBytes]:
        """Return the items that new lines of the key log complete; give up on secrets that were awaited too long."""
        if not any(side.is_waiting for side in self._sides.values()):
            return []
        self._expire(now_ns)
        return [*self._read_both("client"), *self._late_ends()]

    def _expire(self, now_ns: int) -> None:
        if any(side.has_waited_too_long(now_ns) for side in self._sides.values()):
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        for side in self._sides.values():
            side.may_wait = side.is_waiting = False

    def discard(self, kind: str, why: str) -> list[Item | TlsBytes]:
        """Lose the bytes that wait; return the problem of each side that has some, and its gap."""
        out: list[Item | TlsBytes] = []
        for side in SIDES:
            unread = self._sides[side].drop(len(self._sides[side].buffer))
            if unread is not None:
                self._sides[side].lose(unread.size)
                out += self._leave_undecrypted(side, unread, kind, why)
        return out

    def _take(self, item: Item) -> Iterator[Item | TlsBytes]:
        if isinstance(item, Data):
            self._expire(item.time_ns)
            self._sides[item.side].buffer.append(item.data, item.packet, item.time_ns)
            yield from self._read_both(item.side)
        elif isinstance(item, Gap):
            yield from self._drop_cut_record(item.side)
            yield from self._skip_gap(item)
        elif isinstance(item, End):
            yield from self._end(item)
        else:
            yield item

    def _skip_gap(self, gap: Gap) -> Iterator[Item]:
        """Yield the gap in the decrypted stream, which is shorter: headers, tags and handshake are missing as well."""
        side = self._sides[gap.side]
        side.lose(gap.length)
        yield gap._replace(offset=self._offsets[gap.side], is_exact=False)
        self._offsets[gap.side] += gap.length

    def _leave_undecrypted(self, side: Side, unread: UnreadBytes, kind: str, why: str) -> Iterator[Item | TlsBytes]:
        """Yield the bytes, a problem of the decrypted stream, if there is one, and its gap, whose size is not known."""
        size, arrival, offset = unread.size, unread.arrival, self._offsets[side]
        if kind:
            yield Finding(self._connection, side, offset, 0, kind, why, arrival.time_ns, arrival.packet)
        text = f"{size} bytes were not decrypted"
        yield Gap(self._connection, side, offset, 0, arrival.time_ns, arrival.packet, is_exact=False, why=text)
        yield TlsBytes(side, size, arrival, False)

    def _drop_cut_record(self, side: Side) -> Iterator[Item | TlsBytes]:
        """Yield the bytes before a gap as unread: a record that is cut, or those that waited for a secret."""
        state = self._sides[side]
        has_waited = state.waits_for_secret
        unread = state.drop(len(state.buffer))
        if unread is None:
            return
        state.lose(unread.size)
        if has_waited:
            why = "the secret of these records had not come when bytes after them were missing"
            yield from self._leave_undecrypted(side, unread, UNDECRYPTED, why)
        else:
            yield TlsBytes(side, unread.size, unread.arrival, False)

    def _end(self, end: End) -> Iterator[Item | TlsBytes]:
        self._ended |= {end.side} if end.side else set(SIDES)
        if len(self._ended) == len(SIDES):
            self._stop_waiting()
            yield from self._read_both("client")
        if end.side and self._is_held(end.side):
            self._held_ends[end.side] = end
        else:
            yield from self._finish(end)

    def _is_held(self, side: Side) -> bool:
        return self._must_wait(side) or self._sides[side].waits_for_secret

    def _late_ends(self) -> Iterator[Item | TlsBytes]:
        """Yield the ends that were held, once the bytes before them wait no longer."""
        for side in [side for side in self._held_ends if not self._is_held(side)]:
            if side in self._held_ends:  # the end of the server may have released that of its client
                yield from self._finish(self._held_ends.pop(side))

    def _finish(self, end: End) -> Iterator[Item | TlsBytes]:
        """Yield what the end of a side, or of both, leaves unread, and the end: no more bytes come."""
        if end.side != "client":
            self._awaits_server, self._is_over = False, True
            yield from self._read_both("client")
            yield from self._late_ends()
        for side in (end.side,) if end.side else SIDES:
            yield from self._leave_rest(side)
        yield end

    def _leave_rest(self, side: Side) -> Iterator[Item | TlsBytes]:
        state = self._sides[side]
        size, offset = len(state.buffer), self._offsets[side]
        if side == "client" and self._refused:
            yield from self._report_refused()
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
        if any(side.is_waiting for side in self._sides.values()):
            yield from self._read_in_order()
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for side in (first, other_side(first)):
                for item in self._read(side):
                    is_going_on = True
                    yield item

    def _read_in_order(self) -> Iterator[Item | TlsBytes]:
        """Yield what can be read of both sides, whose records have waited for a secret, as it arrived."""
        is_going_on = True
        while is_going_on:
            is_going_on = False
            for side in sorted(SIDES, key=lambda side: self._sides[side].buffer.completing_packet):
                found = self._next_record(side)
                if found is not None:
                    is_going_on = True
                    yield from self._take_found(side, found)
                    break

    def _read(self, side: Side) -> Iterator[Item | TlsBytes]:
        while (found := self._next_record(side)) is not None:
            yield from self._take_found(side, found)

    def _next_record(self, side: Side) -> OpenedRecord | UnreadBytes | None:
        return None if self._must_wait(side) else self._sides[side].next_record()

    def _take_found(self, side: Side, found: OpenedRecord | UnreadBytes) -> Iterator[Item | TlsBytes]:
        if isinstance(found, OpenedRecord):
            yield from self._take_record(side, found)
            yield from self._report(side, found.arrival)
        elif side == "client" and self._is_early:
            yield from self._take_unread_early(found)
        else:
            yield from self._report(side, found.arrival)
            yield TlsBytes(side, found.size, found.arrival, False)

    @property
    def _is_early(self) -> bool:
        """Return whether the next records of the client may be early data."""
        client = self._sides["client"]
        is_in_step = not client.failure and not client.is_searching
        return is_in_step and client.epochs is not None and client.epochs.current.name == "EARLY"

    def _take_unread_early(self, unread: UnreadBytes) -> Iterator[Item | TlsBytes]:
        client = self._sides["client"]
        assert client.epochs is not None, "there are keys for early data"
        if self._takes_early is False:
            # It is that for sure once a later record is opened. Of many only the first and the last are of use.
            if len(self._refused) > 1:
                unread = unread._replace(size=unread.size + self._refused.pop().size)
            self._refused.append(unread)
        elif self._takes_early and client.epochs.current.protection is None:
            kind = "" if self._lacks_early_secret else UNDECRYPTED
            self._lacks_early_secret = True
            why = f"the key log lacks {client.epochs.current.label} of this connection; its early data is not decrypted"
            yield from self._leave_undecrypted("client", unread, kind, why)
        else:
            if self._takes_early:
                client.fail_to_open()
                yield from self._report("client", unread.arrival)
            yield TlsBytes("client", unread.size, unread.arrival, False)

    def _report_refused(self) -> Iterator[Item | TlsBytes]:
        """Yield the bytes that seemed to be refused early data: no record after them was opened."""
        refused, self._refused = self._refused, []
        self._sides["client"].failure = "no record after its early data, which the server has refused, can be opened"
        yield from self._report("client", refused[0].arrival)
        yield from (TlsBytes("client", each.size, each.arrival, False) for each in refused)

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
        """Return whether the next records of a side depend on the other one, or come after a record that waits."""
        state, other = self._sides[side], self._sides[other_side(side)]
        if state.failure or state.is_holding_too_much:
            return False
        if other.waits_for_secret:
            return True
        if side == "server" or other.failure:
            return False
        is_early = state.epochs is not None and state.epochs.current.name == "EARLY"
        return self._awaits_server or (is_early and self._awaits_early_answer)

    @property
    def _awaits_early_answer(self) -> bool:
        """Return whether the server may still take or refuse early data."""
        server = self._sides["server"]
        if self._takes_early is not None or self._is_over or server.epochs is None:
            return False
        return server.epochs.current.name == "HANDSHAKE" and server.epochs.current.protection is not None

    def _take_record(self, side: Side, record: OpenedRecord) -> Iterator[Item | TlsBytes]:
        opened, arrival, size = record.opened, record.arrival, record.size
        if side == "client" and self._refused:
            refused, self._refused = self._refused, []
            yield from (TlsBytes("client", each.size, each.arrival, True) for each in refused)
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
        if opened.kind == DATA and side == "client" and self._has_refused_early_data:
            return
        if opened.kind == DATA:
            state.failure = self._why_unexpected(side)
        elif opened.kind == CHANGE_CIPHER and state.pending is not None:
            state.epochs, state.pending = state.pending, None
        elif opened.kind == HANDSHAKE:
            for message in state.messages_in(opened.content):
                self._take_message(side, message)

    def _why_unexpected(self, side: Side) -> str:
        """Return why an encrypted record cannot be read for which the hellos have not agreed on keys."""
        if side == "client" and self._awaits_server and not self._sides["server"].failure:
            return f"more than {size_text(TLS_HELD_BYTES_MAX)} wait for the hello of the server"
        return "encrypted before a hello of the server was captured"

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
            elif _ENDS_OF_EPOCHS.get(kind) == state.epochs.current.name:
                state.epochs.advance()
        except MalformedHello as err:
            state.failure = f"a handshake message of type {kind} {err}"

    @property
    def _is_tls_1_3(self) -> bool:
        return self._server is not None and self._server.version == TLS_1_3

    def _take_client_hello(self, hello: ClientHello) -> None:
        is_first = self._sides["client"].epochs is None
        self._client = hello
        self._awaits_server = is_first

    def _take_server_hello(self, hello: ServerHello) -> None:
        self._server, self._awaits_server = hello, False
        if hello.is_retry:
            return
        suite = SUITES.get(hello.suite)
        why = _why_unreadable(hello, suite)
        if why or suite is None:
            for state in self._sides.values():
                state.failure = why
        elif hello.version == TLS_1_3:
            self._begin_1_3(suite)
        else:
            self._begin_1_2(hello, suite)

    def _secrets(self) -> FindSecret:
        """Return the look-up of secrets of the handshake that goes on: they may be added to the key log later."""
        random, keylog = b"" if self._client is None else self._client.random, self._keylog
        return lambda label: keylog.secret_of(random, label)

    def _begin_1_3(self, suite: Suite) -> None:
        find = self._secrets()
        for side, state in self._sides.items():
            names = ["HANDSHAKE", "TRAFFIC"]
            if side == "client" and self._client is not None and self._client.has_early_data:
                names.insert(0, "EARLY")
            state.epochs = Epochs([epoch_1_3(name, secret_label(side, name), find, suite) for name in names])

    def _begin_1_2(self, hello: ServerHello, suite: Suite) -> None:
        randoms = hello.random, b"" if self._client is None else self._client.random

        def protect(side: Side, master: bytes) -> Protection:
            keys = session_keys(master, *randoms, suite, side)
            return protection_1_2(suite, keys, encrypts_then_macs=hello.encrypts_then_macs)

        for side, state in self._sides.items():
            state.pending = Epochs([epoch_1_2(self._secrets(), partial(protect, side))])

    def _take_early_answer(self, *, takes_early: bool) -> None:
        client = self._sides["client"].epochs
        self._takes_early = takes_early
        if client is not None and client.current.name == "EARLY" and not takes_early:
            client.refuse_early()


def _why_unreadable(hello: ServerHello, suite: Suite | None) -> str:
    """Return why the connection that a server agrees to cannot be read; empty if it can."""
    if hello.version not in (TLS_1_2, TLS_1_3):
        return f"{version_name(hello.version)} cannot be decrypted; expected TLS 1.2 or 1.3"
    if suite is None or (suite.cipher == "cbc" and hello.version == TLS_1_3):
        return f"cipher suite 0x{hello.suite:04x} cannot be decrypted"
    return ""
