"""Several players as one caller."""

from wiretool.net.calling.caller import Act, Caller, Dial, Finish, Send
from wiretool.replay.playing.player_group import Chorus


class Singer(Caller):
    """Dials once, says one thing, and is over when it is answered."""

    def __init__(self, number: int, wake_ns: int | None = None) -> None:
        self.number = number
        self.wake_ns = wake_ns
        self.told: list[str] = []
        self.rests = 0

    def start(self, now_ns: int) -> list[Act]:
        return [Dial(self.number, "pravega")]

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        self.told.append("opened")
        return [Send(connection, b"x")]

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        self.is_over = True
        self.wake_ns = None
        return [Finish(connection)]

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        self.told.append("ended")
        return []

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        self.told.append(why)
        return []

    def woken(self, now_ns: int) -> list[Act]:
        self.told.append("woken")
        return []

    def rest(self) -> None:
        self.rests += 1


def test_each_is_told_what_happens_on_its_own_connections() -> None:
    one, other = Singer(1), Singer(2)
    chorus = Chorus([[one, other]])
    assert chorus.start(0) == [Dial(1, "pravega"), Dial(2, "pravega")]
    assert chorus.opened(2, 1) == [Send(2, b"x")]
    assert (one.told, other.told) == ([], ["opened"])
    assert chorus.lost(1, "gone", 2) == []
    assert one.told == ["gone"]
    chorus.rest()
    assert (one.rests, other.rests) == (1, 1)


def test_it_is_over_when_none_of_the_first_connections_could_be_made() -> None:
    one, other = Singer(1), Singer(2)
    chorus = Chorus([[one, other], [Singer(3)]], has_one_server=True)
    chorus.start(0)
    assert chorus.lost(2, "refused", 1) == []
    assert not chorus.is_over  # the other connection may be made
    assert chorus.lost(1, "refused", 2) == []
    assert chorus.is_over


def test_it_goes_on_without_a_connection_when_another_was_made() -> None:
    chorus = Chorus([[Singer(1), Singer(2)]], has_one_server=True)
    chorus.start(0)
    chorus.opened(1, 1)
    chorus.lost(1, "gone", 2)
    chorus.lost(2, "refused", 3)
    assert not chorus.is_over


def test_another_server_may_be_there() -> None:
    chorus = Chorus([[Singer(1)]])
    chorus.start(0)
    chorus.lost(1, "refused", 1)
    assert not chorus.is_over


def test_rounds_follow_each_other() -> None:
    first, second = Singer(1), Singer(2)
    chorus = Chorus([[first], [second]])
    assert chorus.start(0) == [Dial(1, "pravega")]
    chorus.opened(1, 1)
    assert chorus.received(1, b"y", 2) == [Finish(1), Dial(2, "pravega")]
    assert not chorus.is_over
    assert chorus.ended(1, 3) == []
    assert first.told[-1] == "ended"
    chorus.received(2, b"y", 4)
    assert chorus.is_over


def test_it_is_woken_for_who_wants_it_first() -> None:
    early, late = Singer(1, wake_ns=5), Singer(2, wake_ns=9)
    chorus = Chorus([[early, late]])
    chorus.start(0)
    assert chorus.wake_ns == 5
    chorus.woken(5)
    assert (early.told, late.told) == (["woken"], [])
