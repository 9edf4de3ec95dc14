"""What a connection speaks: by its port, then by what only one of them can say."""

import random
from collections.abc import Sequence

import pytest

from tests.bench.talk import Sent, sbp_frame
from tests.helpers.examples import needs_protocol
from tests.helpers.frames import talk
from tests.protocols.pravega_controller import talk as controller
from tests.protocols.pravega_draft.talk import SETUP as DRAFT_SETUP
from tests.protocols.pravega_draft.talk import begin, end
from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.protocols.base import recognise as recognising
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.recognise import Chunk, Verdict, describe_foreign, recognise
from wiretool.protocols.base.registry import PROTOCOLS, expected_on

EVERY = tuple(PROTOCOLS.values())


def verdict(
    sent: Sequence[Sent], port: int, *, final: bool = True, from_start: bool = True, chunks: Sequence[Chunk] = ()
) -> Verdict | None:
    given = [*(Chunk(side, data) for side, data in sent), *chunks]
    return recognise(given, from_start=from_start, expected=expected_on(port), every=EVERY, final=final)


def name_of(found: Verdict | None) -> str:
    assert found is not None
    return found.protocol.name if found.protocol else ""


@pytest.mark.parametrize("protocol", EVERY, ids=PROTOCOLS)
def test_a_conversation_is_known_on_its_own_port(protocol: Protocol) -> None:
    for port in protocol.ports:
        found = verdict(talk(protocol.name), port)
        assert (name_of(found), found and found.note) == (protocol.name, "")


@pytest.mark.parametrize("protocol", EVERY, ids=PROTOCOLS)
def test_a_conversation_is_known_before_its_end(protocol: Protocol) -> None:
    assert name_of(verdict(talk(protocol.name), protocol.ports[0], final=False)) == protocol.name


@pytest.mark.parametrize("name", ["pravega", "pravega-controller", "sbp", "sbp-0.1", "offramp"])
def test_a_conversation_is_known_by_its_content_on_any_port(name: str) -> None:
    assert name_of(verdict(talk(name), 4_242)) == name


@needs_protocol("offramp")
@pytest.mark.parametrize("name", ["pravega", "pravega-controller", "sbp", "offramp"])
def test_a_conversation_is_known_on_the_port_of_another(name: str) -> None:
    port = 10911 if name != "sbp" else 8080
    found = verdict(talk(name), port)
    assert name_of(found) == name
    assert found is not None
    assert f"the bytes are {name}" in found.note


@pytest.mark.parametrize("protocol", EVERY, ids=PROTOCOLS)
def test_a_conversation_is_known_from_its_middle(protocol: Protocol) -> None:
    side, data = talk(protocol.name)[-1]
    sent = [Sent(side, data[3:]), *talk(protocol.name)[4:]]
    assert name_of(verdict(sent, protocol.ports[0], from_start=False)) == protocol.name


def test_a_hole_in_the_first_frames_does_not_matter() -> None:
    chunks = [Chunk("client", b"", missing=99), *(Chunk(side, data) for side, data in talk("pravega")[4:])]
    assert name_of(verdict(talk("pravega")[:2], 12345, chunks=chunks)) == "pravega"


@needs_protocol("sbp-0.1")
def test_where_both_fit_the_newer_is_taken_and_it_is_said() -> None:
    """A client without a name for itself says the same in both."""
    beat = {"client_id": "c", "client_role": 3}
    found = verdict([sbp_frame("sbp", "client", "HEARTBEAT", 1, "HeartbeatRequest", beat, b"")], 10911)
    assert name_of(found) == "sbp"
    assert found is not None
    assert found.note == "sbp and sbp-0.1 both fit; read as sbp; --protocol NAME decides"


def test_the_draft_is_told_by_what_only_it_can_say() -> None:
    sent = [Sent("client", PROTOCOLS["pravega-draft"].encode(each, "client")) for each in (DRAFT_SETUP, begin(0, 8))]
    sent.append(Sent("client", PROTOCOLS["pravega-draft"].encode(end(8, 8), "client")))
    assert name_of(verdict(sent, 12345)) == "pravega-draft"


