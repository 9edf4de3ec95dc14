"""Answers to commands about tables: as in conversations recorded with a real store, and what must hold of any."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.protocols.pravega.server.table_talk import (
    MIB,
    PLAIN,
    TABLE,
    ask,
    info,
    is_closed_by,
    made,
    put,
    raw,
    read,
    read_delta,
    read_keys,
    remove,
    values,
)
from wiretool.codec.compiled import decoder
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.pravega import failures, messages, segments, tables
from wiretool.protocols.pravega.commands import BY_CODE
from wiretool.protocols.pravega.framing import EXTENTS, HEADER_BYTES, type_at
from wiretool.protocols.pravega.server.tables import Tables
from wiretool.protocols.pravega.structures import NONE_I64, TableEntries

PROBES = Path(__file__).with_name("probes.json")
#: What the plain store says in conversations that are about tables too.
APPEND_REPLIES = (messages.AppendSetup, messages.DataAppended)


def table_probes() -> list[Any]:
    """Conversations about tables with the server that is in use, also where it was told to send its stack traces."""
    probes = json.loads(PROBES.read_text())
    return [probe for probe in probes if probe["group"] == "table" and probe["server"].startswith("0.13.0")]


def messages_in(data: bytes) -> Iterator[Message]:
    at = 0
    while at < len(data):
        length = EXTENTS["client"](data, at, len(data))
        message, _ = decoder(BY_CODE[type_at(data, at)])(data, at + HEADER_BYTES, at + length)
        yield message
        at += length


def comparable(reply: Message) -> Message:
    """Without what the server makes up: the time, where it failed, and the order inside a delta."""
    if isinstance(reply, segments.StreamSegmentInfo):
        return msgspec.structs.replace(reply, last_modified=0)
    if isinstance(reply, tables.TableEntriesDeltaRead):
        entries = sorted(reply.entries.entries, key=lambda entry: entry.key.key_version)
        return msgspec.structs.replace(reply, entries=TableEntries(entries=tuple(entries)))
    if "server_stack_trace" in reply.__struct_fields__:
        return msgspec.structs.replace(reply, server_stack_trace="")
    return reply


class Store:
    """As much of a store as the conversations need beside tables: names."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.tables = Tables(self.names.__contains__)

    def replies(self, requests: Iterable[Message]) -> tuple[list[Message], bool]:
        """What the tables answer, and whether the connection is to be closed."""
        found = []
        try:
            for request in requests:
                reply = self.tables.answer(request, 0)
                if isinstance(request, segments.CreateSegment) and reply is None:
                    self.names.add(request.segment)
                    reply = segments.SegmentCreated(request_id=request.request_id, segment=request.segment)
                if reply is not None:
                    found.append(comparable(reply))
        except (DecodeError, ProtocolViolation):
            return [], True
        return found, False


def requests_of(step: Mapping[str, Any]) -> Iterator[Message]:
    """What was sent; bytes that are too many to be recorded are in the fields, where they are zeros."""
    if isinstance(step["hex"], str):
        yield from messages_in(bytes.fromhex(step["hex"]))
        return
    for frame in step["frames"]:
        fields = frame["fields"]
        ((key, version, _), (value, _)) = fields["entries"][0]
        yield put((bytes.fromhex(key), bytes(value["length"]), version), name=fields["segment"], number=fields["rid"])


@pytest.mark.parametrize("probe", table_probes(), ids=lambda probe: str(probe["name"]))
def test_answers_as_the_real_store(probe: Mapping[str, Any]) -> None:
    store = Store()
    replies: list[Message] = []
    is_closed = False
    for step in probe["steps"]:
        if step["op"] == "send":
            replies, is_closed = store.replies(requests_of(step))
            continue
        recorded = [comparable(reply) for reply in messages_in(bytes.fromhex(step["hex"]))]
        assert replies == [reply for reply in recorded if not isinstance(reply, APPEND_REPLIES)]
        assert is_closed == (step["end"] == "fin")


def test_the_probes_are_there() -> None:
    assert len(table_probes()) == 29


# -- one table, asked in code ------------------------------------------------------------------------------------------


def test_the_same_key_twice_in_a_batch_gets_two_versions_and_the_last_wins() -> None:
    store = made()
    reply = ask(store, put((b"k", b"1", -1), (b"k", b"22", -1)), tables.TableEntriesUpdated)
    assert reply.updated_versions == (0, 19)
    assert values(store, b"k") == [(19, b"22")]
    assert info(store).entry_count == 1


