"""Which appends of several connections were on their way at the same time."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.dialogues import Dialogue
from wiretool.protocols.pravega.replay.appends import Append, AppendLog
from wiretool.protocols.pravega.replay.flights import Flight, Flights, flights_of
from wiretool.records import Record

DIALOGUES = [Dialogue(number, f"10.0.0.1:{number}", "10.0.0.2:12345", "pravega") for number in range(3)]


def append(n: int, dialogue: Dialogue, length: int = 1) -> Append:
    record = Record(n, "frame", n, dialogue.number, dialogue.client, dialogue.server, "client", (n, n), 0, length)
    return Append(record, dialogue, "segment", "writer", n, bytes(length), is_bound=True)


@st.composite
def flights(draw: st.DrawFn) -> list[Flight]:
    """Appends in their order, each acknowledged some records later."""
    spans = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), max_size=12))
    made = []
    for n, (connection, span) in enumerate(spans, 1):
        made.append(Flight(n, n + span, append(n, DIALOGUES[connection], n)))
    return made


@given(flights())
def test_those_are_found_whose_spans_share_something(every: list[Flight]) -> None:
    found = Flights(every)
    for own in every:
        beside = [
            other.append.length
            for other in every
            if other.append.dialogue is not own.append.dialogue and other.said < own.acked and own.said < other.acked
        ]
        assert sorted(found.beside(own.append)) == beside


def test_an_append_that_was_not_acknowledged_has_none_beside_it() -> None:
    log = AppendLog()
    log.acked[9] = [append(1, DIALOGUES[0])]
    known = flights_of(log)["segment"]
    assert known.beside(append(2, DIALOGUES[1])) == []
