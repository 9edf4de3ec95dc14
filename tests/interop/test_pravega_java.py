"""Pravega's own Java client, unmodified, against `wiretool serve pravega`; the driver is in java/, built by Maven.

Everything was held against a real Pravega 0.13.0 first: `PRAVEGA_CONTROLLER=HOST:PORT pytest tests/interop`.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.interop.numbered import assert_exactly_once
from tests.interop.pravega_server import IS_CI, Server, faulty_server, pravega_server
from tests.interop.processes import report_of
from tests.interop.real_pravega import build

JAVA = Path(__file__).parent / "java"
TARGET = JAVA / "target"
#: The first build on a machine fetches the client.
BUILD_S = 600

pytestmark = pytest.mark.skipif(
    shutil.which("mvn") is None and not IS_CI, reason="Maven is not installed: Pravega's Java client was left out"
)


@pytest.fixture(scope="module")
def driver() -> list[str]:
    """The command of the driver, built if its sources are newer than what was built before."""
    path = build(JAVA, TARGET, BUILD_S)
    return ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", path, "wiretool.interop.Driver"]


def scenario(driver: list[str], name: str, server: Server, **options: object) -> dict[str, Any]:
    """What a scenario reports."""
    return scenario_at(driver, name, f"tcp://{server.controller}", **options)


def scenario_at(driver: list[str], name: str, controller: str, **options: object) -> dict[str, Any]:
    """As `scenario`, at an address of any kind."""
    return report_of([*driver, name, controller, *(f"{key}={value}" for key, value in options.items())])


def test_scopes_streams_and_tags(driver: list[str], server: Server, scope: str) -> None:
    assert scenario(driver, "streams", server, scope=scope) == {
        "create_scope": True,
        "create_scope_again": False,
        "create_tagged": True,
        "create_again": False,
        "create_plain": True,
        "create_without_scope": "IllegalArgumentException",
        "exists": [True, False, True, False],
        "streams": ["plain", "tagged"],
        "streams_tagged": ["tagged"],
        "tags": ["a", "b"],
        "same_configuration": True,
        "update": True,
        "tags_updated": [],
        "scope_listed": True,
        "delete_unsealed": "IllegalArgumentException",
        "truncate": True,
        "truncated": True,
        "left": 10,
        "delete_scope_in_use": "IllegalStateException",
        "seal_tagged": True,
        "delete_tagged": True,
        "seal_plain": True,
        "delete_plain": True,
        "seal_stream": True,
        "delete_stream": True,
        "delete_again": False,
        "delete_scope": True,
        "exists_deleted": False,
        "delete_recursive": True,
        "exists_deleted_recursive": False,
    }


def test_writer_and_reader_group(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "events", server, scope=scope, count=20000, keys=10, segments=3, size_bytes=100)
    assert_exactly_once(seen, 20000, 10, 100)


def test_writers_that_share_connections(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "pooled", server, scope=scope, count=3200, keys=32, segments=3, connections=2)
    assert_exactly_once(seen, 3200, 32)


def test_large_events(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "large", server, scope=scope, size_bytes=10_000_000)
    assert seen["sizes_bytes"] == [10, 10_000_000, 10, 8 << 20, 10]
    assert seen["sequences"] == {"key0": [0, 1, 2, 3, 4]}


def test_stream_sealed_and_deleted_under_a_writer(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "sealed", server, scope=scope, count=1000, keys=10)
    assert_exactly_once(seen, 1000, 10)
    assert (seen["sealed"], seen["late"], seen["deleted"], seen["exists"]) == (
        True,
        "IllegalStateException",
        True,
        False,
    )


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param('message == "AppendBlockEnd" nth=30: reset', id="before-it-is-stored"),
        pytest.param('message == "DataAppended" nth=30: reset', id="stored-but-not-acknowledged"),
        pytest.param('message == "AppendBlock" nth=40: reset', id="in-the-middle-of-a-block"),
        pytest.param('message == "SegmentRead" nth=5: reset', id="while-it-is-read"),
        pytest.param('message == "DataAppended" every=50: reset', id="again-and-again"),
    ],
)
def test_connection_cut(driver: list[str], tmp_path: Path, scope: str, rule: str) -> None:
    with faulty_server(tmp_path, rule) as server:
        seen = scenario(driver, "events", server, scope=scope, count=5000, keys=10, segments=2, size_bytes=100)
    assert_exactly_once(seen, 5000, 10, 100)


def test_a_fault_is_caused_through_the_control_api(driver: list[str], tmp_path: Path, scope: str) -> None:
    """With the class that docs/testcontainers.md shows."""
    with pravega_server(tmp_path, "--control", "127.0.0.1:0") as server:
        seen = scenario(driver, "controlled", server, scope=scope, control=server.control_at)
    assert seen == {"has_acted": True, "events": ["before", "across", "after"]}


def test_stream_scaled_under_a_writer(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "scaling", server, scope=scope, count=500, keys=10)
    assert seen["segments"] == [3, 2]
    assert_exactly_once(seen, seen["written"], 10)


def test_two_readers(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "two_readers", server, scope=scope, count=400, keys=10)
    assert_exactly_once(seen, seen["written"], 10)
    assert all(seen["shares"])


def test_checkpoint(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "checkpoint", server, scope=scope, count=500, keys=10)
    assert_exactly_once(seen, 1000, 10)
    assert seen["again"] == {f"key{key}": list(range(50, 100)) for key in range(10)}


def test_batch_reads(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "batch", server, scope=scope, count=500, keys=10)
    assert seen["segments"] == 3
    assert_exactly_once(seen, 500, 10)


def test_transactions(driver: list[str], server: Server, scope: str) -> None:
    seen = scenario(driver, "transactions", server, scope=scope, count=20, keys=2, rounds=2)
    assert_exactly_once(seen, 60, 2)
    assert seen["states"] == ["OPEN", "COMMITTED", "OPEN", "ABORTED"] * 2
    assert (seen["ping"], seen["same_id"], seen["found_ended"]) == ("OPEN", True, "COMMITTED")
    assert seen["write_ended"] == "TxnFailedException"
    # A real server lists it some time later.
    assert seen["completed"] in ([], ["COMMITTED"])


@pytest.mark.parametrize("partitions", [1, 3])
def test_key_value_table(driver: list[str], server: Server, scope: str, partitions: int) -> None:
    seen = scenario(driver, "table", server, scope=scope, partitions=partitions, count=20)
    refused = ("insert_again", "put_stale", "remove_stale", "put_removed", "remove_removed", "batch_again")
    assert {name: seen[name] for name in refused} == dict.fromkeys(refused, "BadKeyVersionException")
    assert (seen["create"], seen["create_again"], seen["same_configuration"]) == (True, False, True)
    assert seen["tables"] == ["table"]
    assert (seen["value"], seen["same_version"], seen["removed"]) == ("three", True, True)
    assert seen["get_all"] == ["value0", "value1", "none"]
    assert (seen["walked"], seen["part"]) == (99, ["2/1", "2/2", "2/3"])
    assert (seen["delete"], seen["delete_again"]) == (True, False)


def test_byte_stream(driver: list[str], server: Server, scope: str) -> None:
    assert scenario(driver, "bytes", server, scope=scope, size_bytes=3_000_000, seed=5) == {
        "ends": [0, 3_000_000],
        "whole": True,
        "last": True,
        "ends_truncated": [1_500_000, 3_000_000],
        "read_truncated": "SegmentTruncatedException",
        "more": True,
        "end": -1,
    }


def test_revisioned_stream(driver: list[str], server: Server, scope: str) -> None:
    assert scenario(driver, "revisions", server, scope=scope) == {
        "first": True,
        "stale": True,
        "second": True,
        "stale_again": True,
        "all": ["one", "two", "three"],
        "from_middle": ["three"],
        "marks": [True, True, False, True, True],
        "oldest": True,
        "read_truncated": "TruncatedDataException",
    }


def test_state_synchronizer(driver: list[str], server: Server, scope: str) -> None:
    assert scenario(driver, "synchronizer", server, scope=scope, count=30) == {"totals": [30, 30]}


def test_newest_wire_version(driver: list[str], tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--wire-version", "17") as server:
        seen = scenario(driver, "events", server, scope=scope, count=500, keys=5, segments=2, size_bytes=0)
    assert_exactly_once(seen, 500, 5)


def test_authorisation(driver: list[str], tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--auth", "user:pass:word") as server:
        known = {"user": "user", "password": "pass:word"}
        seen = scenario(driver, "events", server, scope=scope, count=500, keys=5, segments=2, size_bytes=0, **known)
        assert_exactly_once(seen, 500, 5)
        for refused in ({}, {"user": "user", "password": "guessed"}):
            assert scenario(driver, "forbidden", server, scope=scope, **refused) == {
                "create_scope": "StatusRuntimeException"
            }


def test_tls(driver: list[str], tmp_path: Path, scope: str) -> None:
    authority = trustme.CA()
    certificate, trusted = tmp_path / "server.pem", tmp_path / "ca.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(trusted)
    with pravega_server(tmp_path, "--tls-cert", str(certificate)) as server:
        controller = f"tls://localhost:{server.controller.rpartition(':')[2]}"
        options = {"scope": scope, "count": 500, "keys": 5, "segments": 2, "size_bytes": 0, "truststore": trusted}
        assert_exactly_once(scenario_at(driver, "events", controller, **options), 500, 5)
