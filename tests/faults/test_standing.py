"""Rules in force: from when to when they act, on what, and what is counted."""

import pytest

from tests.faults.run import Run
from tests.helpers.frames import talk
from wiretool.errors import UsageError
from wiretool.faults import Deliver, Finish, Interceptor, parse_rule
from wiretool.protocols.base.registry import PROTOCOLS


def test_a_rule_acts_from_the_next_frame_on() -> None:
    run = Run("pravega", is_observed=True)
    hello = talk("pravega")[0].data
    run.say("client", hello[:5])
    number = run.interceptor.add(parse_rule(": drop", protocols=["pravega"]))
    assert run.say("client", hello[5:]) == [Deliver(0, "client", hello[5:])]
    assert run.say("client", hello) == []
    run.interceptor.remove(number)
    assert run.say("client", hello) == [Deliver(0, "client", hello)]
    assert run.interceptor.rules == {}
    with pytest.raises(UsageError, match="no rule has the id 1"):
        run.interceptor.remove(number)


def test_a_rule_that_goes_lets_go_of_the_frame_it_held() -> None:
    run = Run("pravega", ": drop")
    hello = talk("pravega")[0].data
    assert run.say("client", hello[:5]) == []
    run.interceptor.remove(1)
    assert run.say("client", hello[5:]) == [Deliver(0, "client", hello)]


def test_a_stall_lasts_until_its_rule_is_removed() -> None:
    run = Run("pravega", "nth=2: stall")
    sent = [data for side, data in talk("pravega") if side == "client"][:5]
    assert run.say("client", sent[0]) == [Deliver(0, "client", sent[0])]
    for data in sent[1:]:
        assert run.say("client", data) == []
    run.end("client")
    run.wait(3_600_000)
    assert run.interceptor.wake_ns is None
    run.interceptor.remove(1)
    assert run.interceptor.wake_ns is not None
    assert run.wait(0) == [Deliver(0, "client", b"".join(sent[1:])), Finish(0, "client")]


def test_a_connection_that_began_unwatched_stays_so() -> None:
    run = Run("pravega", is_observed=False)
    run.interceptor.add(parse_rule(": drop", protocols=["pravega"]))
    run.open(1)
    hello = talk("pravega")[0].data
    assert run.say("client", hello) == [Deliver(0, "client", hello)]
    assert run.say("client", hello, 1) == []


def test_a_rule_of_another_protocol_costs_nothing() -> None:
    interceptor = Interceptor([parse_rule('protocol == "sbp": drop', protocols=["pravega", "sbp"])], seed=1)
    interceptor.opened(0, PROTOCOLS["pravega"], "c", "s", 0)
    hello = talk("pravega")[0].data
    assert interceptor.feed(0, "client", hello[:3], 0) == [Deliver(0, "client", hello[:3])]
    assert interceptor.counts["client"] == {}


def test_hits_are_counted_with_their_time() -> None:
    run = Run("pravega", 'message == "DataAppended" nth=3: delay 1ms', ": duplicate")
    run.talk(talk("pravega"))
    first, second = run.interceptor.standings.values()
    assert (first.matches, first.hits, first.last_hit_ns) == (28, 1, run.now_ns)
    assert run.interceptor.hits == {1: 1, 2: 60}
    assert (second.failures, second.why) == (0, "")
    assert len(run.struck) == 61
    assert sum(run.interceptor.counts["server"].values()) == sum(side == "server" for side, _ in talk("pravega"))


def test_records_are_those_of_decode_and_of_the_bytes_as_they_came() -> None:
    run = Run("pravega", ": drop").talk(talk("pravega"))
    frames = [record for record in run.records if record.kind == "frame"]
    assert [(record.side, record.raw) for record in frames] == list(talk("pravega"))
    assert [record.n for record in frames] == list(range(1, 61))
    assert frames[3].reply_to == 3
    assert (frames[0].client, frames[0].server, frames[0].connection) == ("10.0.0.1:40000", "10.0.0.2:1", 0)
    assert frames[0].packets == (1, 1)


def test_a_condition_on_time_counts_from_the_first_record() -> None:
    run = Run("pravega", "time >= 0.5: drop", is_observed=False)
    hello = talk("pravega")[0].data
    assert run.say("client", hello) == [Deliver(0, "client", hello)]
    run.wait(500)
    assert run.say("client", hello) == []


def test_a_condition_on_the_connection() -> None:
    run = Run("pravega", "connection == 1: drop")
    run.open(1)
    hello = talk("pravega")[0].data
    assert run.say("client", hello, 0)
    assert not run.say("client", hello, 1)
