"""Frames of a connection at once say what they say one by one, and leave the same behind."""

import gc
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.offramp_messages import make_capture
from tests.dissect.columns.engines import assert_equal, by_columns, by_rows
from tests.protocols.offramp.columns.test_json import LAWFUL, ODD
from tests.protocols.offramp.talk import (
    BINARY,
    FIN,
    RSV1,
    TEXT,
    Deflater,
    asking,
    event_of,
    every_event,
    frame,
    road_message,
    side_of,
    upgrading,
)
from wiretool import limits
from wiretool.batches.rows import values_of
from wiretool.codec.columns import Objects
from wiretool.codec.message import Message, Side
from wiretool.dissect.columns.read import read_batches
from wiretool.protocols.base.columns import NO_REPLY, Frames, Group
from wiretool.protocols.offramp.columns import conversation as bulk
from wiretool.protocols.offramp.columns import turns as bulk_turns
from wiretool.protocols.offramp.columns.conversation import COLUMNS
from wiretool.protocols.offramp.columns.json import plain_objects
from wiretool.protocols.offramp.columns.members import Reread
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    Close,
    CommitEvent,
    CommitResponseEvent,
    ConnectionEvent,
    ErrorEvent,
    MessageEvent,
    Ping,
    Pong,
    RequestEvent,
)

Said = tuple[Side, bytes]
#: Number, name, fields, what is wrong, and what it answers.
Told = tuple[int, str, Any, list[str], int | None]


