"""One connection on its way to records, from the items of its streams."""

import itertools
import random
from collections.abc import Sequence

import pytest

from tests.helpers.frames import talk
from tests.helpers.truth import check_ledger
from wiretool import limits
from wiretool.capture.tcp.reassembler import Connection, Data, End, Finding, Gap, Item
from wiretool.codec.message import Side
from wiretool.dissect.connection import Watch
from wiretool.ledger import Ledger
from wiretool.protocols.base import recognise
from wiretool.protocols.base.registry import PROTOCOLS, expected_on
from wiretool.records import Record


class Watched:
    """A watch, and items made for it with their places in the streams."""

    def __init__(self, *, port: int = 12345, opened: bool = True) -> None:
        ends = (bytes((10, 0, 0, 1)) + b"\x9c\x40", bytes((10, 0, 0, 2)) + port.to_bytes(2, "big"))
        self.connection = Connection(0, *ends, 0)
        self.connection.opened = opened
        self.ledger = Ledger()
        self.records: list[Record] = []
        self.notes: list[str] = []
        self.watch = Watch(
            self.connection,
            expected=expected_on(port),
            every=tuple(PROTOCOLS.values()),
            account=self.ledger.open(0, self.connection.client, self.connection.server),
            next_n=itertools.count(1).__next__,
            note=lambda connection, text: self.notes.append(text),
            over=lambda connection: self.over.append(connection),
        )
        self.over: list[Connection] = []
        self._packet = 0
        self._at: dict[Side, int] = {"client": 0, "server": 0}

    def say(self, side: Side, data: bytes) -> list[Record]:
        """Bytes that follow."""
        offset, self._at[side] = self._at[side], self._at[side] + len(data)
        self._packet += 1
        return self.take(Data(self.connection, side, offset, data, self._packet, self._packet))

    def lose(self, side: Side, length: int) -> list[Record]:
        """A hole."""
        offset, self._at[side] = self._at[side], self._at[side] + length
        return self.take(Gap(self.connection, side, offset, length, self._packet, self._packet))

    def find(self, side: Side, kind: str, data: bytes) -> list[Record]:
        """What does not fit the stream."""
        return self.take(Finding(self.connection, side, 0, len(data), kind, "why", self._packet, self._packet, data))

    def end(self, side: Side | None = None) -> list[Record]:
        """The end of one side or of both."""
        told = self.take(End(self.connection, side or "", "fin", self._packet, self._packet))
        if side is None:
            check_ledger(self.records, self.ledger)
        return told

    def take(self, item: Item) -> list[Record]:
        told = self.watch.take(item)
        self.records += told
        return told


def said(records: Sequence[Record]) -> list[tuple[str, Side, int, int]]:
    return [(record.kind, record.side, record.offset, record.length) for record in records]


CLIENT = [each.data for each in talk("pravega") if each.side == "client"]
SERVER = [each.data for each in talk("pravega") if each.side == "server"]


def opened() -> Watched:
    """A connection on which the first frames were read."""
    watched = Watched()
    for side, data in talk("pravega")[:8]:
        watched.say(side, data)
    return watched


def test_a_frame_is_told_with_its_last_byte() -> None:
    watched = opened()
    n = len(watched.records)
    assert watched.say("client", CLIENT[4][:-1]) == []
    (record,) = watched.say("client", CLIENT[4][-1:])
    assert (record.n, record.raw, record.packets) == (n + 1, CLIENT[4], (9, 10))


def test_what_is_held_until_the_protocol_is_known_is_told_in_order() -> None:
    watched = Watched()
    assert watched.say("client", CLIENT[0][:5]) == []
    watched.say("client", CLIENT[0][5:])
    watched.end()
    assert said(watched.records) == [("frame", "client", 0, len(CLIENT[0]))]


def test_the_end_of_a_side_makes_what_is_held_a_problem() -> None:
    watched = opened()
    watched.say("client", CLIENT[4][:9])
    (record,) = watched.end("client")
    assert (record.kind, record.error, record.length) == ("problem", "incomplete", 9)
    assert watched.end("server") == []


def test_an_end_may_come_twice() -> None:
    watched = opened()
    watched.say("client", CLIENT[4][:9])
    assert len(watched.end()) == 1
    assert watched.end() == []
    assert watched.end("client") == []


def test_a_hole_inside_a_frame_whose_length_is_known() -> None:
    watched = opened()
    frame = CLIENT[4]
    watched.say("client", frame[:10])
    watched.lose("client", 5)
    watched.say("client", frame[15:] + CLIENT[5])
    kinds = [(record.kind, record.length) for record in watched.records[8:]]
    assert kinds == [("problem", 10), ("gap", 5), ("problem", len(frame) - 15), ("frame", len(CLIENT[5]))]
    watched.end()


