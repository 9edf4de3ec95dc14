"""Axes of time: marked at what a clock says; those of benches are tested with their pages."""

from collections.abc import Iterator

from wiretool.sinks.page.axes import moments_axis


def _marks(low_s: float, high_s: float) -> Iterator[str]:
    axis = moments_axis(int(low_s * 10**9), int(high_s * 10**9))
    assert all(axis.low <= value <= axis.high for value, _ in axis.marks)
    return (text for _, text in axis.marks)


def test_marks_of_a_clock_are_round() -> None:
    assert list(_marks(0.5, 6.5)) == ["00:00:01", "00:00:02", "00:00:03", "00:00:04", "00:00:05", "00:00:06"]
    assert list(_marks(50, 700)) == ["00:02", "00:04", "00:06", "00:08", "00:10"]
    assert list(_marks(0, 5 * 86_400)) == ["01-01", "01-02", "01-03", "01-04", "01-05", "01-06"]
    assert len(list(_marks(0, 40 * 365 * 86_400))) <= 9
