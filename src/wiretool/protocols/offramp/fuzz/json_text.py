"""Mutations of the JSON in the frames of clients."""

import random

from wiretool.fuzz.mutations.base import MessageMutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice
from wiretool.protocols.offramp import framing

#: Levels of nesting, and digits of numbers.
_DEPTHS = (2, 16, 64, 128, 500, 1000, 5000, 20_000)
_DIGITS = (17, 20, 40, 400, 5000)
_ODD = (b"NaN", b"-", b"1e999", b"-0", b"01", b"1.", b'"\\ud800"', b'"\x00"', b"nul", b"\xef\xbb\xbf1", b"{", b"]", b"")


class Json(MessageMutation):
    name = "json/text"
    description = "the JSON of an event is deep, has a key twice, a large number, or is not JSON; the frame still fits"

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        data = sending.data
        header = framing.read_header(data, 0, len(data))
        if header is None or header.is_control or header.size + header.length != len(data) or data[:4] == b"GET ":
            return None
        text = framing.payload_of(header, data, 0, len(data))
        if not text.startswith(b"{") or b":" not in text:
            return None
        made = framing.frame_bytes(header.first, changed(text, rng), header.mask if header.is_masked else None)
        return context.edited(sending, (Splice(0, len(data), made),), Change(self.name, "payload"))


def changed(text: bytes, rng: random.Random) -> bytes:
    """Return other text for a JSON object that has a member."""
    places = [at for at, byte in enumerate(text) if byte == ord(":")]
    at = rng.choice(places) + 1
    stop = min((end for end in (text.find(b",", at), text.find(b"}", at)) if end >= 0), default=len(text))
    depth = rng.choice(_DEPTHS)
    value = rng.choice(
        (
            b"[" * depth + b"]" * depth,
            b'{"a":' * depth + b"1" + b"}" * depth,
            b"[" * depth,
            rng.choice((b"", b"-", b"1.")) + b"9" * rng.choice(_DIGITS),
            rng.choice(_ODD),
            text[at:stop] + b"," + text[1:at] + text[at:stop],  # the members up to here again
        )
    )
    return text[:at] + value + text[stop:]


MUTATIONS = (Json(),)
