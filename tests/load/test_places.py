"""Segments that a controller has given out, each written, fetched and read back on the store where it is."""

from contextlib import closing as shutting

import msgspec
import pytest

from tests.load.mock_stage import Place as Stage
from tests.protocols.pravega_controller.load.controllers import mock_place
from wiretool.load import closing
from wiretool.load.children import load_process, mock_server
from wiretool.load.closing import read_back
from wiretool.load.intervals import Ended, Orders, Writer
from wiretool.load.link import Failed, Link
from wiretool.load.plan import Place, Plan
from wiretool.protocols.pravega.load.client import Store
from wiretool.protocols.pravega.load.segment_reader import Reads
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega.server.tokens import Permission, TokenChecker

NAMES = ("bench-run/load/0.#epoch.0", "bench-run/load/4.#epoch.1")
PLAN = Plan(protocol="pravega", appenders=4, fetchers=2, duration_s=1.0, segments=2, run="run")


def test_places_go_to_other_processes_and_back() -> None:
    plan = PLAN.at(tuple(Place(segment=name, host="::1", port=1) for name in NAMES), "token")
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    assert plan.target == "[::1]:1"


def ended_of(plan: Plan) -> Ended:
    """The last word of a load process that has made such a load."""
    with load_process() as load:
        load.order(Orders(plan=plan))
        while (said := load.next()) is not None:
            if isinstance(said, Ended):
                return said
    raise AssertionError


def test_each_segment_is_loaded_on_its_own_store() -> None:
    with (
        mock_server("pravega", seed=0, faults=(), run_s=10.0) as one,
        mock_server("pravega", seed=0, faults=(), run_s=10.0) as two,
    ):
        addresses = (one.address, two.address)
        for name, address in zip(NAMES, addresses, strict=True):
            with shutting(Link(*address)) as link:
                Store(link).make_segment(name)
        places = tuple(
            Place(segment=name, host=where.host, port=where.port) for name, where in zip(NAMES, addresses, strict=True)
        )
        plan = PLAN.at(places, "")
        assert plan.target == str(one.address)
        ended = ended_of(plan)
        assert ended.failure == ""
        assert [writer.segment for writer in ended.writers] == [NAMES[0], NAMES[1]] * 2
        assert all(writer.acknowledged for writer in ended.writers)
        outcome = read_back(plan, ended.writers)
        assert outcome.checked == outcome.acknowledged == sum(writer.acknowledged for writer in ended.writers)
        assert (outcome.found, ended.found) == (0, 0)
        assert ended.checked > 0
        for name, address in zip(NAMES, reversed(addresses), strict=True):
            with shutting(Link(*address)) as link, pytest.raises(Failed, match="NoSuchSegment"):
                list(Store(link).read(name))


def test_a_segment_that_is_not_there_is_not_made() -> None:
    with mock_server("pravega", seed=0, faults=(), run_s=10.0) as mock:
        place = Place(segment=NAMES[0], host=mock.address.host, port=mock.address.port)
        failure = ended_of(PLAN.at((place, place), "")).failure
    assert "SetupAppend was answered with NoSuchSegment" in failure


def test_what_is_read_back_is_read_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(PravegaMock(auth=("a", "b"), token_key=b"key"))
    token = TokenChecker(b"key").issue("us", {"*": Permission.READ_UPDATE}, stage.now_ns // 10**9, 60)
    monkeypatch.setattr(closing, "Link", lambda host, port: stage.wire("store"))
    Store(stage.wire("store"), token).make_segment(NAMES[0])
    plan = PLAN.at((Place(segment=NAMES[0], host="h", port=1),), token)
    writers = [Writer(key=1, wire_id="", segment=NAMES[0])]
    assert read_back(plan, writers).found == 0
    with pytest.raises(Failed, match="AuthTokenCheckFailed"):
        read_back(PLAN.at(plan.places, "other"), writers)


@pytest.mark.parametrize("token", ["other", ""])
def test_fetchers_give_the_token_with_each_read(token: str) -> None:
    stage = Stage(PravegaMock(auth=("a", "b"), token_key=b"key"))
    good = TokenChecker(b"key").issue("us", {"*": Permission.READ_UPDATE}, stage.now_ns // 10**9, 60)
    link = stage.wire("store")
    Store(link, good).make_segment(NAMES[0])
    allowed, refused = Reads(NAMES[0], good), Reads(NAMES[0], token)
    link.send(allowed.at(0))
    assert allowed.feed(link.receive_within(0)) is None  # a read at the end waits
    link.send(refused.at(0))
    with pytest.raises(Failed, match="AuthTokenCheckFailed"):
        refused.feed(link.receive())


def test_an_open_store_wants_no_token() -> None:
    store = Store(mock_place().wire("store"))
    store.make_segment(NAMES[0])
    assert list(store.read(NAMES[0])) == []
