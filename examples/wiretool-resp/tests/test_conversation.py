"""Framing and pairing: every cut of the bytes gives the same frames, and damaged bytes are left behind."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wiretool_resp.conversation import RespConversation
from wiretool_resp.messages import Command, Error, InlineCommand, Push, Reply, decode, encode
from wiretool_resp.values import FrameWalk, read_value, write_value

from wiretool import limits
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.json_types import JsonBytes
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.base.registry import PROTOCOLS

RESP = PROTOCOLS["resp"]
PAYLOADS = st.binary(max_size=12) | st.sampled_from([b"", b"\r\n", b"+OK\r\n", b"*2\r\n", b"$3\r\nfoo\r\n"])
TEXTS = PAYLOADS.map(JsonBytes().to_json)
LINES = st.text(max_size=8).filter(lambda text: not {"\r", "\n"} & set(text))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | TEXTS
    | st.sampled_from([{"null": "$"}, {"null": "*"}, {"integer": "+07"}, {"double": "1.5e3"}, {"double": "-inf"}])
    | st.builds(lambda number: {"big": str(number)}, st.integers())
    | st.builds(lambda name, text: {name: text}, st.sampled_from(["simple", "error"]), LINES)
    | st.builds(lambda name, text: {name: text}, st.sampled_from(["bulk_error", "verbatim"]), TEXTS)
)


def around(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values with values inside."""
    some, pairs = st.lists(values, max_size=4), st.lists(st.lists(values, min_size=2, max_size=2), max_size=3)
    named = st.builds(lambda name, inside: {name: inside}, st.sampled_from(["set", "push"]), some)
    attributed = st.builds(lambda pairs, value: {"attributes": pairs, "value": value}, pairs, values)
    return some | named | st.builds(lambda inside: {"map": inside}, pairs) | attributed


VALUES = st.recursive(LEAVES, around, max_leaves=12)
COMMANDS = st.lists(PAYLOADS, max_size=4).map(lambda words: write_value([JsonBytes().to_json(each) for each in words]))


@given(VALUES)
def test_a_value_comes_back_from_its_bytes(value: Any) -> None:
    raw = write_value(value)
    assert read_value(raw, 0, len(raw)) == value
    message = decode("server", raw, 0, len(raw))
    assert encode(message, "server") == raw
    assert RESP.from_json(type(message).__name__, "server", json_form(message)) == message
    spans = RESP.open(False).annotate("server", b"x" + raw + b"x", 1, 1 + len(raw))
    assert [span.offset for span in spans] == [1, *(span.offset + span.length for span in spans[:-1])]
    assert spans[-1].offset + spans[-1].length == 1 + len(raw)


@given(st.sampled_from(["client", "server"]), st.data())
def test_every_cut_gives_the_same_frames(side: Side, data: st.DataObject) -> None:
    frames = data.draw(st.lists(COMMANDS if side == "client" else VALUES.map(write_value), min_size=1, max_size=5))
    stream = b"".join(frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = Splitter(RESP.open(True), side)
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[begin:end])
    assert [piece.data[piece.at : piece.end] for piece in found + splitter.end()] == frames


@given(st.binary(max_size=60), st.sampled_from(["client", "server"]))
def test_any_bytes_are_a_frame_or_none(data: bytes, side: Side) -> None:
    conversation = RESP.open(True)
    try:
        length = conversation.extent(side, data, 0, len(data))
    except DecodeError:
        return  # it says where, and wiretool goes on from there
    if 0 < length <= len(data):
        reading = conversation.read(side, data, 0, length, 1)
        conversation.trust(side, data, 0, length)
        assert reading.defects or encode(reading.fields, side) == data[:length]  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.data())
