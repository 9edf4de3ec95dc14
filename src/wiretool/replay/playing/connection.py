"""One live connection of a replay: the bytes of both sides, and what they answer."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf

from wiretool.analysis.dialogues import Dialogue, exchanges_of, pushed
from wiretool.codec.message import Message
from wiretool.errors import EncodeError
from wiretool.faults.live import LiveWatch
from wiretool.protocols.base.recognise import FOREIGN_BYTES, Chunk, describe_foreign
from wiretool.records import Record
from wiretool.replay.adapter import Excuse, ReplayAdapter, Verdict
from wiretool.replay.carrier import Said
from wiretool.replay.judging.flood_guard import Surplus
from wiretool.replay.judging.judge import judge, judge_extra, judge_missing, note_breach, note_unfound_breach
from wiretool.replay.judging.outcomes import End, Outcome
from wiretool.replay.judging.unsolicited import take_in, without_double
from wiretool.replay.playing.deferred import Later
from wiretool.replay.playing.id_map import Values

_UNHEARD = "nothing that the server sent on the connection is in the recording"
_STOPPED = "the run was stopped before it came"
_UNSAID = "not all earlier requests of the client are replayed"
_NO_ANSWER = "no answer in time"


class Line:
    """A connection; `out` sends. It reads both sides as decode does, so that a reply finds its request."""

    def __init__(
        self,
        dialogue: Dialogue,
        manner: ReplayAdapter,
        values: Values,
        watch: LiveWatch,
        out: Callable[[bytes], None],
        rng: random.Random,
        later: Later,
    ) -> None:
        """What the server need not wait for is put off until `later`."""
        self.dialogue = dialogue
        self.manner = manner
        self._values = values
        self._carrier = manner.carrier(dialogue)
        self._watch = watch
        watch.conversation.lists_events = False
        self._out = out
        self._rng = rng
        self._later = later
        #: What was recorded, by the number of the request.
        self._recorded = {exchange.request.n: exchange.replies for exchange in exchanges_of(dialogue.records)}
        self._was_covered = covered(dialogue, manner)
        #: How often the recorded server sent bytes that are not right, by the kind of the defect.
        self._blemishes = Counter(each.error for each in dialogue.records if _is_blemish(each))
        #: What became of it so far; and of what the server sends unasked, by its number where it was recorded.
        self._outcomes: dict[int, Outcome] = {}
        unasked = [record for record in pushed(dialogue.records) if not manner.is_carriage(record)]
        self._unasked = {record.n: Outcome(dialogue, None, [record]) for record in unasked}
        self._extra: list[Outcome] = []
        #: What of it has not come yet.
        self._unheard = {record.n: record for record in unasked}
        #: Number of the live request -> recorded request; and the recorded ones without a reply so far.
        self._asked: dict[int, Record] = {}
        self._open: dict[int, Record] = {}
        #: Recorded replies that have come, or were given up.
        self._settled: set[int] = set()
        #: Why the absence of some of those proves nothing.
        self._unproven: dict[int, str] = {}
        #: Live requests of a talk that wait for their replies, and the replies so far.
        self._talking: set[int] = set()
        self.heard: list[Record] = []
        self.is_open = False
        #: How often the server was waited for in vain since it sent something.
        self.vain_waits = 0
        #: The server has sent its last byte; the client has left.
        self.is_parted = self.is_left = False
        #: Why nothing more can be sent or received; empty as long as something can.
        self.why_over = ""
        #: The first bytes of the server, and the other protocol that they belong to where they cannot be read.
        self._begun = b""
        self.foreign = ""
        #: Why an answer does not come.
        self._why_missing = _NO_ANSWER
        #: From which number on the client had sent more than is sent now.
        self.unsaid_from = inf
        #: Why the run was given up, and the records of all connections that were neither sent nor waited for.
        self._why_skipped = ""
        self._skipped: Collection[int] = ()
        #: Somebody stopped the run.
        self.is_stopped = False
        #: What the server sends beyond what was recorded; and whether that was too much to receive more of it.
        self._surplus = Surplus(dialogue)
        self.is_cut = False
        #: How it came to its end, where that was not as recorded.
        self._ends: list[Outcome] = []

    @property
    def is_over(self) -> bool:
        """Return whether nothing more can be received."""
        return bool(self.why_over)

    @property
    def has_unheard_requests(self) -> bool:
        """Return whether live requests wait for replies of which the recording has none."""
        return bool(self._open) and not (self.dialogue.is_heard or self.is_over)

    def must_wait(self, request: Record) -> bool:
        """Return whether a request waits for the replies to earlier ones, of which the recording has none.

        A client sends a setup and what depends on it one after the other; requests of one kind it may pipeline.
        """
        return self.has_unheard_requests and next(iter(self._open.values())).message != request.message

    # -- what was recorded ---------------------------------------------------------------------------------------------

    def is_settled(self, recorded: Record) -> bool:
        """Whether a recorded reply has come, or need not be waited for."""
        if recorded.n in self._settled or self.is_over:
            return True
        if recorded.reply_to is None:
            return not self.manner.is_expected(recorded)
        return recorded.reply_to not in self._outcomes or not self.manner.is_awaited(recorded)

    def is_owed(self, recorded: Record) -> bool:
        """Return whether a recorded reply that did not come answers a request, and nothing known now explains that."""
        outcome = self._outcomes.get(recorded.reply_to or 0)
        if outcome is None or outcome.request is None:
            return False
        return self.manner.excuse_missing(recorded, outcome.request, self.dialogue) is None

    def give_up(self, recorded: Record, why_unknown: str = "") -> None:
        """Wait for it no longer; `why_unknown` is the reason why its absence proves nothing, if it does not."""
        self._settled.add(recorded.n)
        self.vain_waits += 1
        if why_unknown:
            self._unproven[recorded.n] = why_unknown

    # -- what is sent --------------------------------------------------------------------------------------------------

    def say(self, record: Record, now_ns: int) -> None:
        """Send a recorded frame or other bytes of the client."""
        if record.kind != "frame":
            self._send(record.raw, now_ns)
            return
        outcome = self._outcomes[record.n] = Outcome(
            self.dialogue, record, self._recorded[record.n], was_covered=record.n in self._was_covered
        )
        if self.manner.may_change(record):
            self._later.catch_up()
        try:
            data = self.manner.renewed(record, self._values, self._watch.conversation, self._rng)
            carried = None if self._carrier is None else self._carrier.say(record, data)
        except EncodeError as err:
            outcome.note(Verdict.UNKNOWN, f"not sent: {err}")
            self._settled.update(reply.n for reply in outcome.recorded)
            return
        if self.manner.wants_answer(record):
            self._open[record.n] = record
        if carried is not None:
            self._carry(carried, now_ns)
            return
        self._out(data)
        self._later.soon(partial(self._note_asked, record, data, now_ns))

    def _carry(self, carried: Sequence[Said], now_ns: int) -> None:
        """Send what a carrier makes of frames, and what it sends by itself."""
        for said in carried:
            if said.record is None:
                self._send(said.data, now_ns)
            else:
                self._out(said.data)
                self._later.soon(partial(self._note_asked, said.record, said.data, now_ns))

    def _note_asked(self, record: Record, data: bytes, now_ns: int) -> None:
        """Read what was sent as the server does, to know it by its number."""
        for live in self._read_own(data, now_ns):
            if live.kind == "frame":
                self._asked[live.n] = record
                self.manner.pair(record, live)

    def talk(self, messages: Sequence[Message], now_ns: int) -> None:
        """Send messages of our own, whose replies are not judged. EncodeError where one cannot be written."""
        self.heard = []
        for message in messages:
            data = self._worded(self.manner.signed(message))
            said = [live for live in self._send(data, now_ns) if live.kind == "frame"]
            self._talking.update(live.n for live in said if self.manner.wants_answer(live))

    def _worded(self, message: Message) -> bytes:
        if self._carrier is not None:
            return b"".join(said.data for said in self._carrier.ask(message))
        return self.manner.protocol.encode(message, "client")

    @property
    def is_talking(self) -> bool:
        """Whether replies to messages of our own are still to come."""
        return bool(self._talking) and not self.is_over

    @property
    def lacks_replies(self) -> bool:
        """Return whether replies to messages of our own are missing, also after the end of the connection."""
        return bool(self._talking)

    def fall_silent(self) -> None:
        """Wait for no more replies to messages of our own."""
        self._talking.clear()
        self.vain_waits += 1

    def _send(self, data: bytes, now_ns: int) -> list[Record]:
        self._later.catch_up()
        self._out(data)
        return self._read_own(data, now_ns)

    def _read_own(self, data: bytes, now_ns: int) -> list[Record]:
        """Read what the client sends; the records that it completes."""
        records = self._watch.feed("client", data, now_ns)
        for record in records:
            self.manner.follow(record)
        return records

    # -- what is heard -------------------------------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> list[Record]:
        """The server has sent bytes; the records that they complete."""
        self._later.go_on()
        self.vain_waits = 0
        if len(self._begun) < FOREIGN_BYTES:
            self._begun += data[:FOREIGN_BYTES]
        records = self._watch.feed("server", data, now_ns)
        self._weigh(len(data), records)
        for record in records:
            self.manner.follow(record)
            if record.side == "server" and record.kind == "frame":
                self._hear(record)
                if reflex := self.manner.reflex(record, self._rng):
                    self._send(reflex, now_ns)
            elif record.side == "server" and record.kind == "problem":
                self._stumble(record)
        if self._carrier is not None:
            self._carry(self._carrier.hear(data), now_ns)
        return records

    @property
    def unfinished_cost(self) -> int:
        """Return the memory that unfinished frames of the server take, in bytes."""
        return 0 if self.is_cut else self._watch.unfinished_cost()

    def cut(self, why: str) -> None:
        """Close the connection to a server that sends too much."""
        self.is_cut = True
        self.part(why)
        self._ends.append(Outcome(self.dialogue, None, end=End("open", "closed")))
        self._ends[-1].note(Verdict.DIFFERENT, self.why_over)

    def _weigh(self, size: int, records: Sequence[Record]) -> None:
        """Receive no more of a server that sends too much."""
        self._surplus.hear(size)
        for record in records:
            if record.side == "server":
                is_asked = record.reply_to in self._asked or record.reply_to in self._talking
                self._surplus.take(record, is_asked=is_asked)
        self._surplus.weigh(is_lost=self._watch.is_lost("server"))
        if self._surplus.why and not self.is_over:
            self.cut(self._surplus.why)

    def _hear(self, live: Record) -> None:
        if self._carrier is not None and self.manner.is_carriage(live):
            return
        if live.reply_to in self._talking:
            self._talking.discard(live.reply_to)
            self.heard.append(live)
        elif live.reply_to is not None and live.reply_to in self._asked:
            self._answer(self._asked[live.reply_to], live)
        else:
            self._hear_unasked(live)

    def _answer(self, request: Record, live: Record) -> None:
        outcome = self._outcomes[request.n]
        outcome.live.append(live)
        self._open.pop(request.n, None)
        if len(outcome.live) <= len(outcome.recorded):
            at = len(outcome.live) - 1
            recorded = outcome.recorded[at]
            self._settled.add(recorded.n)
            self._later.late(partial(judge, self.manner, self._values, outcome, recorded, live, at))
            if self.manner.breach(live, recorded) is not None:
                self._later.late(partial(note_unfound_breach, self.manner, outcome, live, recorded))
        for settled in self.manner.settles(live, self._open):
            earlier = self._outcomes[settled]
            if all(each.message == live.message for each in earlier.recorded):  # a refusal is not told by an ack
                del self._open[settled]
                earlier.is_covered = True
                self._settled.update(each.n for each in earlier.recorded)

    def _hear_unasked(self, live: Record) -> None:
        self._later.catch_up()
        number = self.manner.match(live, self._unheard, self._values, self.dialogue)
        if number is None:
            self._extra.append(Outcome(self.dialogue, None, [], [live]))
            note_breach(self.manner, self._extra[-1], live)
            return
        recorded, outcome = self._unheard.pop(number), self._unasked[number]
        outcome.live.append(live)
        self._settled.add(number)
        judge(self.manner, self._values, outcome, recorded, live, 0)
        note_breach(self.manner, outcome, live, recorded)

    def _stumble(self, live: Record) -> None:
        """Note a violation by the live server, unless the recorded server made the same one."""
        if self._blemishes[live.error] > 0:
            self._blemishes[live.error] -= 1
            return
        outcome = Outcome(self.dialogue, None, [], [live])
        if not live.offset:
            self.foreign = describe_foreign([Chunk("server", self._begun)])
        seems = f"; this is {self.foreign}" if self.foreign else ""
        outcome.note(Verdict.DIFFERENT, f"{live.error}: {live.why}{seems}")
        self._extra.append(outcome)

    # -- the end -------------------------------------------------------------------------------------------------------

    def cannot_say(self, record: Record) -> None:
        """A recorded frame comes too late: the connection is over."""
        if record.kind == "frame":
            outcome = self._outcomes[record.n] = Outcome(self.dialogue, record, self._recorded[record.n])
            if not outcome.recorded:
                outcome.note(Verdict.UNKNOWN, self.why_over)

    def abandon(self, why: str, skipped: Collection[int]) -> None:
        """Judge nothing of these records, nor how the connection ends."""
        self._why_skipped, self._skipped = why, skipped
        if not self.is_left:
            self.unsaid_from = min(self.unsaid_from, *skipped, inf)

    def skip(self, record: Record) -> None:
        """Note a recorded frame that is not sent, as the run was given up."""
        if record.kind == "frame":
            outcome = self._outcomes[record.n] = Outcome(self.dialogue, record, self._recorded[record.n])
            outcome.note(Verdict.UNKNOWN, self._why_skipped)

    def part(self, why: str) -> None:
        """The server has ended the connection, or could not be reached."""
        self.is_parted = True
        self.why_over = self.why_over or why
        if not self.is_left:
            self._why_missing = self.why_over

    def judge_end(self, *, was_ended: bool, why_unknown: str = "") -> None:
        """The server was recorded to end the connection and has not, or has and was not.

        `why_unknown` is the reason why that is not judged unless a rule explains it.
        """
        if self.is_cut:
            return
        self._later.catch_up()  # an explanation depends on what both sides have sent
        outcome = Outcome(self.dialogue, None, end=End("closed", "open") if was_ended else End("open", "closed"))
        why = "the connection stays open, the recorded server ended it" if was_ended else self.why_over
        excuse = None if self.foreign else self.manner.excuse_end(self.dialogue, was_ended=was_ended)
        excuse = excuse if self.dialogue.is_heard else Excuse(Verdict.UNKNOWN, f"{why}; {_UNHEARD}")
        excuse = excuse if self.unsaid_from == inf else Excuse(Verdict.UNKNOWN, f"{why}; {_UNSAID}")
        unexplained = (Verdict.UNKNOWN, why_unknown) if why_unknown else (Verdict.DIFFERENT, why)
        outcome.note(*(excuse or unexplained))
        self._ends.append(outcome)

    def outcomes(self) -> list[Outcome]:
        """Everything that was recorded or sent, with what did not come and what came too much. Asked once, at last."""
        known = [*self._outcomes.values(), *self._unasked.values()]
        found = known + take_in(self.manner, self._values, known, self._extra)
        for outcome in found:
            if self.dialogue.is_heard:
                self._judge_number(outcome)
            else:
                outcome.note(Verdict.UNKNOWN, _UNHEARD)
        if self.is_parted and self._open and not (self.dialogue.is_heard or self._ends or self.is_stopped):
            self._note_unanswered()
        return without_double(found) + self._ends

    def _note_unanswered(self) -> None:
        """Report that the server closed the connection early, which the recording can neither confirm nor deny."""
        many = len(self._open)
        outcome = Outcome(self.dialogue, None)
        requests = f"{many:,} request{'s' * (many != 1)}"
        outcome.note(Verdict.UNKNOWN, f"{self.why_over}: {requests} unanswered; {_UNHEARD}")
        self._ends.append(outcome)

    def _judge_number(self, outcome: Outcome) -> None:
        lacks = len(outcome.live) < len(outcome.recorded) and not outcome.is_covered
        if lacks and (why := self._why_unknown(outcome)):
            outcome.note(Verdict.UNKNOWN, why)
        else:
            judge_missing(self.manner, outcome, self._why_missing)
        if outcome.request is None and outcome.live and not outcome.recorded and self.unsaid_from < inf:
            outcome.note(Verdict.UNKNOWN, _UNSAID)
        else:
            judge_extra(self.manner, outcome)

    def _why_unknown(self, outcome: Outcome) -> str:
        """Why it cannot be said whether a recorded reply would have come; empty where it can."""
        if self.is_stopped:
            return _STOPPED
        if outcome.recorded[len(outcome.live)].n in self._skipped:
            return self._why_skipped
        if outcome.request is None and outcome.recorded[0].n > self.unsaid_from:
            return _UNSAID
        recorded = outcome.recorded[len(outcome.live)]
        why = self._unproven.get(recorded.n, "")
        return why if why and self.manner.excuse_missing(recorded, outcome.request, self.dialogue) is None else ""


def _is_blemish(record: Record) -> bool:
    return record.kind == "problem" and record.side == "server"


def covered(dialogue: Dialogue, manner: ReplayAdapter) -> dict[int, str]:
    """The recorded requests that were settled by a reply to a later one, and what message that is."""
    found: dict[int, str] = {}
    waiting: dict[int, Record] = {}
    for record in dialogue.records:
        if record.kind == "frame" and record.side == "client" and manner.wants_answer(record):
            waiting[record.n] = record
        elif record.kind == "frame" and record.side == "server" and record.reply_to is not None:
            waiting.pop(record.reply_to, None)
            for settled in manner.settles(record, waiting):
                del waiting[settled]
                found[settled] = record.message
    return found
