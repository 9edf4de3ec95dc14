"""Recorded Offramp conversations are spoken again to a mock that is such a server, or one that is otherwise."""

import random
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.conftest import SHARED
from tests.replay.stage import Replayed, Stage, check_no_finding, counts, replay
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp.replay.adapter import OfframpReplayAdapter
from wiretool.protocols.offramp.server.mock import OfframpMock
from wiretool.protocols.offramp.server.roads import RoadStart
from wiretool.replay.adapter import Identity, Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.judging.judge import VARIES
from wiretool.replay.playing.player import Player
from wiretool.replay.recording import recording_of
from wiretool.replay.script import script_of
from wiretool.server.mock import Action, Mock, Outbox
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

OWN = Path(__file__).parents[4] / "captures" / "offramp"
#: TLS without its keys: nothing in them is known to be ours.
SEALED = ("java_tls13.pcap", "java_tls13_dsb.pcapng")


def captures() -> list[Path]:
    """Every capture of Offramp that is at hand, each name once."""
    found: dict[str, Path] = {}
    for folder in (OWN, SHARED / "captures" / "offramp"):
        found |= {path.name: path for path in sorted(folder.glob("*.pcap*")) if path.name not in SEALED}
    return [found[name] for name in sorted(found)]


def capture(name: str) -> Path:
    return next(path for path in captures() if path.name.startswith(f"{name}.pcap"))


def mock_of(path: Path, options: MockOptions | None = None) -> tuple[Mock, MockOptions]:
    """A mock that is such a server as was recorded, and its options."""
    made = options or manners()["offramp"].mock_options(recording_of(read_packets([path])), MockOptions())
    return mock_for("offramp", made), made


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_capture_replays_without_a_finding(path: Path) -> None:
    check_no_finding(replay(path))


@pytest.mark.parametrize("name", ["plain", "plain_resume", "deflate_context_takeover", "framing"])
def test_what_is_regular_needs_no_excuse(name: str) -> None:
    seen = counts(replay(capture(name)))
    assert seen.keys() <= {Verdict.SAME, Verdict.MAPPED, Verdict.NOISE}
    assert seen[Verdict.SAME] > 10


def test_consumers_of_one_stream_share_it_as_they_did() -> None:
    replayed = replay(capture("rebalance3"))
    assert counts(replayed)[Verdict.SAME] > 890
    assert {reason for each in replayed.outcomes for reason in each.reasons} == {
        "the message is on the road; whether it arrives before the connection or its assignment ends depends on timing"
    }


class Wordless(OfframpMock):
    """Hears everything, and never sends a byte."""

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Action]:
        return []


def test_an_end_is_not_explained_by_a_close_that_only_the_recording_has() -> None:
    """The recorded server closed TCP after both sides had sent a Close; this one sends none, and stays."""
    replayed = replay(capture("plain"), mocks={"offramp": Wordless()})
    assert not any("both have sent a Close" in reason for each in replayed.outcomes for reason in each.reasons)
    (end,) = [each for each in replayed.outcomes if each.end is not None]
    assert (end.verdict, end.reasons) == (
        Verdict.DIFFERENT,
        ["the connection stays open, the recorded server ended it"],
    )


@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_what_a_rule_allows_is_no_noise(path: Path) -> None:
    """Noise is declared where nothing else is known: one run has not shown what varies."""
    noisy = [each for each in replay(path).outcomes if each.verdict is Verdict.NOISE]
    assert {each.why for outcome in noisy for each in outcome.accounted if each.verdict is Verdict.NOISE} <= {VARIES}
    assert all(outcome.accounted for outcome in noisy)


# -- a server that is elsewhere ----------------------------------------------------------------------------------------


def later(start: RoadStart, by: int) -> RoadStart:
    """A road on which so many messages more have come and gone."""
    return replace(
        start,
        first={partition: first + by for partition, first in start.first.items()},
        committed={
            stream: {partition: offset + by for partition, offset in offsets.items()}
            for stream, offsets in start.committed.items()
        },
        paces={
            name: [{partition: end + by for partition, end in ends.items()} for ends in pace]
            for name, pace in start.paces.items()
        },
    )


