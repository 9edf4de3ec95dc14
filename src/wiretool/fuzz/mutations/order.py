"""Mutations of the order of steps: messages dropped, doubled, swapped, cut, and on other connections."""

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wiretool.fuzz.mutations.base import Mutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Connect, Finish, FuzzSequence, Reset, Sending, Step

#: Messages longer than this are not sent byte by byte.
BYTEWISE_MAX = 96
#: Messages that are doubled at most, and how often.
DOUBLED_MAX = 8
#: How often a message of a call is sent again on the same stream; otherwise the call is, on the next one.
SAME_STREAM_SHARE = 0.3


class _OrderMutation(Mutation):
    """A mutation that reorders steps."""

    def places(self, sequence: FuzzSequence) -> list[int]:
        """Return the indices of messages."""
        return [at for at, step in enumerate(sequence.steps) if isinstance(step, Sending)]

    def done(self, sequence: FuzzSequence, steps: list[Step], at: int) -> FuzzSequence | None:
        """Return the sequence with other steps, marked with the message at the place of the change; None if equal."""
        if tuple(steps) == sequence.steps:
            return None
        return sequence.with_steps(tuple(steps), Change(self.name, _name_at(sequence, at)))


class _AtMessage(_OrderMutation):
    """A mutation at one of the messages that `places` returns."""

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        places = self.places(sequence)
        if not places:
            return None
        at = rng.choice(places)
        message = sequence.steps[at]
        assert isinstance(message, Sending)
        return self.done(sequence, self.reorder(sequence, at, message, rng), at)

    @abstractmethod
    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        """Return the steps of the sequence after the mutation; `at` is the index of the message."""


class Drop(_AtMessage):
    name = "order/drop"
    description = "a message is not sent"

    def places(self, sequence: FuzzSequence) -> list[int]:
        """Return the indices of messages; none for the only one."""
        places = super().places(sequence)
        return places if len(places) > 1 else []

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        return [*sequence.steps[:at], *sequence.steps[at + 1 :]]


class Double(_AtMessage):
    name = "order/double"
    description = "a message is sent again, up to eight times"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        if context.streams is None or rng.random() < SAME_STREAM_SHARE:
            return super().apply(sequence, rng, context)
        places = self.places(sequence)
        if not places:
            return None
        at = rng.choice(places)
        times = rng.choice((1, 1, 1, 2, DOUBLED_MAX - 1))
        head, rest = sequence.steps[: at + 1], sequence.steps[at + 1 :]
        again = [context.streams.call_up_to(sequence.steps, at)] * times
        connection = head[-1].connection
        return self.done(sequence, context.streams.inserted(head, again, rest, connection, context.protocol), at)

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        times = rng.choice((1, 1, 1, 2, DOUBLED_MAX - 1))
        again = replace(message, waits=rng.random() < 0.5)
        where = rng.choice((at + 1, len(sequence.steps)))
        return [*sequence.steps[:where], *[again] * times, *sequence.steps[where:]]


class Swap(_OrderMutation):
    name = "order/swap"
    description = "two messages are sent in the other order"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        places = self.places(sequence)
        if len(places) < 2:
            return None
        first = rng.randrange(len(places) - 1)
        one, two = places[first], places[rng.randrange(first + 1, len(places))]
        steps = list(sequence.steps)
        steps[one], steps[two] = steps[two], steps[one]
        return self.done(sequence, steps, one)


class Pipeline(_OrderMutation):
    name = "order/pipeline"
    description = "all messages are sent at once, without waiting for replies"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        places = self.places(sequence)
        if len(places) < 2:
            return None
        steps = [replace(step, waits=False) if isinstance(step, Sending) else step for step in sequence.steps]
        return self.done(sequence, steps, places[0])


class SpliceSessions(_OrderMutation):
    name = "order/splice"
    description = "the session goes on as another one"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        others = context.others(sequence.setup)
        places = self.places(sequence)
        if not others or not places:
            return None
        at = rng.choice((*places, len(sequence.steps)))
        tail = relabelled(rng.choice(others), sequence, is_same=rng.random() < 0.7)
        begin = _call_begin(tail, rng.randrange(len(tail)), context) if tail else 0
        opening = [step for step in tail[:begin] if isinstance(step, Connect)]
        head, rest = [*sequence.steps[:at], *opening], tail[begin:]
        if context.streams is not None:
            connection = first_connection(sequence)
            rest = context.streams.appended(head, rest, connection, context.protocol)
        return self.done(sequence, [*head, *rest], at)


