"""Iterators over tables: their pages, and the tokens to go on with."""

from tests.protocols.pravega.server.table_talk import TABLE, ask, every_key, made, put, read_keys
from wiretool.protocols.pravega import failures, tables
from wiretool.protocols.pravega.structures import TableIteratorArgs


def test_pages_of_a_hash_table_hold_every_key_once() -> None:
    store = made()
    keys = [b"key%d" % number for number in range(100)]
    ask(store, put(*((key, b"", -1) for key in keys)), tables.TableEntriesUpdated)
    whole = every_key(store, 1_000)
    assert sorted(whole) == sorted(keys)
    assert every_key(store, 7) == whole
    assert ask(store, read_keys(0), tables.TableKeysRead).keys == ()


def test_keys_of_a_fixed_length_come_sorted_between_two_of_them() -> None:
    store = made(2)
    ask(store, put(*((b"%02d" % number, b"", -1) for number in (5, 3, 9, 1))), tables.TableEntriesUpdated)
    page = ask(store, read_keys(10, first=b"02", last=b"05"), tables.TableKeysRead)
    assert [key.data for key in page.keys] == [b"03", b"05"]
    assert page.continuation_token == bytes.fromhex("0000010000000003023035")
    assert len(ask(store, read_keys(2), tables.TableKeysRead).keys) == 4
    assert ask(store, read_keys(2, first=b"99"), tables.TableKeysRead).continuation_token == b""
    refusal = ask(store, read_keys(2, token=page.continuation_token), failures.ErrorMessage)
    assert refusal.message == "ContinuationToken not supported for FixedKeyLengthTableSegments."


def test_a_page_is_bounded_in_bytes() -> None:
    for key_length in (0, 1):
        store = made(key_length)
        for number in range(6):
            ask(store, put((b"%d" % number, bytes(900_000), -1)), tables.TableEntriesUpdated)
        args = TableIteratorArgs()
        request = tables.ReadTableEntries(request_id=1, segment=TABLE, suggested_entry_count=100, args=args)
        page = ask(store, request, tables.TableEntriesRead)
        assert 3 <= len(page.entries.entries) <= 4
    long = ask(made(256), read_keys(1), tables.TableKeysRead)
    assert long.keys == ()


def test_the_token_of_a_long_key() -> None:
    store = made(256)
    key = bytes(range(256))
    ask(store, put((key, b"", -1)), tables.TableEntriesUpdated)
    page = ask(store, read_keys(1), tables.TableKeysRead)
    assert page.continuation_token == bytes.fromhex("00000100000001028100") + key
