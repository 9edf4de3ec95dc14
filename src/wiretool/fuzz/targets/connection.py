"""One live connection of a sequence: both directions decoded as a dissector decodes them, into records."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Reading, let_go
from wiretool.protocols.base.exchanges import value_in
from wiretool.protocols.base.protocol import Protocol
from wiretool.records import Record


class Received:
    """A message of the server, and the problems with it."""

    __slots__ = ("problems", "record", "violations")

    def __init__(self, record: Record, problems: list[str], violations: list[str]) -> None:
        self.record = record
        #: Bytes that do not decode.
        self.problems = problems
        #: Messages that the protocol forbids at this time.
        self.violations = violations


class FuzzConnection:
    """Decodes both directions. `is_broken`: the client sent bytes that are not the protocol."""

    def __init__(
        self, protocol: Protocol, number: int, numbers: Iterator[int], revisions: Sequence[Protocol] = ()
    ) -> None:
        """`numbers` counts the records of all connections of the sequence; `revisions` are others of the protocol."""
        self._revisions = revisions
        self.number = number
        self._protocol = protocol
        self._numbers = numbers
        self._conversation = protocol.open(True)
        self._conversation.lists_events = True
        self._client = Splitter(self._conversation, "client")
        self._server = Splitter(self._conversation, "server")
        self._n = 0
        self.is_open = False
        self.is_broken = False
        #: How the connection ended: "closed" by the server, "reset" by it, "left" by the client; empty while open.
        self.ended = ""
        self.records: list[Record] = []
        #: Bytes of the client that do not decode: the name of the message, empty for none, and the problem.
        self.client_problems: list[tuple[str, str]] = []
        #: Requests without a reply, by the number of their record, with the index of their step.
        self.open_requests: dict[int, int] = {}
        #: The last message of the server, "connected" before the first; it stands for the phase of the session.
        self.phase = "connected"

    @property
    def conversation(self) -> Conversation:
        """The state of the conversation."""
        return self._conversation

    def sent(self, data: bytes, now_ns: int) -> list[Record]:
        """Note bytes of the client; return the records of the frames that they complete."""
        return self._sent(self._client.feed(data, 0, now_ns))

    def end_client(self) -> None:
        """Note the last byte of the client; it may end inside a frame."""
        self._sent([piece for piece in self._client.end() if piece.error != "incomplete"])

    def _sent(self, pieces: Iterable[Piece]) -> list[Record]:
        found = []
        for piece in pieces:
            if piece.kind != "frame":
                self.is_broken = True
                self._conversation.lost("client")
                self.client_problems.append(("", f"{piece.error}: {piece.why}"))
                found.append(self._lost("client", piece))
                continue
            reading = self._read("client", piece)
            if reading.defects:
                self.client_problems += [
                    (reading.message, str(each)) for each in reading.defects if isinstance(each, DecodeError)
                ]
                let_go(reading.defects)
            if reading.defects or reading.left_over:
                self.is_broken = True
            found.append(self._record("client", piece, reading))
        return found

    def expect(self, records: Sequence[Record], *, step: int) -> list[int]:
        """Note the requests among records of the client, unless the connection is broken; return their numbers."""
        if self.is_broken:
            return []
        exchanges = self._protocol.exchanges
        found = []
        for record in records:
            if (record.message, "client") not in exchanges.asks:
                continue
            if not (exchanges.unless and value_in(record.fields, exchanges.unless)):
                self.open_requests[record.n] = step
                found.append(record.n)
        return found

    def answer(self, reply: Record) -> int | None:
        """Close the requests that a reply answers; return the step of the one that it names."""
        exchanges = self._protocol.exchanges
        step = None
        if reply.reply_to is not None:
            step = self.open_requests.pop(reply.reply_to, None)
            if (settled := exchanges.settles.get(reply.message)) is not None:
                self._settle(reply.reply_to, settled)
        if reply.message in exchanges.farewells:
            self.open_requests.clear()
        return step

    def _settle(self, number: int, names: Collection[str]) -> None:
        """Close earlier requests of some names."""
        open_now = [each for each in self.records if each.n in self.open_requests]
        for request in open_now:
            if request.n < number and request.message in names:
                del self.open_requests[request.n]

    def received(self, data: bytes, now_ns: int) -> list[Received]:
        """Decode bytes of the server."""
        return [self._received(piece) for piece in self._server.feed(data, 0, now_ns)]

    def end(self) -> list[Received]:
        """Note the last byte of the server; an unfinished frame is a problem."""
        return [self._received(piece) for piece in self._server.end()]

    @property
    def is_in_frame(self) -> bool:
        """True while the client has sent only a part of a frame."""
        return self._client.held > 0

    def _received(self, piece: Piece) -> Received:
        if piece.kind != "frame":
            return Received(self._lost("server", piece), [f"{piece.error}: {piece.why}"], [])
        reading = self._read("server", piece)
        if not reading.defects:
            record = self._record("server", piece, reading)
            self.phase = record.message
            return Received(record, [], [])
        problems = [str(each) for each in reading.defects if isinstance(each, DecodeError)]
        violations = [
            str(each) for each in reading.defects if isinstance(each, ProtocolViolation) and each.side == "server"
        ]
        let_go(reading.defects)
        if (problems or violations) and (self.is_broken or self._revisions):
            # A server may have taken the client for one of another revision.
            problems, violations = self._problems_alone(piece), []
        elif problems and not self._problems_alone(piece):
            problems = []  # a request that fits several versions of the protocol has misled the decoder
        record = self._record("server", piece, reading)
        self.phase = record.message
        return Received(record, problems, violations)

    def _problems_alone(self, piece: Piece) -> list[str]:
        """Return the problems of a frame whatever the client sent before it; none where it fits a revision."""
        problems: list[str] = []
        for protocol in (*self._revisions, self._protocol):
            reading = protocol.open(False).read("server", piece.data, piece.at, piece.end, 1)
            problems = [str(each) for each in reading.defects if isinstance(each, DecodeError)]
            let_go(reading.defects)
            if not problems:
                break
        return problems

    def _read(self, side: Side, piece: Piece) -> Reading:
        self._n = next(self._numbers)
        return self._conversation.read(side, piece.data, piece.at, piece.end, self._n)

    def _record(self, side: Side, piece: Piece, reading: Reading) -> Record:
        record = Record(
            self._n,
            "frame",
            piece.time_ns,
            self.number,
            "",
            "",
            side,
            (0, 0),
            piece.offset,
            piece.length,
            self._protocol.name,
            reading.message,
            reading.fields,
            reading.reply_to,
            append=reading.append,
            events=reading.events,
            left_over=reading.left_over,
            raw=piece.data[piece.at : piece.end],
        )
        self.records.append(record)
        return record

    def _lost(self, side: Side, piece: Piece) -> Record:
        record = Record(
            next(self._numbers),
            "problem",
            piece.time_ns,
            self.number,
            "",
            "",
            side,
            (0, 0),
            piece.offset,
            piece.length,
            self._protocol.name,
            error=piece.error,
            why=piece.why,
        )
        self.records.append(record)
        return record
