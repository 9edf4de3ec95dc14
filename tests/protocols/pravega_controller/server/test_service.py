"""Every method by its name: statuses, failures of gRPC, authorisation."""

import base64

import pytest
from google.protobuf.message import Message

from tests.protocols.pravega_controller.server.world import METHODS, NOW, SECOND, World, stream_config
from wiretool.protocols.pravega.server.tokens import Failure, Permission, TokenChecker
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.authority import Authority
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.service import CALLS

CHECKER = TokenChecker(b"secret")
GOOD = "Basic " + base64.b64encode(b"admin:secret").decode()


@pytest.fixture
def world() -> World:
    return World()


def test_every_method_of_the_interface_is_served() -> None:
    assert set(CALLS) == set(METHODS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_an_empty_request_gets_an_answer_or_a_failure_of_grpc(world: World, method: str) -> None:
    code = Code.OK
    try:
        world.service.call(method, b"", None, NOW)
    except CallFailed as failed:
        code = failed.code
    assert code in (Code.OK, Code.NOT_FOUND, Code.UNKNOWN, Code.INTERNAL)


def test_what_is_no_method_and_what_is_no_message(world: World) -> None:
    with pytest.raises(CallFailed, match="Method not found: nothing") as caught:
        world.service.call("nothing", b"", None, NOW)
    assert caught.value.code is Code.UNIMPLEMENTED
    with pytest.raises(CallFailed, match="Invalid protobuf byte sequence") as caught:
        world.service.call("createScope", b"\x0a\xff", None, NOW)
    assert caught.value.code is Code.INTERNAL


# -- scopes ------------------------------------------------------------------------------------------------------------


def test_scopes_come_and_go(world: World) -> None:
    scope, create, delete = pb.ScopeInfo(scope="s"), pb.CreateScopeStatus, pb.DeleteScopeStatus
    assert world.call("createScope", scope).status == create.SUCCESS
    assert world.call("createScope", scope).status == create.SCOPE_EXISTS
    assert world.call("createScope", pb.ScopeInfo(scope="a_b")).status == create.INVALID_SCOPE_NAME
    assert world.call("createScope", pb.ScopeInfo()).status == create.INVALID_SCOPE_NAME
    assert world.call("checkScopeExists", scope).exists
    assert list(world.call("listScopes", pb.ScopesRequest()).scopes) == ["s", "_system"]
    world.make_stream("s", "t")
    assert world.call("deleteScope", scope).status == delete.SCOPE_NOT_EMPTY
    assert world.call("deleteScopeRecursive", scope).status == delete.SUCCESS
    assert world.call("deleteScopeRecursive", scope).status == delete.SUCCESS
    assert world.call("deleteScope", scope).status == delete.SCOPE_NOT_FOUND
    assert not world.call("checkScopeExists", scope).exists
    system = pb.ScopeInfo(scope="_system")
    assert world.call("deleteScope", system).status == delete.SCOPE_NOT_EMPTY
    assert world.call("deleteScopeRecursive", system).status == delete.SCOPE_NOT_EMPTY


def test_recursive_deletion_takes_groups_and_tables_and_open_streams(world: World) -> None:
    info = world.make_stream()
    world.call("createReaderGroup", pb.ReaderGroupConfiguration(scope="s", readerGroupName="g"))
    table = pb.KeyValueTableConfig(scope="s", kvtName="k", partitionCount=1, primaryKeyLength=4)
    world.call("createKeyValueTable", table)
    world.call("createTransaction", pb.CreateTxnRequest(streamInfo=info, lease=30_000))
    world.call("deleteScopeRecursive", pb.ScopeInfo(scope="s"))
    assert not world.store.segments._segments
    assert world.store.tables.held_bytes == 0


def test_streams_are_listed_with_the_tokens_of_pages(world: World) -> None:
    world.make_stream("s", "t")
    world.call("createStream", stream_config("s", "u", 1, "red"))
    request = pb.StreamsInScopeRequest(scope=pb.ScopeInfo(scope="s"))
    page = world.call("listStreamsInScope", request)
    assert [stream.stream for stream in page.streams] == ["t", "_MARKt", "u", "_MARKu"]
    request.continuationToken.CopyFrom(page.continuationToken)
    last = world.call("listStreamsInScope", request)
    assert (len(last.streams), last.continuationToken) == (0, page.continuationToken)
    tagged = pb.StreamsInScopeWithTagRequest(scope=pb.ScopeInfo(scope="s"), tag="red")
    assert [stream.stream for stream in world.call("listStreamsInScopeForTag", tagged).streams] == ["u"]
    tagged.continuationToken.token = "nonsense"
    assert world.call("listStreamsInScopeForTag", tagged).status == pb.StreamsInScopeResponse.FAILURE
    scopes = pb.ScopesRequest(continuationToken=tagged.continuationToken)
    with pytest.raises(CallFailed, match="continuation token 'nonsense'"):
        world.call("listScopes", scopes)


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("listStreamsInScope", pb.StreamsInScopeRequest(scope=pb.ScopeInfo(scope="none"))),
        ("listStreamsInScopeForTag", pb.StreamsInScopeWithTagRequest(scope=pb.ScopeInfo(scope="none"), tag="a")),
    ],
)
def test_no_list_of_a_missing_scope(world: World, method: str, request_: Message) -> None:
    assert world.call(method, request_).status == pb.StreamsInScopeResponse.SCOPE_NOT_FOUND