def test_replies_wait_while_their_requests_are_looked_for() -> None:
    """The client's side searches behind a hole; what the server says meanwhile is told behind what it answers."""
    watched = opened()
    watched.lose("client", len(CLIENT[4]))
    watched.say("client", CLIENT[5][:12])
    assert watched.say("server", SERVER[5]) == []
    watched.say("client", CLIENT[5][12:])
    for frame in CLIENT[6:12]:
        watched.say("client", frame)
    watched.end()
    frames = [record for record in watched.records[8:] if record.kind == "frame"]
    assert frames[0].raw == CLIENT[5]
    place = [record.raw for record in frames].index(SERVER[5])
    assert frames[place].reply_to == frames[0].n
    assert watched.ledger.total.problem_bytes == 0


def test_who_waits_is_let_go_at_the_end() -> None:
    watched = opened()
    watched.lose("client", 50)
    watched.say("client", b"?")
    for frame in SERVER[5:9]:
        assert watched.say("server", frame) == []
    watched.end()
    assert [record.raw for record in watched.records if record.kind == "frame"][8:] == SERVER[5:9]


def test_who_waits_is_let_go_when_too_many_do() -> None:
    watched = opened()
    watched.lose("client", 50)
    watched.say("client", b"?")
    stream = b"".join(SERVER[5:20])
    for at in range(limits.WAITING_ITEMS_MAX + 20):
        watched.say("server", stream[at : at + 1] or b"")
    watched.end()
    told = [record.raw for record in watched.records if record.kind == "frame" and record.side == "server"]
    assert told[-1] in SERVER


def test_findings_are_problems_with_their_bytes() -> None:
    watched = opened()
    assert said(watched.find("client", "overlap-differs", b"")) == [("problem", "client", 0, 0)]
    assert said(watched.find("client", "after-end", b"abc")) == [("problem", "client", 0, 3)]
    assert [record.error for record in watched.records[8:]] == ["overlap-differs", "after-end"]
    watched.end()


@pytest.mark.parametrize("order", [("client", "server"), ("server", "client")])
def test_a_stranger_is_told_once_a_direction(order: tuple[Side, Side]) -> None:
    watched = Watched(port=4_242)
    watched.say("client", b"\x16\x03\x01\x00")
    watched.say("server", b"\x16\x03\x03\x00")
    watched.lose("server", 7)
    watched.say("server", b"more")
    watched.find("client", "after-end", b"late")
    for side in order:
        watched.end(side)
        watched.end(side)
    others = [record for record in watched.records if record.kind == "other"]
    why = "TLS; not decrypted: its beginning was not captured"
    assert {(record.side, record.length, record.why) for record in others} == {("client", 4, why), ("server", 8, why)}
    assert sorted(record.kind for record in watched.records) == ["gap", "other", "other", "problem"]


def test_a_connection_without_bytes_is_silent() -> None:
    watched = Watched()
    watched.end()
    assert watched.records == []
    assert watched.notes == []


def test_duplicates_are_counted_when_it_closes() -> None:
    watched = opened()
    watched.connection.count_again("client", 12)
    watched.end()
    watched.watch.note_duplicates(watched.connection)
    assert watched.ledger.total.duplicate_bytes == 12


# -- behind the end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("port", [12345, 5555])
def test_it_says_when_both_sides_have_ended(port: int) -> None:
    watched = Watched(port=port)
    watched.say("client", talk("pravega")[0][1] if port == 12345 else b"something else")
    watched.end("client")
    assert watched.over == []
    watched.end("server")
    assert watched.over == [watched.connection]


@pytest.mark.parametrize("data", [b"late", b""])
def test_a_finding_behind_the_end_is_the_same_without_the_watch(data: bytes) -> None:
    one, other = opened(), opened()
    for each in (one, other):
        each.end()
    (record,) = one.find("server", "after-end", data)
    place, when = (0, len(data)), (record.time_ns, record.packets[0])
    item = Finding(other.connection, "server", *place, "after-end", "why", *when, data)
    assert other.watch.after().take(item) == [record]
    assert other.ledger.as_json() == one.ledger.as_json()


@pytest.mark.parametrize("seed", range(40))
def test_a_protocol_proved_at_the_front_of_a_middle_changes_no_record(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    luck = random.Random(seed)
    sides: tuple[Side, Side] = luck.choice((("client", "server"), ("server", "client")))
    frames = {"client": CLIENT[2:], "server": SERVER[2:]}
    sent: list[tuple[Side, bytes]] = []
    for side in (*sides, *sides):
        data = bytearray(b"".join(luck.choices(frames[side], k=luck.choice((1, 3, 40, 80)))))
        if luck.random() < 0.3:
            data[luck.randrange(len(data))] = 0xFF
        cut = luck.choice((len(data), len(data) // 2, 30))
        sent += [(side, bytes(data[:cut])), (side, bytes(data[cut:]))]
    told = []
    for proves in (True, False):
        if not proves:
            monkeypatch.setattr(recognise, "_verdict_at_front", lambda expected, chunks: None)
        watched = Watched(opened=False)
        given = [watched.say(side, data) for side, data in sent if data]
        told.append((given, watched.end(), watched.notes, watched.ledger.connections))
    assert [str(each) for each in told[0]] == [str(each) for each in told[1]]