@pytest.mark.parametrize("name", ["plain", "plain_resume", "rebalance3", "deflate_context_takeover", "framing"])
def test_offsets_that_begin_elsewhere_are_mapped_both_ways(name: str) -> None:
    path = capture(name)
    _, options = mock_of(path)
    assert options.road_starts
    starts = {road: later(start, 1_000) for road, start in options.road_starts.items()}
    mock, _ = mock_of(path, replace(options, road_starts=starts, seed=7))
    replayed = replay(path, mocks={"offramp": mock})
    assert not replayed.findings
    assert counts(replayed)[Verdict.MAPPED] > 8
    told, _ = mock.operate("roads", {}, 0)
    commits = [offset for road in told["roads"] for each in road["streams"] for offset in each["committed"].values()]
    assert all(offset >= 1_000 for offset in commits)


# -- a server that says something else ---------------------------------------------------------------------------------


class Twisting(Outbox):
    """Says `new` where the server says `old`, once, the `nth` time."""

    def __init__(self, old: bytes, new: bytes, nth: int = 1) -> None:
        super().__init__()
        self._old, self._new, self._left = re.compile(re.escape(old)), new, nth

    def send(self, connection: int, data: bytes) -> None:
        found = list(self._old.finditer(data))
        if 0 < self._left <= len(found):
            at = found[self._left - 1]
            data = data[: at.start()] + self._new + data[at.end() :]
        self._left -= len(found)
        super().send(connection, data)


@pytest.mark.parametrize(
    ("old", "new", "message", "field"),
    [
        (b'"offset":0,', b'"offset":7,', "MESSAGE", "offset"),
        (b'"offset":1,', b'"offset":2,', "MESSAGE", "offset"),
        (b'"offset":5,', b'"offset":6,', "MESSAGE", "offset"),
        (b'"offset":9,', b'"offset":3,', "MESSAGE", "offset"),
        (b'"partition":0,"offset":4', b'"partition":3,"offset":4', "MESSAGE", "partition"),
        (b'"offset":4,"schema":1', b'"offset":4,"schema":2', "MESSAGE", "schema"),
        (b'"city":"', b'"city":!', "", ""),
        (b'"hotel":"', b'"motel":"', "MESSAGE", "payload"),
        (b'"success":true', b'"success":null', "", ""),
        (b'"assignment":[0]', b'"assignment":[1]', "REBALANCE", "assignment"),
        (b"\x88\x02\x03\xe8", b"\x88\x02\x03\xe9", "Close", "code"),
        (b"HTTP/1.1 101", b"HTTP/1.1 201", "", ""),
        (b"Accept: ", b"Accept: A", "HandshakeResponse", "headers"),
    ],
    ids=lambda value: value.decode("latin-1") if isinstance(value, bytes) else value,
)
def test_one_thing_said_otherwise_is_found_there(old: bytes, new: bytes, message: str, field: str) -> None:
    path = capture("plain")
    mock, _ = mock_of(path)
    mock.outbox = Twisting(old, new)
    findings = replay(path, mocks={"offramp": mock}).findings
    assert findings
    if message:
        (finding,) = (each for each in findings if each.verdict is Verdict.DIFFERENT)
        assert finding.live[0].message == message
        assert {difference.steps[0] for difference in finding.differences} == {field}
    if message in ("MESSAGE", "REBALANCE"):
        assert len(findings) == 1


def test_a_success_that_is_none_is_found() -> None:
    path = capture("plain")
    mock, _ = mock_of(path)
    mock.outbox = Twisting(b'"success":true}', b'"success":false', 1)
    assert replay(path, mocks={"offramp": mock}).findings


def test_a_message_too_many_and_one_too_few_are_found() -> None:
    path = capture("plain")
    _, options = mock_of(path)
    mock, _ = mock_of(path, replace(options, feed=[*list(options.feed)[:4], *list(options.feed)[5:]]))
    verdicts = {each.verdict for each in replay(path, mocks={"offramp": mock}).findings}
    assert verdicts & {Verdict.MISSING, Verdict.DIFFERENT}


def test_a_first_message_that_is_the_same_as_another_misleads_nobody() -> None:
    """Its place would shift all that follow."""
    path = capture("plain")
    _, options = mock_of(path)
    first, second, *others = options.feed
    twin = msgspec.structs.replace(first, payload=second.payload)
    mock, _ = mock_of(path, replace(options, feed=[twin, second, *others]))
    findings = replay(path, mocks={"offramp": mock}).findings
    assert [finding.verdict for finding in findings] == [Verdict.MISSING, Verdict.EXTRA]


class Mute(Outbox):
    """Says no Close."""

    def send(self, connection: int, data: bytes) -> None:
        if data[:1] != b"\x88":
            super().send(connection, data)


