"""The column path of the batch style: it says what the row path says, whichever schema is spoken."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tables import mutated
from tests.protocols.sbp.talk import Said, in_bulk, one_by_one
from tests.protocols.sbp_0_1.talk import append, batch, fetch, fetched, frame, plain
from wiretool.protocols.sbp.messages import APPEND, Schema
from wiretool.protocols.sbp_0_1.columns.conversation import COLUMNS
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.session import BatchConversation

SCHEMAS = pytest.mark.parametrize("schema", [S1, S2], ids=["S1", "S2"])


@pytest.fixture(autouse=True)
def _few_frames_are_worth_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.protocols.sbp.columns.frames.KIND_FRAMES_MIN", 1)


def check(said: Said) -> int:
    """How many frames took the slow way; AssertionError where the two paths differ."""
    expected = one_by_one(BatchConversation(True), said)
    conversation = BatchConversation(True)
    found, slow = in_bulk(conversation, COLUMNS, said)
    assert found == expected
    return slow


@SCHEMAS
def test_requests_and_answers(schema: Schema) -> None:
    # The first frames fit both schemas, or are what says which it is.
    assert check(plain(schema, 60)) <= 3


@SCHEMAS
def test_odd_payloads(schema: Schema) -> None:
    said = [*plain(schema, 30)]
    one = batch(schema, b"abc")
    slow = check(said)
    plain_ones = [
        append(schema, 900, one, behind=b"more"),
        append(schema, 901, batch(schema)),
        append(schema, 902, one, one, one),
        fetched(schema, 1),
        append(schema, 903, batch(schema, b"\xff", "é".encode())),
    ]
    for plain_one in plain_ones[:3] + plain_ones[4:]:
        assert check([*said[:50], plain_one, *said[50:]]) == slow
    odd_ones = [
        append(schema, 910, one, lengths=[len(one) + 1]),
        append(schema, 911, one, lengths=[len(one) - 1]),
        append(schema, 912, one, lengths=[-1]),
        append(schema, 913, one, lengths=[0]),
        append(schema, 914, one, one, lengths=[2 * len(one)]),
        append(schema, 915, b"\x21" + one[1:]),
        append(schema, 916, one[:-3]),
        append(schema, 917, one[:9] + b"\xff\xff\xff\xff" + one[13:]),
        fetched(schema, 999, one),
        frame("client", None, one, opcode=APPEND, stream_id=918),
        frame("client", b"no table", one, opcode=APPEND, stream_id=919),
    ]
    for odd in odd_ones:
        assert check([*said[:50], odd, *said[50:]]) == slow + 1


@SCHEMAS
def test_a_list_without_elements_says_of_no_batch(schema: Schema) -> None:
    said = [*plain(schema, 30), append(schema, 900, lengths=[], behind=b"bytes")]
    assert check(said) == check(said[:-1])


@SCHEMAS
def test_a_batch_of_many_records(schema: Schema) -> None:
    said = plain(schema, 30)
    many = batch(schema, *[b"x"] * 200)
    assert check([*said, append(schema, 900, many), fetch(schema, 901), fetched(schema, 901, many)]) == check(said)
    more = batch(schema, *[b"x"] * 400)
    assert check([*said, append(schema, 900, more)]) == check(said) + 1


@settings(deadline=None)
@SCHEMAS
@given(data=st.data())
def test_damaged_payloads(schema: Schema, data: st.DataObject) -> None:
    said = [*plain(schema, 12)]
    for at in data.draw(st.lists(st.integers(3, len(said) - 1), max_size=6)):
        side, raw = said[at]
        body = data.draw(mutated(raw[5:]).filter(lambda each: len(each) >= 15))
        said[at] = side, (len(body) + 1).to_bytes(4, "big") + b"\x17" + body
    check(said)
    bodies = data.draw(st.lists(mutated(batch(schema, b"abc", b"def")), min_size=1, max_size=3))
    check([*said, append(schema, 900, *bodies), fetch(schema, 901), fetched(schema, 901, *bodies)])
