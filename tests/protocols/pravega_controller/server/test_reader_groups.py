"""Reader groups, their streams and subscriptions."""

import pytest

from tests.protocols.pravega_controller.server.world import World
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed

ID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def world() -> World:
    return World()


def config(
    info: pb.StreamInfo, *, retention: int = 0, generation: int = 0, group_id: str = ID
) -> pb.ReaderGroupConfiguration:
    return pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName="g",
        groupRefreshTimeMillis=3000,
        retentionType=retention,
        generation=generation,
        readerGroupId=group_id,
        startingStreamCuts=[pb.StreamCut(streamInfo=info)],
        endingStreamCuts=[pb.StreamCut(streamInfo=info)],
    )


def subscribers(world: World, info: pb.StreamInfo) -> list[str]:
    return list(world.call("listSubscribers", info).subscribers)


def test_a_group_brings_the_stream_of_its_state(world: World) -> None:
    info = world.make_stream()
    given = config(info)
    answer = world.call("createReaderGroup", given)
    assert answer.status == pb.CreateReaderGroupResponse.SUCCESS
    assert answer.config == given
    assert set(world.segments("s/_")) == {
        "s/_RGg/0.#epoch.0",
        "s/_MARK_RGg/0.#epoch.0",
        "s/_MARKt/0.#epoch.0",
    }
    assert world.call("getReaderGroupConfig", pb.ReaderGroupInfo(scope="s", readerGroup="g")).config == given


def test_a_group_that_is_there_stays_as_it_is(world: World) -> None:
    info = world.make_stream()
    first = config(info)
    world.call("createReaderGroup", first)
    again = world.call("createReaderGroup", config(info, group_id=ID.replace("1", "9")))
    assert again.status == pb.CreateReaderGroupResponse.SUCCESS
    assert again.config == first


def test_a_group_without_an_id_gets_the_same_one_in_each_run(world: World) -> None:
    made = [
        one.call("createReaderGroup", config(one.make_stream(), group_id="")).config.readerGroupId
        for one in (world, World())
    ]
    assert made[0] == made[1] != ""


@pytest.mark.parametrize(
    ("scope", "name", "status"), [("s", "a_b", "INVALID_RG_NAME"), ("none", "g", "SCOPE_NOT_FOUND")]
)
def test_a_group_that_cannot_be(world: World, scope: str, name: str, status: str) -> None:
    given = config(world.make_stream())
    given.scope, given.readerGroupName = scope, name
    answer = world.call("createReaderGroup", given)
    assert pb.CreateReaderGroupResponse.Status.Name(answer.status) == status


def test_an_update_names_the_generation_it_replaces(world: World) -> None:
    info = world.make_stream()
    world.call("createReaderGroup", config(info))
    answer = world.call("updateReaderGroup", config(info, retention=1))
    assert (answer.status, answer.generation) == (pb.UpdateReaderGroupResponse.SUCCESS, 1)
    assert subscribers(world, info) == ["s/g"]
    for stale in (config(info), config(info, generation=1, group_id=ID.replace("1", "9"))):
        answer = world.call("updateReaderGroup", stale)
        assert (answer.status, answer.generation) == (pb.UpdateReaderGroupResponse.INVALID_CONFIG, stale.generation)
    assert world.call("updateReaderGroup", config(info, generation=1)).generation == 2
    assert subscribers(world, info) == []


def test_a_missing_group(world: World) -> None:
    info = world.make_stream()
    about = pb.ReaderGroupInfo(scope="s", readerGroup="g", readerGroupId=ID)
    answer = world.call("getReaderGroupConfig", about)
    assert answer.status == pb.ReaderGroupConfigResponse.RG_NOT_FOUND
    assert answer.HasField("config")
    assert world.call("updateReaderGroup", config(info)).status == pb.UpdateReaderGroupResponse.RG_NOT_FOUND
    assert world.call("deleteReaderGroup", about).status == pb.DeleteReaderGroupStatus.RG_NOT_FOUND
    about.scope = "none"
    for method in ("getReaderGroupConfig", "deleteReaderGroup"):
        with pytest.raises(CallFailed, match="get entry: key: none table: _system/_tables/scopes"):
            world.call(method, about)


def test_deletion_wants_the_id_and_takes_stream_and_subscription(world: World) -> None:
    info = world.make_stream()
    world.call("createReaderGroup", config(info, retention=2))
    about = pb.ReaderGroupInfo(scope="s", readerGroup="g", readerGroupId="not an id")
    assert world.call("deleteReaderGroup", about).status == pb.DeleteReaderGroupStatus.RG_NOT_FOUND
    about.readerGroupId = ID
    assert world.call("deleteReaderGroup", about).status == pb.DeleteReaderGroupStatus.SUCCESS
    assert list(world.segments("s/_")) == ["s/_MARKt/0.#epoch.0"]
    assert subscribers(world, info) == []


def test_a_subscriber_tells_what_it_needs_no_more(world: World) -> None:
    info = world.make_stream()
    world.call("createReaderGroup", config(info, retention=1))
    status = pb.UpdateSubscriberStatus

    def told(
        offset: int, *, generation: int = 0, group_id: str = ID, subscriber: str = "s/g", stream: str = "t"
    ) -> int:
        request = pb.SubscriberStreamCut(
            subscriber=subscriber,
            generation=generation,
            readerGroupId=group_id,
            streamCut=pb.StreamCut(streamInfo=pb.StreamInfo(scope="s", stream=stream), cut={0: offset}),
        )
        answer: int = world.call("updateSubscriberStreamCut", request).status
        return answer

    assert told(5) == told(5) == told(6) == status.SUCCESS
    assert told(4) == status.STREAM_CUT_NOT_VALID
    assert told(9, generation=1) == status.GENERATION_MISMATCH
    assert told(9, group_id="") == status.SUBSCRIBER_NOT_FOUND
    assert told(9, subscriber="s/other") == status.SUBSCRIBER_NOT_FOUND
    assert told(9, stream="none") == status.STREAM_NOT_FOUND


def test_a_group_may_read_what_is_not_there(world: World) -> None:
    world.make_stream()
    missing = pb.StreamInfo(scope="none", stream="none")
    answer = world.call("createReaderGroup", config(missing, retention=1))
    assert answer.status == pb.CreateReaderGroupResponse.SUCCESS
    with pytest.raises(CallFailed, match="get entry: key: none table: _system/_tables/scopes"):
        world.call("listSubscribers", missing)
    missing.scope = "s"
    assert world.call("listSubscribers", missing).status == pb.SubscribersResponse.STREAM_NOT_FOUND
