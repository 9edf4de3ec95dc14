"""Two recordings in, outcomes out: the first is what was recorded, the second what is held against it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from wiretool.analysis.dialogues import Dialogue, Ended, Exchange, Recording, exchanges_of, in_turn
from wiretool.analysis.subjects import Subject
from wiretool.codec.message import Side, fields_of
from wiretool.records import Record
from wiretool.replay.adapter import Difference, ReplayAdapter, Verdict
from wiretool.replay.diff.aligning import align
from wiretool.replay.diff.likeness import CLIENT_ID, Eye, subjects_of
from wiretool.replay.diff.losses import Losses, neighbours
from wiretool.replay.diff.matching import Matched, match
from wiretool.replay.diff.shifting import Met, shift_positions
from wiretool.replay.judging.judge import ABSENT, judge, judge_number, note_breach, note_unfound_breach
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.connection import covered
from wiretool.replay.playing.id_map import Values

#: Messages of a connection without a counterpart that are named.
NAMED_MAX = 4
ALIVE = "a keep-alive, sent when it is due"
#: Judgements between two reports of progress.
REPORTED = 256
#: How the two recordings are called.
Names = tuple[str, str]


def compare(
    one: Recording,
    other: Recording,
    manners: Mapping[str, ReplayAdapter],
    names: Names = ("A", "B"),
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Outcome]:
    """Return what is the same and what is not, in the order of the first recording; what only the second has is last.

    `report` is given the number of frames that are judged, and of all.
    """
    return _Comparison(one, other, manners, names).outcomes(report)


class _Comparison:
    """The values are learnt in the order of the first recording, over all its connections."""

    def __init__(self, one: Recording, other: Recording, manners: Mapping[str, ReplayAdapter], names: Names) -> None:
        self._one = one
        self._other = other
        self._eyes = {name: Eye(manner) for name, manner in manners.items()}
        self._names = names
        self._values = Values()
        self._subjects, self._other_subjects = subjects_of(one, manners), subjects_of(other, manners)
        #: By the number of the record of the first recording with which it can be judged.
        self._judgements: list[tuple[int, Callable[[], None]]] = []
        self._cut = _cut(one) | _cut(other)
        #: Protocol, whether of the second -> what `untaken` is asked for.
        self._untaken: dict[tuple[str, bool], Mapping[int, str]] = {}
        #: Frames of both that belong together.
        self._met: list[Met] = []
        self._outcomes: list[Outcome] = []
        self._only_other: list[Outcome] = []
        #: The last record of each recording of which the other may have a counterpart.
        self._last_shared = self._last_other = -1

    def outcomes(self, report: Callable[[int, int], None]) -> list[Outcome]:
        """Return all of them. Asked once."""
        alone: list[Dialogue] = []
        other_alone: list[Dialogue] = []
        for name, eye in self._eyes.items():
            eye.study(self._one)
            eye.anchor(self._values)
            for record in in_turn(self._other.of(name)):
                eye.follow(record)
            matched = self._matched(name, eye)
            for one, other in matched.pairs:
                _Pair(self, eye, one, other).compare()
            alone += matched.one
            other_alone += matched.other
            self._note_matched(matched)
        self._outcomes += [self._alone(each, Verdict.MISSING) for each in alone]
        self._only_other += [self._alone(each, Verdict.EXTRA) for each in other_alone]
        shift_positions(self._values, self._met)
        for at, (_, judgement) in enumerate(sorted(self._judgements, key=lambda each: each[0])):
            if not at % REPORTED:
                report(at, len(self._judgements))
            judgement()
        return self._outcomes + self._only_other

    def _matched(self, protocol: str, eye: Eye) -> Matched:
        spoken = (each for each in self._one.of(protocol) if any(record.kind == "frame" for record in each.records))
        heard = (each for each in self._other.of(protocol) if any(record.kind == "frame" for record in each.records))
        return match(list(spoken), list(heard), self.subject, self.other_subject, eye.own)

    def _note_matched(self, matched: Matched) -> None:
        """Remember up to which record each recording has conversations of the other."""
        for one, other in matched.pairs:
            shared = min(len(one.records), len(other.records))
            self._last_shared = max([self._last_shared, *(each.n for each in one.records[:shared])])
            self._last_other = max([self._last_other, *(each.n for each in other.records[:shared])])

    def subject(self, record: Record) -> tuple[Subject, ...]:
        """What a frame of the first recording is about."""
        return self._subjects.get(record.n, ())

    def other_subject(self, record: Record) -> tuple[Subject, ...]:
        """What a frame of the second recording is about."""
        return self._other_subjects.get(record.n, ())

    def _alone(self, alone: Dialogue, verdict: Verdict) -> Outcome:
        """A conversation that the other recording does not have."""
        counts = Counter(each.request.message for each in exchanges_of(alone.records))
        said = ", ".join(f"{message} {count:,}" for message, count in counts.most_common(NAMED_MAX))
        more = ", ..." if len(counts) > NAMED_MAX else ""
        where, lacking = self._names if verdict is Verdict.MISSING else self._names[::-1]
        many = _exchanges_in(alone, self._eyes[alone.protocol])
        outcome = Outcome(alone, None, many=many, is_connection=True, is_live_only=verdict is Verdict.EXTRA)
        own, others = (self._one, self._other) if verdict is Verdict.MISSING else (self._other, self._one)
        why_apart = self._why_apart(alone, own, others)
        if why_apart:
            outcome.note(Verdict.EXPLAINED, f"only in {where}: {why_apart}")
            return outcome
        last = self._last_shared if own is self._one else self._last_other
        if others.is_cut and alone.records[0].n > last:
            verdict = Verdict.UNKNOWN
        outcome.note(verdict, f"only in {where}; no conversation of {lacking} is like it: {said or 'replies'}{more}")
        return outcome

    def _why_apart(self, dialogue: Dialogue, own: Recording, others: Recording) -> str:
        """Why no client has a conversation; empty where one has, or the other recording shows such as well."""
        eye = self._eyes[dialogue.protocol]
        return "" if eye.apart(others) else eye.apart(own).get(dialogue, "")

    # -- for the pairs -------------------------------------------------------------------------------------------------

    def add(self, outcome: Outcome, *, is_other: bool = False) -> None:
        """An outcome; of something that only the second recording has if `is_other`."""
        (self._only_other if is_other else self._outcomes).append(outcome)

    def losses(self, dialogue: Dialogue, *, is_other: bool) -> Losses:
        """Return what of a conversation was not captured."""
        return Losses(dialogue, name=self._names[is_other], is_cut=dialogue in self._cut)

    def untaken(self, eye: Eye, *, is_other: bool) -> Mapping[int, str]:
        """Requests of a recording that its server never took, and why."""
        key = eye.protocol.name, is_other
        if key not in self._untaken:
            self._untaken[key] = eye.untaken(self._other if is_other else self._one)
        return self._untaken[key]

    def meet(self, met: Met) -> None:
        """Two frames belong together."""
        self._met.append(met)

    def judge_at(self, n: int, judgement: Callable[[], None]) -> None:
        """Judge when what came before that record of the first recording is judged."""
        self._judgements.append((n, judgement))

    @property
    def values(self) -> Values:
        """What the ids of the first recording are in the second."""
        return self._values

    @property
    def names(self) -> Names:
        """How the recordings are called."""
        return self._names


class _Pair:
    """Two conversations that are one."""

    def __init__(self, whole: _Comparison, eye: Eye, one: Dialogue, other: Dialogue) -> None:
        self._whole = whole
        self._eye = eye
        self._one = one
        self._other = other
        self._covered, self._other_covered = covered(one, eye), covered(other, eye)
        self._losses, self._other_losses = whole.losses(one, is_other=False), whole.losses(other, is_other=True)
        sides: tuple[Side, ...] = ("client", "server")
        #: Why what is alike proves nothing: one of the recordings has one direction only.
        self._one_sided = [
            why for each in (self._losses, self._other_losses) for side in sides if (why := each.whole_side(side))
        ]

    def compare(self) -> None:
        """Plan all that is to be judged."""
        self._compare_exchanges()
        self._compare_pushed()
        self._compare_problems()

    # -- what was asked ------------------------------------------------------------------------------------------------

    def _compare_exchanges(self) -> None:
        ones, others = self._exchanges(self._one), self._exchanges(self._other)
        pairs = self._aligned([each.request for each in ones], [each.request for each in others])
        for at, other_at in pairs:
            self._plan(ones[at], others[other_at])
        for at, before, after in neighbours(pairs, len(ones), [each.request for each in others]):
            loss = self._other_losses.between("client", before, after)
            self._lack(ones[at].request, ones[at].replies, loss=loss)
        for at, before, after in neighbours(_turned(pairs), len(others), [each.request for each in ones]):
            loss = self._losses.between("client", before, after)
            self._exceed(others[at].request, others[at].replies, loss=loss)

    def _exchanges(self, dialogue: Dialogue) -> list[Exchange]:
        return [each for each in exchanges_of(dialogue.records) if not self._eye.dialect.is_carriage(each.request)]

    def _aligned(self, ones: Sequence[Record], others: Sequence[Record]) -> list[tuple[int, int]]:
        def alike(record: Record) -> tuple[str, tuple[Subject, ...]]:
            return record.message, subjects.get(id(record), ())

        subjects = {id(record): self._whole.subject(record) for record in ones}
        subjects |= {id(record): self._whole.other_subject(record) for record in others}
        return align(ones, others, [lambda record: record.raw, self._eye.own, alike], lambda record: record.message)

    def _plan(self, exchange: Exchange, counterpart: Exchange) -> None:
        request = exchange.request
        outcome = Outcome(
            self._one,
            request,
            self._meant(exchange.replies),
            was_covered=request.n in self._covered,
            is_covered=self._is_covered(exchange, counterpart),
        )
        self._add_both(outcome)
        self._eye.pair(request, counterpart.request)
        self._whole.judge_at(request.n, partial(self._judge_request, outcome, counterpart.request))
        self._whole.meet(Met(self._eye, request, counterpart.request))
        self._plan_replies(outcome, self._meant(counterpart.replies), counterpart.request)

    def _add_both(self, outcome: Outcome) -> None:
        """Add what both recordings have: it is not judged where one of them has one direction only."""
        for why in self._one_sided:
            outcome.note(Verdict.UNKNOWN, why)
        self._whole.add(outcome)

    def _is_covered(self, exchange: Exchange, counterpart: Exchange) -> bool:
        """Whether a later reply to the counterpart says what the replies to this one do."""
        message = self._other_covered.get(counterpart.request.n)
        return message is not None and all(reply.message == message for reply in exchange.replies)

    def _meant(self, replies: Sequence[Record]) -> list[Record]:
        return [reply for reply in replies if not self._eye.dialect.is_carriage(reply)]

    def _judge_request(self, outcome: Outcome, live: Record) -> None:
        """The ids of a request are what it says they are; all else must be the same."""
        assert outcome.request is not None
        recorded = outcome.request
        if recorded.message == live.message and self._eye.has_ids(recorded):
            told = {place.steps: place.value for place in self._eye.ids(live, self._eye.form(live))}
            for place in self._eye.ids(recorded, self._eye.form(recorded)):
                if place.steps in told:
                    self._whole.values.bind(CLIENT_ID.kind, place.within, place.value, told[place.steps])
        if recorded.message == live.message:
            self._eye.bind_names(self._whole.values, recorded, live)
        judge(self._eye, self._whole.values, outcome, recorded, live, -1)

    # -- what was answered ---------------------------------------------------------------------------------------------

    def _plan_replies(self, outcome: Outcome, replies: Sequence[Record], asked: Record | None = None) -> None:
        last = outcome.request.n if outcome.request else -1
        for recorded, live in zip(outcome.recorded, replies, strict=False):
            last = max(last, recorded.n)
            self._whole.meet(Met(self._eye, recorded, live, outcome.request))
            self._whole.judge_at(last, partial(self._judge_reply, outcome, recorded, live))
        if len(replies) != len(outcome.recorded):
            self._whole.judge_at(last, partial(self._judge_number, outcome, replies, asked))

    def _judge_reply(self, outcome: Outcome, recorded: Record, live: Record) -> None:
        outcome.live.append(live)
        judge(self._eye, self._whole.values, outcome, recorded, live, len(outcome.live) - 1)
        if outcome.request is None:
            note_breach(self._eye, outcome, live, recorded)
        else:
            note_unfound_breach(self._eye, outcome, live, recorded)

    def _judge_number(self, outcome: Outcome, replies: Sequence[Record], asked: Record | None) -> None:
        """Judge that one side has more replies; `asked` is the request of the second recording."""
        is_short = len(replies) < len(outcome.recorded)
        outcome.live.extend(replies[len(outcome.live) :])
        request = asked if is_short else outcome.request
        lacking = (outcome.recorded if is_short else replies)[min(len(replies), len(outcome.recorded))].message
        why = "" if request is None else (self._other_losses if is_short else self._losses).after(request, lacking)
        if why:
            outcome.note(Verdict.UNKNOWN, why)
        else:
            judge_number(self._eye, outcome)

    def _loss(self, side: Side, *, is_other: bool) -> str:
        """Return why a recording may lack what a side sent, wherever; empty if it has all."""
        losses = self._other_losses if is_other else self._losses
        if losses.has_any:
            return f"bytes of this conversation are missing in {self._whole.names[is_other]}"
        return losses.whole_side(side)

    # -- what only one has ---------------------------------------------------------------------------------------------

    def _lack(self, record: Record, replies: Sequence[Record] = (), *, loss: str) -> None:
        """Add what only the first recording has; `loss` says why the second may lack it."""
        is_request = record.side == "client"
        outcome = Outcome(self._one, record if is_request else None, replies if is_request else [record])
        self._note_alone(outcome, record, Verdict.MISSING, loss)
        self._whole.add(outcome)

    def _exceed(self, record: Record, replies: Sequence[Record] = (), *, loss: str) -> None:
        """Add what only the second recording has; `loss` says why the first may lack it."""
        is_request = record.side == "client"
        live = list(replies) if is_request else [record]
        asked = record if is_request else None
        outcome = Outcome(self._other, asked, live=live, counterpart=self._one, is_live_only=True)
        self._note_alone(outcome, record, Verdict.EXTRA, loss)
        self._whole.add(outcome, is_other=True)

    def _note_alone(self, outcome: Outcome, record: Record, verdict: Verdict, loss: str) -> None:
        is_missing = verdict is Verdict.MISSING
        at = -1 if outcome.request is not None else 0
        texts = (record.message, ABSENT) if is_missing else (ABSENT, record.message)
        if not loss and record.side == "server":  # it may be the reply to what is missing
            loss = (self._losses if is_missing else self._other_losses).of_request()
        if not loss and record.side == "client" and not outcome.recorded and not outcome.live:
            loss = self._whole.untaken(self._eye, is_other=not is_missing).get(record.n, "")
        if loss:
            outcome.note(Verdict.UNKNOWN, loss)
        elif self._says_nothing(record):
            outcome.account(Verdict.EXPLAINED, ALIVE, Difference((), *texts, at))
        else:
            why = f"only in {self._whole.names[not is_missing]}"
            outcome.note(verdict, why, [Difference((), *texts, at)])
        if outcome.request is None and not is_missing:
            note_breach(self._eye, outcome, record)

    def _says_nothing(self, record: Record) -> bool:
        """Whether it is but a sign of life."""
        if record.side == "server":
            return not self._eye.is_expected(record)
        cls = self._eye.dialect.declared.get((record.side, record.message))
        return cls is not None and not fields_of(cls)

    # -- what nobody asked for, and what is broken ---------------------------------------------------------------------

    def _compare_pushed(self) -> None:
        ones, others = list(self._pushed(self._one)), list(self._pushed(self._other))
        pairs = self._aligned(ones, others)
        for at, other_at in pairs:
            outcome = Outcome(self._one, None, [ones[at]])
            self._add_both(outcome)
            self._plan_replies(outcome, [others[other_at]])
        for at, before, after in neighbours(pairs, len(ones), others):
            self._lack(ones[at], loss=self._other_losses.between("server", before, after))
        for at, before, after in neighbours(_turned(pairs), len(others), ones):
            self._exceed(others[at], loss=self._losses.between("server", before, after))

    def _pushed(self, of: Dialogue) -> Iterator[Record]:
        asked = {record.n for record in of.records if record.kind == "frame" and record.side == "client"}
        for record in of.records:
            is_own = record.kind == "frame" and record.side == "server" and record.reply_to not in asked
            if is_own and not self._eye.dialect.is_carriage(record):
                yield record

    def _compare_problems(self) -> None:
        ones, others = _problems(self._one), _problems(self._other)
        for side, error, why in sorted({*ones, *others}):
            recorded, live = ones.get((side, error, why), []), others.get((side, error, why), [])
            if len(recorded) != len(live):
                outcome = Outcome(self._one, None, recorded, live)
                told = _count_of_problem(f"{error} of the {side}: {why}", len(recorded), len(live), self._whole.names)
                is_other = len(live) > len(recorded)
                loss = self._loss("server", is_other=is_other) or self._loss(side, is_other=not is_other)
                outcome.note(Verdict.UNKNOWN if loss else Verdict.DIFFERENT, f"{told}; {loss}" if loss else told)
                self._whole.add(outcome)


def _exchanges_in(of: Dialogue, eye: Eye) -> int:
    """Return the number of exchanges of a connection, and of messages that its server sent unasked."""
    frames = [each for each in of.records if each.kind == "frame" and not eye.dialect.is_carriage(each)]
    asked = {each.n for each in frames if each.side == "client"}
    return len(asked) + sum(each.side == "server" and each.reply_to not in asked for each in frames)


def _count_of_problem(problem: str, recorded: int, live: int, names: Names) -> str:
    """Return which recording has a problem, or how often each has it; the problem is of what a side sent."""
    if recorded and live:
        return f"{names[0]} and {names[1]} have this problem {recorded:,} and {live:,} times: {problem}"
    only, count, other = (names[0], recorded, names[1]) if recorded else (names[1], live, names[0])
    times = "" if count == 1 else f" ({count:,} times)"
    return f"only {only} has this problem{times}, {other} does not: {problem}"


def _turned(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(other_at, at) for at, other_at in pairs]


def _cut(recording: Recording) -> set[Dialogue]:
    """The conversations that had not ended where a recording breaks off."""
    if not recording.is_cut:
        return set()
    ended = {event.dialogue for event in recording.events if isinstance(event, Ended)}
    return {dialogue for dialogue in recording.dialogues if dialogue not in ended}


def _problems(dialogue: Dialogue) -> dict[tuple[Side, str, str], list[Record]]:
    found: dict[tuple[Side, str, str], list[Record]] = {}
    for each in dialogue.records:
        if each.kind == "problem":
            found.setdefault((each.side, each.error, each.why), []).append(each)
    return found
