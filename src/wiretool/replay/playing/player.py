"""Plays a script: sends the requests of a client once all replies have come that it had received by then.

It knows no socket and no clock. Whoever runs it tells it what happened and when, and carries out the acts that it
gives back, in their order.
"""

import itertools
from collections.abc import Iterator, Mapping
from math import inf

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.errors import EncodeError
from wiretool.net.calling.caller import Abort, Act, Caller, Dial, Finish, Send
from wiretool.replay.adapter import ReplayAdapter, Talk
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.connection import Line
from wiretool.replay.playing.connections import Lines
from wiretool.replay.playing.deferred import Later
from wiretool.replay.playing.id_map import Values
from wiretool.replay.playing.patience import SHORTENED, TIMEOUTS_MAX
from wiretool.replay.playing.waits import Waits
from wiretool.replay.script import NOT_ASKED, PAUSE_MAX_NS, Await, Hear, Leave, Open, Part, Say, Script, Step

#: How much longer than recorded a reply may take.
PATIENCE_NS = 5_000_000_000
#: How long is listened for more than was recorded, once all is sent.
LINGER_NS = 200_000_000
STOPPED_EARLY = f"the replay stopped: its waits for replies that did not come took {TIMEOUTS_MAX} times --timeout"


class Player(Caller):
    """One replay of a script; `speed` is how many times as fast as recorded, infinite for as fast as it goes."""

    def __init__(
        self,
        script: Script,
        manners: Mapping[str, ReplayAdapter],
        *,
        speed: float = inf,
        seed: int = 0,
        patience_ns: int = PATIENCE_NS,
        prepare: Recording | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """The server is first prepared for the recording that is given as `prepare`, if any.

        Connections have the next of `numbers`, which several players may share.
        """
        self._steps = script.steps
        self._unfinished = script.unfinished
        self._manners = manners
        is_timed = any(manners[dialogue.protocol].is_timed() for dialogue in script.dialogues)
        self._speed = min(speed, 1.0) if is_timed else speed
        self._waits = Waits(patience_ns)
        self._prepare = prepare
        self.values = Values()
        self._later = Later()
        self._acts: list[Act] = []
        numbers = numbers or itertools.count(1)
        self._lines = Lines(manners, self.values, self._later, seed=seed, numbers=numbers, out=self._send)
        #: Connections with messages of our own, and these.
        self._talks: list[tuple[int, Talk]] = []
        self._is_asked = False
        #: Protocol -> the connection for messages of our own to its server.
        self._aside: dict[str, int] = {}
        self._at = 0
        #: Connections that the recorded server had ended by now.
        self._parted: set[Dialogue] = set()
        #: Until which step others have done what they did meanwhile.
        self._met = -1
        #: When the first step could be done: the server was prepared by then.
        self._start_ns = 0
        self._is_stopped = False
        #: Remarks on the run as a whole, and whether the server could be prepared.
        self.remarks: list[str] = []
        self.is_prepared = True
        if script.skipped_ns and self._speed < inf:
            self.remarks.append(_why_faster(script.skipped_ns))
        for connection, record, why in script.left_out:
            if record is not None and why == NOT_ASKED:
                self._lines.unsaid_from.setdefault(connection, record.n)

    @property
    def has_begun(self) -> bool:
        """Return whether anything was sent, or at least a connection attempted."""
        return bool(self._lines.by_number)

    @property
    def progress(self) -> tuple[int, int]:
        return self._at, len(self._steps)

    # -- what happens --------------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[Act]:
        """Begin, by preparing the server if that is asked for."""
        for name, manner in self._manners.items():
            manner.anchor(self.values)
            if self._prepare is not None and self._prepare.of(name):
                for server, talk in manner.preparations(self._prepare, self.values):
                    number = self._dial(Dialogue(-1, "", server, name), now_ns)
                    self._aside.setdefault(name, number)
                    self._talks.append((number, talk))
        return self._go_on(now_ns)

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        """The server has accepted."""
        self._lines.by_number[connection].is_open = True
        return self._go_on(now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        """The server has sent bytes."""
        if self.is_over or self._is_stopped:  # bytes that a server sends after our own end answer nothing
            return []
        line = self._lines.by_number[connection]
        if not line.is_cut:
            line.feed(data, now_ns)
            if line.foreign:
                self._remark(line, f"the server uses {line.foreign}")
            if line.is_cut:
                self._cut(connection, line)
            for number in self._lines.cut_excess(connection):
                self._cut(number, self._lines.by_number[number])
        return self._go_on(now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        """The server has sent its last byte."""
        if self.is_over or self._is_stopped:
            return []
        self._lines.by_number[connection].part("the server closed the connection")
        return self._go_on(now_ns)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        """The connection is gone, or never came to be."""
        if self.is_over or self._is_stopped:
            return []
        line = self._lines.by_number[connection]
        if why and not line.is_open:
            self._remark(line, why)
        line.part(why or "the server closed the connection")
        return self._go_on(now_ns)

    def woken(self, now_ns: int) -> list[Act]:
        """It is `wake_ns` or later."""
        return self._go_on(now_ns)

    def stop(self) -> None:
        """What has not come by now is not missed."""
        self._is_stopped = True
        for line in self._lines.by_number.values():
            line.is_stopped = True

    def rest(self) -> None:
        self._later.go_on()

    # -- one step after the other --------------------------------------------------------------------------------------

    def _go_on(self, now_ns: int) -> list[Act]:
        self._waits.wake_ns = None
        while self._talks or self._at < len(self._steps):
            is_done = self._talk(now_ns) if self._talks else self._step(now_ns)
            if not is_done:
                return self._take()
            self._waits.since_ns = None
        if not self.is_over:
            self._linger(now_ns)
        return self._take()

    def _step(self, now_ns: int) -> bool:
        """Return whether the current step is done, or has to wait until others have sent an earlier one."""
        if self._waits.begin(now_ns) and not self._at:
            self._start_ns = now_ns
        if self._waits.patience.is_spent:
            self._abandon(now_ns)
            return True
        step = self._steps[self._at]
        if not self._is_due(step, now_ns):
            return False
        if self._met < self._at:
            self._met = self._at
            self._meet(step)
            if self._talks:
                return True
        if not self._do(step, now_ns):
            return False
        self._at += 1
        if self._unfinished and isinstance(step, Hear) and step.record.n in self._unfinished:
            self._finish(step, now_ns)
        return True

    def _finish(self, step: Hear, now_ns: int) -> None:
        """Let the server come to the end of what it has answered by now; who asks for that is none of the clients."""
        if self._waits.patience.is_spent:
            return
        self._later.catch_up()
        name = step.dialogue.protocol
        talk = self._manners[name].finish(self._unfinished[step.record.n], step.record, self.values)
        if name not in self._aside or self._lines.by_number[self._aside[name]].is_over:
            self._aside[name] = self._dial(Dialogue(-1, "", step.dialogue.server, name), now_ns)
        self._talks.append((self._aside[name], talk))

    def _meet(self, step: Step) -> None:
        """Do what others did to the server before the step, if it was prepared at all."""
        number = self._aside.get(step.dialogue.protocol)
        if self._prepare is not None and number is not None and isinstance(step, Say | Hear):
            talk = self._manners[step.dialogue.protocol].meanwhile(step.record, self.values)
            if talk is not None:
                self._later.catch_up()
                self._talks.append((number, talk))

    def _take(self) -> list[Act]:
        self.wake_ns = self._waits.wake_ns
        acts, self._acts = self._acts, []
        return acts

    def _is_due(self, step: Step, now_ns: int) -> bool:
        """Whether the client would do it by now."""
        if self._speed == inf or isinstance(step, Hear | Await | Part):
            return True
        due_ns = self._start_ns + round((step.time_ns - self._steps[0].time_ns) / self._speed)
        return self._waits.until(due_ns, now_ns)

    def _is_given_up(self, line: Line, now_ns: int) -> bool:
        """Return whether the step at hand has been waited for long enough."""
        step = self._steps[self._at]
        recorded_ns = max(step.time_ns - self._steps[self._at - 1].time_ns, 0) if self._at else 0
        is_owed = isinstance(step, Hear) and line.is_owed(step.record)
        is_optional = isinstance(step, Hear | Part) and not is_owed
        found = self._waits.is_given_up(line.vain_waits, recorded_ns, now_ns, is_owed=is_owed, is_optional=is_optional)
        if found and self._waits.why_short:
            self._remark_short()
        return found

    def _remark_short(self) -> None:
        """Remark, once, from where on waits were shorter."""
        if not any(remark.startswith(SHORTENED) for remark in self.remarks):
            at = f"step {self._at:,} of {len(self._steps):,}"
            self.remarks.append(f"{SHORTENED} (from {at} on; a shorter --timeout shortens fewer waits)")

    def _do(self, step: Step, now_ns: int) -> bool:
        """Whether the step is done, or need not be waited for any longer."""
        if isinstance(step, Open):
            return self._open(step, now_ns)
        line = self._lines.of(step.dialogue)
        if isinstance(step, Say):
            if line.is_over:
                line.cannot_say(step.record)
                return True
            if line.must_wait(step.record):
                if not self._is_given_up(line, now_ns):
                    return False
                line.vain_waits += 1
            line.say(step.record, now_ns)
            return True
        if isinstance(step, Leave):
            self._leave(step, line)
            return True
        if isinstance(step, Await):
            return line.is_settled(step.record) or self._waits.has_waited(step.span_ns, now_ns)
        if isinstance(step, Part):
            if not line.is_parted and not self._is_given_up(line, now_ns):
                return False
            self._parted.add(step.dialogue)
            if not line.is_parted:
                line.judge_end(was_ended=True, why_unknown=self._waits.why_short)
            return True
        if line.is_settled(step.record):
            return True
        if not self._is_given_up(line, now_ns):
            return False
        line.give_up(step.record, self._waits.why_short)
        return True

    def _open(self, step: Open, now_ns: int) -> bool:
        number = self._lines.number_of.get(step.dialogue)
        if number is None:
            number = self._dial(step.dialogue, now_ns)
        line = self._lines.by_number[number]
        if not line.is_open and not line.is_over:
            if not self._is_given_up(line, now_ns):
                return False
            line.part("no connection in time")
        if line.is_open and line.manner.is_greeted(step.dialogue):
            self._talks.append((number, line.manner.greeting(step.dialogue)))
        return True

    def _leave(self, step: Leave, line: Line) -> None:
        number = self._lines.number_of[step.dialogue]
        if line.is_parted and step.dialogue not in self._parted:
            line.judge_end(was_ended=False)
        line.is_left = True
        self._acts.append(Abort(number) if step.how == "rst" else Finish(number))

    def _dial(self, recorded: Dialogue, now_ns: int) -> int:
        number = self._lines.add(recorded, now_ns)
        adapter = self._lines.by_number[number].manner
        self._acts.append(Dial(number, adapter.protocol.name, adapter.door(recorded), is_aside=recorded.number < 0))
        return number

    def _send(self, connection: int, data: bytes) -> None:
        self._acts.append(Send(connection, data))

    # -- in words of our own -------------------------------------------------------------------------------------------

    def _talk(self, now_ns: int) -> bool:
        """Whether the talk at hand has gone on, or come to its end; it waits for a reply where it has not."""
        number, talk = self._talks[0]
        line = self._lines.by_number[number]
        self._waits.begin(now_ns)
        if not line.is_over and (not line.is_open or line.is_talking):
            wait_ns = self._waits.patience.wait_ns(line.vain_waits)
            if not self._waits.has_waited(wait_ns, now_ns):
                return False
            self._waits.patience.spend(wait_ns)
            self._remark_unprepared(
                line, f"the server sends no reply to {'some of' if line.heard else 'any of'} the preparing requests"
            )
            line.fall_silent()
        is_cut_short = line.is_over and self._is_asked and line.lacks_replies
        try:
            messages = talk.send(line.heard) if self._is_asked else next(talk)
        except StopIteration:
            self._end_talk(line if is_cut_short else None)
            return True
        if line.is_over:
            talk.close()
            self._end_talk(line)
            return True
        self._is_asked = True
        try:
            line.talk(messages, now_ns)
        except EncodeError as err:
            self._remark_unprepared(line, f"a preparing request cannot be sent: {err}")
        return True

    def _end_talk(self, cut_short: Line | None) -> None:
        """Leave the talk at hand; `cut_short` is its connection where that ended too early."""
        self._talks.pop(0)
        self._is_asked = False
        if cut_short is not None:
            self._remark_unprepared(cut_short, f"the preparation is not complete: {cut_short.why_over}")

    def _remark_unprepared(self, line: Line, text: str) -> None:
        """Remark why the server is not in the recorded state, without which its replies prove little."""
        self.is_prepared = False
        self._remark(line, text)

    def _cut(self, connection: int, line: Line) -> None:
        self._acts.append(Abort(connection))
        if line.dialogue.number < 0:  # nothing else tells of it
            self._remark_unprepared(line, line.why_over)

    def _remark(self, line: Line, text: str) -> None:
        remark = f"{line.manner.protocol.name}: {text}"
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _abandon(self, now_ns: int) -> None:
        """Send nothing more, and wait for nothing: the rest of the script proves nothing about the server."""
        rest = self._steps[self._at :]
        skipped = {step.record.n for step in rest if isinstance(step, Say | Hear)}
        at = f"step {self._at:,} of {len(self._steps):,}"
        self.remarks.append(f"{STOPPED_EARLY} (at {at}; a shorter --timeout replays more)")
        for step in rest:
            if isinstance(step, Open) and step.dialogue not in self._lines.number_of:  # never connected
                number = self._lines.add(step.dialogue, now_ns)
                self._lines.by_number[number].is_left = True
            line = self._lines.of(step.dialogue)
            line.abandon(STOPPED_EARLY, skipped)
            if isinstance(step, Say):
                line.skip(step.record)
            elif isinstance(step, Part):
                self._parted.add(step.dialogue)
        self._at = len(self._steps)

    # -- the end -------------------------------------------------------------------------------------------------------

    def _linger(self, now_ns: int) -> None:
        """Listen for excess messages after the last step, then finish.

        Without recorded replies no step waits for the live ones: their requests have all of the patience here.
        """
        self._waits.begin(now_ns)
        has_unanswered = any(line.has_unheard_requests for line in self._lines.by_number.values())
        span_ns = max(self._waits.patience.timeout_ns, LINGER_NS) if has_unanswered else LINGER_NS
        if not self._waits.has_waited(span_ns, now_ns):
            return
        self.is_over = True
        for number, line in self._lines.by_number.items():
            if line.is_parted and not line.is_left and line.dialogue not in self._parted and line.dialogue.number >= 0:
                line.judge_end(was_ended=False)
            if not line.is_parted and not line.is_left:
                self._acts.append(Finish(number))

    def outcomes(self) -> list[Outcome]:
        """What became of everything. Asked once, when it is over."""
        self._later.catch_up()
        return [
            outcome
            for line in self._lines.by_number.values()
            if line.dialogue.number >= 0
            for outcome in line.outcomes()
        ]


def _why_faster(skipped_ns: int) -> str:
    return (
        f"pauses without an open connection were shortened to {PAUSE_MAX_NS / 1e9:g} s each,"
        f" {skipped_ns / 1e9:,.1f} s in all"
    )
