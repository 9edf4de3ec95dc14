"""Header blocks, with and without what was said before."""

import pytest
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega_controller.talk import request
from wiretool import limits
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega_controller.headers import (
    HeaderReader,
    meaning_of,
    path_of,
    read_alone,
    write_headers,
)

PAIRS = request(path_of("getURI"))
_texts = st.text(st.characters(max_codepoint=255), max_size=12)
_names = st.sampled_from([":path", "te", "x-one", "x-two", "grpc-status"])
_lists = st.lists(st.tuples(_names, _texts), max_size=5)


def test_a_second_block_leans_on_the_first() -> None:
    encoder, reader = Encoder(), HeaderReader(is_whole=True)
    first, second = encoder.encode(list(PAIRS)), encoder.encode(list(PAIRS))
    assert reader.read(first) == tuple(PAIRS)
    assert len(second) < 10
    assert reader.read(second) == tuple(PAIRS)


def test_what_was_said_before_a_hole_is_null() -> None:
    encoder = Encoder()
    encoder.encode([("x-one", "1"), ("x-two", "2")])
    block = encoder.encode([("x-one", "1"), ("x-two", "3"), (":method", "POST")])
    assert read_alone(block) == ((None, None), (None, "3"), (":method", "POST"))


@given(before=st.lists(_lists, max_size=4), after=st.lists(_lists, min_size=1, max_size=6))
def test_behind_a_hole_nothing_is_invented(
    before: list[list[tuple[str, str]]], after: list[list[tuple[str, str]]]
) -> None:
    encoder, reader = Encoder(), HeaderReader(is_whole=True)
    for headers in before:
        reader.read(encoder.encode(headers))
    reader.forget()
    for headers in after:
        got = reader.read(encoder.encode(headers))
        assert len(got) == len(headers)
        for (name, value), sent in zip(got, headers, strict=True):
            assert name in (None, sent[0])
            assert value in (None, sent[1].encode().decode("latin-1"))


def test_a_peer_may_allow_a_larger_table_than_the_reader_keeps() -> None:
    """A size of 2^32-1 is legal once the peer has said so; fields that no longer fit are unknown, not an error."""
    size_update = b"\x3f\xe0\xff\xff\xff\x0f"
    reader = HeaderReader(is_whole=True)
    with pytest.raises(DecodeError, match="sets a table size that its peer did not allow"):
        reader.read(size_update)
    reader = HeaderReader(is_whole=True)
    reader.allow(2**32 - 1)
    large = b"\x40\x01a" + b"\x7f\x81\xf6\x02" + b"v" * 48_000
    assert reader.read(size_update + b"\x40\x01b\x01c") == (("b", "c"),)
    for _ in range(limits.HTTP2_TABLE_BYTES_MAX // 48_000 + 1):
        reader.read(large)
    assert reader.read(b"\xbe")[0] == ("a", "v" * 48_000)
    assert reader.read(b"\xff\x00") == ((None, None),)


def test_with_everything_seen_a_reference_that_leads_nowhere_is_a_defect_and_ends_what_is_known() -> None:
    encoder, reader = Encoder(), HeaderReader(is_whole=True)
    reader.read(encoder.encode([("x-one", "1")]))
    with pytest.raises(
        DecodeError, match=r"bad_header_block .*refers to an entry that the table of headers does not have"
    ):
        reader.read(b"\xc6")
    assert reader.read(encoder.encode([("x-one", "1")])) == ((None, None),)


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (b"\x00\x05te", "bad_header_block"),
        (b"\x80", "bad_header_block"),
        (b"\x3f\xe1\xff\xff\x7f", "bad_header_block"),
        (b"\x40\x81\xff\x01x", "bad_header_block"),
        (b"\x00\x01x\x7f" + (limits.HTTP2_HEADERS_BYTES_MAX - 127).to_bytes(3, "little"), "bad_header_block"),
    ],
)
def test_other_blocks_are_refused(block: bytes, kind: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_alone(block)
    assert caught.value.kind == kind


def test_a_list_that_unpacks_too_big_is_refused() -> None:
    encoder = Encoder()
    block = encoder.encode([("x", "y" * 4_000)]) + encoder.encode([("x", "y" * 4_000)] * 20)
    with pytest.raises(DecodeError, match="headers_too_big"):
        HeaderReader(is_whole=True).read(block)


def test_the_table_is_as_big_as_its_peer_allows() -> None:
    grown = b"\x3f\xe1\x3f"  # a table of 8,192 bytes
    reader = HeaderReader(is_whole=True)
    reader.allow(4_096)
    with pytest.raises(DecodeError, match="table size"):
        reader.read(grown)
    reader.allow(8_192)
    assert reader.read(grown) == ()


@given(headers=_lists)
def test_written_headers_mean_the_same_anywhere_and_leave_no_trace(headers: list[tuple[str, str]]) -> None:
    encoder, reader = Encoder(), HeaderReader(is_whole=True)
    reader.read(encoder.encode(list(PAIRS)))
    assert reader.read(write_headers(headers)) == tuple(headers)
    assert reader.read(encoder.encode(list(PAIRS))) == tuple(PAIRS)


@pytest.mark.parametrize(("pair", "why"), [((None, "x"), "not known"), (("x", "€"), "Latin-1")])
def test_what_cannot_be_written(pair: tuple[str | None, str], why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        write_headers([pair])


def test_what_headers_say_of_a_call() -> None:
    assert meaning_of(PAIRS) == (path_of("getURI"), "getURI", None, None)
    assert meaning_of(request("/grpc.health.v1.Health/Check")).method is None
    failed = meaning_of((("grpc-status", "5"), ("grpc-message", "no%20such%20stream")))
    assert (failed.grpc_status, failed.grpc_message) == ("NOT_FOUND", "no such stream")
    assert meaning_of((("grpc-status", "99"),)).grpc_status == 99
    assert meaning_of((("grpc-status", "x"),)).grpc_status is None
    assert meaning_of(((None, None), (None, "5"))) == (None, None, None, None)
    assert meaning_of(None) == (None, None, None, None)


def test_no_text_of_the_library_is_in_an_error() -> None:
    """It names places in memory, which are others in every run and in every engine."""
    for block in (b"\x40\x81\xff\x01x", b"\x80", b"\x00\x05te", b"\x3f\xe1\xff\xff\x7f"):
        whys = set()
        for _ in range(3):
            with pytest.raises(DecodeError) as caught:
                HeaderReader(is_whole=True).read(bytes(block))
            whys.add(caught.value.why)
        assert len(whys) == 1
        assert "memory" not in whys.pop()