class SameObjects(_OrderMutation):
    name = "order/same-objects"
    description = "messages of another session come in between, on the objects of this one"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        others = context.others(sequence.setup)
        places = self.places(sequence)
        if not others or not places:
            return None
        other = rng.choice(others)
        begins = self.places(other)
        if not begins:
            return None
        at, begin = rng.choice(places), rng.choice(begins)
        to = sequence.steps[at].connection
        count = rng.choice((1, 1, 2, 4, len(other.steps)))
        run = context.renamer.onto(other.steps, sequence.steps)[
            _call_begin(other.steps, begin, context) : begin + count
        ]
        moved = [on(step, step.connection, to) for step in run if isinstance(step, Sending)]
        head, rest = sequence.steps[: at + 1], sequence.steps[at + 1 :]
        if context.streams is not None:
            return self.done(sequence, context.streams.inserted(head, [moved], rest, to, context.protocol), at)
        return self.done(sequence, [*head, *moved, *rest], at)


class Reconnect(_AtMessage):
    name = "order/reconnect"
    description = "the connection ends, also inside a message, and the client begins again on a new one"

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        cut = rng.randrange(len(message.data)) if rng.random() < 0.3 and message.data else 0
        last = _part(message, 0, cut) if cut else message
        again = relabelled(sequence, sequence, is_same=False)
        return [*sequence.steps[:at], last, _end_of(message, rng), *again]


class OtherSetup(Mutation):
    name = "order/other-setup"
    description = "the session runs on a server that was set up for another one"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        needed = {step.endpoint for step in sequence.steps if isinstance(step, Connect) and step.endpoint}
        others = [name for name, known in context.setups.items() if name != sequence.setup and needed.issubset(known)]
        if not others or sequence.setup not in context.setups:
            return None
        setup = "" if "" in others and rng.random() < 0.7 else rng.choice(others)
        return replace(sequence.with_steps(sequence.steps, Change(self.name, setup or "usual")), setup=setup)


class StopInFrame(_AtMessage):
    name = "order/stop-in-frame"
    description = "the client ends or resets the connection inside a message, or between two"

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        cut = rng.randrange(len(message.data) + 1) if message.data else 0
        part = [_part(message, 0, cut)] if cut else []
        return [*sequence.steps[:at], *part, _end_of(message, rng), *_of_others(sequence, at)]


class NewConnection(_AtMessage):
    name = "order/new-connection"
    description = "the rest of the session goes over a new connection; the old one is left open, ended or reset"

    def places(self, sequence: FuzzSequence) -> list[int]:
        """Return the indices of all messages but the first."""
        return super().places(sequence)[1:]

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        label = new_label(sequence)
        endpoint = endpoint_of(sequence, message.connection)
        opening = [each for each in sequence.steps[:at] if isinstance(each, Sending)][:1] if rng.random() < 0.7 else []
        moved = [on(each, message.connection, label) for each in (*opening, *sequence.steps[at:])]
        end = [_end_of(message, rng)] if rng.random() < 0.6 else []
        return [*sequence.steps[:at], *end, Connect(label, endpoint), *moved]


class Interleave(_OrderMutation):
    name = "order/interleave"
    description = "two sessions run at the same time, their messages interleaved, also on the same objects"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        others = context.others(sequence.setup)
        places = self.places(sequence)
        if not others or not places:
            return None
        other = sequence if rng.random() < 0.6 else rng.choice(others)
        if rng.random() < 0.5:
            other = replace(other, steps=tuple(context.renamer.onto(other.steps, sequence.steps)))
        left, right = list(sequence.steps), relabelled(other, sequence, is_same=False)
        mixed: list[Step] = []
        while left or right:
            source = left if left and (not right or rng.random() < 0.5) else right
            mixed.append(source.pop(0))
        return self.done(sequence, mixed, places[0])


class StayOpen(_OrderMutation):
    name = "order/stay-open"
    description = "the client ends none of its connections, while others go on"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        places = self.places(sequence)
        if not places or sequence.stays_open:
            return None
        at = rng.choice(places)
        steps = sequence.steps[: at + 1]
        return replace(sequence.with_steps(steps, Change(self.name, _name_at(sequence, at))), stays_open=True)


