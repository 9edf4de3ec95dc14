"""The PyPI client `pravega`, unmodified, against `wiretool serve pravega`: what it does with a real server works here.

One test for each thing that the client can do. Everything was held against a real Pravega 0.13.0 first:
`PRAVEGA_CONTROLLER=HOST:PORT pytest tests/interop`.
"""

import hashlib
import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.interop.numbered import assert_exactly_once
from tests.interop.pravega_server import HAS_WHEEL, IS_CI, LOOPBACK, Server, faulty_server, pravega_server
from tests.interop.processes import ROOT, report_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pravega_client") is None and not (IS_CI and HAS_WHEEL),
    reason="the PyPI client `pravega` is not installed (there are wheels for Linux on x86_64 and Python 3.11 at most)",
)

AUTH = {
    "pravega_client_auth_method": "Basic",
    "pravega_client_auth_username": "user",
    "pravega_client_auth_password": "pass:word",
}


def command(scenario: str, controller: str, **options: Any) -> list[str]:
    """The command line of a scenario."""
    return [sys.executable, "-m", "tests.interop.pravega_python", scenario, controller, json.dumps(options)]


def scenario(name: str, server: Server, *, env: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """What a scenario reports."""
    return report_of(command(name, f"tcp://{server.controller}", **options), env={"RUST_BACKTRACE": "0", **(env or {})})


# -- the stream manager ------------------------------------------------------------------------------------------------


def test_scopes_streams_and_tags(server: Server, scope: str) -> None:
    seen = scenario("manage", server, scope=scope)
    done = [name for name in seen if name.startswith(("create_", "update", "seal_", "delete_"))]
    refused = {name: seen[name] for name in done if seen[name] is not True}
    for name in ("create_scope_again", "create_again", "delete_scope_again"):
        assert refused.pop(name) is False
    words = {
        "create_scope_ill_named": "Invalid scope",
        "create_without_scope": "Invalid Stream/Scope Not Found",
        "update_none": "Stream/Scope Not Found",
        "delete_scope_in_use": "Scope not empty",
        "delete_unsealed": "Stream Not Sealed",
        "seal_none": "Stream/Scope Not Found",
    }
    assert refused.keys() == words.keys()
    for name, text in words.items():
        assert text in refused[name]
    assert (sorted(seen["tags"]), seen["tags_of_plain"], seen["tags_updated"]) == (["a", "b"], [], ["c"])
    assert "NotFound" in seen["tags_of_none"]
    assert scope in seen["scopes"]
    assert scope not in seen["scopes_left"]
    assert visible(seen["streams"]) == ["plain", "rate", "tagged"]
    assert visible(seen["streams_left"]) == []


def test_streams_listed_page_by_page(server: Server, scope: str) -> None:
    seen = scenario("many_streams", server, scope=scope, count=60)
    assert visible(seen["streams"]) == sorted(f"stream{index}" for index in range(60))


def visible(streams: list[str]) -> list[str]:
    """The streams that were made by a client: a server keeps others whose names begin with a line."""
    return sorted(name for name in streams if not name.startswith("_"))


def test_a_call_answered_by_a_rule(tmp_path: Path, scope: str) -> None:
    rule = 'message == "createScope" and side == "client" nth=1: answer createScope status="SCOPE_EXISTS"'
    with faulty_server(tmp_path, rule) as server:
        assert scenario("scope_twice", server, scope=scope) == {"first": False, "second": True}


# -- writers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("in_flight", "count"), [(0, 500), (10, 3000), (1000, 30000)])
def test_writers(server: Server, scope: str, in_flight: int, count: int) -> None:
    seen = scenario("events", server, scope=scope, count=count, keys=5, in_flight=in_flight, size_bytes=100)
    assert_exactly_once(seen, count, 5, 100)


def test_writer_on_several_segments(server: Server, scope: str) -> None:
    seen = scenario("events", server, scope=scope, count=5000, keys=20, in_flight=1000, segments=4)
    assert_exactly_once(seen, 5000, 20)


def test_flushes_and_a_second_writer(server: Server, scope: str) -> None:
    seen = scenario("flushes", server, scope=scope, count=400, keys=4, every=10)
    assert_exactly_once(seen, 400, 4)


def test_events_awaited_one_by_one(server: Server, scope: str) -> None:
    assert_exactly_once(scenario("awaited", server, scope=scope, count=200, keys=4), 200, 4)


def test_many_writers(server: Server, scope: str) -> None:
    seen = scenario("many_writers", server, scope=scope, count=3200, keys=32, segments=4)
    assert_exactly_once(seen, 3200, 32)


def test_large_events(server: Server, scope: str) -> None:
    mib = 1 << 20
    sizes = [10, 9 * mib, 10, 8 * mib - 8, 8 * mib, 10, 12 * mib]
    seen = scenario("large", server, scope=scope, sizes_bytes=sizes, refused_bytes=20 * mib)
    assert seen["sizes_bytes"] == sizes
    assert seen["sequences"] == {"key0": list(range(len(sizes)))}
    assert "SizeLimit" in seen["refusal"]


def test_stream_sealed_under_a_writer(server: Server, scope: str) -> None:
    seen = scenario("sealed", server, scope=scope, count=1000, keys=10)
    assert seen["sealed"] is True
    assert "RecvError" in seen["late"]
    assert_exactly_once(seen, 1000, 10)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param('message == "AppendBlockEnd" nth=5: reset', id="before-it-is-stored"),
        pytest.param('message == "DataAppended" nth=5: reset', id="stored-but-not-acknowledged"),
        pytest.param('message == "DataAppended" every=7: reset', id="again-and-again"),
        pytest.param('message == "AppendSetup" nth=1: reset', id="while-it-begins"),
    ],
)
def test_connection_cut_under_a_writer(tmp_path: Path, scope: str, rule: str) -> None:
    with faulty_server(tmp_path, rule) as server:
        seen = scenario("events", server, scope=scope, count=3000, keys=5, in_flight=100)
    assert_exactly_once(seen, 3000, 5)


