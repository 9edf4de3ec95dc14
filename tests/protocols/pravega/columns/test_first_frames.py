"""Whole Pravega connections in columns, without sessions: the readings are those of a session of each."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.pravega.bulk_readings import STEP, Said, frames_of, readings_of
from tests.protocols.pravega.columns.test_conversation import state_of
from tests.protocols.pravega.talk import OTHER, SEGMENT, SETUP, WORLD, WRITER, ack, block, end
from wiretool import limits
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.columns import OpeningReader
from wiretool.protocols.pravega.columns.conversation import COLUMNS
from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import AppendSetup, Hello, KeepAlive, SetupAppend
from wiretool.protocols.pravega.session import PravegaConversation

Saying = tuple[Side, Message]
HELLO = Hello(high_version=16, low_version=5)


def regular(appends: int, number: int = 0) -> list[Saying]:
    """Return the messages of a client that is set up, and appends."""
    segment = f"{SEGMENT}{number}"
    asked = SetupAppend(request_id=number, writer_id=WRITER, segment=segment)
    answer = AppendSetup(request_id=number, writer_id=WRITER, segment=segment, last_event_number=-(2**63))
    said: list[Saying] = [("client", HELLO), ("server", HELLO), ("client", asked), ("server", answer)]
    said += [("client", end(each, WORLD)) for each in range(1, appends + 1)]
    return said + [("server", ack(each)) for each in range(1, appends + 1)]


def middle(appends: int, first: int = 1) -> list[Saying]:
    """Return the messages of a client that appended before, each append an event by itself."""
    numbers = range(first, first + appends)
    said: list[Saying] = [("client", end(each, WORLD, whole=len(WORLD))) for each in numbers]
    return said + [("server", ack(each)) for each in numbers]


def changed(said: list[Saying], luck: random.Random) -> list[Saying]:
    """Return messages with one change."""
    at = luck.randrange(len(said))
    side, message = said[at]
    kind = luck.choice(["lost", "doubled", "swapped", "writer", "number", "request", "side", "other", "block"])
    if kind == "lost":
        return said[:at] + said[at + 1 :]
    if kind == "doubled":
        return [*said[: at + 1], *said[at:]]
    if kind == "swapped":
        to = luck.randrange(len(said))
        rest = said[:at] + said[at + 1 :]
        return [*rest[:to], said[at], *rest[to:]]
    others: dict[str, list[Saying]] = {
        "writer": [("client", end(9, writer=OTHER)), ("server", ack(9, writer=OTHER))],
        "number": [("client", end(luck.choice([-1, 0, 2, 2**40]))), ("server", ack(luck.choice([-1, 0, 2, 2**40])))],
        "request": [("server", AppendSetup(request_id=77, writer_id=WRITER, segment=SEGMENT, last_event_number=0))],
        "side": [("server" if side == "client" else "client", message)],
        "other": [("client", KeepAlive()), ("client", SETUP)],
        "block": [("client", block(WORLD))],
    }
    return [*said[:at], luck.choice(others[kind]), *said[at:]]


def readings(
    saids: Sequence[Sequence[Said]], seed: int = 1, *, is_whole: bool = True, must_go_on: bool = False
) -> list[bool]:
    """Return which connections were read without a session.

    AssertionError where readings, or the state of those that may go on, differ from a session's; and where some may not
    go on but must.
    """
    owners = [index for index, said in enumerate(saids) for _ in said]
    random.Random(seed).shuffle(owners)
    waiting = [iter(said) for said in saids]
    every = frames_of([next(waiting[index]) for index in owners], 1)
    columns, owner = COLUMNS, np.array(owners, np.int64)
    if is_whole:
        read = columns.read_new(every, owner, len(saids))
    else:
        read = columns.read_middle(every, owner, len(saids), np.ones(len(owner), np.bool_))
    groups, flags = read.groups, read.is_read
    found = dict(reading for group in groups for reading in readings_of(every, group))
    is_read: list[bool] = flags.tolist()
    assert len(found) == sum(len(group.rows) for group in groups) == sum(is_read[owner] for owner in owners)
    reader, going = columns.open(), np.flatnonzero(flags & read.may_go_on)
    assert len(going) == len(saids) or not must_go_on
    assert isinstance(reader, OpeningReader)
    if len(going):
        reader.open(going, read, going)
    talks = dict(zip(going.tolist(), reader.release(going), strict=True))
    for index in np.flatnonzero(flags).tolist():
        alone = PravegaConversation(is_whole)
        rows = [row for row, owner in enumerate(owners) if owner == index]
        for row, (side, data) in zip(rows, saids[index], strict=True):
            n = 1 + row * STEP
            expected = alone.read(side, data, 0, len(data), n)
            message, fields, _, reply_to, *rest = found[n]
            assert (message, fields, reply_to) == (expected.message, expected.fields, expected.reply_to)
            assert rest == [expected.append, expected.events, expected.left_over]
            assert not expected.defects
        if index in talks:
            talk = talks[index]
            assert isinstance(talk, PravegaConversation)
            assert state_of(talk) == state_of(alone)
    return is_read


def frames(said: Sequence[Saying]) -> list[Said]:
    return [(side, encode(message, side)) for side, message in said]


def test_regular_connections_need_no_session() -> None:
    assert readings([frames(regular(3, number)) for number in range(12)]) == [True] * 12


def test_connections_cut_in_their_set_up_go_on() -> None:
    every = regular(2)
    odd = [every[1], every[0], *every[2:3]]
    saids = [*(every[:count] for count in range(1, len(every) + 1)), odd, odd[:2], odd[:1]]
    assert readings([frames(said) for said in saids * 2], must_go_on=True) == [True] * 2 * len(saids)


def test_regular_connections_in_mid_stream_need_no_session() -> None:
    assert readings([frames(middle(3, 1 + number)) for number in range(12)], is_whole=False) == [True] * 12


def test_an_append_whose_block_may_be_missing_is_left() -> None:
    saids = [frames(middle(3)) for _ in range(12)]
    odd = frames([("client", end(1, WORLD)), ("server", ack(1))])
    assert readings([*saids, odd], is_whole=False) == [True] * 12 + [False]


def test_few_frames_are_left() -> None:
    assert readings([frames(regular(1))]) == [False]


def test_very_many_frames_of_a_connection_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 12)
    saids = [frames(regular(3, number)) for number in range(12)]
    assert readings([*saids, frames(regular(9))]) == [True] * 12 + [False]


@given(
    seed=st.integers(0, 2**32),
    changes=st.lists(st.integers(0, 3), min_size=1, max_size=4),
)
def test_any_change_leaves_the_readings_of_sessions(seed: int, changes: list[int]) -> None:
    luck = random.Random(seed)
    saids = [regular(3, number) for number in range(12)]
    for count in changes:
        said = regular(luck.randrange(5))
        for _ in range(count):
            said = changed(said, luck) if said else said
        saids.append(said)
    assert readings([frames(said) for said in saids], seed)[:12] == [True] * 12
    middles = [middle(3, 1 + number) for number in range(12)]
    for count in changes:
        said = middle(1 + luck.randrange(5))
        for _ in range(count):
            said = changed(said, luck) if said else said
        middles.append(said)
    assert readings([frames(said) for said in middles], seed, is_whole=False)[:12] == [True] * 12
