"""One client of the mock: HTTP until it is upgraded, then WebSocket, with a consumer behind it."""

import enum
from typing import Protocol

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, OverLimit, ProtocolViolation
from wiretool.protocols.offramp import events, http
from wiretool.protocols.offramp.closing import close_code
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import StreamPath, read_handshake
from wiretool.protocols.offramp.messages import Close, ConnectionEvent, HandshakeRequest, Ping, Pong
from wiretool.protocols.offramp.server.consumer import Consumer, Port
from wiretool.protocols.offramp.server.upgrade import Verdict, refusal
from wiretool.protocols.offramp.server.websocket import Receiver, Sender, answer_to
from wiretool.server.mock import Link, Outbox
from wiretool.server.timers import Timer, Timers

#: How a HEAD request begins: its answer has no body, even where the request is broken.
_HEAD = b"HEAD "
_INTERNAL_ERROR = 1011
_REASON_BYTES_MAX = 123
_SILENCE_NS = limits.OFFRAMP_SILENCE_S * 1_000_000_000
_SEND_NS = limits.OFFRAMP_SEND_S * 1_000_000_000


class Phase(enum.Enum):
    """How far a connection is."""

    HTTP = enum.auto()
    OPEN = enum.auto()
    #: Closed by us with a Close that the client has to answer.
    CLOSING = enum.auto()
    #: Nothing more is read or sent.
    CLOSED = enum.auto()


class Server(Protocol):
    """What a link needs of its mock."""

    outbox: Outbox
    timers: Timers
    agent_name: str
    like_real: bool
    #: The longest message of a client that is taken.
    client_message_bytes_max: int
    #: When what is happening happens.
    now_ns: int

    def answer(self, asked: HandshakeRequest) -> Verdict:
        """What a handshake gets."""

    def consumer(self, port: Port, path: StreamPath) -> Consumer:
        """The consumer of a client whose handshake was granted."""

    def gone(self, path: StreamPath) -> None:
        """A client whose handshake was granted is there no more."""


