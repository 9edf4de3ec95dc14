"""Statistics as JSON, written row by row."""

import json
import tracemalloc
from io import BytesIO

import pytest

from wiretool.analysis.stats import Stats
from wiretool.analysis.subjects import Subject
from wiretool.sinks.output import Output
from wiretool.sinks.stats import write_stats


def a_stats(connections: int, name: str = "a") -> Stats:
    """Return statistics with rows of connections, and a subject with this name if there are any."""
    stats = Stats()
    for number in range(connections):
        stats.connection_row(number, f"10.0.0.1:{number}", "10.0.0.2:1", "pravega").count(3, 70)
    if connections:
        stats.message_row(("pravega", "Hello", "client")).count(3, 70)
        stats.message_row(("pravega", "Hello", "client")).replies.add(1_000)
        stats.subject_row(Subject("segment", name)).count(1, 5)
    return stats


@pytest.mark.parametrize("connections", [0, 1, 3])
@pytest.mark.parametrize("name", ["a", 'é "\\\n', "\ud800, "])
def test_pieces_are_the_text_of_one_value(connections: int, name: str) -> None:
    stats, file = a_stats(connections, name), BytesIO()
    with Output(file) as output:
        write_stats(stats, output, "json")
    assert file.getvalue().decode() == json.dumps(stats.as_json(), indent=2) + "\n"


def test_many_rows_are_never_in_memory_at_once() -> None:
    stats, file = a_stats(3_000), BytesIO()
    tracemalloc.start()
    try:
        write_stats(stats, Output(file), "json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(file.getvalue())
