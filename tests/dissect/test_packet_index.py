"""The memory of when frames were told: as a list of all of them would say it, as far back as it goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.dissect.packet_index import TRIMMED, Stretches


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 1000)), max_size=200),
    st.integers(0, 200),
    st.integers(0, 800),
)
def test_it_is_as_a_list_of_the_last_ones(steps: list[tuple[int, int]], at_once: int, number: int) -> None:
    most = 8
    every: list[tuple[int, int]] = []
    for step, packet in steps:
        every.append(((every[-1][0] if every else 0) + step, packet))
    stretches = Stretches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REMEMBERED_STRETCHES_MAX", most)
        stretches.extend([each[0] for each in every[:at_once]], [each[1] for each in every[:at_once]])
        for each in every[at_once:]:
            stretches.add(*each)
        known = [packet for first, packet in every[-most:] if first <= number]
        assert stretches.packet_of(number) == (known[-1] if known else 0)
        assert list(zip(*stretches.columns(), strict=True)) == every[-most:]
        assert len(stretches._numbers) < most + TRIMMED
