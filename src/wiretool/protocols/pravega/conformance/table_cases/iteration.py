"""Cases of iterations over tables and of their deltas (protocols/pravega.md §5.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.conformance.case import (
    MUST,
    OBSERVED,
    SHOULD,
    Case,
    Reply,
    Steps,
    case,
    expect_any,
    expect_close,
    reply,
    send,
)
from wiretool.conformance.values import Check, Saved
from wiretool.protocols.pravega.conformance.raw_frames import raw_frame, shorter
from wiretool.protocols.pravega.conformance.steps import MISSING, ask, rid
from wiretool.protocols.pravega.conformance.table_cases.steps import (
    ANY_VERSION,
    ENTRY_HEADER_BYTES,
    KEY_BYTES,
    NOT_THERE,
    TABLE,
    create_table,
    entries_form,
    entry_form,
    key_form,
    put,
    remove,
)

_TABLE = "protocols/pravega.md §5.2"
_READ_KEYS = 83
#: Five entries of one size, and where each lies.
FIVE = [(f"key{at}".encode(), NOT_THERE, f"value{at}".encode()) for at in range(5)]
SIZE = ENTRY_HEADER_BYTES + 4 + 6
FIVE_PUT = [(key, at * SIZE, value) for at, (key, _, value) in enumerate(FIVE)]
SIX_FIXED = [(bytes([97 + at]) * KEY_BYTES, NOT_THERE, b"v") for at in range(6)]
FIXED_SIZE = ENTRY_HEADER_BYTES + KEY_BYTES + 1
FIXED_PUT = [(key, at * FIXED_SIZE, value) for at, (key, _, value) in enumerate(SIX_FIXED)]


def _same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return sorted(map(str, found)) == sorted(map(str, expected))


def in_any_order(expected: Sequence[Any]) -> Check:
    """Return a pattern for a list of these in any order, each once."""
    return Check(f"in any order {list(expected)}", lambda value, _: isinstance(value, list) and _same(value, expected))


def _args(**fields: bytes) -> Mapping[str, str]:
    return {name: data.hex() for name, data in fields.items()}


def _keys(number: int, count: int, *outcomes: Reply, **args: Any) -> Steps:
    return ask(number, "ReadTableKeys", *outcomes, segment=TABLE, suggested_key_count=count, args=args)


def _page(keys: Any, token: Any) -> Reply:
    return reply("TableKeysRead", segment=TABLE, keys=keys, continuation_token=token)


def _five() -> Steps:
    return (create_table(), put(10, FIVE, [version for _, version, _ in FIVE_PUT]))


def _six_fixed() -> Steps:
    return (create_table(key_length=KEY_BYTES), put(10, SIX_FIXED, [version for _, version, _ in FIXED_PUT]))


def _key_forms(entries: Sequence[tuple[bytes, Any, bytes]]) -> list[Any]:
    return [key_form(key, version) for key, version, _ in entries]


def _whole_iteration(value: Any, values: Mapping[str, Any]) -> bool:
    """Return whether pages of two, two and one keys are the five."""
    pages = (values["first_page"], values["second_page"], value)
    return [len(page) for page in pages] == [2, 2, 1] and _same(
        [key for page in pages for key in page], _key_forms(FIVE_PUT)
    )


ITERATION: tuple[Case, ...] = (
    case(
        "pravega/iterate/1",
        MUST,
        "An iteration returns all entries with their versions and a token; the page for that token is empty.",
        f"{_TABLE}; captures/pravega-server table_entries",
        _five(),
        ask(
            14,
            "ReadTableEntries",
            reply(
                "TableEntriesRead",
                segment=TABLE,
                entries={"entries": in_any_order(entries_form(FIVE_PUT)["entries"])},
                continuation_token=Saved("token"),
            ),
            segment=TABLE,
            suggested_entry_count=10,
            args={"continuation_token": ""},
        ),
        ask(
            31,
            "ReadTableEntries",
            reply("TableEntriesRead", segment=TABLE, entries={"entries": []}, continuation_token=""),
            segment=TABLE,
            suggested_entry_count=10,
            args={"continuation_token": Saved("token")},
        ),
    ),
    case(
        "pravega/iterate/2",
        MUST,
        "The pages of an iteration have the requested number of keys, and together each key once.",
        _TABLE,
        _five(),
        _keys(11, 2, _page(Saved("first_page"), Saved("first"))),
        _keys(12, 2, _page(Saved("second_page"), Saved("second")), continuation_token=Saved("first")),
        _keys(
            13,
            2,
            _page(Check("the fifth key, after two pages of two", _whole_iteration), Saved("third")),
            continuation_token=Saved("second"),
        ),
        _keys(14, 2, _page([], ""), continuation_token=Saved("third")),
    ),
    case(
        "pravega/iterate/3",
        MUST,
        "An iteration of an older client, which sends the token alone, is served.",
        "protocols/pravega.md §1.4, §2.1",
        _five(),
        send(
            "ReadTableKeys",
            change=shorter(12),
            request_id=rid(13),
            segment=TABLE,
            suggested_key_count=10,
            args={"continuation_token": ""},
        ),
        expect_any(reply("TableKeysRead", request_id=rid(13), keys=in_any_order(_key_forms(FIVE_PUT)))),
    ),
    case(
        "pravega/iterate/4",
        MUST,
        "In a table of hashed keys, a range of keys is refused with an ErrorMessage (illegal argument).",
        f"{_TABLE}; captures/pravega-server table_hash_from_to",
        _five(),
        _keys(13, 2, reply("ErrorMessage", segment=TABLE, error_code=0), **_args(from_key=b"a", to_key=b"z")),
    ),
    case(
        "pravega/iterate/5",
        SHOULD,
        "A token that the server did not issue ends the connection.",
        f"{_TABLE}; captures/pravega-server table_bad_token",
        _five(),
        send(
            "ReadTableKeys",
            request_id=rid(13),
            segment=TABLE,
            suggested_key_count=2,
            args=_args(continuation_token=b"bad"),
        ),
        expect_close(),
    ),
    case(
        "pravega/iterate/6",
        SHOULD,
        "A prefix filter is ignored.",
        f"{_TABLE}; captures/pravega-server table_prefix",
        create_table(),
        put(10, [(b"aa", NOT_THERE, b"v"), (b"bb", NOT_THERE, b"v")], [0, 20]),
        _keys(
            13,
            10,
            reply("TableKeysRead", keys=in_any_order([key_form(b"aa", 0), key_form(b"bb", 20)])),
            **_args(prefix_filter=b"a"),
        ),
    ),
    *(
        case(
            f"pravega/iterate/{7 + at}",
            SHOULD,
            f"A page of {count} keys is empty, and has no token.",
            _TABLE,
            _five(),
            _keys(13, count, _page([], "")),
        )
        for at, count in enumerate((0, -1))
    ),
    case(
        "pravega/iterate/9",
        MUST,
        "An empty table has an empty page without a token.",
        _TABLE,
        create_table(),
        _keys(13, 10, _page([], "")),
    ),
    case(
        "pravega/iterate/10",
        MUST,
        "A key that was removed is in no page.",
        _TABLE,
        _five(),
        remove(11, [(b"key2", ANY_VERSION)]),
        _keys(13, 10, _page(in_any_order(_key_forms([*FIVE_PUT[:2], *FIVE_PUT[3:]])), Saved("token"))),
    ),
    case(
        "pravega/iterate/11",
        MUST,
        "The keys of a table of fixed keys come in their order.",
        _TABLE,
        create_table(key_length=KEY_BYTES),
        put(10, SIX_FIXED[::-1], [at * FIXED_SIZE for at in range(6)]),
        _keys(
            13,
            10,
            _page([key_form(key, (5 - at) * FIXED_SIZE) for at, (key, _, _) in enumerate(SIX_FIXED)], Saved("token")),
        ),
    ),
    case(
        "pravega/iterate/12",
        MUST,
        "A range of a table of fixed keys includes both of its ends.",
        _TABLE,
        _six_fixed(),
        _keys(
            13,
            10,
            _page(_key_forms(FIXED_PUT[1:4]), Saved("token")),
            **_args(from_key=SIX_FIXED[1][0], to_key=SIX_FIXED[3][0]),
        ),
    ),
    case(
        "pravega/iterate/13",
        OBSERVED,
        "A table of fixed keys returns more keys than requested, and a token.",
        _TABLE,
        _six_fixed(),
        _keys(13, 2, _page(_key_forms(FIXED_PUT), Check("a token", lambda value, _: bool(value)))),
    ),
    case(
        "pravega/iterate/14",
        SHOULD,
        "A table of fixed keys takes no token.",
        _TABLE,
        _six_fixed(),
        _keys(13, 2, _page(_key_forms(FIXED_PUT), Saved("token"))),
        _keys(14, 2, reply("ErrorMessage", segment=TABLE, error_code=0), continuation_token=Saved("token")),
    ),
    case(
        "pravega/iterate/15",
        MUST,
        "A negative length in the arguments of an iteration ends the connection.",
        "protocols/pravega.md §2.1; vectors/pravega.json iterator_args_negative_length",
        create_table(),
        raw_frame(
            _READ_KEYS,
            bytes(7) + b"\x0d",
            TABLE,
            bytes(2),
            b"\0\0\0\2" + b"\xff" * 4,
            words="ReadTableKeys with a token of -1 bytes",
        ),
        expect_close(),
    ),
)


def _delta(
    number: int,
    position: int,
    entries: Any,
    *,
    last: int,
    count: int = 10,
    ends: bool = True,
    segment: Any = TABLE,
) -> Steps:
    return ask(
        number,
        "ReadTableEntriesDelta",
        reply(
            "TableEntriesDeltaRead",
            segment=segment,
            entries={"entries": entries},
            should_clear=False,
            reached_end=ends,
            last_position=last,
        ),
        segment=segment,
        from_position=position,
        suggested_entry_count=count,
    )


def _ask_delta(number: int, position: int, *outcomes: Reply, segment: Any = TABLE) -> Steps:
    return ask(
        number,
        "ReadTableEntriesDelta",
        *outcomes,
        segment=segment,
        from_position=position,
        suggested_entry_count=10,
    )


def _forms(*numbers: int) -> list[Any]:
    return [entry_form(*FIVE_PUT[number]) for number in numbers]


DELTA: tuple[Case, ...] = (
    case(
        "pravega/delta/1",
        MUST,
        "A delta from the beginning has all entries, and ends where the next one continues.",
        _TABLE,
        _five(),
        _delta(15, 0, in_any_order(_forms(0, 1, 2, 3, 4)), last=5 * SIZE),
    ),
    case(
        "pravega/delta/2",
        MUST,
        "A delta continues at the position of the previous page.",
        _TABLE,
        _five(),
        _delta(15, 0, in_any_order(_forms(0, 1)), count=2, last=2 * SIZE, ends=False),
        _delta(16, 2 * SIZE, in_any_order(_forms(2, 3)), count=2, last=4 * SIZE, ends=False),
        _delta(17, 4 * SIZE, _forms(4), count=2, last=5 * SIZE),
    ),
    case(
        "pravega/delta/3",
        MUST,
        "A delta has the entries put after its position; a key that was put twice has its last value.",
        _TABLE,
        _five(),
        put(11, [(b"key1", ANY_VERSION, b"newer1")], [5 * SIZE]),
        _delta(15, 5 * SIZE, [entry_form(b"key1", 5 * SIZE, b"newer1")], last=6 * SIZE),
        _delta(
            16,
            0,
            in_any_order([*_forms(0, 2, 3, 4), entry_form(b"key1", 5 * SIZE, b"newer1")]),
            last=6 * SIZE,
        ),
    ),
    case(
        "pravega/delta/4",
        OBSERVED,
        "A removal does not appear in a delta, and its key is missing from the page.",
        _TABLE,
        _five(),
        remove(11, [(b"key1", ANY_VERSION)]),
        _delta(15, 0, in_any_order(_forms(0, 2, 3, 4)), last=5 * SIZE + ENTRY_HEADER_BYTES + 4),
    ),
    case(
        "pravega/delta/5",
        SHOULD,
        "A delta of an empty table is an empty page at position 0; one of a missing table is refused.",
        f"{_TABLE}; captures/pravega-server table_delta_odd",
        create_table(),
        _delta(15, 0, [], last=0),
        _ask_delta(30, 0, reply("NoSuchSegment", segment=MISSING, offset=-1), segment=MISSING),
    ),
    case(
        "pravega/delta/6",
        SHOULD,
        "A delta from a position inside an entry ends the connection.",
        f"{_TABLE}; captures/pravega-server table_delta_odd",
        _five(),
        send("ReadTableEntriesDelta", request_id=rid(31), segment=TABLE, from_position=3, suggested_entry_count=10),
        expect_close(),
    ),
    case(
        "pravega/delta/7",
        OBSERVED,
        "A delta from the end is an empty page at position 0.",
        _TABLE,
        _five(),
        _delta(15, 5 * SIZE, [], last=0),
    ),
    case(
        "pravega/delta/8",
        MUST,
        "A delta from beyond the end is refused with an ErrorMessage (illegal argument).",
        f"{_TABLE}; §9.2 testReadTableEntriesDeltaOutOfBounds",
        _five(),
        _ask_delta(15, 5 * SIZE + 1, reply("ErrorMessage", segment=TABLE, error_code=0)),
    ),
    case(
        "pravega/delta/9",
        SHOULD,
        "A table of fixed keys has no delta.",
        f"{_TABLE}; captures/pravega-server table_fixed_delta",
        _six_fixed(),
        _ask_delta(15, 0, reply("OperationUnsupported", operation_name="readTableEntriesDelta")),
    ),
)
CASES = (*ITERATION, *DELTA)
