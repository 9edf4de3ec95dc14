"""What a table holds: deltas, bounds, and that it is what a dictionary would hold."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.pravega.server.table_talk import (
    MIB,
    TABLE,
    ask,
    every_key,
    info,
    made,
    put,
    raw,
    read_delta,
    read_keys,
    remove,
    values,
)
from wiretool.protocols.pravega import failures, messages, tables
from wiretool.protocols.pravega.server.tables import Tables
from wiretool.protocols.pravega.structures import NONE_I64


def test_a_delta_in_pages() -> None:
    store = made()
    ask(store, put((b"a", b"1", -1), (b"b", b"2", -1), (b"a", b"3", NONE_I64)), tables.TableEntriesUpdated)
    ask(store, remove((b"b", 19)), tables.TableKeysRemoved)
    first = ask(store, read_delta(0, 1), tables.TableEntriesDeltaRead)
    assert ([entry.value.data for entry in first.entries.entries], first.last_position) == ([b"1"], 19)
    assert not first.reached_end
    rest = ask(store, read_delta(19), tables.TableEntriesDeltaRead)
    assert [entry.value.data for entry in rest.entries.entries] == [b"3"]
    assert (rest.reached_end, rest.last_position) == (True, info(store).length)
    only_removal = ask(store, read_delta(57), tables.TableEntriesDeltaRead)
    assert (only_removal.entries.entries, only_removal.last_position) == ((), info(store).length)
    beyond = ask(store, read_delta(info(store).length + 1), failures.ErrorMessage)
    assert beyond.message == "fromPosition (76) can not exceed the length (75) of the TableSegment."


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_what_is_replaced_is_dropped_and_versions_stay() -> None:
    store = made()
    ask(store, put((b"old", b"stays", -1)), tables.TableEntriesUpdated)
    last = 0
    for number in range(40):
        reply = ask(store, put((b"k", bytes(100_000) + b"%d" % number, NONE_I64)), tables.TableEntriesUpdated)
        last = reply.updated_versions[0]
    assert store.held_bytes < 2 * MIB
    said = info(store)
    assert 0 < said.start_offset < said.length
    assert [version for version, _ in values(store, b"old", b"k")] == [0, last]
    page = ask(store, read_delta(0), tables.TableEntriesDeltaRead)
    assert page.should_clear
    assert {entry.key.data for entry in page.entries.entries} == {b"old", b"k"}
    assert raw(store, said.start_offset, 17).data[9:17] == bytes(8)
    before = messages.ReadSegment(segment=TABLE, offset=0, suggested_length=8)
    assert ask(store, before, failures.SegmentIsTruncated).start_offset == said.start_offset


def test_what_is_all_removed_leaves_nothing() -> None:
    store = made()
    empty = store.held_bytes
    keys = [b"%04d" % number for number in range(1_000)]
    ask(store, put(*((key, bytes(2_000), -1) for key in keys)), tables.TableEntriesUpdated)
    ask(store, remove(*((key, NONE_I64) for key in keys)), tables.TableKeysRemoved)
    assert store.held_bytes == empty
    page = ask(store, read_delta(0), tables.TableEntriesDeltaRead)
    assert (page.should_clear, page.entries.entries) == (True, ())


def test_more_than_may_be_kept_is_refused_and_removals_make_room() -> None:
    store = made(1, retain_bytes=3 * MIB)
    big = bytes(900_000)
    for key in (b"a", b"b", b"c"):
        ask(store, put((key, big, -1)), tables.TableEntriesUpdated)
    refusal = ask(store, put((b"d", big, -1)), failures.ErrorMessage)
    assert refusal.error_code == -1
    assert "no more than 3145728 are kept" in refusal.message
    for key in (b"a", b"b"):
        ask(store, remove((key, NONE_I64)), tables.TableKeysRemoved)
    ask(store, put((b"d", big, -1)), tables.TableEntriesUpdated)
    many = made(retain_bytes=10_000)
    for number in range(100):
        reply = many.answer(tables.CreateTableSegment(request_id=1, segment=f"t{number}"), 0)
    assert isinstance(reply, failures.ErrorMessage)
    assert many.held_bytes < 12_000


# -- against a dictionary ----------------------------------------------------------------------------------------------

KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
CHANGES = st.lists(st.tuples(KEYS, st.binary(max_size=4), st.sampled_from(["any", "right", "absent", "remove"])))


@settings(deadline=None, max_examples=100)
@given(changes=CHANGES, key_length=st.sampled_from([0, 1]), count=st.integers(1, 5))
def test_it_holds_what_a_dictionary_would(
    changes: Sequence[tuple[bytes, bytes, str]], key_length: int, count: int
) -> None:
    store = made(key_length)
    model: dict[bytes, tuple[int, bytes]] = {}
    for key, value, how in changes:
        if how == "remove":
            ask(store, remove((key, NONE_I64)), tables.TableKeysRemoved)
            model.pop(key, None)
            continue
        wanted = {"any": NONE_I64, "absent": -1}.get(how, model.get(key, (-1, b""))[0])
        reply = store.answer(put((key, value, wanted)), 0)
        if how == "absent" and key in model:
            assert isinstance(reply, failures.TableKeyBadVersion)
        else:
            assert isinstance(reply, tables.TableEntriesUpdated)
            model[key] = (reply.updated_versions[0], value)
    assert values(store, *sorted(model)) == [model[key] for key in sorted(model)]
    assert info(store).entry_count == len(model)
    if key_length:
        assert [key.data for key in ask(store, read_keys(1), tables.TableKeysRead).keys] == sorted(model)
        return
    assert sorted(every_key(store, count)) == sorted(model)
    assert followed(store, count) == set(model.items())


def followed(store: Tables, count: int) -> set[tuple[bytes, tuple[int, bytes]]]:
    """What a client has that follows the deltas from the beginning, and asks for what they say was changed."""
    have: dict[bytes, tuple[int, bytes]] = {}
    position = 0
    while True:
        page = ask(store, read_delta(position, count), tables.TableEntriesDeltaRead)
        have |= {entry.key.data: (entry.key.key_version, entry.value.data) for entry in page.entries.entries}
        position = page.last_position or position
        if page.reached_end:
            break
    now = dict(zip(have, values(store, *have), strict=True))
    return {(key, found) for key, found in now.items() if found[0] != -1}