# -- segments ----------------------------------------------------------------------------------------------------------

NONE = pb.StreamInfo(scope="s", stream="none")


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("getCurrentSegments", NONE),
        ("getEpochSegments", pb.GetEpochSegmentsRequest(streamInfo=NONE)),
        ("getEpochSegments", pb.GetEpochSegmentsRequest(streamInfo=pb.StreamInfo(scope="s", stream="t"), epoch=1)),
        ("getSegments", pb.GetSegmentsRequest(streamInfo=NONE)),
        ("getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=NONE)),
        ("isSegmentValid", pb.SegmentId(streamInfo=NONE)),
        ("isStreamCutValid", pb.StreamCut(streamInfo=NONE)),
        ("getStreamConfiguration", NONE),
        ("createTransaction", pb.CreateTxnRequest(streamInfo=NONE, lease=30_000)),
        ("noteTimestampFromWriter", pb.TimestampFromWriter(position=pb.StreamCut(streamInfo=NONE))),
    ],
)
def test_what_is_missing_is_not_found(world: World, method: str, request_: Message) -> None:
    world.make_stream("s", "t")
    with pytest.raises(CallFailed) as caught:
        world.call(method, request_)
    assert caught.value.code is Code.NOT_FOUND


def test_both_spellings_tell_successors(world: World) -> None:
    info = world.make_stream()
    world.state.scale_to("s", "t", 2, NOW)
    request = pb.SegmentId(streamInfo=info, segmentId=0)
    answers = [
        world.call(name, request) for name in ("getSegmentsImmediatlyFollowing", "getSegmentsImmediatelyFollowing")
    ]
    assert answers[0] == answers[1]
    assert [(entry.segment.minKey, list(entry.value)) for entry in answers[0].segments] == [(0.0, [0]), (0.5, [0])]


def test_segments_of_an_epoch_and_between_cuts(world: World) -> None:
    info = world.make_stream()
    world.state.scale_to("s", "t", 2, NOW)
    first, second = (1 << 32) + 1, (1 << 32) + 2
    epoch = world.call("getEpochSegments", pb.GetEpochSegmentsRequest(streamInfo=info, epoch=0))
    assert [segment.segmentId.segmentId for segment in epoch.segmentRanges] == [0]
    cuts = pb.StreamCutRange(streamInfo=info, to={first: 0, second: 0})
    between = world.call("getSegmentsBetween", cuts)
    assert [segment.segmentId for segment in between.segments] == [0, first, second]
    for bad, code in (({}, Code.INTERNAL), ({first: 0}, Code.UNKNOWN)):
        with pytest.raises(CallFailed) as caught:
            world.call("getSegmentsBetween", pb.StreamCutRange(streamInfo=info, to=bad))
        assert caught.value.code is code


def test_validity_of_segments_and_cuts(world: World) -> None:
    info = world.make_stream(segments=2)
    assert world.call("isSegmentValid", pb.SegmentId(streamInfo=info, segmentId=1)).response
    assert not world.call("isSegmentValid", pb.SegmentId(streamInfo=info, segmentId=2)).response
    assert world.call("isStreamCutValid", pb.StreamCut(streamInfo=info, cut={0: 1, 1: 1})).response
    assert not world.call("isStreamCutValid", pb.StreamCut(streamInfo=info, cut={0: 1})).response


def test_addresses_are_told_of_what_does_not_exist_too(world: World) -> None:
    assert world.call("getURI", pb.SegmentId(streamInfo=NONE)) == pb.NodeUri(endpoint="store.test", port=12345)
    (node,) = world.call("getControllerServerList", pb.ServerRequest()).nodeURI
    assert node == pb.NodeUri(endpoint="controller.test", port=9090)
    mapping = world.call("getControllerToBucketMapping", pb.ControllerToBucketMappingRequest()).mapping
    assert {name: list(buckets.id) for name, buckets in mapping.items()} == {"controller.test:9090": [0]}


