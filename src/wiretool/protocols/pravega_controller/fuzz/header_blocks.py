"""Mutations of header blocks: HPACK (RFC 7541) that does not decode or grows, and fields that no request has."""

import random
from abc import abstractmethod
from functools import cache

from wiretool.fuzz.mutations.base import Mutation
from wiretool.protocols.pravega_controller.frames import CONTINUATION, END_HEADERS, HEADERS, PADDED, PRIORITISED
from wiretool.protocols.pravega_controller.fuzz.frame_mutation import FrameMutation, Frames, RawFrame

#: Instructions for the decoder: indices beyond the tables, integers without an end, texts beyond the block, Huffman
#: codes that do not exist, sizes of the dynamic table.
BROKEN_BLOCKS = (
    b"\x80",  # index 0
    b"\xff\x00",  # index 127
    b"\xff\xff\xff\xff\xff\x0f",
    b"\xff" + b"\xff" * 20,  # an integer without an end
    b"\xff" + b"\x80" * 50 + b"\x00",  # an integer in too many bytes
    b"\x3f\xe1\xff\x03",  # a dynamic table of 65,536 bytes
    b"\x3f\xe1\xff\xff\xff\x0f",  # of 2^32 bytes
    b"\x20\x3f\xe1\x1f\x20",  # three sizes at once
    b"\x40\x7f\xff\xff\xff\x0f",  # a name of 2^28 bytes
    b"\x40\x01a\x7f\xff\xff\x0f",  # a value that is longer than the block
    b"\x40\x84\xff\xff\xff\xff",  # the end of string in Huffman code
    b"\x40\x81\x00\x01a",  # padding of zeros in Huffman code
    b"\x40\x00\x01a",  # an empty name
    b"\x7f\x80\x01a",  # a name by an index beyond the tables
    b"\x0f",  # the end inside an integer
)
#: Fields that no request of HTTP/2 has (RFC 9113 §8.2, §8.3).
ODD_FIELDS: tuple[tuple[bytes, bytes], ...] = (
    (b"Upper-Case", b"x"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"), (b"te", b"gzip"),
    (b":status", b"200"), (b":unknown", b"x"), (b":method", b"GET"), (b":path", b""), (b":path", b"*"),
    (b":path", b"/io.pravega/no/such"), (b":scheme", b""), (b":authority", b"a@b"), (b"host", b"other"),
    (b"content-length", b"3"), (b"content-length", b"-1"), (b"cookie", b"a=b; " * 100), (b"x-nul", b"a\x00b"),
    (b"x-line", b"a\r\nb: c"), (b"x-space", b" a "), (b"x-long", b"v" * 10_000), (b"n" * 1000, b"v"), (b"x y", b"z"),
    (b"x-\xff", b"\xff\xfe"), (b"", b"x"),
)  # fmt: skip
#: A field that takes most of the table, and how often one block refers to it.
LARGE_VALUE_BYTES, REFERENCES = 3_900, 1_500


def hpack_integer(value: int, bits: int, first: int) -> bytes:
    """Return a number with a prefix of so many bits (RFC 7541 §5.1); `first` has the other bits of the first byte."""
    most = 2**bits - 1
    if value < most:
        return bytes((first | value,))
    return bytes((first | most,)) + varint(value - most)


def varint(value: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first, as in HPACK and in protobuf."""
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))


def literal(name: bytes, value: bytes, *, is_kept: bool = False) -> bytes:
    """Return a field as a literal, which the decoder keeps in its table or not."""
    first = b"\x40" if is_kept else b"\x00"
    return first + hpack_integer(len(name), 7, 0) + name + hpack_integer(len(value), 7, 0) + value


class BlockMutation(FrameMutation):
    """A mutation of the block of HEADERS or CONTINUATION without padding and priority."""

    types: tuple[int, ...] = (HEADERS, CONTINUATION)

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        if frame.type == HEADERS and frame.flags & (PADDED | PRIORITISED):
            return [frame]
        return [frame._replace(payload=each) for each in self.blocks(frame.payload, rng)]

    @abstractmethod
    def blocks(self, block: bytes, rng: random.Random) -> list[bytes]:
        """Return the block, or the blocks of several frames, in the place of one."""


class BrokenBlock(BlockMutation):
    name = "hpack/broken"
    description = "a header block has an index, number, text or table size that does not exist"
    region = "header block"

    def blocks(self, block: bytes, rng: random.Random) -> list[bytes]:
        broken = rng.choice(BROKEN_BLOCKS)
        return [rng.choice((broken, broken + block, block + broken, block[: len(block) // 2] + broken))]


@cache
def large_fields() -> tuple[bytes, ...]:
    """Return fields that take much more memory in a decoder than on the wire."""
    return (
        literal(b"x-large", b"v" * LARGE_VALUE_BYTES, is_kept=True) + b"\xbe" * REFERENCES,
        b"".join(literal(b"x-%d" % number, b"y", is_kept=True) for number in range(500)),
        literal(b"x", b"") * 1500,
        literal(b"x-larger", b"v" * 15_000, is_kept=True),
    )


class LargeTable(FrameMutation):
    name = "hpack/large"
    description = "a header block fills the dynamic table and refers to it many times, or has a thousand fields"
    types = (HEADERS,)
    region = "dynamic table"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        more = rng.choice(large_fields())
        if rng.random() < 0.5:
            return [frame._replace(payload=frame.payload + more)]
        start = frame._replace(flags=frame.flags & ~END_HEADERS)
        parts = [more] * 4
        return [
            start,
            *(RawFrame(CONTINUATION, 0, frame.stream, part) for part in parts[:-1]),
            RawFrame(CONTINUATION, END_HEADERS, frame.stream, parts[-1]),
        ]


class OddField(BlockMutation):
    name = "hpack/field"
    description = "a field that no request has: upper case, of HTTP/1, a second pseudo field, with NUL or line ends"
    region = "field"

    def blocks(self, block: bytes, rng: random.Random) -> list[bytes]:
        field = literal(*rng.choice(ODD_FIELDS))
        return [field + block if rng.random() < 0.4 else block + field]


class LostFields(BlockMutation):
    name = "hpack/lost"
    description = "a header block lacks fields: it is empty, cut, or has its second half alone"
    region = "fields"

    def blocks(self, block: bytes, rng: random.Random) -> list[bytes]:
        at = rng.randrange(len(block) + 1)
        return [rng.choice((b"", block[:at], block[at:], block[1:], block[2:]))]


MUTATIONS: tuple[Mutation, ...] = (BrokenBlock(), LargeTable(), OddField(), LostFields())