@pytest.mark.parametrize("key_length", [0, 1])
def test_a_batch_is_held_against_the_state_before_it(key_length: int) -> None:
    store = made(key_length)
    ask(store, put((b"a", b"", -1)), tables.TableEntriesUpdated)
    ask(store, put((b"b", b"", -1), (b"a", b"x", 7)), failures.TableKeyBadVersion)
    ask(store, remove((b"a", 0), (b"a", 7)), failures.TableKeyBadVersion)
    assert values(store, b"a", b"b") == [(0, b""), (-1, b"")]


def test_a_removed_key_was_never_there_in_a_hash_table_and_has_a_bad_version_in_the_other() -> None:
    for key_length, failure in ((0, failures.TableKeyDoesNotExist), (1, failures.TableKeyBadVersion)):
        store = made(key_length)
        ask(store, put((b"a", b"", -1)), tables.TableEntriesUpdated)
        ask(store, remove((b"a", 0)), tables.TableKeysRemoved)
        ask(store, remove((b"a", 0)), failure)
        ask(store, remove((b"a", NONE_I64)), tables.TableKeysRemoved)
        assert values(store, b"a") == [(-1, b"")]


def test_an_offset_that_is_not_the_length_is_refused_with_the_length() -> None:
    store = made()
    ask(store, put((b"a", b"", -1), offset=0), tables.TableEntriesUpdated)
    refusal = ask(store, put((b"a", b"", NONE_I64), offset=3), failures.SegmentIsTruncated)
    assert (refusal.start_offset, refusal.offset) == (18, 3)
    ask(store, remove((b"a", NONE_I64), offset=17), failures.SegmentIsTruncated)
    ask(store, remove((b"a", NONE_I64), offset=18), tables.TableKeysRemoved)


@pytest.mark.parametrize(
    ("key_length", "key", "value", "text"),
    [
        (0, bytes(8_193), b"", "Key too large."),
        (0, b"k", bytes(MIB - 17), "Key+Value serialization too large."),
        (0, b"", b"v", "An empty key."),
        (8, b"k", b"v", "A key of 1 bytes, where all have 8."),
    ],
)
def test_sizes_that_no_table_takes(key_length: int, key: bytes, value: bytes, text: str) -> None:
    store = made(key_length)
    refusal = ask(store, put((key, value, NONE_I64)), failures.ErrorMessage)
    assert (refusal.message, refusal.error_code) == (text, 0)
    assert info(store).length == 0


def test_a_wrong_key_length_is_said_before_a_wrong_version_and_a_wrong_version_before_a_wrong_size() -> None:
    ask(made(8), put((b"k", b"", 7)), failures.ErrorMessage)
    ask(made(), put((bytes(8_193), b"", 7)), failures.TableKeyDoesNotExist)


def test_the_largest_key_and_entry_are_taken() -> None:
    store = made()
    ask(store, put((bytes(8_192), b"", -1), (b"k", bytes(MIB - 18), -1)), tables.TableEntriesUpdated)


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (put((b"k", b"", -2)), "bad-key-version"),
        (remove((b"k", NONE_I64 + 1)), "bad-key-version"),
        (read_delta(-1), "bad-position"),
        (read_delta(1), "bad-position"),
        (read_keys(1, token=b"\0\0\1\0\0\0\0\x10" + bytes(15)), "bad-continuation-token"),
        (put((b"k", b"", -1), name=PLAIN), "not-a-table"),
        (tables.GetTableSegmentInfo(request_id=1, segment_name=PLAIN), "not-a-table"),
        (tables.CreateTableSegment(request_id=1, segment="t", key_length=257), "bad-key-length"),
        (tables.CreateTableSegment(request_id=1, segment=""), "bad-segment-name"),
        (messages.ReadSegment(segment=TABLE, offset=-1, suggested_length=1), "bad-offset"),
    ],
)
def test_what_closes_the_connection(request_: Message, kind: str) -> None:
    store = made()
    ask(store, put((b"k", b"v", -1)), tables.TableEntriesUpdated)
    assert is_closed_by(store, request_, kind)


def test_a_reply_that_fits_no_frame_closes_the_connection() -> None:
    store = made()
    ask(store, put((b"k", bytes(1_000_000), -1)), tables.TableEntriesUpdated)
    assert len(values(store, *[b"k"] * 16)) == 16
    assert is_closed_by(store, read(*[b"k"] * 17), "reply-too-large")


