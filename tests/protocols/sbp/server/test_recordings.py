"""How answers are held against recorded ones, and what is said of captures that are not here."""

import pytest

from tests.protocols.sbp.server.recorded import Side, compare, recordings_of
from tests.protocols.sbp.server.talk import ping
from wiretool.protocols.sbp.framing import encode_frame
from wiretool.protocols.sbp.schema import LATEST


def said(*ids: int) -> dict[int, Side]:
    """A connection on which these PINGs were answered."""
    return {0: Side(data=bytearray(b"".join(encode_frame(ping(number), "server") for number in ids)))}


@pytest.mark.parametrize(
    ("theirs", "ours", "differs"),
    [((1, 2, 3), (1, 2, 3), []), ((1, 2, 3), (1, 3, 2), [0]), ((1, 2, 3), (1, 3), []), ((1, 2, 2), (2, 1), [0])],
)
def test_the_order_of_pings_is_judged(theirs: tuple[int, ...], ours: tuple[int, ...], differs: list[int]) -> None:
    assert compare(LATEST, said(*theirs), said(*ours), lingers=True).pings == differs


def test_a_missing_capture_ends_the_run_with_its_name(pytestconfig: pytest.Config) -> None:
    with pytest.raises(pytest.UsageError, match=r"captures are missing: no_such_capture$"):
        recordings_of(pytestconfig, "L", ["rs_append", "no_such_capture"])
