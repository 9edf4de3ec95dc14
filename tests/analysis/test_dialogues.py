"""Recordings: exchanges, what was said unasked, and parts of them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import a_gap, a_record
from wiretool.analysis.dialogues import Dialogue, Ended, Opened, Recording, Told, exchanges_of, pushed
from wiretool.records import Record

#: Of a connection: who says it, and which of what was said it answers, if any of the client's.
_said = st.lists(st.tuples(st.sampled_from(["client", "server"]), st.integers(-3, 20)), max_size=20)


def records_of(said: list[tuple[str, int]], connection: int = 0, first: int = 1) -> list[Record]:
    found: list[Record] = []
    for n, (side, answers) in enumerate(said, first):
        asked = [each.n for each in found if each.side == "client"]
        reply_to = asked[answers] if side == "server" and 0 <= answers < len(asked) else None
        found.append(a_record(n=n, side=side, reply_to=reply_to, connection=connection, time_ns=1000 + 10 * n))
    return found


def recording_of(*every: list[tuple[str, int]], step: int = 7) -> Recording:
    """Connections one after another, each opened right before its first record, and ended by its client."""
    recording = Recording()
    first = 1
    for number, said in enumerate(every):
        dialogue = Dialogue(number, f"10.0.0.1:{number}", "10.0.0.2:2", "pravega", True)
        dialogue.records = records_of(said, number, first)
        recording.dialogues.append(dialogue)
        begin = 1000 + 10 * first - 5
        recording.events.append(Opened(begin, dialogue))
        recording.events += [Told(record.time_ns, dialogue, record) for record in dialogue.records]
        recording.events.append(Ended(begin + 10 * len(said) + 1, dialogue, "client", "fin"))
        first += len(said)
    recording.events.sort(key=lambda event: event.time_ns)
    return recording


# -- exchanges -------------------------------------------------------------------------------------------------------


@given(_said)
def test_every_frame_is_a_request_a_reply_or_unasked(said: list[tuple[str, int]]) -> None:
    records = records_of(said)
    exchanges, unasked = exchanges_of(records), pushed(records)
    found = [each.request for each in exchanges] + [reply for each in exchanges for reply in each.replies] + unasked
    assert sorted(found, key=lambda record: record.n) == records
    for exchange in exchanges:
        assert exchange.request.side == "client"
        assert all(reply.reply_to == exchange.request.n for reply in exchange.replies)
        assert exchange.replies == sorted(exchange.replies, key=lambda reply: reply.n)


def test_holes_and_replies_to_what_is_not_there_are_no_exchange() -> None:
    records = [a_gap(n=1), a_record(n=2), a_gap(n=3, reply_to=2), a_record(n=4, side="server", reply_to=99)]
    (exchange,) = exchanges_of(records)
    assert (exchange.request.n, exchange.replies) == (2, [])
    assert pushed(records) == []


@given(st.lists(_said, max_size=4))
def test_exchanges_of_all_connections_are_in_the_order_of_asking(every: list[list[tuple[str, int]]]) -> None:
    recording = recording_of(*every)
    found = [exchange.request.n for exchange in recording.exchanges("pravega")]
    assert found == sorted(found)
    assert len(found) == sum(side == "client" for said in every for side, _ in said)
    assert recording.exchanges("sbp") == []
    assert recording.of("pravega") == recording.dialogues
    assert recording.of("sbp") == []


# -- parts -----------------------------------------------------------------------------------------------------------


@given(st.lists(_said, max_size=3), st.integers(990, 1500), st.integers(0, 500))
def test_a_part_has_what_happened_in_its_time(every: list[list[tuple[str, int]]], first: int, length: int) -> None:
    whole, last = recording_of(*every), first + length
    part = whole.between(first, last)
    within = [event for event in whole.events if first <= event.time_ns <= last and not isinstance(event, Opened)]
    assert [event._replace(dialogue=None) for event in part.events if not isinstance(event, Opened)] == [  # type: ignore[arg-type]
        event._replace(dialogue=None)  # type: ignore[arg-type]
        for event in within
    ]
    assert {event.dialogue for event in part.events} == {*part.dialogues}
    assert all(one.time_ns <= other.time_ns for one, other in pairwise(part.events))
    begun = {event.dialogue.number: event.time_ns for event in whole.events if isinstance(event, Opened)}
    for dialogue in part.dialogues:
        mine = [event for event in part.events if event.dialogue is dialogue]
        assert isinstance(mine[0], Opened)
        assert sum(isinstance(event, Opened) for event in mine) == 1
        assert dialogue.records == [event.record for event in mine if isinstance(event, Told)]
        assert dialogue.is_opened == (begun[dialogue.number] >= first)
        assert mine[0].time_ns >= first


@given(st.lists(_said.filter(bool), min_size=1, max_size=3))
def test_the_part_of_all_time_is_the_whole(every: list[list[tuple[str, int]]]) -> None:
    whole = recording_of(*every)
    part = whole.between(0, 10**6)
    assert [each.records for each in part.dialogues] == [each.records for each in whole.dialogues]
    assert [event._replace(dialogue=None) for event in part.events] == [  # type: ignore[arg-type]
        event._replace(dialogue=None)  # type: ignore[arg-type]
        for event in whole.events
    ]
    assert not {*part.dialogues} & {*whole.dialogues}


def test_a_part_of_no_time_is_empty_and_leaves_the_whole_as_it_was() -> None:
    whole = recording_of([("client", 0), ("server", 0)])
    records = list(whole.dialogues[0].records)
    assert whole.between(0, 10) == Recording()
    assert whole.between(10, 0) == Recording()
    whole.between(0, 1015)
    assert whole.dialogues[0].records == records


def test_the_last_part_of_a_damaged_capture_is_damaged() -> None:
    whole = recording_of([("client", 0), ("server", 0)])
    end = whole.events[-1].time_ns
    assert not whole.between(0, end).is_cut
    whole.is_cut = True
    assert whole.between(0, end).is_cut
    assert not whole.between(0, end - 1).is_cut


# -- other connections -----------------------------------------------------------------------------------------------


def test_without_some_connections_the_others_are_as_they_were() -> None:
    whole = recording_of([("client", 0)], [("client", 0), ("server", 0)], [("server", 0)])
    whole.is_cut = True
    one, two, three = whole.dialogues
    left = whole.without({two})
    assert left.dialogues == [one, three]
    assert left.is_cut
    assert left.events == [event for event in whole.events if event.dialogue is not two]
    assert whole.without(()) is whole
    assert whole.without({one, two, three}) == Recording(is_cut=True)
