"""One connection to the segment store: bytes to frames, frames to messages, replies to bytes."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from wiretool import limits
from wiretool.codec.compiled import Decoder
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.message import Message, Side
from wiretool.codec.reference import encode
from wiretool.errors import DecodeError, EncodeError, ProtocolViolation
from wiretool.protocols.base.recognise import HTTP, Chunk, describe_foreign
from wiretool.protocols.pravega import framing
from wiretool.protocols.pravega.appends import Phase
from wiretool.protocols.pravega.commands import BY_HEAD, may_send
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    ConditionalBlockEnd,
    Hello,
    KeepAlive,
    Padding,
    ReadSegment,
    SetupAppend,
)
from wiretool.protocols.pravega.server.appending import Appending
from wiretool.protocols.pravega.server.misdirected_calls import MisdirectedCalls
from wiretool.protocols.pravega.server.reading import Reads
from wiretool.protocols.pravega.server.refusals import failure, violation
from wiretool.protocols.pravega.server.segments import Refusal
from wiretool.protocols.pravega.server.store import SegmentStore
from wiretool.protocols.pravega.server.tokens import Failure
from wiretool.protocols.pravega.session import ADMIN_REQUESTS, APPEND_COMMANDS, TABLE, admin_on_main_port, misplaced
from wiretool.server.mock import Outbox
from wiretool.server.room import PacedLink
from wiretool.server.timers import Timer, Timers

#: The first bytes of every HTTP/2 client, as far as it surely sends them at once (RFC 9113 §3.4).
GRPC_BEGINS = b"PRI * HTTP/2"
#: The oldest wire version that a server has to do with.
OLDEST_VERSION = 5
_extent = framing.EXTENTS["client"]
#: The main port takes everything but the admin commands, the admin port everything but appends.
Port = Literal["main", "admin"]

_Handler = Callable[["StoreLink", Any, int], None]
#: What is known of a frame by its first four bytes: how it is counted, decoded and served, and the phase that follows
#: (None: it must not come now).
_Route = tuple[tuple[Side, str], Decoder, _Handler, Phase | None]


class StoreLink(PacedLink):
    """A connection to the store. What came with a broken frame is done, its replies are lost, as in the real one."""

    def __init__(
        self,
        number: int,
        store: SegmentStore,
        outbox: Outbox,
        timers: Timers,
        port: Port = "main",
        controller: str = "",
    ) -> None:
        """`controller` says to clients of gRPC where they should connect instead."""
        super().__init__(timers)
        self._controller = controller
        self._is_first = True
        #: The calls of a client that took this port for the controller's.
        self._misdirected: MisdirectedCalls | None = None
        #: Which other protocol a client seems to use, in words; empty for none.
        self._seems = ""
        self.turn = 0
        self._number = number
        self._store = store
        self._outbox = outbox
        self._routes = _routes(store.wire_version, port)
        self._inbox = Inbox(_extent)
        self._appending = Appending(store, self)
        self._reads = Reads(store.segments, self, timers, store.grouping_ns)
        self._expiry: Timer | None = None
        #: Replies of this turn.
        self._replies: list[bytes] = []
        self._is_serving = False
        self._is_closed = False
        self._why_closed: str | None = None

    # -- what happens to the connection ------------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> None:
        if self._misdirected is not None or (self._is_first and data[:4] not in BY_HEAD and self._turns_away(data)):
            self._refuse_calls(data)
            return
        self._is_first = False
        self._inbox.feed(data)
        self._serve(now_ns)

    def _turns_away(self, data: bytes) -> bool:
        """Close the connection, or refuse its calls, if its first bytes are of another protocol; return whether so."""
        if data.startswith(GRPC_BEGINS):
            self._misdirected = MisdirectedCalls(f"{_foreign('gRPC')}; {self._controller}")
        elif (name := describe_foreign([Chunk("client", data)])) == HTTP:
            self._seems = _foreign(name)  # its first bytes are the header of a frame that is too long
        elif name:
            self.close(_foreign(name))
        return self._is_closed or self._misdirected is not None

    def _refuse_calls(self, data: bytes) -> None:
        """Answer the calls of a gRPC client; the connection ends after the first."""
        if self._misdirected is None or self._is_closed:
            return
        if answer := self._misdirected.feed(data):
            self._outbox.send(self._number, answer)
        if self._misdirected.is_done:
            self.close(f"{_foreign('HTTP/2 (gRPC)')}; {self._controller}")

    @property
    def held_bytes(self) -> int:
        return self._inbox.held + self._appending.appends.held_bytes

    def keep(self, how: str) -> None:
        self._appending.keeps = how

    def end(self, now_ns: int) -> None:
        self.close("")

    def lost(self, now_ns: int) -> None:
        self._inbox.clear()
        self._is_closed = True
        self._reads.forget()
        if self._expiry is not None:
            self._expiry.cancel()

    # -- replies -----------------------------------------------------------------------------------------------------

    def reply(self, message: Message) -> None:
        declared = message.declaration
        try:
            payload = encode(message, self._store.wire_version)
            frame = framing.frame(declared.type_id, payload, framing.PAYLOAD_BYTES_MAX["server"])
        except EncodeError as err:
            self.close(f"{declared.name} cannot be sent: {err}")
        else:
            self.reply_frame(declared.name, frame)

    def reply_frame(self, name: str, frame: bytes) -> None:
        if self._is_closed:
            return
        self._outbox.counts[_sent(name)] += 1
        self._unsent_bytes += len(frame)
        if self._is_serving:
            self._replies.append(frame)
        else:
            self._outbox.send(self._number, frame)
            self._sent_unasked()

    def close(self, why: str) -> None:
        if self._is_serving:
            self._why_closed = why
        elif not self._is_closed:
            self._is_closed = True
            self._outbox.close(self._number, why)

    # -- frames ------------------------------------------------------------------------------------------------------

    def _serve(self, now_ns: int) -> None:
        """Serve the frames that are there, until too many bytes of replies have not left."""
        if self._is_closed:
            return
        self.turn += 1
        self._unsent_bytes = 0
        self._is_serving = True
        try:
            self._serve_frames(now_ns)
        except (DecodeError, ProtocolViolation) as err:
            self._replies.clear()
            self._why_closed = f"{self._seems}: {err}" if self._seems else str(err)
        self._is_serving = False
        if self._replies:
            self._outbox.send(self._number, self._replies[0] if len(self._replies) == 1 else b"".join(self._replies))
            self._replies.clear()
        if self._why_closed is not None:
            self.close(self._why_closed)

    def _serve_frames(self, now_ns: int) -> None:
        inbox = self._inbox
        appends = self._appending.appends
        counts = self._outbox.counts
        while inbox.held and self._unsent_bytes < limits.MOCK_REPLY_BYTES_MAX and (frame := inbox.next()) is not None:
            route = self._routes.get(frame[:4])
            if route is None:
                raise self._unexpected(frame)
            counted, decode, handle, phase = route[appends.phase]
            message, _ = decode(frame, framing.HEADER_BYTES, len(frame))
            counts[counted] += 1
            if phase is None:
                raise misplaced(appends.phase, "client", BY_HEAD[frame[:4]][0])
            handle(self, message, now_ns)
            appends.phase = phase
            if self._why_closed is not None:
                return

    def _unexpected(self, frame: bytes) -> DecodeError | ProtocolViolation:
        """A frame that this port takes from no client."""
        known = BY_HEAD.get(frame[:4])
        if known is None:
            return framing.unknown_type(frame, 0)
        cls, name, _ = known
        phase = self._appending.appends.phase
        if cls.declaration.since > self._store.wire_version:
            why = f"{name} came with wire version {cls.declaration.since}"
            return DecodeError("unknown-type", why, path="type")
        if not may_send("client", cls):
            return misplaced(phase, "client", cls)
        if cls in ADMIN_REQUESTS:
            return admin_on_main_port(phase, cls)
        return violation("wrong-side", "the admin port takes no appends", name, phase)

    # -- messages ----------------------------------------------------------------------------------------------------

    def _hello(self, hello: Hello, now_ns: int) -> None:
        version = self._store.wire_version
        self.reply(Hello(high_version=version, low_version=OLDEST_VERSION))
        if hello.low_version > version or hello.high_version < OLDEST_VERSION:
            theirs = f"{hello.low_version} to {hello.high_version}"
            self.close(f"the client supports wire versions {theirs}, the server {OLDEST_VERSION} to {version}")

    def _keep_alive(self, message: KeepAlive, now_ns: int) -> None:
        self.reply(message)

    def _padding(self, padding: Padding, now_ns: int) -> None:
        """Outside a block it is dropped."""

    def _set_up(self, setup: SetupAppend, now_ns: int) -> None:
        self._appending.bind(setup)
        refused = self._store.refused(setup, now_ns)
        if refused is not None and refused.error_code == Failure.EXPIRED:
            raise violation("token-expired", "the token has expired", "SetupAppend")
        reply = refused or self._store.answer(setup, now_ns)
        if reply is not None:
            self.reply(reply)
            return
        try:
            self._appending.set_up(setup, now_ns)
        except Refusal as refusal:
            self.reply(failure(refusal, setup))
            return
        expires_ns = self._store.expires_ns(setup.delegation_token)
        if expires_ns is not None:
            self._expire_at(expires_ns)

    def _expire_at(self, when_ns: int) -> None:
        """End the connection when the token of a writer expires, the first that does."""
        if self._expiry is not None and self._expiry.when_ns <= when_ns:
            return
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = self._timers.at(when_ns, lambda _: self.close("the token of a writer has expired"))

    def _begin(self, block: AppendBlock, now_ns: int) -> None:
        self._appending.begin(block)

    def _finish(self, end: AppendBlockEnd, now_ns: int) -> None:
        self._appending.finish(end, now_ns)

    def _append_event(self, append: ConditionalAppend, now_ns: int) -> None:
        self._appending.append_event(append, now_ns)

    def _append_raw(self, append: ConditionalBlockEnd, now_ns: int) -> None:
        self._appending.append_raw(append, now_ns)

    def _read(self, request: ReadSegment, now_ns: int) -> None:
        reply = self._store.refused(request, now_ns) or self._store.answer(request, now_ns)
        if reply is not None:
            self.reply(reply)
            return
        try:
            self._reads.read(request, now_ns)
        except Refusal as refusal:
            self.reply(failure(refusal, request))

    def _request(self, request: Any, now_ns: int) -> None:
        """Any other request: one reply, at once."""
        self.reply(self._store.refused(request, now_ns) or self._store.ask(request, now_ns))


_HANDLERS: Mapping[type[Message], _Handler] = {
    Hello: StoreLink._hello,
    KeepAlive: StoreLink._keep_alive,
    Padding: StoreLink._padding,
    SetupAppend: StoreLink._set_up,
    AppendBlock: StoreLink._begin,
    AppendBlockEnd: StoreLink._finish,
    ConditionalAppend: StoreLink._append_event,
    ConditionalBlockEnd: StoreLink._append_raw,
    ReadSegment: StoreLink._read,
}
#: What may not come at a port, though clients say it elsewhere.
_ELSEWHERE: Mapping[Port, tuple[type[Message], ...]] = {"main": ADMIN_REQUESTS, "admin": APPEND_COMMANDS}


@cache
def _routes(wire_version: int, port: Port) -> Mapping[bytes, Mapping[Phase, _Route]]:
    """The routes of every frame that a client may send to a port of a server of that version."""
    return {
        head: {
            phase: (("client", name), decode, _HANDLERS.get(cls, StoreLink._request), TABLE.get((phase, "client", cls)))
            for phase in ("idle", "block")
        }
        for head, (cls, name, decode) in BY_HEAD.items()
        if ("idle", "client", cls) in TABLE and cls not in _ELSEWHERE[port] and cls.declaration.since <= wire_version
    }


def _foreign(name: str) -> str:
    return f"this is {name}, expected the wire protocol of the segment store"


@cache
def _sent(name: str) -> tuple[Side, str]:
    return ("server", name)
