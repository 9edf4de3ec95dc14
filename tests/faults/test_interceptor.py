"""What holds for every protocol: nothing is lost, order is kept, times are kept, and a run can be repeated."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.talk import Sent
from tests.faults.run import MS, Run, chunked, frames_of, said
from tests.helpers.examples import ABSENT, needs_protocol
from tests.helpers.frames import TALKS, talk
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import UsageError
from wiretool.faults import Cut, Deliver, Finish, Interceptor, Misdeed, parse_rule
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.messages import AppendBlockEnd

VECTORS = Path(__file__).parent.parent / "vectors"
NAMES = tuple(TALKS)
SIDES: tuple[Side, Side] = ("client", "server")
every = pytest.mark.parametrize("name", NAMES)
#: One rule of each kind that works on the frames of any protocol.
RULES = (
    ": delay 20ms",
    "every=3: delay 5ms",
    "every=2: drop",
    "every=3: duplicate 2",
    "every=2: reorder",
    "nth=4: stall 10ms",
    "nth=5: cut after 3",
    "nth=6: reset",
    "probability=0.3: drop",
    "every=4: wrong length",
    ": stale offset",
    'side == "server" every=2: drop',
    'side == "client": delay 7ms',
)
sizes = st.lists(st.integers(1, 400), min_size=1, max_size=8)


def vector_bytes() -> Iterator[tuple[str, bytes]]:
    """The bytes of every vector that are a stream, and the protocol that they are of."""
    for file, version_of in (("pravega", {}), ("sbp", {"sbp-latest": "sbp"})):
        for record in json.loads((VECTORS / f"{file}.json").read_text()):
            version = version_of.get(record["version"], record["version"])
            if version in PROTOCOLS:
                yield version, bytes.fromhex(record["hex"])
    if "offramp" in PROTOCOLS:
        for record in json.loads((VECTORS / "offramp.json").read_text())["frames"]:
            yield "offramp", bytes.fromhex(record.get("hex", ""))


def outcome(name: str, rule: str, sent: list[Sent], *, seed: int = 1) -> tuple[bytes, bytes, list[Finish | Cut]]:
    """What comes out of each side, with all the time in the world."""
    run = Run(name, rule, seed=seed, is_observed=False).talk(sent)
    run.wait(10_000)
    return run.bytes_from("client"), run.bytes_from("server"), run.endings


# -- nothing is lost ---------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("is_observed", [False, True])
def test_without_rules_chunks_pass_as_they_are(name: str, is_observed: bool) -> None:
    run = Run(name, is_observed=is_observed)
    for side, data in chunked(talk(name), [1, 7, 300]):
        (effect,) = run.say(side, data)
        assert effect == Deliver(0, side, data)
        assert isinstance(effect, Deliver)
        assert effect.data is data
    assert run.end("client") == [Finish(0, "client")]
    assert run.end("server") == [Finish(0, "server")]
    assert bool(run.records) is is_observed
    assert run.interceptor.wake_ns is None


@every
def test_a_rule_for_one_side_leaves_the_other_alone(name: str) -> None:
    run = Run(name, 'side == "server": delay 1h', is_observed=False)
    for side, data in chunked(talk(name), [5, 300]):
        is_greeting = name == "offramp" and len(run.interceptor.counts["client"]) < 2  # its request is looked at whole
        effects = run.say(side, data)
        if side == "client" and not is_greeting:
            assert effects == [Deliver(0, side, data)]
    assert run.bytes_from("client") == b"".join(said(talk(name), "client"))
    assert run.bytes_from("server") == b""


@every
@given(sizes=sizes)
def test_a_rule_that_never_fits_changes_nothing(name: str, sizes: list[int]) -> None:
    sent = talk(name)
    client, server, endings = outcome(name, "length > 1000000: drop", chunked(sent, sizes))
    assert (client, server) == tuple(b"".join(said(sent, side)) for side in SIDES)
    assert endings == [Finish(0, "client"), Finish(0, "server")]


@every
@given(data=st.data())
def test_arbitrary_bytes_pass_where_no_rule_fits(name: str, data: st.DataObject) -> None:
    rubbish = st.lists(st.tuples(st.sampled_from(SIDES), st.binary(min_size=1, max_size=60)), max_size=10)
    begun = list(talk(name))[: data.draw(st.integers(0, 12))]
    sent = begun + [Sent(*each) for each in data.draw(rubbish)]
    run = Run(name, "length > 1000000: drop", is_observed=data.draw(st.booleans())).talk(sent)
    for side in SIDES:
        assert run.bytes_from(side) == b"".join(said(sent, side))


@pytest.mark.parametrize("rule", ["length > 1000000: drop", ": reorder 1ms", ": delay 1ms"])
def test_the_bytes_of_every_vector_pass(rule: str) -> None:
    found = [(version, data) for version, data in vector_bytes() if data]
    assert len(found) > (100 if ABSENT else 250)
    for version, data in found:
        for side in SIDES:
            run = Run(version, rule, is_observed=False)
            for at in range(0, len(data), 4_096):
                run.say(side, data[at : at + 4_096])
            run.end(side)
            run.wait(5)
            assert len(run.bytes_from(side)) == len(data)
            if "reorder" not in rule:
                assert run.bytes_from(side) == data
            assert run.endings == [Finish(0, side)]


# -- chunks, seeds, time -----------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=8)
@given(sizes=sizes)
def test_however_bytes_are_cut_the_same_comes_out(name: str, rule: str, sizes: list[int]) -> None:
    sent = list(talk(name, 24))
    assert outcome(name, rule, chunked(sent, sizes)) == outcome(name, rule, sent)


@every
def test_the_same_seed_gives_the_same_run(name: str) -> None:
    sent = list(talk(name))
    rule = "probability=0.4: drop"
    assert outcome(name, rule, sent, seed=7) == outcome(name, rule, sent, seed=7)
    assert len({outcome(name, rule, sent, seed=seed)[:2] for seed in range(9)}) > 1


def test_the_chance_of_a_rule_does_not_hang_on_other_rules() -> None:
    sent = talk("pravega")
    alone = Run("pravega", "probability=0.4: delay 1ms").talk(sent)
    among = Run("pravega", "probability=0.4: delay 1ms", "probability=0.5: delay 1ms").talk(sent)
    assert among.hits(1) == alone.hits(1)


@every
def test_a_delay_keeps_the_order_and_the_end_waits(name: str) -> None:
    run = Run(name, "every=2: delay 30ms")
    sent = talk(name)
    for side, data in sent:
        run.say(side, data)
        run.wait(1)
    run.end("client")
    run.end("server")
    run.wait(1_000)
    for side in SIDES:
        assert run.bytes_from(side) == b"".join(said(sent, side))
        kinds = [type(each) for each in run.effects if isinstance(each, Deliver | Finish) and each.side == side]
        assert kinds.count(Finish) == 1
        assert kinds[-1] is Finish
    assert [out.now_ns for out in run.out] == sorted(out.now_ns for out in run.out)


def test_a_delay_is_as_long_as_it_says_and_no_longer() -> None:
    run = Run("pravega", 'message == "Hello": delay 200ms')
    (side, hello), (_, other) = talk("pravega")[:2]
    assert run.say(side, hello) == []
    assert run.interceptor.wake_ns == run.now_ns + 200 * MS
    assert run.wait(199.9) == []
    assert run.wait(0.1) == [Deliver(0, side, hello)]
    assert run.interceptor.wake_ns is None
    assert run.say("server", other) == []
    assert run.keep(run.interceptor.woken(run.now_ns + 10_000 * MS)) == [Deliver(0, "server", other)]


def test_woken_late_everything_comes_in_the_order_of_its_time() -> None:
    run = Run(
        "pravega", 'side == "client": delay 50ms', 'side == "server": delay 10ms', 'side == "client" nth=2: reset'
    )
    hello, answer, setup = (each.data for each in talk("pravega")[:3])
    run.say("client", hello)
    run.say("server", answer)
    run.say("client", setup)
    late = run.interceptor.woken(run.now_ns + 1_000 * MS)
    assert late == [Deliver(0, "server", answer), Deliver(0, "client", hello), Cut(0, is_abort=True)]


# -- ends --------------------------------------------------------------------------------------------------------------


@every
def test_a_frame_that_is_not_whole_passes_when_its_side_ends(name: str) -> None:
    run = Run(name, "length > 1000000: drop")
    side, data = talk(name)[0]
    assert run.say(side, data[:-1]) == []
    assert run.end(side) == [Deliver(0, side, data[:-1]), Finish(0, side)]


@every
def test_after_a_cut_nothing_more_is_said_of_the_connection(name: str) -> None:
    run = Run(name, "nth=2: cut after 1", "nth=1: delay 5ms")
    sent = talk(name)
    for side, data in sent[:3]:
        run.say(side, data)
    run.wait(100)
    assert run.endings == [Cut(0, is_abort=False)]
    assert run.interceptor.wake_ns is None
    for side, data in sent[3:]:
        assert run.say(side, data) == []
    assert run.end("client") == []
    run.interceptor.lost(0)


def test_what_waits_of_a_lost_connection_is_dropped() -> None:
    run = Run("pravega", ": delay 5ms")
    run.say(*talk("pravega")[0])
    run.interceptor.lost(0)
    assert run.interceptor.wake_ns is None
    assert run.wait(100) == []


# -- bounds ------------------------------------------------------------------------------------------------------------


def padding(size: int) -> bytes:
    """A frame of that many bytes that a client may send at any time."""
    return (-1).to_bytes(4, "big", signed=True) + (size - 8).to_bytes(4, "big") + bytes(size - 8)


def test_a_side_whose_bytes_wait_is_read_no_further_and_cut_in_the_end() -> None:
    run = Run("pravega", ": stall", is_observed=False)
    frame = padding(4 * 1024 * 1024)
    for _ in range(4):
        assert not run.interceptor.is_full(0, "client")
        run.say("client", frame)
    assert run.interceptor.is_full(0, "client")
    assert not run.interceptor.is_full(0, "server")
    assert not run.interceptor.is_full(77, "client")
    count = 4
    while not run.endings:
        run.say("client", frame)
        count += 1
    assert count * len(frame) >= limits.FAULT_HELD_BYTES_MAX > (count - 1) * len(frame)
    assert run.endings == [Cut(0, is_abort=True)]
    assert any("bytes are pending: connection closed" in note for note in run.notes)


@needs_protocol("offramp")
def test_a_frame_that_is_not_whole_never_fills_a_side() -> None:
    run = Run("offramp", ": drop", is_observed=False)
    for side, data in talk("offramp")[:2]:
        run.say(side, data)
    run.say("client", b"\x81\xff" + (limits.FAULT_HELD_BYTES + 1).to_bytes(8, "big") + bytes(4))
    run.say("client", bytes(limits.FAULT_HELD_BYTES))
    assert not run.interceptor.is_full(0, "client")


def test_copies_of_a_long_frame_are_refused() -> None:
    run = Run("pravega", ": duplicate 1000")
    frame = padding(1024 * 1024)
    assert run.say("client", frame) == [Deliver(0, "client", frame)]
    assert run.hits() == 0
    assert "1000 copies of 1048576 bytes" in run.interceptor.standings[1].why


def test_a_long_frame_in_many_chunks_is_joined_once() -> None:
    run = Run("pravega", "length > 100: duplicate", is_observed=False)
    frame = padding(8 * 1024 * 1024)
    for at in range(0, len(frame), 1_000):
        run.say("client", frame[at : at + 1_000])
    assert run.bytes_from("client") == frame * 2


@every
def test_many_connections_do_not_mix(name: str) -> None:
    rng = random.Random(5)
    run = Run(name, "every=3: delay 2ms")
    numbers = range(1, 5)
    for number in numbers:
        run.open(number)
    left = {number: list(talk(name)) for number in numbers}
    while any(left.values()):
        number = rng.choice([number for number in numbers if left[number]])
        side, data = left[number].pop(0)
        run.say(side, data, number)
        run.wait(rng.random())
    run.wait(10)
    for number in numbers:
        for side in SIDES:
            assert run.bytes_from(side, number) == b"".join(said(talk(name), side))


@every
def test_whole_frames_come_out_of_every_rule_that_keeps_them_whole(name: str) -> None:
    for rule in ("every=2: drop", "every=2: duplicate", "every=2: reorder"):
        run = Run(name, f'side == "server" and length < 60 {rule}', is_observed=False).talk(talk(name))
        if name != "offramp":
            assert set(run.frames_from("server")) <= set(
                frames_of(name, "server", b"".join(said(talk(name), "server")))
            )


def test_what_is_to_be_kept_otherwise_is_told_before_the_frame_that_it_is_of() -> None:
    run = Run("pravega", 'message == "AppendBlockEnd" every=2: keep late')
    sent = talk("pravega")
    for side, data in sent:
        run.say(side, data)
    assert run.bytes_from("client") == b"".join(said(sent, "client"))
    told = [at for at, effect in enumerate(run.effects) if isinstance(effect, Misdeed)]
    assert len(told) == run.hits() > 0
    for at in told:
        assert run.effects[at] == Misdeed(0, "late")
        behind = run.effects[at + 1]
        assert isinstance(behind, Deliver)
        assert behind.data[3] == AppendBlockEnd.declaration.type_id


def test_a_relay_cannot_tell_the_server_what_to_keep() -> None:
    rule = parse_rule('message == "AppendBlockEnd": keep nothing', protocols=["pravega"])
    with pytest.raises(UsageError, match=r"keep nothing': not allowed with a real server; .* requires a mock"):
        Interceptor([rule], seed=0, is_relay=True)