def test_names_are_shared_with_plain_segments() -> None:
    store = made()
    ask(store, tables.CreateTableSegment(request_id=1, segment=PLAIN), failures.SegmentAlreadyExists)
    plain = segments.CreateSegment(request_id=1, segment=TABLE, target_rate=0, scale_type=0)
    ask(store, plain, failures.SegmentAlreadyExists)
    other = msgspec.structs.replace(plain, segment=PLAIN)
    assert store.answer(other, 0) is None


def test_what_is_about_no_table_is_not_answered() -> None:
    store = made()
    writer = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    for request in (
        messages.KeepAlive(),
        messages.SetupAppend(request_id=1, writer_id=writer, segment=PLAIN),
        segments.GetStreamSegmentInfo(request_id=1, segment_name=PLAIN),
        segments.MergeSegments(request_id=1, target=PLAIN, source="other"),
    ):
        assert store.answer(request, 0) is None


def test_appends_merges_and_truncation_would_only_break_a_table() -> None:
    store = made()
    writer = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    for request, operation in (
        (messages.SetupAppend(request_id=1, writer_id=writer, segment=TABLE), "setupAppend"),
        (segments.MergeSegments(request_id=1, target=PLAIN, source=TABLE), "mergeSegments"),
        (
            segments.MergeSegmentsBatch(request_id=1, target_segment_id=PLAIN, source_segment_ids=("x", TABLE)),
            "mergeSegmentsBatch",
        ),
        (segments.TruncateSegment(request_id=1, segment=TABLE, truncation_offset=0), "truncateSegment"),
    ):
        assert ask(store, request, failures.OperationUnsupported).operation_name == operation


def test_deletion() -> None:
    store = made()
    ask(store, put((b"k", b"v", -1)), tables.TableEntriesUpdated)
    careful = tables.DeleteTableSegment(request_id=1, segment=TABLE, must_be_empty=True)
    ask(store, careful, failures.TableSegmentNotEmpty)
    ask(store, remove((b"k", 0)), tables.TableKeysRemoved)
    ask(store, careful, segments.SegmentDeleted)
    ask(store, careful, failures.NoSuchSegment)
    assert store.held_bytes == 0
    assert ask(store, put((b"k", b"v", -1), offset=9), failures.NoSuchSegment).offset == 9
    ask(store, tables.CreateTableSegment(request_id=1, segment=TABLE), segments.SegmentCreated)
    ask(store, segments.DeleteSegment(request_id=1, segment=TABLE), segments.SegmentDeleted)
    assert store.held_bytes == 0


def test_a_sealed_table_is_read_and_not_changed() -> None:
    store = made()
    ask(store, put((b"k", b"v", -1)), tables.TableEntriesUpdated)
    ask(store, segments.SealSegment(request_id=1, segment=TABLE), segments.SegmentSealed, 5_000_000)
    ask(store, segments.SealSegment(request_id=1, segment=TABLE), failures.SegmentIsSealed)
    ask(store, put((b"k", b"w", 0)), failures.SegmentIsSealed)
    ask(store, remove((b"k", 0)), failures.SegmentIsSealed)
    assert values(store, b"k") == [(0, b"v")]
    said = ask(store, segments.GetStreamSegmentInfo(request_id=1, segment_name=TABLE), segments.StreamSegmentInfo)
    assert (said.is_sealed, said.write_offset, said.last_modified) == (True, 19, 5)
    end = ask(store, messages.ReadSegment(segment=TABLE, offset=19, suggested_length=8), messages.SegmentRead)
    assert (end.data, end.at_tail, end.end_of_segment) == (b"", False, True)
    beyond = messages.ReadSegment(segment=TABLE, offset=20, suggested_length=8)
    assert is_closed_by(store, beyond, "bad-offset")


def test_the_raw_log_is_read_in_any_pieces() -> None:
    store = made()
    ask(store, put((b"a", b"1", -1), (b"b", b"22", -1)), tables.TableEntriesUpdated)
    ask(store, remove((b"a", 0)), tables.TableKeysRemoved)
    whole = raw(store, 0, 1_000)
    assert whole.at_tail
    assert len(whole.data) == info(store).length
    removal = b"\0" + (1).to_bytes(4, "big") + b"\xff" * 4 + (2**63).to_bytes(8, "big") + b"a"
    assert whole.data.endswith(removal)
    for offset in range(len(whole.data) + 1):
        assert raw(store, offset, 9).data == whole.data[offset : offset + 9]
    assert not raw(store, 0, len(whole.data)).at_tail
