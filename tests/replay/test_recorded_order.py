"""Requests that raced on two connections: a server gets them one after the other, as in the recording."""

import pytest

from tests.helpers.captures import START_NS, Talk
from tests.replay.talks import CLIENT, PLAIN, STORE, greeting, reading
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.stream_events import Side
from wiretool.net.calling.caller import Act, Send
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import TAKEN_NS, Await, Script, script_of

MS = 1_000_000


def raced(first_ms: float, second_ms: float, *, answers_ms: tuple[float, float] = (200, 201)) -> Script:
    """Two connections, on each of which a read is asked and answered at these times."""
    hello, ask = greeting(), reading()
    timed: list[tuple[float, bytes]] = []
    for at, asked_ms in enumerate((first_ms, second_ms)):
        spoken = Talk((CLIENT[0], CLIENT[1] + at), STORE)
        spoken.open()
        said: list[tuple[float, tuple[Side, bytes]]] = [(1 + at, hello[0]), (4 + at, hello[1])]
        said += [(asked_ms, ask[0]), (answers_ms[at], ask[1])]
        timed += [(at / 10, frame) for frame in spoken.frames]
        for time_ms, (side, data) in said:
            before = len(spoken.frames)
            spoken.say(side, data, acks=False)
            timed += [(time_ms, frame) for frame in spoken.frames[before:]]
    timed.sort(key=lambda each: each[0])
    packets = [
        Packet(number, START_NS + round(time_ms * MS), 1, frame, len(frame))
        for number, (time_ms, frame) in enumerate(timed, 1)
    ]
    return script_of(recording_of(packets), PLAIN)


def waits(script: Script) -> list[tuple[int, int]]:
    """By which connection's answer is waited for, and how long."""
    return [(step.dialogue.number, step.span_ns) for step in script.steps if isinstance(step, Await)]


def test_a_request_comes_after_one_that_the_server_had_for_itself() -> None:
    hellos = [(0, MS)]
    assert waits(raced(20, 30)) == [*hellos, (0, 10 * MS)]
    assert waits(raced(30, 20, answers_ms=(201, 200))) == [*hellos, (1, 10 * MS)]
    assert waits(raced(20, 190))[-1] == (0, TAKEN_NS)


@pytest.mark.parametrize(
    ("first_ms", "second_ms", "answers_ms"),
    [(20, 20.5, (200, 201)), (20, 30, (201, 200)), (20, 30, (25, 201))],
    ids=["sent at once", "answered in the other order", "answered by then"],
)
def test_there_is_no_order_where_the_recording_shows_none(
    first_ms: float, second_ms: float, answers_ms: tuple[float, float]
) -> None:
    assert waits(raced(first_ms, second_ms, answers_ms=answers_ms)) == [(0, MS)]


def sent(acts: list[Act]) -> list[int]:
    return [act.connection for act in acts if isinstance(act, Send)]


def test_a_player_sends_the_second_request_once_the_first_is_answered_or_had_its_time() -> None:
    hello, ask = greeting(), reading()
    for is_answered in (True, False):
        player = Player(raced(20, 30), PLAIN)
        now_ns = 1_000_000_000
        player.start(now_ns)
        acts = player.opened(1, now_ns) + player.opened(2, now_ns)
        now_ns += MS
        acts += player.woken(now_ns)
        assert sent(acts) == [1, 2]
        acts = player.received(1, hello[1][1], now_ns) + player.received(2, hello[1][1], now_ns)
        assert sent(acts) == [1]
        assert player.wake_ns == now_ns + 10 * MS
        if is_answered:
            assert sent(player.received(1, ask[1][1], now_ns + MS)) == [2]
        else:
            assert sent(player.woken(now_ns + 10 * MS)) == [2]
