"""Transactions: ids, commit, abort, and what scaling does to them."""

import pytest

from tests.protocols.pravega_controller.server.world import SECOND, World
from wiretool import limits
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.transactions import ABORT_NS

LEASE_MS = 30_000


@pytest.fixture
def world() -> World:
    return World()


def begin(world: World, info: pb.StreamInfo, lease_ms: int = LEASE_MS) -> pb.TxnRequest:
    """A new transaction, as it is asked about."""
    answer = world.call("createTransaction", pb.CreateTxnRequest(streamInfo=info, lease=lease_ms))
    return pb.TxnRequest(streamInfo=info, txnId=answer.txnId)


def state(world: World, txn: pb.TxnRequest) -> str:
    return pb.TxnState.State.Name(world.call("checkTransactionState", txn).state)


def part(txn: pb.TxnRequest, segment: str) -> str:
    return f"{segment}#transaction.{txn.txnId.highBits:016x}{txn.txnId.lowBits:016x}"


def test_ids_are_the_epoch_and_a_count_over_all_streams(world: World) -> None:
    one, two = world.make_stream(stream="a"), world.make_stream(stream="b")
    assert begin(world, one).txnId == pb.TxnId(highBits=0, lowBits=1)
    world.state.scale_to("s", "b", 2, world.now_ns)
    assert begin(world, two).txnId == pb.TxnId(highBits=1 << 32, lowBits=2)


def test_a_transaction_has_a_part_beside_each_segment(world: World) -> None:
    info = world.make_stream(segments=2)
    answer = world.call("createTransaction", pb.CreateTxnRequest(streamInfo=info, lease=LEASE_MS))
    assert [segment.segmentId.segmentId for segment in answer.activeSegments] == [0, 1]
    parts = [name for name in world.segments("s/t/") if "#transaction" in name]
    assert parts == [f"s/t/{number}.#epoch.0#transaction.{1:032x}" for number in (0, 1)]


def test_commit_puts_the_parts_behind_their_segments(world: World) -> None:
    info = world.make_stream(segments=2)
    txn = begin(world, info)
    world.append("s/t/0.#epoch.0", b"before")
    world.append(part(txn, "s/t/0.#epoch.0"), b"inside")
    assert state(world, txn) == "OPEN"
    assert world.data("s/t/0.#epoch.0") == b"before"
    assert world.call("commitTransaction", txn).status == pb.TxnStatus.SUCCESS
    assert state(world, txn) == "COMMITTED"
    assert world.data("s/t/0.#epoch.0") == b"beforeinside"
    assert list(world.segments("s/t/")) == ["s/t/0.#epoch.0", "s/t/1.#epoch.0"]


def test_abort_drops_the_parts(world: World) -> None:
    info = world.make_stream()
    txn = begin(world, info)
    world.append(part(txn, "s/t/0.#epoch.0"), b"inside")
    assert world.call("abortTransaction", txn).status == pb.TxnStatus.SUCCESS
    assert state(world, txn) == "ABORTING"
    world.append(part(txn, "s/t/0.#epoch.0"), b"on its way")
    world.advance(ABORT_NS)
    assert state(world, txn) == "ABORTED"
    assert world.data("s/t/0.#epoch.0") == b""
    assert list(world.segments("s/t/")) == ["s/t/0.#epoch.0"]


def test_the_same_end_again_is_fine_the_other_is_not(world: World) -> None:
    info = world.make_stream()
    committed, aborted = begin(world, info), begin(world, info)
    statuses = [
        world.call(method, txn).status
        for txn, methods in (
            (committed, ("commitTransaction", "commitTransaction", "abortTransaction")),
            (aborted, ("abortTransaction", "abortTransaction", "commitTransaction")),
        )
        for method in methods
    ]
    success, failure = pb.TxnStatus.SUCCESS, pb.TxnStatus.FAILURE
    assert statuses == [success, success, failure, success, success, failure]


def test_an_unknown_transaction(world: World) -> None:
    info = world.make_stream()
    txn = pb.TxnRequest(streamInfo=info, txnId=pb.TxnId(lowBits=99))
    assert state(world, txn) == "UNKNOWN"
    assert world.call("commitTransaction", txn).status == pb.TxnStatus.FAILURE
    ping = pb.PingTxnRequest(streamInfo=info, txnId=txn.txnId, lease=LEASE_MS)
    assert world.call("pingTransaction", ping).status == pb.PingTxnStatus.UNKNOWN
    assert world.call("abortTransaction", txn).status == pb.TxnStatus.FAILURE