# -- writers -----------------------------------------------------------------------------------------------------------


def test_a_writer_goes_forward_only(world: World) -> None:
    info = world.make_stream()
    status = pb.TimestampResponse

    def noted(timestamp: int, cut: dict[int, int]) -> int:
        position = pb.StreamCut(streamInfo=info, cut=cut)
        request = pb.TimestampFromWriter(writer="w", position=position, timestamp=timestamp)
        answer: int = world.call("noteTimestampFromWriter", request).result
        return answer

    assert noted(5, {0: 10}) == noted(5, {0: 10}) == status.SUCCESS
    assert noted(4, {0: 11}) == status.INVALID_TIME
    assert noted(6, {0: 9}) == noted(6, {7: 20}) == status.INVALID_POSITION


def test_a_writer_is_removed_once(world: World) -> None:
    info = world.make_stream()
    world.call("noteTimestampFromWriter", pb.TimestampFromWriter(writer="w", position=pb.StreamCut(streamInfo=info)))
    request, status = pb.RemoveWriterRequest(writer="w", stream=info), pb.RemoveWriterResponse
    assert world.call("removeWriter", request).result == status.SUCCESS
    assert world.call("removeWriter", request).result == status.UNKNOWN_WRITER
    request.stream.stream = "none"
    assert world.call("removeWriter", request).result == status.UNKNOWN_WRITER


# -- authorisation -----------------------------------------------------------------------------------------------------


def test_without_authorisation_tokens_are_empty(world: World) -> None:
    info = world.make_stream()
    assert world.call("getDelegationToken", info).delegationToken == ""
    assert world.call("getCurrentSegments", info).delegationToken == ""


def test_only_the_user_may_call() -> None:
    world = World(authority=Authority("admin", "secret", CHECKER))
    assert world.call("createScope", pb.ScopeInfo(scope="s"), GOOD).status == pb.CreateScopeStatus.SUCCESS
    for authorization in (None, "Basic Og=="):
        with pytest.raises(CallFailed, match="Authentication failed") as caught:
            world.call("createScope", pb.ScopeInfo(scope="t"), authorization)
        assert caught.value.code is Code.UNAUTHENTICATED
    assert world.call("checkScopeExists", pb.ScopeInfo(scope="t"), GOOD).exists is False


@pytest.mark.parametrize(
    ("access", "may_write"),
    [("READ", False), ("WRITE", True), ("READ_WRITE", True), ("UNSPECIFIED", True)],
)
def test_a_token_allows_what_it_was_asked_for(access: str, may_write: bool) -> None:
    world = World(authority=Authority("admin", "secret", CHECKER))
    info = pb.StreamInfo(scope="s", stream="t")
    info.accessOperation = getattr(pb.StreamInfo, access)
    token = world.call("getDelegationToken", info, GOOD).delegationToken
    now_s = NOW // SECOND
    assert CHECKER.check(token, "s/t/0.#epoch.0", Permission.READ, now_s) is None
    write = CHECKER.check(token, "s/t/0.#epoch.0", Permission.READ_UPDATE, now_s)
    assert write is (None if may_write else Failure.CHECK_FAILED)


def test_clients_that_say_none_get_no_token_along_with_segments() -> None:
    world = World(authority=Authority("admin", "secret", CHECKER))
    world.call("createScope", pb.ScopeInfo(scope="s"), GOOD)
    world.call("createStream", stream_config("s", "t"), GOOD)
    info = pb.StreamInfo(scope="s", stream="t")
    assert world.call("getCurrentSegments", info, GOOD).delegationToken
    info.accessOperation = pb.StreamInfo.NONE
    assert not world.call("getCurrentSegments", info, GOOD).delegationToken


def test_the_token_of_a_table_covers_its_segments() -> None:
    world = World(authority=Authority("admin", "secret", CHECKER))
    world.call("createScope", pb.ScopeInfo(scope="s"), GOOD)
    table = pb.KeyValueTableConfig(scope="s", kvtName="k", partitionCount=1, primaryKeyLength=4)
    world.call("createKeyValueTable", table, GOOD)
    token = world.call("getDelegationToken", pb.StreamInfo(scope="s", stream="k"), GOOD).delegationToken
    now_s = NOW // SECOND
    assert CHECKER.check(token, "s/k_kvtable/0.#epoch.0", Permission.READ_UPDATE, now_s) is None