class OfframpLink(Link, Port):
    """See Link. As a Port it is the way of its consumer to the client."""

    def __init__(self, server: Server, connection: int, now_ns: int) -> None:
        self._server = server
        self._connection = connection
        self._phase = Phase.HTTP
        self._is_head = False
        #: Why we have sent a Close that the client has to answer.
        self._why = ""
        self._inbox = Inbox(self._extent)
        self._receiver = Receiver(None, server.client_message_bytes_max)
        self._sender = Sender(None)
        self._path: StreamPath | None = None
        self._consumer: Consumer | None = None
        self._out: list[bytes] = []
        #: Bytes sent in this turn, and what gives others theirs before the next one.
        self._turn_bytes = 0
        self._next_turn: Timer | None = None
        #: Since when the client does not take what is sent.
        self._full_ns: int | None = None
        self._heard_ns = now_ns
        #: When the client was asked whether it is there.
        self._pinged_ns: int | None = None
        self._timer: Timer | None = None
        self._watch()

    # -- what happens ----------------------------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> None:
        self._server.now_ns = self._heard_ns = now_ns
        self._pinged_ns = None
        self._inbox.feed(data)
        self._serve()

    @property
    def held_bytes(self) -> int:
        return self._inbox.held + self._receiver.held_bytes

    def full(self, now_ns: int) -> None:
        """What was sent does not leave: no messages until `drained`."""
        if self._full_ns is None and self._phase is not Phase.CLOSED:
            self._full_ns = now_ns
            self._watch()

    def drained(self, now_ns: int) -> None:
        self._full_ns = None
        self._go_on(now_ns)

    def end(self, now_ns: int) -> None:
        self._server.now_ns = now_ns
        if self._phase is Phase.OPEN:
            self._fail(1002, "the client has ended TCP without a Close")
        else:
            self._hang_up("")

    def lost(self, now_ns: int) -> None:
        self._server.now_ns = now_ns
        self._phase = Phase.CLOSED
        for timer in (self._timer, self._next_turn):
            if timer is not None:
                timer.cancel()
        self._inbox.clear()
        self._out.clear()
        self._dismiss()

    def stop(self, now_ns: int) -> None:
        self._server.now_ns = now_ns
        if self._phase is Phase.OPEN:
            self._send_message(Close(code=1001, reason="the server is stopping"))
            self._phase = Phase.CLOSING
            self._dismiss()
            self.flush()

    # -- the client's frames ---------------------------------------------------------------------------------------

    def _extent(self, data: bytes, at: int, end: int) -> int:
        if self._phase is not Phase.HTTP:
            return self._receiver.extent(data, at, end)
        self._is_head = data[at : at + len(_HEAD)] == _HEAD
        size = http.http_extent("client", data, at, end, answers_head=False, is_over=False)
        if size > limits.OFFRAMP_REQUEST_BYTES_MAX:
            raise OverLimit("http_body_too_big", f"a request of {size} bytes")
        return size

    def _serve(self) -> None:
        """Whole frames in order, as long as their answers find room."""
        while self._phase is not Phase.CLOSED and self._turn_bytes < limits.MOCK_REPLY_BYTES_MAX:
            try:
                frame = self._inbox.next()
                if frame is None:
                    break
                self._take(frame)
            except DecodeError as err:
                self._refuse(err)
            except ProtocolViolation as err:
                self._fail(_INTERNAL_ERROR, err.why)
        self.flush()

    def _take(self, frame: bytes) -> None:
        if self._phase is Phase.HTTP:
            self._answer(frame)
            return
        said = self._receiver.take(frame)
        if isinstance(said, bytes):
            if self._phase is Phase.OPEN:
                self._take_event(said)
        elif said is not None:
            self._take_control(said)

    def _answer(self, request: bytes) -> None:
        self._count("HandshakeRequest")
        asked, strange = read_handshake("client", request, 0, len(request))
        if strange:
            raise DecodeError("bad_http_header", f"{strange[0][:60]!a} is not a header")
        assert isinstance(asked, HandshakeRequest)
        verdict = self._server.answer(asked)
        self._send_message(verdict.response)
        if verdict.is_last:
            self._hang_up(f"refused with {verdict.response.status}")
        elif verdict.response.status == 101:
            self._open(verdict)

    def _open(self, verdict: Verdict) -> None:
        self._phase = Phase.OPEN
        self._receiver = Receiver(verdict.deflate, self._server.client_message_bytes_max)
        self._sender = Sender(verdict.deflate)
        self.flush()
        if verdict.close is not None:
            self._fail(verdict.close, "refused after the upgrade")
            return
        assert verdict.path is not None
        self._path = verdict.path
        self._consumer = self._server.consumer(self, verdict.path)
        self.say(ConnectionEvent(agentName=self._server.agent_name))

    def _take_event(self, text: bytes) -> None:
        assert self._consumer is not None
        if not text:
            self._count("Empty")
            return
        try:
            event = events.decode(text, "client")
        except DecodeError:
            self._count("Unknown")
            raise
        self._count(event.declaration.name)
        self._consumer.take(event)

    def _take_control(self, message: Message) -> None:
        self._count(message.declaration.name)
        if isinstance(message, Close):
            if self._phase is Phase.OPEN:
                self._send_message(answer_to(message))
            self._hang_up("")
        elif isinstance(message, Ping) and self._phase is Phase.OPEN:
            self._send_message(Pong(payload=message.payload))

    # -- the end ---------------------------------------------------------------------------------------------------

    def _refuse(self, wrong: DecodeError) -> None:
        """End the connection for an error in the client's bytes, in HTTP or in WebSocket."""
        if self._phase is Phase.HTTP:
            status = 413 if isinstance(wrong, OverLimit) else 400
            self._send_message(refusal(status, None, self._server.now_ns, has_body=not self._is_head))
            self._hang_up(str(wrong))
        elif self._phase is Phase.OPEN:
            self._fail(close_code(wrong), f"{wrong.kind}: {wrong.why}")
        else:
            self._hang_up(str(wrong))

    def _fail(self, code: int, why: str) -> None:
        """Send a Close. TCP ends at once where WebSocket's rules were broken, else behind the client's Close."""
        waits = code in (1000, _INTERNAL_ERROR)
        reason = "" if waits else why.encode()[:_REASON_BYTES_MAX].decode("utf-8", "ignore")
        self._send_message(Close(code=code, reason=reason))
        self._dismiss()
        if waits:
            self._phase = Phase.CLOSING
            self._why = why
            self._heard_ns = self._server.now_ns
            self.flush()
        else:
            self._hang_up(why)

    def _hang_up(self, why: str) -> None:
        if self._phase is not Phase.CLOSED:
            self._phase = Phase.CLOSED
            self.flush()
            self._server.outbox.close(self._connection, self._why or why)

    def _dismiss(self) -> None:
        """Nobody consumes any more; the others of the stream get its partitions."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.leave()
        path, self._path = self._path, None
        if path is not None:
            self._server.gone(path)

    # -- what is sent ----------------------------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        return self._full_ns is None and self._turn_bytes < limits.OFFRAMP_TURN_BYTES_MAX

    def say(self, event: Message) -> None:
        self._write(event.declaration.name, self._sender.event(events.encode(event)))

    def deliver(self, text: bytes) -> None:
        self._write("MESSAGE", self._sender.event(text))

    def flush(self) -> None:
        if self._out:
            self._server.outbox.send(self._connection, b"".join(self._out))
            self._out.clear()
        is_over = self._turn_bytes >= limits.OFFRAMP_TURN_BYTES_MAX
        if is_over and self._full_ns is None and self._next_turn is None:
            self._next_turn = self._server.timers.at(self._server.now_ns, self._take_turn)

    def _take_turn(self, now_ns: int) -> None:
        self._next_turn = None
        if self._full_ns is None:
            self._go_on(now_ns)

    def _go_on(self, now_ns: int) -> None:
        """A new turn: messages and frames that wait."""
        self._server.now_ns = now_ns
        self._turn_bytes = 0
        if self._consumer is not None:
            self._consumer.pump()
        self._serve()

    def _send_message(self, message: Message) -> None:
        """An HTTP response or a control frame."""
        self._write(message.declaration.name, encode(message, "server"))

    def _write(self, name: str, data: bytes) -> None:
        self._server.outbox.counts["server", name] += 1
        self._out.append(data)
        self._turn_bytes += len(data)

    def _count(self, name: str) -> None:
        self._server.outbox.counts["client", name] += 1

    # -- time ------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """See to it that somebody looks when the client may have been silent, or taken nothing, for too long."""
        due_ns = self._due_ns()
        if due_ns is None or (self._timer is not None and self._timer.when_ns <= due_ns):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._server.timers.at(due_ns, self._look)

    def _due_ns(self) -> int | None:
        dues = []
        if self._full_ns is not None:
            dues.append(self._full_ns + _SEND_NS)
        if self._phase is Phase.HTTP or not self._server.like_real:
            dues.append((self._pinged_ns or self._heard_ns) + _SILENCE_NS)
        return min(dues, default=None)

    def _look(self, now_ns: int) -> None:
        self._server.now_ns = now_ns
        self._timer = None
        due_ns = self._due_ns()
        if due_ns is not None and due_ns <= now_ns:
            self._lose_patience(now_ns)
        if self._phase is not Phase.CLOSED:
            self._watch()

    def _lose_patience(self, now_ns: int) -> None:
        """The client has been silent, or has taken nothing, for too long."""
        if self._full_ns is not None and now_ns >= self._full_ns + _SEND_NS:
            self._abandon(f"the client received nothing for {limits.OFFRAMP_SEND_S} s")
        elif self._phase is Phase.OPEN and self._pinged_ns is None:
            self._pinged_ns = now_ns
            self._send_message(Ping())
            self.flush()
        else:
            self._abandon(f"no bytes from the client for {limits.OFFRAMP_SILENCE_S} s")

    def _abandon(self, why: str) -> None:
        self._phase = Phase.CLOSED
        self._server.outbox.close(self._connection, self._why or why, is_abort=True)