class ByteByByte(_AtMessage):
    name = "order/byte-by-byte"
    description = "a message arrives one byte at a time"

    def places(self, sequence: FuzzSequence) -> list[int]:
        """Return the indices of short messages."""
        return [at for at in super().places(sequence) if 1 < _size(sequence.steps[at]) <= BYTEWISE_MAX]

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        parts = [_part(message, i, i + 1) for i in range(len(message.data))]
        return [*sequence.steps[:at], *parts, *sequence.steps[at + 1 :]]


class HalfClose(_AtMessage):
    name = "order/half-close"
    description = "the client ends its direction while replies are still due"

    def reorder(self, sequence: FuzzSequence, at: int, message: Sending, rng: random.Random) -> list[Step]:
        last = replace(message, waits=False)
        return [*sequence.steps[:at], last, Finish(message.connection), *_of_others(sequence, at)]


# -- connections -------------------------------------------------------------------------------------------------------


def new_label(sequence: FuzzSequence) -> int:
    """Return a label that no connection of the sequence has."""
    return max((step.connection for step in sequence.steps), default=0) + 1


def endpoint_of(sequence: FuzzSequence, connection: int) -> str:
    """Return the endpoint to which a connection of the sequence goes."""
    found = (step.endpoint for step in sequence.steps if isinstance(step, Connect) and step.connection == connection)
    return next(found, "")


def on(step: Step, connection: int, label: int) -> Step:
    """Return the step on connection `label` if it is one of `connection`."""
    if step.connection != connection:
        return step
    return replace(step, connection=label) if isinstance(step, Sending) else step._replace(connection=label)


def relabelled(other: FuzzSequence, sequence: FuzzSequence, *, is_same: bool) -> list[Step]:
    """Return the steps of another sequence on new connections, or on the first connection of this one."""
    if not is_same or not other.steps:
        return joined(other.steps, sequence)
    return joined(other.steps, sequence, {other.steps[0].connection: first_connection(sequence)})


def first_connection(sequence: FuzzSequence) -> int:
    """Return the connection of the first message of a sequence; 1 where it has none."""
    return next((step.connection for step in sequence.steps if isinstance(step, Sending)), 1)


def _call_begin(steps: Sequence[Step], at: int, context: MutationContext) -> int:
    """Return the index of the first message of the call at an index; the same where there are no calls."""
    if context.streams is None or not isinstance(steps[at], Sending):
        return at
    return at + 1 - len(context.streams.call_up_to(steps, at))


def joined(steps: Sequence[Step], sequence: FuzzSequence, same: Mapping[int, int] | None = None) -> list[Step]:
    """Return steps for the end of a sequence: on its connections as `same` has them, all others on new ones."""
    labels, existing = dict(same or {}), frozenset((same or {}).values())
    label = new_label(sequence)
    found: list[Step] = []
    for step in steps:
        to = labels.setdefault(step.connection, label + len(labels))
        if not (isinstance(step, Connect) and to in existing):
            found.append(on(step, step.connection, to))
    return found


def _part(message: Sending, begin: int, end: int) -> Sending:
    """Return a message with some of its bytes only, so that its fields are not known."""
    return replace(message, data=message.data[begin:end], record=None, depends=False)


def _end_of(message: Sending, rng: random.Random) -> Step:
    """Return a step that finishes or resets the connection of a message."""
    return rng.choice((Finish, Reset))(message.connection)


def _of_others(sequence: FuzzSequence, at: int) -> list[Step]:
    """Return the steps after an index that are on other connections than the step there."""
    connection = sequence.steps[at].connection
    return [step for step in sequence.steps[at + 1 :] if step.connection != connection]


def _name_at(sequence: FuzzSequence, at: int) -> str:
    """Return the name of the step at an index, of the last one for one after it."""
    step = sequence.steps[min(at, len(sequence.steps) - 1)]
    return (step.message or "(bytes)") if isinstance(step, Sending) else type(step).__name__


def _size(step: Step) -> int:
    return len(step.data) if isinstance(step, Sending) else 0


MUTATIONS = (
    Drop(), Double(), Swap(), Pipeline(), SpliceSessions(), SameObjects(), Reconnect(), OtherSetup(), StopInFrame(),
    NewConnection(), Interleave(), StayOpen(), ByteByByte(), HalfClose(),
)  # fmt: skip