def test_sealing_a_stream_aborts_what_is_open(world: World) -> None:
    info = world.make_stream()
    txn = begin(world, info)
    world.call("sealStream", info)
    assert state(world, txn) == "ABORTED"
    with pytest.raises(CallFailed) as caught:
        begin(world, info)
    assert caught.value.code is Code.INTERNAL


def test_a_commit_after_scaling_goes_into_copies_between_two_epochs(world: World) -> None:
    info = world.make_stream()
    txn, other = begin(world, info), begin(world, info)
    world.append(part(txn, "s/t/0.#epoch.0"), b"late")
    world.state.scale_to("s", "t", 2, world.now_ns)
    world.call("commitTransaction", txn)
    assert world.segments("s/t/") == {
        "s/t/0.#epoch.0": True,
        part(other, "s/t/0.#epoch.0"): False,
        "s/t/0.#epoch.2": True,
        "s/t/1.#epoch.1": True,
        "s/t/1.#epoch.3": False,
        "s/t/2.#epoch.1": True,
        "s/t/2.#epoch.3": False,
    }
    assert world.data("s/t/0.#epoch.2") == b"late"
    follow = world.call("getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info, segmentId=(1 << 32) + 1))
    (entry,) = follow.segments
    assert entry.segment.segmentId.segmentId == 2 << 32
    assert list(entry.value) == [(1 << 32) + 1, (1 << 32) + 2]
    follow = world.call("getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info, segmentId=2 << 32))
    assert [entry.segment.segmentId.segmentId for entry in follow.segments] == [(3 << 32) + 1, (3 << 32) + 2]


def test_a_copy_of_its_epoch_takes_a_transaction_as_the_epoch_did(world: World) -> None:
    info = world.make_stream()
    old = begin(world, info)
    world.state.scale_to("s", "t", 2, world.now_ns)
    new = begin(world, info)
    world.call("commitTransaction", old)
    world.append(part(new, "s/t/2.#epoch.1"), b"new")
    world.call("commitTransaction", new)
    assert world.data("s/t/2.#epoch.3") == b"new"
    assert len(world.state.scopes.stream("s", "t").epochs) == 4


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_commit_that_fails_has_done_nothing(world: World, is_sealed: bool) -> None:
    info = world.make_stream(segments=2)
    txn = begin(world, info)
    world.append(part(txn, "s/t/0.#epoch.0"), b"inside")
    if is_sealed:
        world.store.segments.seal("s/t/1.#epoch.0", world.now_ns)
    else:
        world.store.segments.delete(part(txn, "s/t/1.#epoch.0"), world.now_ns)
    before = world.segments("s/t/")
    assert world.call("commitTransaction", txn).status == pb.TxnStatus.FAILURE
    assert state(world, txn) == "OPEN"
    assert world.data("s/t/0.#epoch.0") == b""
    assert world.segments("s/t/") == before
    assert world.call("abortTransaction", txn).status == pb.TxnStatus.SUCCESS


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_late_commit_that_fails_has_begun_no_epoch(world: World, is_sealed: bool) -> None:
    info = world.make_stream(segments=2)
    txn = begin(world, info)
    world.append(part(txn, "s/t/0.#epoch.0"), b"inside")
    world.state.scale_to("s", "t", 1, world.now_ns)
    if is_sealed:
        world.store.segments.create_segment("s/t/1.#epoch.2", world.now_ns)
        world.store.segments.seal("s/t/1.#epoch.2", world.now_ns)
    else:
        world.store.segments.delete(part(txn, "s/t/1.#epoch.0"), world.now_ns)
    before = world.segments("s/t/")
    assert world.call("commitTransaction", txn).status == pb.TxnStatus.FAILURE
    assert state(world, txn) == "OPEN"
    assert world.segments("s/t/") == before
    assert len(world.state.scopes.stream("s", "t").epochs) == 2


def test_completed_ones_are_listed_and_remembered_for_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROLLER_COMPLETED_MAX", 3)
    monkeypatch.setattr(limits, "CONTROLLER_COMPLETED_LISTED_MAX", 2)
    info = world.make_stream()
    txns = [begin(world, info) for _ in range(4)]
    for txn in txns[:3]:
        world.call("commitTransaction", txn)
    world.call("abortTransaction", txns[3])
    world.advance(ABORT_NS)
    listed = world.call("listCompletedTransactions", pb.ListCompletedTxnRequest(streamInfo=info)).response
    assert [(one.txnId.lowBits, one.status) for one in listed] == [
        (3, pb.TxnResponse.COMMITTED),
        (4, pb.TxnResponse.ABORTED),
    ]
    assert [state(world, txn) for txn in txns] == ["UNKNOWN", "COMMITTED", "COMMITTED", "ABORTED"]


@pytest.mark.parametrize("lease_ms", [0, 9_999, 600_001, -1])
def test_a_lease_has_its_bounds(world: World, lease_ms: int) -> None:
    info = world.make_stream()
    with pytest.raises(CallFailed, match=r"lease (should be greater|value too large)") as caught:
        begin(world, info, lease_ms)
    assert caught.value.code is Code.UNKNOWN


def test_a_ping_tells_how_far_it_is(world: World) -> None:
    info = world.make_stream()
    txn = begin(world, info)
    ping = pb.PingTxnRequest(streamInfo=info, txnId=txn.txnId, lease=LEASE_MS)
    assert world.call("pingTransaction", ping).status == pb.PingTxnStatus.OK
    ping.lease = 600_001
    assert world.call("pingTransaction", ping).status == pb.PingTxnStatus.LEASE_TOO_LARGE
    world.call("commitTransaction", txn)
    assert world.call("pingTransaction", ping).status == pb.PingTxnStatus.COMMITTED


@pytest.mark.parametrize(("has_leases", "expected"), [(True, "ABORTED"), (False, "OPEN")])
def test_leases_run_out_where_they_are_enforced(has_leases: bool, expected: str) -> None:
    world = World(has_leases=has_leases)
    txn = begin(world, world.make_stream())
    world.advance(LEASE_MS * 1_000_000 + SECOND // 10)
    assert state(world, txn) == "OPEN"
    world.advance(SECOND // 2)
    world.advance(ABORT_NS)
    assert state(world, txn) == expected
    status = world.call("commitTransaction", txn).status
    assert status == (pb.TxnStatus.FAILURE if has_leases else pb.TxnStatus.SUCCESS)


def test_what_is_being_aborted_is_neither_committed_nor_renewed() -> None:
    world = World()
    info = world.make_stream()
    txn = begin(world, info)
    world.call("abortTransaction", txn)
    assert world.call("commitTransaction", txn).status == pb.TxnStatus.FAILURE
    assert world.call("abortTransaction", txn).status == pb.TxnStatus.SUCCESS
    ping = pb.PingTxnRequest(streamInfo=info, txnId=txn.txnId, lease=LEASE_MS)
    assert world.call("pingTransaction", ping).status == pb.PingTxnStatus.ABORTED
    world.call("sealStream", info)
    assert state(world, txn) == "ABORTED"
    assert world.timers.next_ns is None


def test_a_ping_renews_a_lease_and_the_end_cancels_it() -> None:
    world = World()
    info = world.make_stream()
    txn = begin(world, info)
    world.now_ns += 20 * SECOND
    world.call("pingTransaction", pb.PingTxnRequest(streamInfo=info, txnId=txn.txnId, lease=LEASE_MS))
    world.timers.run(world.now_ns + 29 * SECOND)
    assert state(world, txn) == "OPEN"
    world.call("commitTransaction", txn)
    assert world.timers.next_ns is None


@pytest.mark.parametrize("is_made_again", [False, True])
def test_how_a_transaction_ended_is_known_when_its_stream_is_deleted(world: World, is_made_again: bool) -> None:
    info = world.make_stream()
    committed, aborted = begin(world, info), begin(world, info)
    world.call("commitTransaction", committed)
    world.call("sealStream", info)
    world.call("deleteStream", info)
    if is_made_again:
        world.make_stream()
    assert (state(world, committed), state(world, aborted)) == ("COMMITTED", "ABORTED")
    never = pb.TxnRequest(streamInfo=info, txnId=pb.TxnId(lowBits=99))
    assert state(world, never) == "UNKNOWN"


def test_what_deleted_streams_leave_behind_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROLLER_DELETED_STREAMS_MAX", 2)
    asked = []
    for name in ("a", "b"):
        info = world.make_stream(stream=name)
        asked.append(begin(world, info))
        world.call("sealStream", info)
        world.call("deleteStream", info)
    # Each of them took the stream of its watermarks with it.
    assert [state(world, txn) for txn in asked] == ["UNKNOWN", "ABORTED"]
