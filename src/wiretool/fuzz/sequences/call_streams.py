"""Calls on numbered streams of one connection: which messages are one call, and the same call on another stream."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from wiretool.fuzz.sequences.json import record_of
from wiretool.fuzz.sequences.sequence import Sending, Step
from wiretool.fuzz.sequences.step_cache import StepCache
from wiretool.protocols.base.protocol import Protocol

#: The highest number of a stream (RFC 9113 §5.1.1).
STREAM_MAX = 2**31 - 1

_moved_steps = StepCache()


class CallStreams(NamedTuple):
    """The numbered streams of a connection: the messages in a row on one of them are those of a call."""

    #: The number of the stream of a frame; 0 for a frame of the connection.
    number_of: Callable[[bytes], int]
    #: The frame on the stream of another number.
    moved_to: Callable[[bytes, int], bytes]
    #: A session with a call, by its name: fields have their defaults. No bytes for names of other messages.
    session_with: Callable[[str], bytes]
    #: The number of the first stream of a client, and the distance to the next one.
    first: int = 1
    distance: int = 2

    def are_one_call(self, step: Sending, after: Sending) -> bool:
        """Return whether two messages in a row belong to one call."""
        return step.connection == after.connection and 0 != self.number_of(step.data) == self.number_of(after.data)

    def next_after(self, steps: Sequence[Step], connection: int) -> int:
        """Return the number of the next stream of a connection after some steps."""
        last = max((self._number_on(step, connection) for step in steps), default=0)
        return last + self.distance if last else self.first

    def call_up_to(self, steps: Sequence[Step], at: int) -> list[Step]:
        """Return the message at an index, and those before it that belong to its call."""
        begin = at
        while begin and isinstance(one := steps[begin - 1], Sending) and isinstance(two := steps[begin], Sending):
            if not self.are_one_call(one, two):
                break
            begin -= 1
        return list(steps[begin : at + 1])

    def appended(
        self, head: Sequence[Step], steps: Sequence[Step], connection: int, protocol: Protocol, *, begun: int = 0
    ) -> list[Step]:
        """Return steps that come after others on a connection: their calls have the streams after those of `head`.

        Calls on streams up to `begun` have their beginning in `head`, and stay.
        """
        numbers = [self._number_on(step, connection) for step in steps]
        by = self.next_after(head, connection) - min((each for each in numbers if each > begun), default=0)
        return [
            self._moved(step, by, protocol) if isinstance(step, Sending) and number > begun else step
            for step, number in zip(steps, numbers, strict=True)
        ]

    def inserted(
        self,
        head: Sequence[Step],
        others: Sequence[Sequence[Step]],
        rest: Sequence[Step],
        connection: int,
        protocol: Protocol,
    ) -> list[Step]:
        """Return steps with groups of others in between on a connection: each, and `rest`, has later streams.

        Calls that have begun before them stay.
        """
        begun = self.next_after(head, connection) - self.distance
        made = list(head)
        for moved in others:
            made += self.appended(made, moved, connection, protocol)
        return [*made, *self.appended(made, rest, connection, protocol, begun=begun)]

    def _number_on(self, step: Step, connection: int) -> int:
        """Return the stream of a message on a connection; 0 for any other step."""
        return self.number_of(step.data) if isinstance(step, Sending) and step.connection == connection else 0

    def _moved(self, step: Sending, by: int, protocol: Protocol) -> Sending:
        key = protocol.name, by
        return _moved_steps.get(step, key) or _moved_steps.put(step, key, self._made(step, by, protocol))

    def _made(self, step: Sending, by: int, protocol: Protocol) -> Sending:
        record = step.record
        if record is not None and (raw := self._moved_by(record.raw, by)) != record.raw:
            read = record_of(record.message, raw, record.fields, protocol)
            record = msgspec.structs.replace(record, raw=raw, fields=read.fields)
        return replace(step, data=self._moved_by(step.data, by), record=record)

    def _moved_by(self, data: bytes, by: int) -> bytes:
        """Return a frame with its stream identifier moved; unchanged if the new identifier is out of range."""
        number = self.number_of(data)
        return self.moved_to(data, number + by) if number and 0 < number + by <= STREAM_MAX else data