def test_damaged_bytes_are_left_behind(data: st.DataObject) -> None:
    frames = [encode(Command(name="SET", arguments=(b"k%d" % n, b"v")), "client") for n in range(40)]
    stream = b"".join(frames)
    at = data.draw(st.integers(0, len(stream) // 2))
    noise = data.draw(st.binary(min_size=1, max_size=30))
    splitter = Splitter(RESP.open(True), "client")
    pieces = splitter.feed(stream[:at] + noise + stream[at + len(noise) :]) + splitter.end()
    whole = [piece.data[piece.at : piece.end] for piece in pieces if piece.kind == "frame"]
    assert whole[-18:] == frames[-18:]


def test_a_long_frame_is_walked_once() -> None:
    raw = write_value(["x" * 10] * 20_000)
    walk = FrameWalk()
    lengths = {walk.length(raw[:end], 0, end) for end in range(100, len(raw), 1_460)}
    assert (lengths, walk.length(raw, 0, len(raw))) == ({0}, len(raw))


@pytest.mark.parametrize(
    ("side", "data", "kind", "offset"),
    [
        ("server", b"*x\r\n", "bad-line", 0),
        ("server", b"$3\r\nabcd\r\n", "bad-end", 7),
        ("server", b"*9999999\r\n", "too-large", 0),
        ("server", b"*2\r\n:1\r\n*9999999\r\n", "too-large", 8),
        ("server", b"hello\r\n", "bad-line", 0),
        ("server", b"*1\r\n$-2\r\n", "bad-line", 4),
        ("client", b"*1\r\n:1\r\n", "bad-command", 4),
        ("client", b"*1\r\n$-1\r\n", "bad-command", 4),
        ("client", b"*-1\r\n", "bad-command", 0),
        ("client", b"x" * 70_000, "too-large", 0),
        ("server", b"+" + b"x" * 70_000, "bad-line", 0),
    ],
)
@pytest.mark.parametrize("before", [b"", b"PING\r\n"])
def test_what_is_no_frame_is_refused_by_its_place_in_it(
    side: Side, data: bytes, kind: str, offset: int, before: bytes
) -> None:
    with pytest.raises(DecodeError) as caught:
        RESP.open(True).extent(side, before + data, len(before), len(before) + len(data))
    assert (caught.value.kind, caught.value.offset) == (kind, offset)


@pytest.mark.parametrize(
    ("side", "data", "trust"),
    [
        ("client", b"PING\r\n", 1),
        ("client", b"words\r\n", 0),
        ("client", b"*1\r\n$4\r\nPING\r\n", 4),
        ("client", b"*1\r\n$2\r\n\x01\x7f\r\n", 1),
        ("client", b"*1\r\n$1\r\n\xff\r\n", 1),
        ("server", b"*1\r\n:1\r\n", 4),
        ("server", b":123456\r\n", 1),
        ("server", b"#t\r\n", 1),
        ("server", b"+OK\r\n", 1),
        ("server", b"$5\r\nhello\r\n", 2),
        ("server", b"*1\r\n" * 100 + b":1\r\n", 0),
    ],
)
def test_trust_in_a_frame(side: Side, data: bytes, trust: int) -> None:
    assert RESP.open(True).trust(side, data, 0, len(data)) == trust


def test_an_error_has_a_kind_and_an_ignored_line_asks_nothing() -> None:
    exchanges = RESP.exchanges
    error = Error(text=b"WRONGTYPE Operation against a key")
    assert exchanges.failure("Error", error) == exchanges.failure("Error", json_form(error)) == "WRONGTYPE"
    assert exchanges.failure("Error", Error(text=b"\xff")) == "\ufffd"
    assert (exchanges.failure("Error", Error(text=b"")), exchanges.failure("Reply", Reply(value=1))) == ("Error", None)
    assert list(exchanges.asks) == [("Command", "client")]
    assert list(exchanges.may_ask) == [("InlineCommand", "client")]


def test_values_too_deep_are_a_problem_of_their_frame() -> None:
    raw = b"*1\r\n" * 100 + b":1\r\n"
    conversation = RESP.open(True)
    assert conversation.extent("server", raw, 0, len(raw)) == len(raw)
    (defect,) = conversation.read("server", b"x" + raw, 1, 1 + len(raw), 1).defects
    assert isinstance(defect, DecodeError)
    assert (defect.kind, defect.offset) == ("nesting", 4 * (limits.NESTING_MAX + 1))


@pytest.mark.parametrize(
    "sent",
    [
        Command(name="\ud800"),
        InlineCommand(line=b"PING"),
        InlineCommand(line=b"*1\n"),
        Error(text=b"a\r\nb"),
        Reply(value={"none": 1}),
        Reply(value={"map": [[1]]}),
        Reply(value={"simple": 1}),
        Reply(value=1.5),
        Push(elements=({"double": "x"},)),
    ],
)
def test_what_has_no_bytes_is_refused(sent: Any) -> None:
    with pytest.raises(EncodeError):
        encode(sent, "client")


class Talk:
    """A conversation whose frames are numbered from 1."""

    def __init__(self) -> None:
        self.conversation = RespConversation(True)
        self.count = 0

    def send(self, *words: str) -> int:
        """Send a command; return its number."""
        return self.read(
            "client", encode(Command(name=words[0], arguments=tuple(map(str.encode, words[1:]))), "client")
        )[0]

    def answer(self, value: Any) -> int | None:
        """Send a value; return the number of the command that it answers."""
        return self.read("server", write_value(value))[1]

    def read(self, side: Side, raw: bytes) -> tuple[int, int | None]:
        """Read a frame; return its number, and that of its command."""
        self.count += 1
        reading = self.conversation.read(side, raw, 0, len(raw), self.count)
        self.defects = list(reading.defects)
        return self.count, reading.reply_to


def test_replies_come_in_the_order_of_pipelined_commands() -> None:
    talk = Talk()
    asked = [talk.send("SET", "a", "1"), talk.send("GET", "a"), talk.read("client", b"PING\r\n")[0]]
    talk.read("client", b"\r\n")  # servers ignore it
    assert [talk.answer(value) for value in ({"simple": "OK"}, "1", {"simple": "PONG"}, 7)] == [*asked, None]


@pytest.mark.parametrize("kind", ["push", ""])
def test_messages_of_channels_answer_nothing(kind: str) -> None:
    talk = Talk()

    def tell(*values: Any) -> int | None:
        return talk.answer({"push": list(values)} if kind else list(values))

    hello = talk.send("HELLO", "3")
    assert talk.answer({"map": []}) == hello
    both, get = talk.send("SUBSCRIBE", "a", "b"), talk.send("PING")
    assert [tell("subscribe", "a", 1), tell("message", "a", "x"), tell("subscribe", "b", 2)] == [both, None, both]
    assert talk.answer({"simple": "PONG"}) == get
    every, more = talk.send("UNSUBSCRIBE"), talk.send("PING")
    assert [tell("unsubscribe", "a", 1), tell("unsubscribe", "b", 0)] == [every, every]
    assert talk.answer({"simple": "PONG"}) == more
    none = talk.send("UNSUBSCRIBE")
    assert tell("unsubscribe", {"null": "$"}, 0) == none


@pytest.mark.parametrize("words", [("MONITOR",), ("CLIENT", "REPLY", "OFF"), ()])
def test_after_a_gap_and_what_breaks_the_order_turns_have_to_show(words: tuple[str, ...]) -> None:
    talk = Talk()
    if words:
        talk.send(*words)
    else:
        talk.conversation.hole("server")
    answered = []
    for number in range(24):
        asked = talk.send("GET", str(number))
        answered.append(talk.answer("x") == asked)
    assert answered == [False] * answered.count(False) + [True] * answered.count(True)
    assert 16 <= answered.count(False) <= 18
