"""One connection on its way to records: recognised, split into frames, read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from wiretool import limits
from wiretool.capture.tcp.reassembler import Connection, Data, End, Finding, Gap, Item
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.dissect.closed_connection import EndedWatch, finding_record
from wiretool.dissect.decrypting import BOTH, DecryptingWatch
from wiretool.dissect.foreign_bytes import ForeignBytes
from wiretool.dissect.packet_index import Stretches
from wiretool.dissect.tls import TLS
from wiretool.ledger import ConnectionAccount
from wiretool.memory_budget import MemoryBudget
from wiretool.protocols.base.conversation import Conversation, let_go
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import Chunk, Verdict, recognise
from wiretool.records import Record
from wiretool.units import size_text

NO_SPLITTERS: Mapping[Side, Splitter] = MappingProxyType({})
#: The problem of bytes that were held for their rest when all connections held too much.
NOT_HELD = "over-limit"


class Watch(DecryptingWatch):
    """Turns the items of one connection into records.

    There may be very many: what is the same for most of them when they begin is an attribute of the class.
    """

    _held_bytes = _waiting_bytes = 0
    _look_at = 1
    _in_doubt = _is_settled = False
    _protocol = _foreign = ""
    _conversation: Conversation | None = None
    _splitters: Mapping[Side, Splitter] = NO_SPLITTERS
    #: The unknown bytes of each side, where no protocol is recognised.
    _strangers: Mapping[Side, ForeignBytes] = MappingProxyType({})
    #: The last packet in which an emitted frame begins.
    _latest_packet = 0
    _open_sides = BOTH
    _ended: frozenset[Side] = frozenset()

    def __init__(
        self,
        connection: Connection,
        *,
        forced: Protocol | None = None,
        expected: Sequence[Protocol],
        every: Collection[Protocol],
        account: ConnectionAccount,
        next_n: Callable[[], int],
        note: Callable[[Connection, str], None],
        over: Callable[[Connection], None] | None = None,
        unfinished: "MemoryBudget[Watch] | None" = None,
        is_middle: bool = False,
        keys: KeyLog | None = None,
    ) -> None:
        self._connection = connection
        if keys is not None:
            self._keys = keys
        #: Whether the conversation begins here; bytes cut from its middle may still begin with a frame.
        self._began = connection.opened and not is_middle
        self._forced = forced
        self._expected = (forced,) if forced else expected
        self._every = () if forced else every
        self._row = account
        self._account = account.account
        self._next_n = next_n
        self._note = note
        #: Counts what is held of all connections, in bytes; None where the caller bounds it.
        self._unfinished = unfinished
        #: Told when both sides have ended: only findings may come then, which `after` can take.
        self._over = over
        self._held: list[Item] = []
        self._waiting: list[Item] = []
        #: When the last frames were emitted.
        self._stretches = Stretches()

    def take(self, item: Item) -> list[Record]:
        """The records that this next item completes."""
        records = self._take_clear(item) if self._tls is None else self._take_tls(self._tls, item)
        self.note_unfinished()
        return records

    def _take_clear(self, item: Item) -> list[Record]:
        return self._take_settled(item) if self._is_settled else self._take_first(item)

    def note_unfinished(self) -> None:
        """Count the memory that unfinished frames and messages take."""
        if self._unfinished is not None:
            self._unfinished.note(self, self.unfinished_cost())

    def count_again(self) -> None:
        """Count again the bytes of the items that are held, and of those that wait."""
        self._held_bytes, self._waiting_bytes = _bytes_of(self._held), _bytes_of(self._waiting)

    def unfinished_cost(self) -> int:
        """Return the memory that unfinished frames, messages and TLS records take, in bytes."""
        return self._unfinished_clear() + (0 if self._tls is None else self._tls.held_bytes)

    def _unfinished_clear(self) -> int:
        if not self._is_settled:
            return self._held_bytes + limits.UNFINISHED_SEGMENT_BYTES * len(self._held)
        if self._conversation is None or (self._ended == BOTH and not self._waiting):
            return 0
        cost = self._conversation.held_bytes
        for splitter in self._splitters.values():
            cost += splitter.cost
        if self._waiting:
            cost += self._waiting_bytes + limits.UNFINISHED_SEGMENT_BYTES * len(self._waiting)
        return cost

    def discard_unfinished(self) -> list[Record]:
        """Lose the held bytes, and return their problems and the records that did not need the rest."""
        why = f"discarded: unfinished frames of all connections take more than {size_text(limits.UNFINISHED_BYTES_MAX)}"
        out: list[Record] = []
        if self._tls is not None:
            out += self._read_tls(self._tls, *self._tls.discard(NOT_HELD, why))
        out += [] if self._is_settled else self._settle(self._verdict(final=True))
        if self._conversation is not None:
            for side in SIDES:
                out += self._told(side, self._splitters[side].discard(NOT_HELD, why))
            if self._waiting:
                out += self._drain()
                for side in SIDES:
                    out += self._told(side, self._splitters[side].discard(NOT_HELD, why))
            if self._conversation.held_bytes:
                out.append(self._discard_message(why))
            self._in_doubt = any(splitter.is_searching for splitter in self._splitters.values())
            self._note_over()
        self.note_unfinished()
        return out

    def _discard_message(self, why: str) -> Record:
        """Discard the frames kept for an unfinished message; they are records already."""
        assert self._conversation is not None
        for side in SIDES:
            self._conversation.hole(side)
        place = self._splitters["client"].offset, 0, self._latest_packet, self._latest_packet, self._connection.last_ns
        return self._problem("client", Piece("lost", b"", 0, 0, *place), 0, NOT_HELD, f"message {why}")

    def _take_first(self, item: Item) -> list[Record]:
        """Hold an item until the protocol is known."""
        self._held.append(item)
        if isinstance(item, Data | Finding):
            self._held_bytes += len(item.data)
        is_over = isinstance(item, End) and self._ends_all(item)
        if not is_over and self._held_bytes < self._look_at:
            return []
        return self._settle(self._verdict(final=is_over))

    def settle(self, until_ns: int) -> list[Record]:
        """Return the records of what was captured up to `until_ns` and waits only for more evidence.

        For a live source: nothing may come for long. Bytes without a whole frame still wait.
        """
        if self._is_settled and not self._in_doubt and self._tls is None:
            return []
        out = [] if self._tls is None else self._read_tls(self._tls, *self._tls.settle(until_ns))
        if not self._is_settled and self._held and self._held[0].time_ns <= until_ns:
            verdict = self._verdict(final=True)
            out += self._settle(verdict if verdict is not None and verdict.has_frames else None)
        if self._in_doubt:
            out += self._settle_splitters(until_ns)
        self.note_unfinished()
        return out

    @property
    def number(self) -> int:
        """Return the number of the connection."""
        return self._connection.id

    def note_duplicates(self, connection: Connection) -> None:
        """Count what was sent twice, by now; of that no item tells."""
        self._account.duplicate_bytes = sum(connection.duplicate_bytes.values())

    def after(self) -> EndedWatch:
        """What takes its place when both sides have ended."""
        return EndedWatch(self._row, self._next_n)

    def _ends_all(self, item: End) -> bool:
        self._open_sides -= {item.side} if item.side else BOTH
        return not self._open_sides

    # -- which protocol --------------------------------------------------------------------------------------------

    def _verdict(self, *, final: bool) -> Verdict | None:
        chunks = [_chunk(item) for item in self._held if isinstance(item, Data | Gap)]
        verdict = recognise(chunks, from_start=self._began, expected=self._expected, every=self._every, final=final)
        is_tls = verdict is not None and verdict.protocol is None and verdict.why.startswith(TLS)
        return self._tls_verdict(verdict, final=final) if verdict is not None and is_tls else verdict

    def _settle(self, verdict: Verdict | None) -> list[Record]:
        if self._tls is not None and not self._is_decrypting:
            return self._decrypt(self._tls)
        if verdict is None:
            self._look_at = self._held_bytes * 2
            return []
        if verdict.note and self._held_bytes and self._forced is None:
            self._note(self._connection, verdict.note)
        if self._forced is not None:
            self._speak(self._forced, verdict.trial if verdict.protocol is self._forced else None)
        elif verdict.protocol is None:
            self._foreign = verdict.why
            self._strangers = {side: ForeignBytes() for side in SIDES}
        else:
            self._speak(verdict.protocol, verdict.trial)
        self._is_settled = True
        if verdict.is_in_step:
            self._splitters[next(item.side for item in self._held if isinstance(item, Data))].begin_in_step()
        held, self._held = self._held, []
        self._held_bytes = 0
        return [record for item in held for record in self._take_settled(item)]

    def _speak(self, protocol: Protocol, trial: Conversation | None, conversation: Conversation | None = None) -> None:
        """Read that protocol from now on, in a conversation that has begun, or in a new one."""
        from_start = self._connection.opened
        self._protocol = self._row.protocol = protocol.name
        self._conversation = conversation or protocol.open(self._began)
        if trial is not None:
            self._conversation.recall(trial)
        client = Splitter(self._conversation, "client", from_start=from_start)
        self._splitters = {"client": client, "server": Splitter(self._conversation, "server", from_start=from_start)}
        self._in_doubt = not from_start

    def _forget_protocol(self) -> None:
        """Have the protocol recognised again; the bytes that are held stay."""
        self._protocol = self._row.protocol = ""
        self._conversation, self._splitters = None, NO_SPLITTERS
        self._in_doubt = self._is_settled = False

    # -- a protocol of ours ----------------------------------------------------------------------------------------

    def _take_settled(self, item: Item) -> list[Record]:
        if self._conversation is None:
            return self._take_foreign(item)
        if not self._in_doubt:
            return self._read(item)
        return self._read_in_doubt(item)

    def _read_in_doubt(self, item: Item) -> list[Record]:
        """One side at least is looking for its next frame: items of the other side wait for it, in order."""
        if self._must_wait(item):
            self._waiting.append(item)
            self._waiting_bytes += len(item.data) if isinstance(item, Data | Finding) else 0
            return []
        out = self._drain() if self._waiting and item.side == self._waiting[0].side else []
        out += self._read(item)
        if self._waiting and not self._is_looking(other_side(self._waiting[0].side or "client")):
            out += self._drain()
        self._in_doubt = bool(self._waiting) or any(each.is_searching for each in self._splitters.values())
        return out

    def _must_wait(self, item: Item) -> bool:
        if not item.side or len(self._waiting) >= limits.WAITING_ITEMS_MAX:
            return False
        return self._is_looking(other_side(item.side)) and not self._is_looking(item.side)

    def _is_looking(self, side: Side) -> bool:
        splitter = self._splitters[side]
        return splitter.is_searching and splitter.held > 0

    def _settle_splitters(self, until_ns: int) -> list[Record]:
        """Return the frames found without further bytes, and what waited for them."""
        out = self._settle_searches(until_ns)
        if self._waiting and self._waiting[0].time_ns <= until_ns:
            out += self._drain() + self._settle_searches(until_ns)
        return out

    def _settle_searches(self, until_ns: int) -> list[Record]:
        out: list[Record] = []
        for side in SIDES:
            if self._is_looking(side) and self._splitters[side].held_since_ns <= until_ns:
                out += self._told(side, self._splitters[side].settle())
        return out

    def _drain(self) -> list[Record]:
        """What waited. All of it is of one side: no item overtakes another of its own."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return [record for item in waiting for record in self._read(item)]

    def _read(self, item: Item) -> list[Record]:
        if isinstance(item, Data):
            splitter = self._splitters[item.side]
            self._account.payload_bytes += len(item.data)
            pieces = splitter.feed(item.data, item.packet, item.time_ns)
            if splitter.is_searching:
                self._in_doubt = True
            return self._told(item.side, pieces)
        if isinstance(item, Gap):
            splitter, missing = self._splitters[item.side], (item.length, item.packet, item.time_ns)
            pieces = splitter.gap(*missing, is_exact=item.is_exact, why=item.why)
            self._in_doubt = True
            return self._told(item.side, pieces)
        if isinstance(item, Finding):
            return [self._found(item)]
        return self._end(item)

    def _end(self, item: End) -> list[Record]:
        """Return the records of the end of one side, or of both: then first of the one that the other waits for.

        That is the side that looks for its next frame, even if nothing waits: the column path may have read bytes of
        the other side before, which complete no frame.
        """
        if item.side:
            return self._end_side(item.side)
        is_server_first = self._is_looking("server") and not self._is_looking("client")
        first: Side = "server" if is_server_first else "client"
        if self._waiting:
            first = other_side(self._waiting[0].side or "server")
        return self._end_side(first) + self._drain() + self._end_side(other_side(first))

    def _end_side(self, side: Side) -> list[Record]:
        assert self._conversation is not None
        if side not in self._ended:
            self._ended |= {side}
            self._conversation.end(side)
        out = self._told(side, self._splitters[side].end())
        self._note_over()
        return out

    def _note_over(self) -> None:
        if self._over is not None and self._ended == BOTH and not self._waiting:
            over, self._over = self._over, None
            over(self._connection)

    def _told(self, side: Side, pieces: list[Piece]) -> list[Record]:
        """The records of pieces, and a note of when they were told."""
        out = self._records(side, pieces)
        if out:
            self._stretches.add(out[0].n, out[0].packets[0])
        return out

    def _records(self, side: Side, pieces: list[Piece]) -> list[Record]:
        """The records of pieces. The hot path of row by row reading: names are local, records made by position."""
        out: list[Record] = []
        assert self._conversation is not None
        read, next_n, account, connection = self._conversation.read, self._next_n, self._account, self._connection
        frames, frame_bytes, latest = 0, 0, self._latest_packet
        number, client, server, protocol = connection.id, connection.client, connection.server, self._protocol
        for piece in pieces:
            kind, data, at, end, offset, length, first, last, time_ns, error, why = piece
            if kind == "gap":
                self._conversation.hole(side)
                out.append(self._hole(side, piece))
                continue
            if kind == "lost":
                self._conversation.lost(side)
                out.append(self._problem(side, piece, length, error, why))
                continue
            if first > latest:
                latest = first
            n = next_n()
            message, fields, defects, reply_to, append, events, left_over = read(side, data, at, end, n)
            if last < latest and reply_to is not None and self._stretches.packet_of(reply_to) > last:
                reply_to = None  # told late, behind a hole: what seems its request came after it
            frames += 1
            frame_bytes += length
            packets, raw = (first, last), data[at:end]
            out.append(
                Record(
                    n, "frame", time_ns, number, client, server, side, packets, offset, length,
                    protocol, message, fields, reply_to, "", "", append, events, left_over, raw,
                )
            )  # fmt: skip
            if defects:
                out += [self._problem(side, piece, 0, defect.kind, defect.reason) for defect in defects]
                let_go(defects)
        account.frames += frames
        account.frame_bytes += frame_bytes
        self._latest_packet = latest
        return out

    def _problem(self, side: Side, piece: Piece, length: int, error: str, why: str) -> Record:
        self._account.problems += 1
        self._account.problem_bytes += length
        return Record(
            n=self._next_n(),
            kind="problem",
            time_ns=piece.time_ns,
            connection=self._connection.id,
            client=self._connection.client,
            server=self._connection.server,
            side=side,
            protocol=self._protocol,
            packets=(piece.first_packet, piece.last_packet),
            offset=piece.offset,
            length=length,
            error=error,
            why=why,
            raw=piece.data[piece.at : piece.end] if length else b"",
        )

    def _hole(self, side: Side, gap: Gap | Piece) -> Record:
        packet = gap.last_packet if isinstance(gap, Piece) else gap.packet
        self._account.gaps += 1
        self._account.gap_bytes += gap.length
        return Record(
            n=self._next_n(),
            kind="gap",
            time_ns=gap.time_ns,
            connection=self._connection.id,
            client=self._connection.client,
            server=self._connection.server,
            side=side,
            protocol=self._protocol,
            packets=(packet, packet),
            offset=gap.offset,
            length=gap.length,
            why=gap.why or f"{gap.length} bytes were not captured",
        )

    def _found(self, item: Finding) -> Record:
        return finding_record(item, self._row, self._next_n())

    # -- nothing of ours -------------------------------------------------------------------------------------------

    def _take_foreign(self, item: Item) -> list[Record]:
        if isinstance(item, Data):
            self._account.payload_bytes += len(item.data)
            self._account.other_bytes += len(item.data)
            self._strangers[item.side].add(item)
            return []
        if isinstance(item, Gap):
            return [self._hole(item.side, item)]
        if isinstance(item, Finding):
            return [self._found(item)]
        sides = (item.side,) if item.side else SIDES
        out = [self._other(side) for side in sides if self._strangers[side].length]
        self._ended |= set(sides)
        self._note_over()
        return out

    def _other(self, side: Side) -> Record:
        stranger = self._strangers[side]
        self._strangers = {**self._strangers, side: ForeignBytes()}
        return self._other_record(side, stranger, self._foreign)

    def _other_record(self, side: Side, foreign: ForeignBytes, why: str) -> Record:
        return Record(
            n=self._next_n(),
            kind="other",
            time_ns=foreign.time_ns,
            connection=self._connection.id,
            client=self._connection.client,
            server=self._connection.server,
            side=side,
            packets=(foreign.first_packet, foreign.last_packet),
            offset=foreign.offset,
            length=foreign.length,
            why=why,
        )


def connection_number(watch: Watch) -> int:
    """Return the number of the connection that a watch reads."""
    return watch.number


def _bytes_of(items: Sequence[Item]) -> int:
    return sum(len(item.data) for item in items if isinstance(item, Data | Finding))


def _chunk(item: Data | Gap) -> Chunk:
    if isinstance(item, Data):
        return Chunk(item.side, item.data)
    return Chunk(item.side, b"", item.length, is_exact=item.is_exact)
