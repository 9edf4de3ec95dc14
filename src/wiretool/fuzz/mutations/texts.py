"""Mutations of the bytes of a message: parts cut off, added, changed, or not of their encoding."""

import random

from wiretool.fuzz.mutations.base import MessageMutation, MutationContext, region_at, region_of
from wiretool.fuzz.sequences.sequence import Change, Finish, Reset, Sending, Splice, Step

#: Byte sequences that are not UTF-8: a lone continuation, overlong, a surrogate, beyond the last code point.
NOT_UTF8 = (b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xff\xfe", b"\xe2\x82")
TAIL_BYTES_MAX = 64
#: Bytes that may be a header.
HEADER_BYTES = 24
LONG_BYTES = 70_000


class NotUtf8(MessageMutation):
    name = "text/not-utf-8"
    description = "a text has bytes that are not UTF-8; the lengths still fit"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        spans = [
            span for span in context.spans(sending.data) if "string" in span.type or "UTF-8" in span.type
            or "HTTP" in span.type
        ]  # fmt: skip
        if not spans:
            return None
        span = rng.choice(spans)
        bad = rng.choice(NOT_UTF8)[: span.length]
        at = span.offset + span.length - len(bad)
        return context.edited(sending, (Splice(at, len(bad), bad),), Change(self.name, region_of(span)))


class LongText(MessageMutation):
    name = "text/long"
    description = "a text or a byte array is much longer; with or without a corrected frame length"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        spans = [span for span in context.spans(sending.data) if "string" in span.type or "bytes" in span.type]
        if not spans:
            return None
        span = rng.choice(spans)
        length = rng.choice((1, 255, 1024, 65_536, LONG_BYTES))
        splice = Splice(span.offset + span.length, 0, b"A" * length)
        edits = context.repaired(sending, splice) if rng.random() < 0.7 else (splice,)
        return context.edited(sending, edits, Change(self.name, region_of(span)))


class Flip(MessageMutation):
    name = "bytes/flip"
    description = "one to four bits are flipped"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        bits = [rng.randrange(8 * len(sending.data)) for _ in range(rng.randint(1, 4))]
        edits = []
        data = sending.data
        for bit in bits:
            at = bit // 8
            byte = bytes([data[at] ^ (1 << bit % 8)])
            data = data[:at] + byte + data[at + 1 :]
            edits.append(Splice(at, 1, byte))
        return context.edited(sending, edits, Change(self.name, region_at(context.spans(sending.data), bits[0] // 8)))


class Replace(MessageMutation):
    name = "bytes/replace"
    description = "a stretch of bytes is replaced by random ones, zeros or ones"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        at = rng.randrange(len(sending.data))
        size = min(rng.choice((1, 2, 4, 8, 16)), len(sending.data) - at)
        other = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
        return context.edited(
            sending, (Splice(at, size, other),), Change(self.name, region_at(context.spans(sending.data), at))
        )


class Insert(MessageMutation):
    name = "bytes/insert"
    description = "bytes are inserted; with or without a corrected frame length"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        at = rng.randrange(len(sending.data) + 1)
        splice = Splice(at, 0, rng.randbytes(rng.choice((1, 2, 4, 8, 100))))
        edits = context.repaired(sending, splice) if rng.random() < 0.5 else (splice,)
        return context.edited(sending, edits, Change(self.name, region_at(context.spans(sending.data), at)))


class Remove(MessageMutation):
    name = "bytes/remove"
    description = "bytes are removed; with or without a corrected frame length"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        at = rng.randrange(len(sending.data))
        splice = Splice(at, min(rng.choice((1, 2, 4, 8, 100)), len(sending.data) - at), b"")
        edits = context.repaired(sending, splice) if rng.random() < 0.5 else (splice,)
        return context.edited(sending, edits, Change(self.name, region_at(context.spans(sending.data), at)))


class Tail(MessageMutation):
    name = "bytes/tail"
    description = "further bytes follow the last field, within the frame length"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        splice = Splice(len(sending.data), 0, rng.randbytes(rng.randint(1, TAIL_BYTES_MAX)))
        return context.edited(sending, context.repaired(sending, splice), Change(self.name, "after the last field"))


class CutHeader(MessageMutation):
    name = "header/cut"
    description = "the connection ends after a part of a message, at each byte of its header"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> tuple[Step, ...] | None:
        if len(sending.data) < 2:
            return None
        at = rng.randrange(1, min(len(sending.data), HEADER_BYTES))
        region = region_at(context.spans(sending.data), at)
        end = rng.choice((Finish(sending.connection), Reset(sending.connection)))
        cut = context.edited(sending, (Splice(at, len(sending.data) - at, b""),), Change(self.name, region))
        return None if cut is None else (cut, end)


class Truncate(MessageMutation):
    name = "frame/truncate"
    description = "the end of a message is missing; the next message follows at once"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        if len(sending.data) < 2:
            return None
        at = rng.randrange(1, len(sending.data))
        splice = Splice(at, len(sending.data) - at, b"")
        edits = context.repaired(sending, splice) if rng.random() < 0.5 else (splice,)
        return context.edited(sending, edits, Change(self.name, region_at(context.spans(sending.data), at)))


MUTATIONS = (
    NotUtf8(), LongText(), Flip(), Replace(), Insert(), Remove(), Tail(), CutHeader(), Truncate(),
)  # fmt: skip
