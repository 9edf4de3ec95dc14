"""When appends were sent, against a dictionary that forgets nothing."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.load.send_times import KEPT_MIN, Sendings


@given(st.integers(1, 7), st.integers(0, 3 * KEPT_MIN), st.integers(1, 3_000), st.integers(0, 900))
def test_the_last_ones_are_known_and_older_ones_took_no_less(events: int, appends: int, first: int, more: int) -> None:
    sendings = Sendings(events, kept=1)
    for append in range(1, appends + 1):
        sendings.note(append * events, float(append), append - 0.5)
    asked = [append for append in range(1, appends + 1) if first <= append * events <= first + more]
    known = [max(append, appends - KEPT_MIN + 1) for append in asked]
    assert [(time.sent_s, time.due_s) for time in sendings.of(first, first + more)] == [
        (float(append), append - 0.5) for append in known
    ]


def test_what_was_never_noted_has_no_time() -> None:
    sendings = Sendings(10, kept=1_000)
    assert sendings.of(1, 100) == []
    # Its writer went on from 50.
    sendings.note(60, 6.0, 5.5)
    assert sendings.of(1, 70) == [(6.0, 5.5)]