STRANGERS = [
    (b"\x16\x03\x01\x02\x00\x01\x00", "TLS"),
    (b"\x17\x03\x03\x00\x20" + bytes(40), "TLS"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 without a call of Pravega's controller"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"),
    (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
    (b"hello, is anybody there?", ""),
    (b"", ""),
]


@pytest.mark.parametrize(("begins", "name"), STRANGERS, ids=[name or "unknown" for _, name in STRANGERS])
def test_strangers(begins: bytes, name: str) -> None:
    chunk = Chunk("client", begins)
    assert describe_foreign([chunk]) == name
    found = verdict([], 4_242, chunks=[chunk])
    assert found is not None
    assert found.protocol is None
    assert found.why == (name or "nothing of a protocol known here")


def health_check(calls: int = 1) -> list[Sent]:
    """HTTP/2 whose calls are of another service."""
    peer = controller.Peer("client")
    asked = [peer.headers(2 * n + 1, controller.request("/grpc.health.v1.Health/Check")) for n in range(calls)]
    return [Sent(*each) for each in [*controller.opening(), *asked]]


@needs_protocol("offramp")
def test_calls_of_another_service_are_the_controllers_by_its_port_only_and_it_is_said() -> None:
    found = verdict(health_check(), 9090)
    assert name_of(found) == "pravega-controller"
    assert found is not None
    why = "it calls '/grpc.health.v1.Health/Check', no method of the controller's service"
    assert found.note == f"read as pravega-controller because of its port: {why}"
    for port, where in ((4_242, ""), (12345, ", on a port of pravega"), (8080, ", on a port of offramp")):
        found = verdict(health_check(20), port)
        assert found is not None
        assert (found.protocol, found.why) == (None, f"HTTP/2 without a call of Pravega's controller{where}")


@needs_protocol("offramp")
def test_http2_on_the_port_of_offramp_is_a_stranger_or_the_controller() -> None:
    """Its preface looks like a request of HTTP/1, which Offramp begins with."""
    settings = b"\0\0\0\x04\0\0\0\0\0"
    sent = [Sent("client", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings), Sent("server", settings)]
    assert verdict(sent, 8080, final=False) is None
    found = verdict(sent, 8080)
    assert found is not None
    assert (found.protocol, found.why) == (None, "HTTP/2 without a call of Pravega's controller, on a port of offramp")
    assert name_of(verdict(talk("pravega-controller"), 8080)) == "pravega-controller"


@needs_protocol("offramp")
@pytest.mark.parametrize("side", ["client", "server"])
def test_http2_from_its_middle_is_not_offramp(side: Side) -> None:
    peer = controller.Peer(side)
    blocks = [peer.headers(n, controller.request("/grpc.health.v1.Health/Check")) for n in (3, 5)]
    found = verdict([Sent(side, block.data) for block in blocks], 8080, from_start=False)
    assert found is not None
    assert (found.protocol, found.why) == (None, "HTTP/2 without a call of Pravega's controller, on a port of offramp")
    reply = controller.frame(controller.HEADERS, controller.END_HEADERS, 3, b"\x88")
    other: Side = "server" if side == "client" else "client"
    found = verdict([Sent(side, blocks[0].data), Sent(other, reply)], 8080, from_start=False)
    assert found is not None
    assert found.protocol is None
    found = verdict([Sent(side, block.data) for block in blocks[:1]], 8080, from_start=False)
    assert (name_of(found), found and found.note) == ("offramp", "read as offramp because of its port alone")


def test_http2_waits_for_a_call() -> None:
    opening = health_check(0)
    assert verdict(opening, 9090, final=False) is None
    assert name_of(verdict(opening, 9090)) == "pravega-controller"
    assert name_of(verdict(talk("pravega-controller")[:7], 9090, final=False)) == "pravega-controller"


def test_a_health_check_before_the_calls_does_not_matter() -> None:
    client, server = controller.Peer("client"), controller.Peer("server")
    sent = [client.headers(1, controller.request("/grpc.health.v1.Health/Check"))]
    sent += controller.call(client, server, 3, "createScope", {"scope": "x"}, {"status": "SUCCESS"})
    found = verdict([Sent(*each) for each in [*controller.opening(), *sent]], 4_242)
    assert name_of(found) == "pravega-controller"


@needs_protocol("offramp")
@pytest.mark.parametrize("port", [12345, 12346, 10911, 12378, 8080])
def test_what_is_unmistakable_is_a_stranger_on_our_ports_too(port: int) -> None:
    found = verdict([], port, final=False, chunks=[Chunk("client", STRANGERS[0][0])])
    assert found is not None
    assert found.protocol is None
    assert found.why == f"TLS, on a port of {expected_on(port)[0].name}"


@pytest.mark.parametrize("port", [12345, 10911])
def test_http_on_our_ports_is_a_stranger(port: int) -> None:
    found = verdict([], port, chunks=[Chunk("client", STRANGERS[3][0])])
    assert found is not None
    assert found.protocol is None
    assert found.why.startswith("HTTP, on a port of")


def test_a_broken_peer_on_our_port_is_read_by_its_port() -> None:
    found = verdict([], 12346, chunks=[Chunk("client", b"\x7f\xff\xff\xff\xff\xff\xff\xffwhatever")])
    assert name_of(found) == "pravega"
    assert found is not None
    assert found.note == "read as pravega because of its port alone"


def test_random_bytes_are_nothing_of_ours() -> None:
    for seed in range(20):
        noise = random.Random(seed).randbytes(3_000)
        assert name_of(verdict([], 4_242, chunks=[Chunk("client", noise), Chunk("server", noise[::-1])])) == ""


def test_few_bytes_decide_nothing_until_the_end_or_the_bound() -> None:
    few = [Chunk("client", b"\0\0\0")]
    assert verdict([], 12345, final=False, chunks=few) is None
    assert verdict([], 12345, final=True, chunks=few) is not None
    many = [Chunk("client", b"x" * (limits.RECOGNISE_UNEXPECTED_BYTES_MAX + 1))]
    assert verdict([], 4_242, final=False, chunks=many) is not None


REQUEST = b"GET %s HTTP/1.1\r\nHost: api\r\n%s\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@needs_protocol("offramp")
@pytest.mark.parametrize(("target", "header"), [(b"/health", b""), (b"/api/v2/roads", b"Accept: */*\r\n")])
@pytest.mark.parametrize("final", [False, True])
def test_other_http_on_the_port_of_offramp_is_no_offramp(target: bytes, header: bytes, final: bool) -> None:
    found = verdict([Sent("client", REQUEST % (target, header)), Sent("server", RESPONSE)], 8080, final=final)
    assert found is not None
    assert (found.protocol, found.why) == (None, "HTTP of another service")


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("target", "header"),
    [
        (b"/offramp/v2/roads/r/streams/s/messages", b""),
        (b"/elsewhere", b"Connection: Upgrade\r\nUpgrade: WebSocket\r\n"),
    ],
)
def test_a_path_of_offramp_or_an_upgrade_is_offramp(target: bytes, header: bytes) -> None:
    found = verdict([Sent("client", REQUEST % (target, header)), Sent("server", RESPONSE)], 8080)
    assert name_of(found) == "offramp"


def test_a_head_that_is_not_whole_decides_nothing() -> None:
    assert verdict([Sent("client", b"GET /health HTTP/1.1\r\nHost: a")], 8080, final=False) is None


UPGRADED = b"HTTP/1.1 101 \r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
REFUSED = b"HTTP/1.1 404 \r\nContent-Length: 2\r\n\r\n{}"


@needs_protocol("offramp")
@pytest.mark.parametrize(
    "answer",
    [
        RESPONSE,
        REFUSED,
        RESPONSE[:20],
        b"HTTP/1.1 426 \r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 \r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"HTTP/1.1 101 \r\nUpgrade: h2c\r\n\r\nupgrade: websocket",
    ],
)
def test_a_response_alone_is_of_offramp_only_where_it_upgrades_to_a_websocket(answer: bytes) -> None:
    assert verdict([Sent("server", answer)], 8080, final=False) is None  # the request may be captured after it
    found = verdict([Sent("server", answer)], 8080)
    assert found is not None
    assert (found.protocol, found.why) == (None, "HTTP of another service")


@needs_protocol("offramp")
@pytest.mark.parametrize("answer", [UPGRADED, UPGRADED.lower().replace(b"http", b"HTTP"), RESPONSE + UPGRADED])
def test_an_upgrade_without_its_request_is_offramp(answer: bytes) -> None:
    assert name_of(verdict([Sent("server", answer)], 8080)) == "offramp"


@needs_protocol("offramp")
def test_a_refusal_is_offramps_where_the_request_is() -> None:
    target = b"/offramp/v2/roads/none/streams/s/messages"
    asked, refused = Sent("client", REQUEST % (target, b"Upgrade: websocket\r\n")), Sent("server", REFUSED)
    assert name_of(verdict([asked, refused], 8080)) == "offramp"
    assert name_of(verdict([refused, asked], 8080)) == "offramp"
    assert name_of(verdict([asked._replace(data=asked.data[:60]), refused], 8080)) == "offramp"


def test_a_protocol_that_no_side_begins_with_is_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[str] = []

    def weigh(protocol: Protocol, chunks: Sequence[Chunk], *, from_start: bool) -> recognising.Evidence | None:
        weighed.append(protocol.name)
        return recognising_weigh(protocol, chunks, from_start=from_start)

    recognising_weigh = recognising.weigh
    monkeypatch.setattr(recognising, "weigh", weigh)
    hello = [sent for sent in talk("pravega") if sent[0] == "client"][:1]
    assert name_of(verdict(hello, 12345, final=False)) == "pravega"
    assert weighed == ["pravega"]
    weighed.clear()
    assert name_of(verdict([Sent("client", bytes([9] * 40))], 12345)) == "pravega"
    assert weighed[:2] == ["pravega", "pravega-draft"], "where none fits the evidence against each counts"


PRAVEGA: dict[Side, list[bytes]] = {
    side: [sent.data for sent in talk("pravega")[4:] if sent.side == side] for side in SIDES
}


def unproved(monkeypatch: pytest.MonkeyPatch, chunk: Chunk, *, final: bool) -> Verdict | None:
    """Return the verdict of weighing each protocol."""
    with monkeypatch.context() as patch:
        patch.setattr(recognising, "_verdict_at_front", lambda expected, chunks: None)
        return verdict([], 12345, final=final, from_start=False, chunks=[chunk])


@pytest.mark.parametrize("side", SIDES)
def test_frames_at_the_front_of_a_middle_prove_their_protocol_without_weighing(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognising, "weigh", lambda *args, **options: pytest.fail("weighed"))
    data = b"".join(PRAVEGA[side])
    for length in (len(PRAVEGA[side][0]), len(data) - 20, len(data)):
        found = verdict([Sent(side, data[:length])], 12345, final=False, from_start=False)
        assert (name_of(found), found and found.note) == ("pravega", "")
        assert found is not None
        assert found.has_frames
        assert found.is_in_step


def test_more_frames_than_are_weighed_do_not_tell_what_follows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognising, "weigh", lambda *args, **options: pytest.fail("weighed"))
    data = b"".join(PRAVEGA["client"]) * 9
    found = verdict([Sent("client", data + b"\xff" * 9)], 12345, final=False, from_start=False)
    assert name_of(found) == "pravega"
    assert found is not None
    assert not found.is_in_step


@pytest.mark.parametrize("seed", range(60))
def test_a_verdict_at_the_front_is_that_of_weighing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    luck = random.Random(seed)
    side: Side = luck.choice(SIDES)
    frames = luck.choices(PRAVEGA[luck.choice((side, side, "client", "server"))], k=luck.choice((1, 2, 5, 40, 90)))
    data = bytearray(b"".join(frames))
    for _ in range(luck.choice((0, 0, 1, 3))):
        data[luck.randrange(min(len(data), luck.choice((16, 200, 9_000))))] = luck.choice((0, 1, 4, 7, 0x7F, 0xFF))
    start = luck.choice((0, 0, 0, 3, len(frames[0])))
    chunk = Chunk(side, bytes(data[start : len(data) - luck.choice((0, 0, 1, 52, 9))]))
    for final in (False, True):
        found = verdict([], 12345, final=final, from_start=False, chunks=[chunk])
        weighed = unproved(monkeypatch, chunk, final=final)
        plain = [each and each._replace(trial=None, is_in_step=False) for each in (found, weighed)]
        assert plain[0] == plain[1]
