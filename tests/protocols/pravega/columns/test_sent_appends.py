"""Acknowledgements are matched with appends of the same number, whatever the distance of the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.columns import Integers
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.columns import sent_appends
from wiretool.protocols.pravega.columns.sent_appends import Appends, Half, Waiting, falls

COUNT = 3
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 2**63 - 1))
#: Of each connection: the numbers of appends that wait, and of acknowledgements.
CONNECTIONS = st.lists(
    st.tuples(st.sets(NUMBERS, max_size=5), st.sets(NUMBERS, max_size=5)), min_size=COUNT, max_size=COUNT
)


def of_connections(numbers: list[set[int]]) -> tuple[Integers, Integers]:
    """Return the connection of each number, and the numbers, ascending on each."""
    pairs = [(owner, number) for owner, each in enumerate(numbers) for number in sorted(each)]
    owner, found = np.array(pairs, np.int64).reshape(-1, 2).T
    return owner, found


@pytest.mark.parametrize("codes_max", [0, sent_appends._CODES_MAX])
@given(CONNECTIONS)
def test_appends_and_acknowledgements_are_matched_as_one_by_one(
    codes_max: int, connections: list[tuple[set[int], set[int]]]
) -> None:
    owner, numbers = of_connections([sent for sent, _ in connections])
    records = np.arange(len(owner)) + 100
    none = np.zeros(0, np.int64)
    ack_owner, acked = of_connections([acks for _, acks in connections])
    acks = Half(None, ack_owner, acked, np.arange(len(acked)))
    keys = list(zip(owner.tolist(), numbers.tolist(), strict=True))
    record_of = dict(zip(keys, records.tolist(), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sent_appends, "_CODES_MAX", codes_max)
        sent = Appends(Half(None, none, none, none), Waiting(owner, numbers, records, records), COUNT)
        answers, left = sent.answered_by(acks), sent.waiting(acks)
    asked = zip(ack_owner.tolist(), acked.tolist(), strict=True)
    assert answers.tolist() == [record_of.get(key, NO_REPLY) for key in asked]
    assert list(zip(left.owner.tolist(), left.numbers.tolist(), strict=True)) == [
        (index, number)
        for index, (numbers_sent, acks_sent) in enumerate(connections)
        for number in sorted(numbers_sent)
        if number > max(acks_sent, default=-1)
    ]


def test_a_number_that_is_not_larger_than_the_last_one_of_its_connection_falls() -> None:
    owner, numbers = np.array([0, 0, 0, 1, 1]), np.array([1, 2, 2, 0, 5])
    assert falls(owner, numbers).tolist() == [False, True, False, False]