# Not TableEntriesUpdated: what was done the client does again, and takes the refusal for another reader's doing.
@pytest.mark.parametrize("message", ["SegmentRead", "UpdateTableEntries", "TableEntriesDeltaRead"])
def test_connection_cut_under_a_reader(tmp_path: Path, scope: str, message: str) -> None:
    with faulty_server(tmp_path, f'message == "{message}" nth=2: reset') as server:
        seen = scenario("events", server, scope=scope, count=500, keys=5, in_flight=100, segments=2)
    assert_exactly_once(seen, 500, 5)


def test_client_killed_while_it_writes(server: Server, scope: str) -> None:
    driver = command("until_told", f"tcp://{server.controller}", scope=scope, keys=10, round_count=200)
    with subprocess.Popen(driver, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # The first round is acknowledged then.
        assert process.stdout.readline() == "writing\n"
        process.kill()
    seen = scenario("only_read", server, scope=scope, count=200)["sequences"]
    assert len(seen) == 10
    for numbers in seen.values():
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= 20


def test_newest_wire_version(tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--wire-version", "17") as server:
        seen = scenario("events", server, scope=scope, count=500, keys=5, in_flight=10, segments=2)
    assert_exactly_once(seen, 500, 5)


def test_stream_scaled_under_a_writer(tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--control", LOOPBACK) as server:
        driver = command("until_told", f"tcp://{server.controller}", scope=scope, keys=20, round_count=500)
        with subprocess.Popen(driver, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "writing\n"
                for segments in (3, 2):
                    server.control("scale", f"{scope}/stream", str(segments))
                stdout, _ = process.communicate("enough\n", timeout=90)
            finally:
                process.kill()
    seen = json.loads(stdout)
    assert_exactly_once(seen, seen["written"], 20)


# -- readers -----------------------------------------------------------------------------------------------------------


def test_reader_group_from_the_tail(server: Server, scope: str) -> None:
    assert_exactly_once(scenario("tail", server, scope=scope, count=200, keys=5), 200, 5)


def test_a_stream_of_which_the_beginning_was_dropped(tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--retain", "1M") as server:
        seen = scenario("retained", server, scope=scope, count=3000, size_bytes=1000)
    [(key, numbers)] = seen["sequences"].items()
    assert key == "key0"
    assert 800 < len(numbers) < 1100
    assert numbers == list(range(3000 - len(numbers), 3000))


def test_reads_parked_at_the_tail(server: Server, scope: str) -> None:
    assert_exactly_once(scenario("parked", server, scope=scope, count=30, keys=3), 30, 3)


def test_reader_that_hands_over(server: Server, scope: str) -> None:
    assert_exactly_once(scenario("handover", server, scope=scope, count=200, keys=5), 200, 5)


def test_two_readers(server: Server, scope: str) -> None:
    seen = scenario("two_readers", server, scope=scope, count=80, keys=8)
    assert_exactly_once(seen, seen["written"], 8)
    assert all(seen["shares"])


def test_groups_over_two_streams(server: Server, scope: str) -> None:
    for seen in scenario("groups", server, scope=scope, count=200, keys=4)["groups"]:
        assert_exactly_once(seen, 200, 4)


def test_reader_group_from_a_stream_cut(server: Server, scope: str) -> None:
    seen = scenario("stream_cut", server, scope=scope, count=200, keys=4)
    assert_exactly_once(seen, 200, 4)
    # 200 events of "keyK 10000NN " with their header.
    assert seen["cut"] == {"0": 200 * (8 + 13)}


# -- transactions and bytes --------------------------------------------------------------------------------------------


def test_transactions(server: Server, scope: str) -> None:
    seen = scenario("transactions", server, scope=scope, count=20, keys=4, rounds=3)
    assert_exactly_once(seen, 60, 4)
    assert len(set(seen["ids"])) == 6
    assert seen["open"] == [True] * 6
    assert seen["closed"] == [False] * 6
    assert "TxnFailedException" in seen["write_closed"]
    assert "TxnFailedException" in seen["commit_closed"]


def test_transaction_found_again(server: Server, scope: str) -> None:
    seen = scenario("found_again", server, scope=scope, count=20, keys=2)
    assert (seen["same_id"], seen["open"], seen["open_after"]) == (True, True, False)
    assert seen["before"]["sequences"] == {"key0": [10**6]}
    assert seen["after"]["sequences"] == {"key0": [10**6, *range(10)], "key1": list(range(10))}


def test_byte_stream(server: Server, scope: str) -> None:
    size = 3_000_000
    data = random.Random(7).randbytes(size)
    seen = scenario("byte_stream", server, scope=scope, size_bytes=size, seed=7)
    assert (seen["ends"], seen["told"]) == ([0, size], size)
    assert seen["digest"] == hashlib.sha256(data).hexdigest()
    assert seen["seeks"] == [100, 50, size - 10]
    assert seen["last"] == data[-10:].hex()
    assert "negative" in seen["seek_negative"]
    assert seen["ends_truncated"] == [size // 2, size]
    assert "SegmentIsTruncated" in seen["read_truncated"]
    assert "truncation error" in seen["truncate_beyond"]
    assert seen["digest_truncated"] == hashlib.sha256(data[size // 2 :]).hexdigest()
    assert seen["more"] == "more"


# -- who may come in ---------------------------------------------------------------------------------------------------


def test_authorisation(tmp_path: Path, scope: str) -> None:
    with pravega_server(tmp_path, "--auth", "user:pass:word") as server:
        seen = scenario("events", server, env=AUTH, scope=scope, count=500, keys=5, in_flight=10, segments=2, auth=True)
        assert_exactly_once(seen, 500, 5)
        seen = scenario("transactions", server, env=AUTH, scope=f"{scope}t", count=20, keys=2, rounds=1, auth=True)
        assert_exactly_once(seen, 20, 2)


def test_tls(tmp_path: Path, scope: str) -> None:
    authority = trustme.CA()
    certificate, trusted = tmp_path / "server.pem", tmp_path / "certs" / "ca.pem"
    trusted.parent.mkdir()
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(trusted)
    with pravega_server(tmp_path, "--tls-cert", str(certificate)) as server:
        port = server.controller.rpartition(":")[2]
        options = {"scope": scope, "count": 500, "keys": 5, "in_flight": 10, "segments": 2, "tls": True}
        env = {"pravega_client_tls_cert_path": str(trusted.parent), "RUST_BACKTRACE": "0"}
        seen = report_of(command("events", f"tls://localhost:{port}", **options), env=env)
    assert_exactly_once(seen, 500, 5)


# -- what is recorded --------------------------------------------------------------------------------------------------


def test_recording_decodes_with_no_problem(tmp_path: Path, scope: str) -> None:
    recording = tmp_path / "session.pcapng"
    with pravega_server(tmp_path, "--record", str(recording)) as server:
        scenario("events", server, scope=scope, count=500, keys=5, in_flight=10, segments=2)
        scenario("transactions", server, scope=f"{scope}t", count=20, keys=2, rounds=1)
    decode = [sys.executable, "-m", "wiretool", "decode", "--strict", "--format", "ndjson", str(recording)]
    decoded = subprocess.run(decode, check=True, timeout=60, capture_output=True, text=True).stdout
    assert '"createTransaction"' in decoded
    assert '"DataAppended"' in decoded
