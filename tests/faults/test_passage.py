"""Several rules on one frame: their order, and that none undoes another."""

import pytest

from tests.faults.run import MS, Run
from tests.helpers.frames import talk


def test_all_rules_that_fit_act_in_order_on_the_frame_as_it_came() -> None:
    run = Run(
        "pravega",
        'message == "Hello" and fields.high_version == 17: set low_version=1',
        'message == "Hello" and fields.low_version == 5: set high_version=99',
        ": duplicate",
        ": drop",
        ": delay 5ms",
    )
    hello = talk("pravega")[0].data
    assert run.say("client", hello) == []
    assert [run.hits(number) for number in range(1, 6)] == [1, 1, 1, 1, 0]
    run.interceptor.remove(4)
    run.say("client", hello)
    run.wait(5)
    changed = hello[:8] + (99).to_bytes(4, "big") + (1).to_bytes(4, "big")
    assert run.bytes_from("client") == changed * 2


def test_delays_add_up() -> None:
    run = Run("pravega", ": delay 5ms", ": delay 7ms")
    run.say(*talk("pravega")[0])
    assert run.interceptor.wake_ns == run.now_ns + 12 * MS


HELLO = talk("pravega")[0].data
CHANGED = HELLO[:8] + (3).to_bytes(4, "big") + HELLO[12:]


@pytest.mark.parametrize("change", ["set high_version=3", "set high_version=4", "set high_version=3, low_version=5"])
def test_a_wrong_length_stays_wrong_whatever_fields_are_changed(change: str) -> None:
    run = Run("pravega", ": wrong length +2", f'message == "Hello": {change}')
    run.say("client", HELLO)
    assert run.bytes_from("client")[4:8] == (10).to_bytes(4, "big")
    assert run.bytes_from("client")[8:] != HELLO[8:]
    assert (run.hits(1), run.hits(2)) == (1, 1)


def test_a_wrong_checksum_stays_wrong_whatever_fields_are_changed() -> None:
    right, wrong = Run("sbp", ": set stream_id=5"), Run("sbp", ": wrong checksum", ": set stream_id=5")
    side, frame = talk("sbp")[0]
    right.say(side, frame)
    wrong.say(side, frame)
    assert wrong.bytes_from(side)[:-4] == right.bytes_from(side)[:-4] != frame[:-4]
    assert wrong.bytes_from(side)[-4:] != right.bytes_from(side)[-4:]
    assert (wrong.hits(1), wrong.hits(2)) == (1, 1)


def test_a_cut_waits_for_fields_that_are_changed() -> None:
    run = Run("pravega", ": cut after 12", 'message == "Hello": set high_version=3')
    run.say("client", HELLO)
    assert run.bytes_from("client") == CHANGED[:12]
    assert (run.hits(1), run.hits(2)) == (1, 1)


def test_of_a_cut_and_a_reset_the_first_is_done() -> None:
    for rules, expected in (((": cut after 12", ": reset"), HELLO[:12]), ((": reset", ": cut after 12"), b"")):
        run = Run("pravega", *rules)
        run.say("client", HELLO)
        assert run.bytes_from("client") == expected
        assert (run.hits(1), run.hits(2)) == (1, 0)


@pytest.mark.parametrize(
    ("protocol", "first", "second", "why"),
    [
        ("pravega", "wrong length +2", "wrong length -2", "its length is wrong already"),
        ("sbp", "wrong checksum", "wrong checksum", "its checksum is wrong already"),
    ],
)
def test_what_is_wrong_is_not_made_right_by_another_rule(protocol: str, first: str, second: str, why: str) -> None:
    alone, run = Run(protocol, f": {first}"), Run(protocol, f": {first}", f": {second}")
    side, frame = talk(protocol)[0]
    alone.say(side, frame)
    run.say(side, frame)
    assert run.bytes_from(side) == alone.bytes_from(side) != frame
    assert (run.hits(1), run.hits(2)) == (1, 0)
    assert run.interceptor.standings[2].why.endswith(why)
