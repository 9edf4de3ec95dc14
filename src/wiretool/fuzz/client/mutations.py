"""Mutations of the server's messages: the mutations of fields and bytes, and faults of their order and transport."""

import random
from abc import ABC, abstractmethod

from wiretool.fuzz.client.reply_fault import FaultKind, ReplyFault
from wiretool.fuzz.mutations import fields, numbers, texts
from wiretool.fuzz.mutations.base import MessageMutation, MutationContext, region_at, region_of
from wiretool.fuzz.part import fuzz_part_of
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice

#: Further copies of a message, and delays in seconds.
COPIES, DELAYS_S = (1, 1, 1, 7), (0.05, 0.5, 2.0)
#: The size of a length inside a byte array; values that exceed the memory of a client, or are negative.
INNER_BYTES = 4
LARGE_LENGTHS = (1 << 28, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
#: Messages that are longer get no edits.
EDITED_BYTES_MAX = 256 * 1024


class ReplyMutation(ABC):
    """One way to mutate a message of the server. `--case` matches its name."""

    name = ""
    #: One sentence for `--list`.
    description = ""

    @abstractmethod
    def fault(
        self, nth: int, reply: Sending, rng: random.Random, context: MutationContext
    ) -> ReplyFault | None:  # fmt: skip
        """Return the fault of a message, the `nth` of its name; None where it does not apply."""


class EditedReply(ReplyMutation):
    """A mutation of fields or bytes, applied to a message of the server."""

    def __init__(self, mutation: MessageMutation) -> None:
        self._mutation = mutation
        self.name = mutation.name
        self.description = mutation.description

    def fault(self, nth: int, reply: Sending, rng: random.Random, context: MutationContext) -> ReplyFault | None:
        if len(reply.data) > EDITED_BYTES_MAX or not self._mutation.fits(reply):
            return None
        made = self._mutation.change(reply, rng, context)
        if not isinstance(made, Sending):
            return None
        return ReplyFault(reply.message, nth, FaultKind.EDIT, made.changes[-1], made.edits)


class InnerLength(MessageMutation):
    """Overwrites a length that the protocol does not declare, since only clients read the content of byte arrays.

    Any four bytes count as one, big-endian, if as many bytes follow them in the array.
    """

    name = "bytes/inner-length"
    description = "a length inside a byte array, such as that of an event, takes a value at a boundary"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        data = sending.data
        places = [
            (at, region_of(span))
            for span in context.spans(data)
            if not numbers.is_number(span)
            for at in range(span.offset, span.offset + span.length - INNER_BYTES)
            if 0 < _number_at(data, at) <= span.offset + span.length - at - INNER_BYTES
        ]
        if not places:
            return None
        at, region = rng.choice(places)
        value = rng.choice((*numbers.boundaries(8 * INNER_BYTES, _number_at(data, at)), *4 * LARGE_LENGTHS))
        edits = (Splice(at, INNER_BYTES, value.to_bytes(INNER_BYTES, "big")),)
        return context.edited(sending, edits, Change(self.name, region))


def _number_at(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + INNER_BYTES], "big")


class FaultyReply(ReplyMutation):
    """A fault of the order or the transport of messages."""

    kind = FaultKind.DROP

    def fault(self, nth: int, reply: Sending, rng: random.Random, context: MutationContext) -> ReplyFault | None:
        return ReplyFault(reply.message, nth, self.kind, Change(self.name, reply.message))


class DropReply(FaultyReply):
    name = "reply/drop"
    description = "a message of the server does not arrive"


class DoubleReply(FaultyReply):
    name = "reply/double"
    description = "a message of the server arrives again, up to seven times"

    def fault(self, nth: int, reply: Sending, rng: random.Random, context: MutationContext) -> ReplyFault | None:
        change = Change(self.name, reply.message)
        return ReplyFault(reply.message, nth, FaultKind.DOUBLE, change, times=rng.choice(COPIES))


class SwapReplies(FaultyReply):
    name = "reply/swap"
    description = "a message of the server arrives after the next one"
    kind = FaultKind.SWAP


class ByteByByteReply(FaultyReply):
    name = "reply/byte-by-byte"
    description = "the first 96 bytes of a message of the server arrive one at a time"
    kind = FaultKind.BYTEWISE


class DelayedReply(FaultyReply):
    name = "reply/delay"
    description = "a message of the server, and all after it, arrive up to 2 s later"

    def fault(self, nth: int, reply: Sending, rng: random.Random, context: MutationContext) -> ReplyFault | None:
        change = Change(self.name, reply.message)
        return ReplyFault(reply.message, nth, FaultKind.DELAY, change, seconds=rng.choice(DELAYS_S))


class ClosedAfterPart(FaultyReply):
    name = "reply/close"
    description = "the server closes the connection after a part of a message, or after all of it"
    kind = FaultKind.CLOSE

    def fault(self, nth: int, reply: Sending, rng: random.Random, context: MutationContext) -> ReplyFault | None:
        cut = rng.choice((0, len(reply.data), rng.randrange(len(reply.data) + 1), rng.randrange(len(reply.data) + 1)))
        region = region_at(context.spans(reply.data), cut)
        return ReplyFault(reply.message, nth, self.kind, Change(self.name, region), cut=cut)


class ResetAfterPart(ClosedAfterPart):
    name = "reply/reset"
    description = "the server resets the connection after a part of a message, or after all of it"
    kind = FaultKind.RESET


_ORDER: tuple[ReplyMutation, ...] = (
    DropReply(), DoubleReply(), SwapReplies(), ByteByByteReply(), DelayedReply(), ClosedAfterPart(), ResetAfterPart(),
)  # fmt: skip


def reply_mutations(protocol: str) -> tuple[ReplyMutation, ...]:
    """Return the mutations of the server's messages of a protocol."""
    declared = (*numbers.MUTATIONS, *fields.MUTATIONS, *texts.MUTATIONS, *fuzz_part_of(protocol).mutations)
    # A header that is cut ends the connection, which `reply/close` and `reply/reset` do.
    edits = [
        each
        for each in declared
        if isinstance(each, MessageMutation) and not each.is_of_clients and not isinstance(each, texts.CutHeader)
    ]
    return (*(EditedReply(each) for each in edits), *_ORDER, EditedReply(InnerLength()))
