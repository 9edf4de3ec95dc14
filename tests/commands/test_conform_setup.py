"""`wiretool conform --target` against mock servers in the setup of the cases, and in others."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import started, wiretool
from wiretool.conformance.registry import conformance_of

DOCS = Path(__file__).parents[2] / "docs"
#: Cases that depend on roads, messages and rights, from each chapter.
SOME = (
    "offramp/handshake/1*",
    "offramp/access/*",
    "offramp/request/[1567]",
    "offramp/message/[49]",
    "offramp/commit/7",
    "offramp/rebalance/*",
)


def judge(folder: Path, serving: tuple[str, ...], *words: str, protocol: str = "offramp") -> Mapping[str, Any]:
    """Serve a protocol with options, judge the server, and return the report."""
    with started(folder, "serve", protocol, "--listen", "127.0.0.1:0", *serving) as server:
        host, port = next(iter(server.doors.values()))
        options = ("--target", f"{host}:{port}", "--jobs", "20", "--timeout", "1s", "--format", "json")
        ended = wiretool("conform", protocol, *options, *words)
    report: Mapping[str, Any] = json.loads(ended.stdout)
    assert ended.returncode == (0 if report["is_success"] else 1), ended.stderr
    return report


def some() -> list[str]:
    """Return the options that select some cases."""
    return [word for glob in SOME for word in ("--case", glob)]


def failed(report: Mapping[str, Any]) -> list[str]:
    """Return the ids of the cases that failed."""
    return [case["id"] for case in report["cases"] if case["verdict"] in ("fail", "error")]


def whys(report: Mapping[str, Any]) -> dict[str, str]:
    """Return by id why cases were not exercised."""
    return {case["id"]: case["why"] for case in report["cases"] if case["verdict"] == "not-exercised"}


@needs_protocol("offramp")
def test_the_documented_server_of_offramp_passes_every_case_of_its_setup(tmp_path: Path) -> None:
    report = judge(tmp_path, ("--setup", "default"), "--case", "!offramp/ping/5")
    assert failed(report) == []
    variants = {case.id: case.variant for case in conformance_of("offramp").cases}
    assert set(whys(report)) == {id for id, variant in variants.items() if variant}
    assert report["is_success"]


@needs_protocol("offramp")
@pytest.mark.parametrize("setup", ["live", "original"])
def test_servers_in_other_setups_pass_their_cases(tmp_path: Path, setup: str) -> None:
    report = judge(tmp_path, ("--setup", setup), "--setup", setup)
    variants = {case.id: case.variant for case in conformance_of("offramp").cases}
    assert failed(report) == []
    assert set(whys(report)) == {id for id, variant in variants.items() if variant != setup}


@needs_protocol("offramp")
def test_a_server_without_the_setup_fails_no_case(tmp_path: Path) -> None:
    report = judge(tmp_path, (), *some())
    assert failed(report) == []
    assert whys(report) | {
        "offramp/request/5": "road one has no messages; the setup has some",
        "offramp/access/9": "road private has no messages; the setup has some",
        "offramp/message/4": "road six has no messages; the setup has some",
    } == whys(report)
    assert report["summary"]["pass"] > 10


@needs_protocol("offramp")
def test_the_handshakes_that_the_original_server_accepts_are_the_documented_ones(tmp_path: Path) -> None:
    report = judge(tmp_path, ("--like-real",), "--case", "offramp/handshake/*")
    found = {case["id"] for case in report["cases"] if case["verdict"] == "lenient"}
    assert failed(report) == []
    assert found == set(re.findall(r"^\| `(offramp/[^`]+)` \|", (DOCS / "conformance.md").read_text(), re.MULTILINE))
    assert len(found) == 5


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("serving", "id", "why"),
    [
        (("--road", "orders"), "offramp/access/7", "the server has no road stored"),
        (("--auth", "user:secret"), "offramp/access/1", "the server does not know the user of the setup"),
        (("--rate", "20"), "offramp/rebalance/2", "road quiet has messages; the setup has none there"),
        (("--rate", "20"), "offramp/request/1", "road one has other messages than those of the setup"),
    ],
)
def test_what_a_server_lacks_is_the_reason(tmp_path: Path, serving: tuple[str, ...], id: str, why: str) -> None:
    report = judge(tmp_path, serving, "--case", id, "--case", "offramp/handshake/1[01]")
    assert failed(report) == []
    assert whys(report)[id] == why


@pytest.mark.parametrize(
    ("mutant", "id"),
    [("road-unchecked", "offramp/handshake/17"), ("rebalance-empty-missing", "offramp/rebalance/8")],
)
def test_a_defect_of_a_server_in_the_setup_is_still_found(tmp_path: Path, mutant: str, id: str) -> None:
    report = judge(tmp_path, ("--setup", "default", "--mutant", mutant), "--case", id)
    assert failed(report) == [id]


@pytest.mark.parametrize("protocol", ["sbp", "sbp-0.1", "pravega-draft", "pravega"])
def test_other_servers_require_no_setup(tmp_path: Path, protocol: str) -> None:
    report = judge(tmp_path, (), "--case", f"{protocol}/a*", "--case", f"{protocol}/f*", protocol=protocol)
    assert failed(report) == []
    assert report["summary"]["pass"] > 10


def test_a_setup_has_all_its_endpoints(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "sbp", "--listen", "127.0.0.1:0", "--setup", "apart") as server:
        (_, first), *others = server.doors.items()
        assert others
        targets = [f"{name}={host}:{port}" for name, (host, port) in others]
        words = [word for each in ("{}:{}".format(*first), *targets) for word in ("--target", each)]
        ended = wiretool("conform", "sbp", "--setup", "apart", *words, "--format", "json", "--jobs", "10")
    report = json.loads(ended.stdout)
    assert failed(report) == []
    assert report["summary"]["pass"] > 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("offramp", "--setup", "lively"), "--setup lively: offramp has no such setup, nearest is live"),
        (("offramp", "--setup", "live", "--road", "x"), "--setup and --road: expected one of them"),
    ],
)
def test_setups_that_cannot_be_served(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("serve", *words)
    assert ended.returncode == 2
    assert why.partition(",")[0] in ended.stderr