@pytest.fixture(autouse=True)
def short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read few frames together, too."""
    monkeypatch.setattr(bulk_turns, "RANGE_FRAMES_MIN", 1)
    monkeypatch.setattr(bulk, "FRAMES_MIN", 1)


DEFLATES = ["", "permessage-deflate", "permessage-deflate; server_no_context_takeover; client_no_context_takeover"]


def begun(extensions: str, *, from_start: bool = True) -> Connection:
    """A connection on which events may flow."""
    connection = Connection(from_start=from_start)
    if from_start:
        begin: list[Said] = [("client", asking(extensions)), ("server", upgrading(extensions))]
        begin.append(("server", encode(ConnectionEvent(agentName="offramp-0"), "server")))
        for side, raw in begin:
            connection.read(side, raw, 0, len(raw), 0)
    return connection


def told_one_by_one(connection: Connection, said: Sequence[Said], first: int = 1) -> list[Told]:
    told = []
    for n, (side, raw) in enumerate(said, first):
        reading = connection.read(side, raw, 0, len(raw), n)
        told.append((n, reading.message, reading.fields, [str(each) for each in reading.defects], reading.reply_to))
    return told


def frames_of(said: Sequence[Said]) -> Frames:
    """All that the client said, then all that the server said, in rows of the order in which they said it."""
    data = b"".join(raw for side in ("client", "server") for own, raw in said if own == side)
    at: dict[Side, int] = {"client": 0, "server": sum(len(raw) for side, raw in said if side == "client")}
    starts = []
    for side, raw in said:
        starts.append(at[side])
        at[side] += len(raw)
    begins = np.array(starts, np.int64)
    ends = begins + np.array([len(raw) for _, raw in said], np.int64)
    return Frames(data, begins, ends, np.array([side == "server" for side, _ in said]), np.arange(1, len(said) + 1))


def told_at_once(connection: Connection, said: Sequence[Said]) -> tuple[list[Told], int]:
    """What they say, and how many of them were read one by one."""
    frames = frames_of(said)
    told: list[Told] = []

    def read_one(row: int) -> None:
        side, raw = said[row]
        (one,) = told_one_by_one(connection, [(side, raw)], row + 1)
        told.append(one)

    groups = read_alone(connection, frames, read_one)
    odd = len(told)
    for group in groups:
        told += told_of(group, frames)
    return sorted(told, key=lambda one: one[0]), odd


def read_alone(connection: Connection, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
    """Return the groups of frames of one connection."""
    owner = np.zeros(len(frames.starts), np.int64)
    return COLUMNS.read(frames, owner, [connection], lambda those: None, read_one)


def told_of(group: Group, frames: Frames) -> list[Told]:
    assert group.cls is not None
    columns = {name: values_of(column, frames.data) for name, column in group.columns.items()}
    replies = [NO_REPLY] * len(group.rows) if group.reply_to is None else group.reply_to.tolist()
    assert np.all(np.diff(group.rows) > 0)
    return [
        (
            int(frames.numbers[row]),
            group.name,
            group.cls(**{name: values[index] for name, values in columns.items()}),
            [],
            None if replies[index] == NO_REPLY else replies[index],
        )
        for index, row in enumerate(group.rows.tolist())
    ]


#: What shows, afterwards, what a connection remembers.
BEHIND: list[Said] = [
    ("server", frame("server", FIN, b"lone")),
    ("client", frame("client", FIN, b"lone")),
    ("server", encode(CommitResponseEvent(correlationId="a", success=True), "server")),
    ("server", encode(CommitResponseEvent(correlationId="a", success=True), "server")),
    ("server", encode(CommitResponseEvent(success=True), "server")),
    ("server", encode(ErrorEvent(reason="Requested count cannot be negative value (given -3)"), "server")),
    ("server", encode(Pong(payload=b"p"), "server")),
    ("client", encode(Close(), "client")),
    ("server", encode(Close(), "server")),
]


def check(said: Sequence[Said], extensions: str = "", *, from_start: bool = True) -> int:
    """How many were read one by one; AssertionError where the two ways differ in what they say or leave behind."""
    rows, columns = begun(extensions, from_start=from_start), begun(extensions, from_start=from_start)
    told, odd = told_at_once(columns, said)
    assert told == told_one_by_one(rows, said)
    assert repr(told) == repr(told_one_by_one(begun(extensions, from_start=from_start), said))  # 1 is not True
    assert columns.session.phases == rows.session.phases
    assert told_one_by_one(columns, BEHIND, 1_000) == told_one_by_one(rows, BEHIND, 1_000)
    return odd


def said_by(*events: Message) -> list[Said]:
    return [(side_of(event), encode(event, side_of(event), mask=b"\x37\xfa\x21\x3d")) for event in events]


def text(side: Side, raw: bytes, opcode: int = TEXT) -> Said:
    return side, frame(side, FIN | opcode, raw)


# -- what goes at once -------------------------------------------------------------------------------------------------


def test_messages_at_once() -> None:
    assert check(said_by(*(road_message(offset) for offset in range(3_000)))) == 0


def test_all_that_flows_at_once() -> None:
    events: list[Message] = [RequestEvent(count=0), RequestEvent(count=2**63 - 1), CancelEvent()]
    for n in range(40):
        events += [CommitEvent(correlationId=f"c{n % 7}", offsets={"0": n}), CommitEvent(offsets={}), road_message(n)]
        events += [CommitResponseEvent(correlationId=f"c{n % 7}", success=n % 2 == 0)]
    assert check(said_by(*events)) == 0


def test_numbers_have_columns_of_numbers() -> None:
    said = said_by(road_message(1), MessageEvent(partition=1, offset=2**62, schema=1, payload=None))
    (group,) = read_alone(begun(""), frames_of(said), lambda row: pytest.fail(f"{row} is read by itself"))
    kinds = {name: type(column).__name__ for name, column in group.columns.items()}
    numbers = dict.fromkeys(("partition", "offset", "schema", "timestampMs"), "Numbers")
    assert kinds == {"type": "Choice", **numbers, "payload": "Objects"}


@pytest.mark.parametrize("extensions", DEFLATES[1:])
def test_compressed_at_once(extensions: str) -> None:
    deflate = {side: Deflater(resets="no_context" in extensions) for side in ("client", "server")}
    said: list[Said] = []
    for offset in range(200):
        said.append(("server", frame("server", FIN | RSV1 | BINARY, deflate["server"](encoded(road_message(offset))))))
        said.append(("client", frame("client", FIN | RSV1 | TEXT, deflate["client"](b'{"type":"CANCEL"}'))))
    assert check(said, extensions) == 0


def test_payloads_are_kept_as_texts() -> None:
    """In columns like any other: as a whole, in parts, and one by one."""
    events = [road_message(offset) for offset in range(5)]
    deflate = Deflater()
    said: list[Said] = [("server", frame("server", FIN | RSV1 | TEXT, deflate(encoded(each)))) for each in events[:4]]
    said += said_by(events[4])
    (group,) = read_alone(begun(DEFLATES[1]), frames_of(said), lambda row: pytest.fail(f"{row} is read by itself"))
    column, wanted = group.columns["payload"], [each.payload for each in events]
    assert isinstance(column, Objects)
    assert isinstance(column.values, Reread)
    assert list(column.values) == list(column.values[:]) == list(column.values[0:5:1]) == wanted
    assert [column.values[index] for index in range(len(column.values))] == wanted
    assert list(column.take(np.array([4, 0])).values) == [wanted[4], wanted[0]]
    assert list(column.values[3:]) == wanted[3:]


def encoded(event: Message) -> bytes:
    """Its text."""
    raw = encode(event, "server")
    return raw[4 if raw[1] == 126 else 2 :]


# -- what goes one by one ----------------------------------------------------------------------------------------------

#: Texts of which the members are not those of an event.
BAD_MEMBERS = [
    b'{"type":"MESSAGE"}',
    b'{"type":"MESSAGE","partition":true,"offset":1,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":1.0,"offset":1,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":2147483648,"offset":1,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":1,"offset":9223372036854775808,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":1,"offset":-99999999999999999999,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":null,"offset":1,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":"1","offset":1,"schema":1,"payload":0}',
    b'{"type":"MESSAGE","partition":1,"offset":1,"schema":1}',
    b'{"type":"MESSAGE","partition":1,"offset":1,"schema":1,"timestampMs":"1","payload":0}',
    b'{"type":"COMMIT_RESPONSE","success":1}',
    b'{"type":"COMMIT_RESPONSE","success":null}',
    b'{"type":"COMMIT_RESPONSE","correlationId":1,"success":true}',
    b'{"type":"REBALANCE","assignment":[1,"2"]}',
    b'{"type":"REBALANCE","assignment":7}',
    b'{"type":"CONNECTION","agentName":"again"}',
    b'{"type":"ERROR","reason":"Requested count cannot be negative value (given -3)"}',
    b'{"type":"REQUEST","count":1}',
    b'{"type":["MESSAGE"]}',
    b'{"type":{"a":1}}',
    b'{"type":null}',
    b'{"type":1}',
    b'{"type":"message"}',
    b"{}",
]
BAD_FROM_CLIENT = [
    b'{"type":"REQUEST","count":-3}',
    b'{"type":"REQUEST"}',
    b'{"type":"REQUEST","count":1.5}',
    b'{"type":"COMMIT","correlationId":"a"}',
    b'{"type":"COMMIT","correlationId":7,"offsets":{"0":1}}',
    b'{"type":"COMMIT","correlationId":"a","offsets":{"00":1}}',
    b'{"type":"COMMIT","correlationId":"a","offsets":{"0":1.5}}',
    b'{"type":"MESSAGE","partition":1,"offset":1,"schema":1,"payload":0}',
]
#: Lawful, though not as the server writes it.
UNUSUAL = [
    b'{"partition":1,"payload":[1,{"a":{}}],"schema":2,"offset":3,"type":"MESSAGE","more":{"x":[]}}',
    b'{"type":"MESSAGE","partition":1,"offset":1,"schema":1,"timestampMs":null,"payload":null}',
    b' {"type": "MESSAGE", "partition":-0,"offset":-9223372036854775808, "schema":1, "payload":"\\u00e9: \xc3\xa9"}\n',
    b'{"type":"REBALANCE","assignment":[2,1,2]}',
    b'{"type":"REBALANCE","assignment":[]}',
    b'{"type":"COMMIT_RESPONSE","correlationId":null,"success":false}',
]


@pytest.mark.parametrize("raw", BAD_MEMBERS + ODD)
def test_what_is_no_event_goes_by_itself(raw: bytes) -> None:
    good = said_by(*(road_message(offset) for offset in range(3)))
    assert check([*good, text("server", raw), *good]) == 1
    assert check([*good, text("server", raw, BINARY), *good]) == 1


@pytest.mark.parametrize("raw", BAD_FROM_CLIENT)
def test_what_a_client_may_not_say_goes_by_itself(raw: bytes) -> None:
    assert check([*said_by(CancelEvent(), road_message(1)), text("client", raw), *said_by(CancelEvent())]) == 1


@pytest.mark.parametrize("raw", UNUSUAL)
def test_unusual_events_go_at_once(raw: bytes) -> None:
    assert check([*said_by(road_message(1)), text("server", raw), *said_by(road_message(2))]) == 0


@pytest.mark.parametrize("raw", LAWFUL)
def test_any_lawful_payload(raw: bytes) -> None:
    check([text("server", b'{"type":"MESSAGE","partition":1,"offset":2,"schema":3,"payload":%s}' % raw.strip())])


def test_sizes_of_what_a_client_says() -> None:
    most = limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX
    for more, odd in ((0, 0), (1, 1)):
        raw = b'{"type":"CANCEL","x":"%s"}' % (b"x" * (most + more - 24))
        assert len(raw) == most + more
        assert check([text("client", raw), text("client", raw, BINARY)]) == 2 * odd
        squeezed = frame("client", FIN | RSV1 | BINARY, Deflater()(raw))
        assert check([("client", squeezed)], DEFLATES[1]) == odd


def test_compression_that_was_not_agreed() -> None:
    squeezed = frame("server", FIN | RSV1 | BINARY, Deflater()(encoded(road_message(1))))
    assert check([*said_by(road_message(1)), ("server", squeezed), *said_by(road_message(2))]) == 1


def test_compressed_messages_that_are_none() -> None:
    """An inflater meets each message once, whichever way that is read, and goes on as it would have."""
    deflate = Deflater()
    good = [frame("server", FIN | RSV1 | BINARY, deflate(encoded(road_message(n)))) for n in range(6)]
    no_event = frame("server", FIN | RSV1 | BINARY, deflate(b'{"type":"MESSAGE","a":1,"a":2}'))
    later = [frame("server", FIN | RSV1 | BINARY, deflate(encoded(road_message(n)))) for n in range(3)]
    ends_inside = zlib.compress(b"x" * 90, 0)[2:-9]
    for bad in (b"\x07garbage", b"\xff", ends_inside, b"\x00"):
        broken = frame("server", FIN | RSV1 | BINARY, bad)
        check([("server", raw) for raw in (*good, no_event, *later, broken, *later)], DEFLATES[1])
        check([("server", raw) for raw in (*good[3:], no_event, *later, broken)], DEFLATES[1], from_start=False)


def test_much_in_little() -> None:
    """What inflates to much is read in several steps."""
    deflate = Deflater()
    raw = b'{"type":"MESSAGE","partition":1,"offset":2,"schema":3,"payload":"%s"}' % (b"x" * 700_000)
    assert check([("server", frame("server", FIN | RSV1 | BINARY, deflate(raw))) for _ in range(5)], DEFLATES[1]) == 0


def test_fragments_between() -> None:
    whole = said_by(*(road_message(n) for n in range(4)), CancelEvent())
    begun_message: list[Said] = [("server", frame("server", BINARY, b'{"type":"MES'))]
    rest: list[Said] = [("server", frame("server", FIN, b'SAGE"}'))]
    assert check([*whole, *begun_message, *rest, *whole]) == 2
    assert check([*whole, *begun_message, *said_by(Ping(payload=b"p"), CancelEvent()), *rest, *whole]) == 3
    assert check([*whole, *begun_message, *whole, *rest]) > 2
    assert check([*begun_message, *said_by(CancelEvent(), CancelEvent()), *rest]) == 2


def test_pings_do_not_part_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[int]()

    def count(texts: Sequence[bytes]) -> list[dict[str, Any] | None]:
        parsed.append(len(texts))
        return plain_objects(texts)

    monkeypatch.setattr(bulk_turns, "plain_objects", count)
    said = said_by(*(each for n in range(40) for each in (road_message(n), Ping(payload=b"p"), CancelEvent())))
    assert check(said) == 40
    assert parsed == [120]


def test_a_ping_is_not_the_event_in_its_payload() -> None:
    cancel = b'{"type":"CANCEL"}'
    assert check(said_by(Ping(payload=cancel), Pong(payload=cancel), CancelEvent())) == 2


def test_a_ping_does_not_prove_that_no_message_is_unfinished() -> None:
    said: list[Said] = [*said_by(*[Pong(payload=b"p")] * 3), ("server", frame("server", FIN, b"rest"))]
    assert check([*said, *said_by(road_message(1))], from_start=False) == 4


def test_not_before_events_flow_nor_after_their_end() -> None:
    said = [*said_by(CancelEvent(), Close(), CancelEvent(), road_message(1), Close(), road_message(2))]
    assert check(said) == 5


@pytest.mark.parametrize("extensions", DEFLATES)
def test_from_the_upgrade_on(extensions: str) -> None:
    """The frames up to the first event are read by themselves."""
    opening: list[Said] = [("client", asking(extensions)), ("server", upgrading(extensions))]
    said = [*opening, *said_by(ConnectionEvent(agentName="x"), *(road_message(n) for n in range(9)), CancelEvent())]
    rows, columns = Connection(from_start=True), Connection(from_start=True)
    told, odd = told_at_once(columns, said)
    assert told == told_one_by_one(rows, said)
    assert odd == 3
    assert columns.deflates == rows.deflates == bool(extensions)


def test_joined_in_the_middle() -> None:
    connected = said_by(ConnectionEvent(agentName="x"))
    assert (
        check([*said_by(road_message(1), CancelEvent()), *connected, *said_by(road_message(2))], from_start=False) == 1
    )


def test_a_commit_that_is_refused_waits_in_its_turn() -> None:
    bad = text("client", b'{"type":"COMMIT","correlationId":"a","offsets":7}')
    good = said_by(CommitEvent(correlationId="a", offsets={}))
    answer = said_by(CommitResponseEvent(correlationId="a", success=True))
    assert check([bad, *good, *answer, *answer, *answer]) == 1
    assert check([*answer, *good, bad, *good, *answer, *answer]) == 1


def test_the_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    check(said_by(road_message(1)))
    assert gc.isenabled()
    gc.disable()
    try:
        check(said_by(road_message(1)))
        assert not gc.isenabled()
    finally:
        gc.enable()


# -- anything ----------------------------------------------------------------------------------------------------------


@st.composite
def anything_said(draw: st.DrawFn, deflaters: dict[Side, Deflater]) -> Said:
    kind = draw(st.sampled_from(["event", "event", "commit", "text", "deflated", "deflated", "odd", "control"]))
    side: Side = draw(st.sampled_from(["client", "server", "server"]))
    opcode = draw(st.sampled_from([TEXT, BINARY]))
    if kind == "event":
        return said_by(draw(every_event))[0]
    if kind == "commit":
        ids = st.sampled_from([None, "a", "b"])
        event = draw(st.builds(CommitEvent, correlationId=ids, offsets=st.just({})) | response_of(ids))
        return said_by(event)[0]
    if kind == "control":
        return said_by(draw(st.sampled_from([Ping(payload=b"p"), Pong(payload=b"p")])))[0]
    raw = draw(st.sampled_from([*BAD_MEMBERS, *BAD_FROM_CLIENT, *UNUSUAL, *ODD, *LAWFUL]))
    if kind == "text":
        return text(side, raw, opcode)
    if kind == "deflated":
        return side, frame(side, FIN | RSV1 | opcode, deflaters[side](raw))
    first = draw(st.sampled_from([TEXT, 0, FIN, FIN | 0x23, RSV1 | TEXT, FIN | RSV1 | TEXT, FIN | 0x28]))
    return side, frame(draw(st.sampled_from([side, side, "client", "server"])), first, raw[:125])


def response_of(ids: st.SearchStrategy[str | None]) -> st.SearchStrategy[Message]:
    return st.builds(CommitResponseEvent, correlationId=ids, success=st.booleans())


@given(st.data(), st.sampled_from(DEFLATES), st.booleans(), st.integers(1, 12))
def test_anything(data: st.DataObject, extensions: str, from_start: bool, count: int) -> None:
    resets = "no_context" in extensions
    deflaters: dict[Side, Deflater] = {"client": Deflater(resets=resets), "server": Deflater(resets=resets)}
    check([data.draw(anything_said(deflaters)) for _ in range(count)], extensions, from_start=from_start)


@given(st.lists(event_of(MessageEvent), min_size=1, max_size=6))
def test_any_messages(events: list[Message]) -> None:
    check(said_by(*events))


# -- whole captures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deflate", ["", "takeover", "resets"])
def test_made_captures(tmp_path: Path, deflate: str) -> None:
    path = tmp_path / "made.pcap"
    frames = make_capture(path, messages=1_203, messages_per_packet=5, deflate=deflate)
    rows = by_rows(path)
    assert_equal(by_columns(path), rows)
    assert [record.kind for record in rows.records] == ["frame"] * frames
    assert sum(record.message == "MESSAGE" for record in rows.records) == 1_203
    assert sum(len(batch.records) for batch in read_batches(path)) < 10
    assert path.read_bytes() == again(tmp_path, deflate)


def again(folder: Path, deflate: str) -> bytes:
    """The same capture, made once more."""
    path = folder / "again.pcap"
    make_capture(path, messages=1_203, messages_per_packet=5, deflate=deflate)
    return path.read_bytes()
