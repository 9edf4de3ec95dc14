"""The mock as a whole: its doors, what is done to it from outside, tokens and time."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.protocols.pravega.server.talk import (
    NOW_NS,
    SEGMENT,
    WRITER,
    Client,
    Cluster,
    acked,
    append,
    create,
    read,
    set_up,
)
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.pravega.failures import (
    AuthTokenCheckFailed,
    NoSuchSegment,
    OperationUnsupported,
    SegmentAlreadyExists,
    SegmentIsSealed,
)
from wiretool.protocols.pravega.messages import KeepAlive, SetupAppend
from wiretool.protocols.pravega.segments import (
    CreateTransientSegment,
    GetStreamSegmentInfo,
    SealSegment,
    SegmentCreated,
    StreamSegmentInfo,
)
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.tokens import Permission, TokenChecker
from wiretool.protocols.pravega.tables import CreateTableSegment
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.server.mock import Close

KEY = b"a key of this test"
INFO = GetStreamSegmentInfo(request_id=6, segment_name=SEGMENT)
TABLE = CreateTableSegment(request_id=1, segment="scope/table/0.#epoch.0")


def test_its_doors() -> None:
    assert [(door.name, door.port) for door in PravegaMock().doors] == [("store", 12345), ("controller", 9090)]
    assert PravegaMock(has_admin=True).doors[2].port == 9999


@pytest.mark.parametrize("version", [14, 18])
def test_versions_that_no_server_has(version: int) -> None:
    with pytest.raises(UsageError, match=f"wire version {version}: not supported; expected 15 to 17"):
        PravegaMock(wire_version=version)


def test_names_of_tables_and_segments_are_one_space() -> None:
    client = Cluster().client()
    client.create(SEGMENT)
    client.say(TABLE)
    taken = SegmentAlreadyExists(request_id=1, segment=TABLE.segment)
    assert client.say(create(TABLE.segment)) == [taken]
    assert client.say(CreateTableSegment(request_id=1, segment=SEGMENT)) == [
        SegmentAlreadyExists(request_id=1, segment=SEGMENT)
    ]
    assert client.say(set_up(TABLE.segment)) == [OperationUnsupported(request_id=2, operation_name="setupAppend")]
    (told,) = client.say(GetStreamSegmentInfo(request_id=1, segment_name=TABLE.segment))
    assert isinstance(told, StreamSegmentInfo)
    client.say(append(1, b"a"))
    assert client.why_closed is not None


# -- from outside ------------------------------------------------------------------------------------------------------


def operate(cluster: Cluster, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    told, actions = cluster.mock.operate(what, arguments, cluster.now_ns)
    cluster.do(actions)
    return told


def test_a_segment_is_sealed_from_outside() -> None:
    cluster = Cluster()
    client = cluster.client()
    client.create(SEGMENT)
    client.say(read(0))
    assert operate(cluster, "seal", {"segment": SEGMENT}) == {"segment": SEGMENT, "length": 0}
    assert client.hear() == [SegmentIsSealed(request_id=4, segment=SEGMENT, offset=0)]
    with pytest.raises(UsageError, match=f"segment '{SEGMENT}' is sealed"):
        operate(cluster, "seal", {"segment": SEGMENT})


def test_a_table_is_sealed_from_outside_as_a_client_seals_one() -> None:
    cluster = Cluster()
    client = cluster.client()
    client.create(SEGMENT)
    client.say(TABLE)
    name = TABLE.segment
    assert operate(cluster, "seal", {"segment": name}) == {"segment": name, "length": 0}
    assert client.say(SealSegment(request_id=5, segment=name)) == [SegmentIsSealed(request_id=5, segment=name)]
    with pytest.raises(UsageError, match=f"segment '{name}' is sealed"):
        operate(cluster, "seal", {"segment": name})


@pytest.mark.parametrize(
    ("what", "arguments", "why"),
    [
        ("seal", {"segment": "a/b/0"}, "segment 'a/b/0' is missing"),
        ("seal", {"segment": 5}, "segment: expected str, got 5"),
        ("seal", {}, "seal: expected segment, got nothing"),
        ("scale", {"scope": "a"}, "expected scope, stream, segments, got scope"),
        ("scale", {"scope": "a", "stream": "b", "segments": True}, "segments: expected int, got True"),
        ("scale", {"scope": "a", "stream": "b", "segments": 0}, "1 to 10000 segments, not 0"),
        (
            "scale",
            {"scope": "a", "stream": "b", "segments": 2},
            r"scale: there is no stream a/b; expected SCOPE/STREAM$",
        ),
        ("scale", {"scope": "scopestream", "stream": "", "segments": 2}, "there is no stream scopestream/; expected"),
        ("dance", {}, "no operation 'dance': there are seal, scale$"),
    ],
)
def test_what_cannot_be_done_from_outside(what: str, arguments: Mapping[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        operate(Cluster(), what, arguments)


def store_of(mock: PravegaMock) -> tuple[str, int]:
    """Where the controller sends clients to find a segment."""
    segment = pb.SegmentId(streamInfo=pb.StreamInfo(scope="scope", stream="stream"), segmentId=0)
    told = pb.NodeUri.FromString(mock.service.call("getURI", segment.SerializeToString(), None, NOW_NS))
    return told.endpoint, told.port


@pytest.mark.parametrize(
    ("advertise", "usual", "bound"),
    [
        (None, ("127.0.0.1", 12345), ("127.0.0.2", 4_000)),
        (("example.org", 0), ("example.org", 12345), ("example.org", 4_000)),
        (("example.org", 80), ("example.org", 80), ("example.org", 80)),
    ],
)
def test_clients_are_sent_to_the_store(
    advertise: tuple[str, int] | None, usual: tuple[str, int], bound: tuple[str, int]
) -> None:
    mock = PravegaMock(advertise=advertise)
    assert store_of(mock) == usual
    mock.bound("store", "127.0.0.2", 4_000)
    assert store_of(mock) == bound
    mock.restart(NOW_NS)
    assert store_of(mock) == bound


def test_a_stream_is_scaled_from_outside() -> None:
    cluster = Cluster()
    config = pb.StreamConfig(
        streamInfo=pb.StreamInfo(scope="scope", stream="stream"), scalingPolicy=pb.ScalingPolicy(minNumSegments=1)
    )
    for method, request in (("createScope", pb.ScopeInfo(scope="scope")), ("createStream", config)):
        cluster.mock.service.call(method, request.SerializeToString(), None, cluster.now_ns)
    client = cluster.client()
    client.say(read(0))
    wanted = {"scope": "scope", "stream": "stream", "segments": 2}
    assert operate(cluster, "scale", wanted) == {"segments": [(1 << 32) + 1, (1 << 32) + 2]}
    assert client.hear() == [SegmentIsSealed(request_id=4, segment=SEGMENT, offset=0)]
    assert client.set_up("scope/stream/2.#epoch.1") < 0
    stream = pb.StreamInfo(scope="scope", stream="stream")
    cluster.mock.service.call("sealStream", stream.SerializeToString(), None, cluster.now_ns)
    with pytest.raises(UsageError, match="scope/stream is not scaled: STREAM_SEALED"):
        operate(cluster, "scale", wanted)


def test_a_stream_that_is_made_again_has_its_segments_at_once() -> None:
    cluster = Cluster()
    call, stream = cluster.mock.service.call, pb.StreamInfo(scope="scope", stream="stream")
    config = pb.StreamConfig(streamInfo=stream, scalingPolicy=pb.ScalingPolicy(minNumSegments=1)).SerializeToString()
    call("createScope", pb.ScopeInfo(scope="scope").SerializeToString(), None, NOW_NS)
    for number in range(2):
        call("createStream", config, None, NOW_NS)
        first = f"scope/stream/{number}.#epoch.0"
        assert cluster.mock.store.segments.exists(first)
        call("sealStream", stream.SerializeToString(), None, NOW_NS)
        call("deleteStream", stream.SerializeToString(), None, NOW_NS)
        assert not cluster.mock.store.segments.exists(first)


def test_a_restart_forgets_everything() -> None:
    cluster = Cluster(PravegaMock(like_real=True))
    client = cluster.client()
    client.create(SEGMENT)
    client.say(read(0))
    client.say(TABLE)
    actions = cluster.mock.restart(cluster.now_ns)
    assert actions == [Close(client.number, "the server was restarted", is_abort=True)]
    assert cluster.mock.wake_ns is None
    again = cluster.client()
    assert again.say(set_up()) == [NoSuchSegment(request_id=2, segment=SEGMENT)]
    again.create(SEGMENT)
    again.create(TABLE.segment)


def test_the_oldest_data_goes_first() -> None:
    cluster = Cluster(PravegaMock(retain_bytes=100_000))
    client = cluster.client()
    client.create(SEGMENT)
    client.set_up()
    for number in range(1, 50):
        client.write(number, bytes(10_000))
    segment = cluster.mock.store.segments.info(SEGMENT)
    assert (segment.start, segment.length) == (390_000, 490_000)


# -- tokens ------------------------------------------------------------------------------------------------------------


def guarded() -> Cluster:
    return Cluster(PravegaMock(auth=("user", "password"), token_key=KEY))


def token(permission: Permission, ttl_s: int | None = None) -> str:
    return TokenChecker(KEY).issue("test", {"prn::/scope:scope/stream:stream": permission}, NOW_NS // 10**9, ttl_s)


def with_token(message: Message, found: str) -> Message:
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    return type(message)(**fields | {"delegation_token": found})


def made(cluster: Cluster) -> Client:
    client = cluster.client()
    assert client.say(with_token(create(), token(Permission.READ))) == [SegmentCreated(request_id=1, segment=SEGMENT)]
    return client


@pytest.mark.parametrize(
    ("request_", "number"),
    [
        (create(), 1),
        (read(77), 77),
        (set_up(), 2),
        (TABLE, 1),
        (GetStreamSegmentInfo(request_id=6, segment_name="a"), 6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_without_a_token(request_: Message, number: int) -> None:
    client = guarded().client()
    assert client.say(request_) == [AuthTokenCheckFailed(request_id=number, error_code=0)]
    assert client.why_closed is None
    assert client.say(KeepAlive()) == [KeepAlive()]


def test_appending_wants_more_than_reading() -> None:
    client = made(guarded())
    refused = AuthTokenCheckFailed(request_id=2, error_code=0)
    assert client.say(with_token(set_up(), token(Permission.READ))) == [refused]
    (reply,) = client.say(with_token(set_up(), token(Permission.READ_UPDATE)))
    assert not isinstance(reply, AuthTokenCheckFailed)
    assert client.say(append(1, b"a")) == [acked(1, 1)]


def test_a_transient_segment_wants_no_token() -> None:
    (reply,) = guarded().client().say(CreateTransientSegment(request_id=1, writer_id=WRITER, parent_segment=SEGMENT))
    assert isinstance(reply, SegmentCreated)


def test_an_expired_token() -> None:
    cluster = guarded()
    client, expired = made(cluster), token(Permission.READ_UPDATE, ttl_s=10)
    cluster.wait(11)
    assert client.say(with_token(read(0), expired)) == [AuthTokenCheckFailed(request_id=0, error_code=1)]
    assert client.say(with_token(set_up(), expired)) == []
    assert client.why_closed is not None
    assert client.why_closed.startswith("token-expired")


def test_a_connection_ends_when_the_first_token_of_its_writers_expires() -> None:
    cluster = guarded()
    client = made(cluster)
    for number, ttl_s in enumerate((60, 30, 45)):
        writer = f"00000000-0000-0000-0000-{number:012}"
        setup = SetupAppend(request_id=2, writer_id=writer, segment=SEGMENT)
        assert client.say(with_token(setup, token(Permission.READ_UPDATE, ttl_s)))
    cluster.wait(29)
    assert client.why_closed is None
    cluster.wait(1)
    assert client.why_closed == "the token of a writer has expired"
    assert client.heard == b""
    assert cluster.mock.wake_ns is None


def test_a_connection_that_is_gone_needs_no_end() -> None:
    cluster = guarded()
    client = made(cluster)
    client.say(with_token(set_up(), token(Permission.READ_UPDATE, 30)))
    client.drop()
    cluster.wait(60)
    assert client.why_closed is None


def test_nothing_is_said_behind_the_end() -> None:
    """A token expires in the very moment in which its idle segment is unloaded."""
    cluster = Cluster(PravegaMock(like_real=True, auth=("user", "password"), token_key=KEY))
    client = made(cluster)
    cluster.wait(10)
    writing = token(Permission.READ_UPDATE, 120)
    client.say(with_token(set_up(), writing), with_token(read(0), writing))
    cluster.wait(110)
    assert client.why_closed == "the token of a writer has expired"
    assert client.hear() == []
