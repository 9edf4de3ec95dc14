"""Mutations of the request for an upgrade: the bytes that they claim, on the wire, and servers that survive them."""

import base64
import binascii
from itertools import count

import pytest

from tests.fuzz.mutation_runs import findings_with, mutated, reaching
from tests.protocols.offramp.talk import NO_FRAME, TARGET
from wiretool.fuzz.targets.connection import FuzzConnection
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.offramp.fuzz.upgrade import HTTP_VERSIONS, KEYS, METHODS, MUTATIONS, WEBSOCKET_VERSIONS

NAMES = tuple(each.name for each in MUTATIONS)


def requests(name: str, rounds: int = 3) -> list[bytes]:
    """Return the requests that a mutation makes."""
    found = [each.after.data for each in mutated("offramp", name, rounds=rounds)]
    assert len(found) >= 100
    return found


def headers_of(data: bytes, name: bytes) -> list[bytes]:
    """Return the values of the headers of a name."""
    lines = data.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    pairs = [line.partition(b":") for line in lines]
    return [value.strip() for key, _, value in pairs if key.lower() == name]


@pytest.mark.parametrize("name", NAMES)
def test_requests_are_changed_and_reach_the_server(name: str) -> None:
    found = mutated("offramp", name)
    assert all(each.before.data.startswith(b"GET ") for each in found)
    assert all(each.after.changes[-1].mutation == name for each in found)
    assert reaching("offramp", found) >= 25


def test_request_lines_are_odd() -> None:
    lines = [data.partition(b"\r\n")[0] for data in requests("upgrade/line", 6)]
    assert {method for method in METHODS if any(line.startswith(method + b" ") for line in lines)} >= {b"POST", b"get"}
    assert {version for version in HTTP_VERSIONS if any(line.endswith(b" " + version) for line in lines)} >= {
        b"HTTP/1.0", b"HTTP/2.0", b"http/1.1"
    }  # fmt: skip
    assert max(map(len, lines)) > 65_536


def test_headers_are_missing_doubled_in_odd_case_and_folded() -> None:
    found = requests("upgrade/header", 6)
    keys = [headers_of(data, b"sec-websocket-key") for data in found]
    assert any(not each for each in keys)
    assert any(len(each) == 2 for each in keys)
    assert any(b"sEC-wEBsOCKET-kEY" in data for data in found)
    assert any(b"\r\n " in data for data in found)
    assert any(data.count(b"\r\n") > 1000 for data in found)


def test_versions_and_keys_are_refusable() -> None:
    versions = {value for data in requests("upgrade/version") for value in headers_of(data, b"sec-websocket-version")}
    assert versions >= set(WEBSOCKET_VERSIONS)
    keys = {value for data in requests("upgrade/key", 6) for value in headers_of(data, b"sec-websocket-key")}
    assert keys >= {each.strip() for each in KEYS}
    assert any(not _is_key(value) for value in keys)


def _is_key(value: bytes) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == 16
    except binascii.Error:
        return False


def test_hosts_are_missing_doubled_and_odd() -> None:
    counts = {len(headers_of(data, b"host")) for data in requests("upgrade/host")}
    assert counts == {0, 1, 2}


def test_line_ends_are_bare() -> None:
    found = requests("upgrade/line-ends")
    assert any(b"\n" in data and b"\r" not in data for data in found)
    assert any(b"\r" in data and b"\n" not in data for data in found)
    assert any(data.startswith(b"\r\n\r\n") for data in found)


def test_requests_have_bodies() -> None:
    found = requests("upgrade/body")
    assert any(headers_of(data, b"content-length") == [b"5"] and data.endswith(b"hello") for data in found)
    assert any(headers_of(data, b"transfer-encoding") == [b"chunked"] for data in found)


@pytest.mark.parametrize("name", NAMES)
def test_clean_mocks_survive(name: str) -> None:
    assert findings_with("offramp", name) == []


@pytest.mark.parametrize("before", [b"", NO_FRAME])
@pytest.mark.parametrize("behind", [b"", b"\x1d\x8f\x55\x09\xa3"])
def test_the_refusal_of_bytes_without_a_frame_decodes(before: bytes, behind: bytes) -> None:
    """HEAD has its response without a body, and other bytes have theirs with one, in one packet or in two."""
    refused = b"HTTP/1.1 405 \r\nContent-Length: 0\r\n\r\n"
    broken = b'HTTP/1.1 400 \r\nContent-Length: 4\r\n\r\n{"":'
    connection = FuzzConnection(PROTOCOLS["offramp"], 1, count(1))
    heads = f"HEAD {TARGET} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * (4 if before else 1)
    assert connection.sent(before + heads + behind, 0)
    received = connection.received((b"" if before else refused) + broken, 0) + connection.end()
    assert [(each.record.message, each.problems) for each in received] == [("HandshakeResponse", [])] * len(received)
    assert len(received) == (1 if before else 2)
