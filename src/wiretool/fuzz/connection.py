"""One live connection of a sequence: both directions decoded as a dissector decodes them, into records."""

from collections.abc import Iterator

from wiretool.codec.framing import Piece, Splitter
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.conversation import Conversation, Protocol, Reading, let_go
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

    def __init__(self, protocol: Protocol, number: int, numbers: Iterator[int]) -> None:
        """`numbers` counts the records of all connections of the sequence."""
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
        found = []
        for piece in self._client.feed(data, 0, now_ns):
            if piece.kind != "frame":
                self.is_broken = True
                found.append(self._lost("client", piece))
                continue
            reading = self._read("client", piece)
            if reading.defects or reading.left_over:
                self.is_broken = True
            found.append(self._record("client", piece, reading))
            let_go(reading.defects)
        return found

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
        problems = [str(each) for each in reading.defects if isinstance(each, DecodeError)]
        violations = [
            str(each) for each in reading.defects if isinstance(each, ProtocolViolation) and each.side == "server"
        ]
        let_go(reading.defects)
        if self.is_broken and (problems or violations):
            problems, violations = self._problems_alone(piece), []
        elif problems and not self._problems_alone(piece):
            problems = []  # a request that fits several versions of the protocol has misled the decoder
        record = self._record("server", piece, reading)
        self.phase = record.message
        return Received(record, problems, violations)

    def _problems_alone(self, piece: Piece) -> list[str]:
        """Return the problems of a frame whatever the client sent before it."""
        fresh = self._protocol.open(False)
        reading = fresh.read("server", piece.data, piece.at, piece.end, 1)
        problems = [str(each) for each in reading.defects if isinstance(each, DecodeError)]
        let_go(reading.defects)
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
