"""Key-value tables."""

import pytest

from tests.protocols.pravega_controller.server.world import World
from wiretool.protocols.pravega.tables import GetTableSegmentInfo, TableSegmentInfo
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code


@pytest.fixture
def world() -> World:
    world = World()
    world.call("createScope", pb.ScopeInfo(scope="s"))
    return world


def config(
    name: str = "t", scope: str = "s", partitions: int = 2, keys: tuple[int, int] = (8, 4)
) -> pb.KeyValueTableConfig:
    return pb.KeyValueTableConfig(
        scope=scope, kvtName=name, partitionCount=partitions, primaryKeyLength=keys[0], secondaryKeyLength=keys[1]
    )


TABLE = pb.KeyValueTableInfo(scope="s", kvtName="t")


def test_a_table_has_a_table_segment_for_each_partition(world: World) -> None:
    assert world.call("createKeyValueTable", config()).status == pb.CreateKeyValueTableStatus.SUCCESS
    for name in ("s/t_kvtable/0.#epoch.0", "s/t_kvtable/1.#epoch.0"):
        told = world.store.ask(GetTableSegmentInfo(request_id=1, segment_name=name), world.now_ns)
        assert isinstance(told, TableSegmentInfo)
        assert told.key_length == 12
    ranges = world.call("getCurrentSegmentsKeyValueTable", TABLE).segmentRanges
    assert [(one.segmentId.streamInfo.stream, one.segmentId.segmentId, one.maxKey) for one in ranges] == [
        ("t", 0, 0.5),
        ("t", 1, 1.0),
    ]
    assert world.call("getKeyValueTableConfiguration", TABLE).config == config()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (config(), "TABLE_EXISTS"),
        (config("a_b"), "INVALID_TABLE_NAME"),
        (config(scope="none"), "SCOPE_NOT_FOUND"),
        (config("u", partitions=0), "FAILURE"),
        (config("u", keys=(0, 4)), "FAILURE"),
        (config("u", keys=(8, -1)), "FAILURE"),
        (config("u", keys=(8, 5000)), "FAILURE"),
    ],
)
def test_a_table_that_cannot_be(world: World, given: pb.KeyValueTableConfig, status: str) -> None:
    world.call("createKeyValueTable", config())
    answer = world.call("createKeyValueTable", given)
    assert pb.CreateKeyValueTableStatus.Status.Name(answer.status) == status


def test_a_deleted_table_is_gone(world: World) -> None:
    world.call("createKeyValueTable", config())
    assert world.call("deleteKeyValueTable", TABLE).status == pb.DeleteKVTableStatus.SUCCESS
    assert world.store.tables.held_bytes == 0
    assert world.call("createKeyValueTable", config()).status == pb.CreateKeyValueTableStatus.SUCCESS
    world.call("deleteKeyValueTable", TABLE)
    assert world.call("deleteKeyValueTable", TABLE).status == pb.DeleteKVTableStatus.TABLE_NOT_FOUND
    answer = world.call("getKeyValueTableConfiguration", TABLE)
    assert answer.status == pb.KeyValueTableConfigResponse.TABLE_NOT_FOUND
    with pytest.raises(CallFailed, match="get entry: key: t table: _system/_tables/s/kvTablesInScope") as caught:
        world.call("getCurrentSegmentsKeyValueTable", TABLE)
    assert caught.value.code is Code.NOT_FOUND


def test_tables_are_listed_by_pages(world: World) -> None:
    for name in ("a", "b"):
        world.call("createKeyValueTable", config(name))
    request = pb.KVTablesInScopeRequest(scope=pb.ScopeInfo(scope="s"))
    page = world.call("listKeyValueTablesInScope", request)
    assert [table.kvtName for table in page.kvtables] == ["a", "b"]
    request.continuationToken.CopyFrom(page.continuationToken)
    assert len(world.call("listKeyValueTablesInScope", request).kvtables) == 0
    request.scope.scope = "none"
    assert world.call("listKeyValueTablesInScope", request).status == pb.KVTablesInScopeResponse.SCOPE_NOT_FOUND