@pytest.mark.parametrize("path", [each for each in captures() if each.name.startswith("err_unknown_road")])
def test_a_close_that_does_not_come_is_found(path: Path) -> None:
    """It may lack where a refusal came in HTTP, and not where the client was let in."""
    mock, _ = mock_of(path)
    mock.outbox = Mute()
    findings = replay(path, mocks={"offramp": mock}).findings
    assert {finding.recorded[0].message for finding in findings if finding.recorded} == {"Close"}


# -- what is said ------------------------------------------------------------------------------------------------------


def test_keys_and_masks_are_new_and_lengths_are_as_they_were() -> None:
    path = capture("framing")
    recording = recording_of(read_packets([path]))
    told: dict[int, bytearray] = {}
    mock, _ = mock_of(path)
    received = mock.received

    def hear(connection: int, data: bytes, now_ns: int) -> object:
        told.setdefault(connection, bytearray()).extend(data)
        return received(connection, data, now_ns)

    mock.received = hear  # type: ignore[method-assign, assignment]
    assert not replay(path, mocks={"offramp": mock}).findings
    for dialogue, now in zip(recording.dialogues, told.values(), strict=True):
        then = b"".join(record.raw for record in dialogue.records if record.side == "client" and record.kind == "frame")
        assert abs(len(then) - len(now)) <= 20  # pongs that answer pings are said when those come
        assert bytes(now) != then
        head, head_now = then.split(b"\r\n\r\n")[0], bytes(now).split(b"\r\n\r\n")[0]
        assert [line.split(b":")[0] for line in head.split(b"\r\n")] == [
            line.split(b":")[0] for line in head_now.split(b"\r\n")
        ]
        assert re.findall(rb"Sec-WebSocket-Key: (.*)", head) != re.findall(rb"Sec-WebSocket-Key: (.*)", head_now)


def test_the_host_is_that_of_the_server_that_is_asked() -> None:
    path = capture("plain")
    manner = OfframpReplayAdapter(PROTOCOLS["offramp"])
    manner.identity = Identity(host="example.test:81")
    mock, _ = mock_of(path)
    heads: list[bytes] = []
    received = mock.received

    def hear(connection: int, data: bytes, now_ns: int) -> object:
        heads.append(data)
        return received(connection, data, now_ns)

    mock.received = hear  # type: ignore[method-assign, assignment]
    assert not replay(path, mocks={"offramp": mock}, every={**manners(), "offramp": manner}).findings
    assert re.findall(rb"(?m)^Host: (.*)\r$", heads[0]) == [b"example.test:81"]


def test_where_compression_is_declined_it_is_said_without() -> None:
    path = capture("deflate_context_takeover")
    mock, _ = mock_of(path)
    mock._deflates = False  # type: ignore[attr-defined]
    replayed = replay(path, mocks={"offramp": mock})
    assert {each.live[0].message for each in replayed.findings} == {"HandshakeResponse"}
    said = [each for each in replayed.outcomes if each.request is not None and each.request.message == "COMMIT"]
    assert said
    assert all(each.verdict is Verdict.SAME for each in said)


# -- what was not recorded ---------------------------------------------------------------------------------------------


def spoken(packets: list[Packet]) -> Replayed:
    """The packets, spoken to a mock that is such a server."""
    known = manners()
    recording = recording_of(packets)
    script = script_of(recording, known)
    mock = mock_for("offramp", known["offramp"].mock_options(recording, MockOptions()))
    player = Player(script, known, prepare=recording)
    Stage(player, {"offramp": mock}).play()
    return Replayed(recording, script, player.outcomes(), player)


@pytest.mark.parametrize("name", ["plain", "plain_resume", "framing", "payloads_intl", "err_handshake"])
@pytest.mark.parametrize("what", ["loses some", "begins late", "ends early"])
def test_what_a_capture_lacks_is_no_finding(name: str, what: str) -> None:
    packets = list(read_packets([capture(name)]))
    for seed in range(8):
        rng = random.Random(f"{name}/{seed}")
        if what == "loses some":
            lost = set(rng.sample(range(len(packets)), 3))
            left = [packet for at, packet in enumerate(packets) if at not in lost]
        elif what == "begins late":
            left = packets[rng.randrange(1, len(packets) - 1) :]
        else:
            left = packets[: rng.randrange(5, len(packets))]
        assert not spoken(left).findings, seed
