"""Remembered header blocks: the same fields, bytes and tables as those of the library."""

import pytest
from hpack import Decoder, Encoder, HeaderTuple, HPACKDecodingError, NeverIndexedHeaderTuple

from wiretool.codec.remembering import remembering
from wiretool.protocols.pravega_controller.header_tables import RememberingDecoder, RememberingEncoder
from wiretool.protocols.pravega_controller.headers import HeaderReader

Fields = list[tuple[bytes | str, bytes | str]]
FIELDS: list[Fields] = [
    [(":method", "POST"), (":path", "/a"), ("te", "trailers"), ("user-agent", "grpc")],
    [(":method", "POST"), (":path", "/b"), ("te", "trailers"), ("token", "x" * 40)],
    [(":method", "POST"), (":path", "/a"), ("te", "trailers"), ("user-agent", "grpc")],
]
#: The fields of a sensitive block, without that mark.
PLAIN: Fields = [("token", "secret"), (":status", "200")]


def blocks() -> list[bytes]:
    encoder = Encoder()
    return [encoder.encode(fields) for fields in FIELDS]


def repeated() -> list[bytes]:
    """Return the block of some fields, and the one that refers to it."""
    encoder = Encoder()
    return [encoder.encode(FIELDS[0]) for _ in range(2)]


@pytest.mark.parametrize("is_on", [True, False])
def test_blocks_mean_the_same_on_every_connection(is_on: bool) -> None:
    with remembering(is_on=is_on):
        for _ in range(3):
            decoder, plain = RememberingDecoder(), Decoder()
            for block in blocks():
                assert decoder.decode(block, raw=True) == plain.decode(block, raw=True)
                assert decoder.header_table.dynamic_entries == plain.header_table.dynamic_entries
                assert decoder.header_table.maxsize == plain.header_table.maxsize
                assert decoder.header_table._current_size == plain.header_table._current_size


def test_the_meaning_depends_on_the_table() -> None:
    first, again = repeated()
    with remembering(is_on=True):
        decoder = RememberingDecoder()
        assert decoder.decode(first) == decoder.decode(again)
        with pytest.raises(HPACKDecodingError):
            RememberingDecoder().decode(again)  # refers to entries that this table does not have


def test_what_changes_a_table_is_no_part_of_what_is_remembered() -> None:
    (first, *_) = blocks()
    with remembering(is_on=True):
        one, other = RememberingDecoder(), RememberingDecoder()
        for decoder in (one, other):
            decoder.decode(first)
        one.header_table.add(b"own", b"entry")
        assert (b"own", b"entry") not in other.header_table.dynamic_entries


def test_a_table_that_is_not_whole_is_not_remembered() -> None:
    first, again = repeated()
    with remembering(is_on=True):
        whole, joined = HeaderReader(is_whole=True), HeaderReader(is_whole=False)
        whole.read(first)
        known = [whole.read(again), joined.read(again)]
    assert (":path", "/a") in known[0]
    assert any(name is None for name, _ in known[1])


def test_fields_are_encoded_as_by_the_library() -> None:
    sensitive: list[HeaderTuple] = [NeverIndexedHeaderTuple("token", "secret"), HeaderTuple(":status", "200")]
    with remembering(is_on=True):
        for _ in range(3):
            encoder, plain = RememberingEncoder(), Encoder()
            for fields in FIELDS:
                assert encoder.encode(fields) == plain.encode(fields)
            assert encoder.encode(sensitive) == plain.encode(sensitive)
            assert encoder.encode(PLAIN) == plain.encode(PLAIN)
            assert encoder.header_table.dynamic_entries == plain.header_table.dynamic_entries
            encoder.header_table_size = plain.header_table_size = 64
            assert encoder.encode(FIELDS[0]) == plain.encode(FIELDS[0])
