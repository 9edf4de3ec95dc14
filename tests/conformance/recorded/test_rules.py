"""Judges of recorded traffic that the rules of several protocols share."""

from collections.abc import Sequence

from wiretool.codec.message import Side
from wiretool.conformance.recorded.observed import Closing, Item, Missing, Observed, ObservedConnection
from wiretool.conformance.recorded.rules import NS_PER_S, decodable, free_of, is_overdue, kind_of

CUT = "incomplete: the stream ends before the frame does"
LOST = "unsynchronised: between a gap and the next frame"
BAD = "bad_length: 7 bytes"


def sent(n: int, *problems: str, side: Side = "client", name: str = "Ping") -> Observed:
    return Observed(n, n, side, name, {}, problems, None, b"")


def connection(*items: Item, until_ns: int = 0, is_whole: bool = True) -> ObservedConnection:
    return ObservedConnection(1, "a", "b", "x", is_whole, True, 0, list(items), until_ns)


def problems(judged: Sequence[object]) -> list[object]:
    return [tuple(each) for each in judged]  # type: ignore[arg-type]


def test_decodable_reports_problems_with_what_a_side_sent() -> None:
    seen = connection(sent(1), sent(2, BAD), sent(3, BAD, side="server"))
    assert problems(list(decodable("client")(seen))) == [(1, ""), (2, BAD)]
    assert problems(list(decodable("client", apart_from=("bad_length",))(seen))) == [(1, "")]


def test_decodable_accepts_what_a_gap_explains() -> None:
    gap = Missing(2, "client", 10)
    assert problems(list(decodable("client")(connection(sent(1, LOST), gap, sent(3, CUT), sent(4))))) == [(4, "")]


def test_a_frame_that_its_sender_cut_is_a_failure() -> None:
    ended = connection(sent(1, CUT), Closing(2, "client", "fin"))
    assert problems(list(decodable("client")(ended))) == [(1, CUT)]
    for items in ((sent(1, CUT), Closing(2, "client", "rst")), (sent(1, CUT),)):
        assert list(decodable("client")(connection(*items))) == []
    assert list(decodable("client")(connection(*ended.items, is_whole=False))) == []


def test_free_of_looks_at_some_kinds_of_problems_and_messages() -> None:
    seen = connection(sent(1), sent(2, BAD, LOST), sent(3, LOST), sent(4, name="Pong"))
    assert problems(list(free_of("client", ("bad_length",), names=("Ping",))(seen))) == [(1, ""), (2, BAD)]
    assert kind_of(BAD) == "bad_length"


def test_a_reply_is_overdue_only_while_the_connection_is_open_and_recorded() -> None:
    assert is_overdue(connection(until_ns=5 * NS_PER_S), 0, within_s=5)
    assert not is_overdue(connection(until_ns=4 * NS_PER_S), 0, within_s=5)
    closed = connection(Closing(NS_PER_S, "client", "fin"), until_ns=9 * NS_PER_S)
    assert not is_overdue(closed, 0, within_s=5)
