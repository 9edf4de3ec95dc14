"""One connection: frames that change places, and bytes that are no frames."""

import pytest

from tests.faults.run import Run
from tests.helpers.frames import TALKS, talk
from wiretool.faults import Deliver, Finish

every = pytest.mark.parametrize("name", list(TALKS))
RUBBISH = b"\xc8\xff\xff\xff" * 30


# -- reordering --------------------------------------------------------------------------------------------------------


def test_frames_are_swapped_in_pairs() -> None:
    run = Run("pravega", 'side == "client": reorder 50ms')
    sent = [data for side, data in talk("pravega") if side == "client"][:5]
    for data in sent:
        run.say("client", data)
    assert run.bytes_from("client") == sent[1] + sent[0] + sent[3] + sent[2]
    assert run.hits() == 2
    run.wait(49)
    assert run.bytes_from("client") == sent[1] + sent[0] + sent[3] + sent[2]
    run.wait(1)
    assert run.bytes_from("client") == sent[1] + sent[0] + sent[3] + sent[2] + sent[4]
    assert run.hits() == 2


def test_nothing_but_the_next_frame_overtakes() -> None:
    rubbish = b"\xc8\xff\xff\xff" * 5
    run = Run("pravega", ": reorder 1h")
    side, data = talk("pravega")[0]
    run.say(side, data)
    run.say(side, rubbish)
    assert run.bytes_from(side) == data + rubbish
    run = Run("pravega", ": reorder 1h")
    run.say(side, data)
    run.interceptor.remove(1)
    run.say(side, data[:3])
    assert run.bytes_from(side) == data + data[:3]


def test_an_end_does_not_wait_for_what_could_overtake() -> None:
    run = Run("pravega", ": reorder 1h")
    side, data = talk("pravega")[0]
    run.say(side, data)
    assert run.end(side) == [Deliver(0, side, data), Finish(0, side)]


def test_a_frame_that_is_dropped_overtakes_none() -> None:
    run = Run("pravega", 'side == "client" nth=1: reorder 1h', 'side == "client" nth=2: drop')
    first, second, third = [data for side, data in talk("pravega") if side == "client"][:3]
    run.say("client", first + second)
    assert run.bytes_from("client") == b""
    assert (run.hits(1), run.hits(2), len(run.struck)) == (0, 1, 1)
    run.say("client", third)
    assert run.bytes_from("client") == third + first
    assert (run.hits(1), run.hits(2), len(run.struck)) == (1, 1, 2)


def test_what_nothing_overtakes_was_not_reordered() -> None:
    first, second = [data for side, data in talk("pravega") if side == "client"][:2]
    for end in ("time", "fin", "reset"):
        run = Run("pravega", "nth=1: reorder 1ms", "nth=2: reset")
        run.say("client", first)
        if end == "time":
            run.wait(1)
        elif end == "fin":
            run.end("client")
        else:
            run.say("client", second)
        assert run.bytes_from("client") == first
        assert run.hits(1) == 0


# -- what is not understood --------------------------------------------------------------------------------------------


@every
def test_bytes_that_are_not_understood_pass_at_once_and_are_told(name: str) -> None:
    run = Run(name, ": delay 10ms")
    rubbish = b"\xc8\xff\xff\xff" * 30
    first = talk(name)[0]
    run.say(first.side, first.data)
    run.say(first.side, rubbish)
    run.say(first.side, rubbish)
    assert run.bytes_from(first.side) == b""
    run.wait(10)
    assert run.bytes_from(first.side) == first.data + rubbish * 2
    run.end(first.side)
    assert any(record.kind == "problem" for record in run.records)
    assert run.hits() == 1
    assert any("are not understood from byte" in note for note in run.notes)


@pytest.mark.parametrize("cut", [1, 3, 4, 300])
def test_tls_passes_at_once_though_it_might_begin_a_long_frame(cut: int) -> None:
    run = Run("pravega", ": drop")
    hello = bytes.fromhex("1603010200010001fc0303") + bytes(300)
    for at in range(0, len(hello), cut):
        run.say("client", hello[at : at + cut])
    assert run.bytes_from("client") == hello


@every
def test_a_loss_is_told_at_once_where_there_are_no_rules_too(name: str) -> None:
    run = Run(name)
    side, data = talk(name)[0]
    run.say(side, data)
    run.say(side, RUBBISH)
    (frame, lost) = run.records
    assert (frame.kind, lost.kind, lost.side, lost.offset) == ("frame", "problem", side, len(data))
    assert lost.raw == RUBBISH
    assert run.notes == [f"connection 0: the {side}'s bytes are not understood from byte {len(data)} on: passed on"]
    run.say(side, RUBBISH)
    run.end(side)
    assert [record.kind for record in run.records] == ["frame", "problem", "problem"]
    assert b"".join(record.raw for record in run.records) == data + RUBBISH * 2
    assert len(run.notes) == 1


def test_a_connection_that_speaks_tls_is_told_at_once() -> None:
    run = Run("pravega")
    hello = bytes.fromhex("1603010200010001fc0303") + bytes(300)
    assert run.say("client", hello) == [Deliver(0, "client", hello)]
    (lost,) = run.records
    assert (lost.kind, lost.error, lost.why, lost.raw) == ("problem", "foreign", "it begins as TLS does", hello)
    assert len(run.notes) == 1


def test_a_frame_cut_off_by_the_end_of_its_side_is_a_problem_and_worth_no_note() -> None:
    run = Run("pravega", ": delay 1ms")
    run.say("client", talk("pravega")[0].data[:5])
    run.end("client")
    assert [(record.kind, record.error) for record in run.records] == [("problem", "incomplete")]
    assert run.notes == []
