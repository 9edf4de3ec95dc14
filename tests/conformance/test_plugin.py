"""A protocol from outside the package brings its cases: the engine asks the protocol, not the folder of its name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conformance import plugin
from wiretool.cli import app
from wiretool.commands.conform.options import ConformOptions
from wiretool.commands.conform.run import run_conform
from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.run import fuzz_server
from wiretool.commands.fuzz.setup import empty_result
from wiretool.conformance.registry import conformance_of
from wiretool.errors import UsageError
from wiretool.protocols.base import registry
from wiretool.protocols.base.registry import Registered

BARE = "plugin-bare"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the protocol, and one without cases, for the time of a test."""
    others = {plugin.NAME: plugin.PROTOCOL, BARE: replace(plugin.PROTOCOL, name=BARE, ports=(), conformance="")}
    added = Registered({**registry.registered().protocols, **others})
    monkeypatch.setattr(registry, "registered", cache(lambda: added))
    registry.expected_on.cache_clear()
    yield
    conformance_of.cache_clear()
    registry.expected_on.cache_clear()


def conform(*words: str, protocol: str = plugin.NAME) -> tuple[int, dict[str, str]]:
    ended = CliRunner().invoke(app, ["conform", protocol, *words, "--format", "json"])
    return ended.exit_code, {case["id"]: case["verdict"] for case in json.loads(ended.stdout)["cases"]}


def test_its_case_judges_a_server_and_its_rule_the_recording(tmp_path: Path) -> None:
    recording = tmp_path / "a.pcapng"
    assert conform("--record", str(recording)) == (0, {"plugin-draft/alive/1": "pass"})
    code, verdicts = conform("--capture", str(recording), "--port", f"12345={plugin.NAME}")
    assert (code, verdicts) == (0, {"plugin-draft/alive/1": "pass", "plugin-draft/traffic/server/1": "pass"})


def test_a_protocol_without_cases_has_rules_for_recorded_traffic(tmp_path: Path) -> None:
    recording = tmp_path / "a.pcapng"
    assert conform("--record", str(recording))[0] == 0
    code, verdicts = conform("--capture", str(recording), "--port", f"12345={BARE}", protocol=BARE)
    assert (code, verdicts) == (0, {f"{BARE}/traffic/client/1": "pass", f"{BARE}/traffic/server/1": "pass"})


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "conformance cases"),
        ({"tests_mutants": True}, "conformance cases"),
        ({"is_client": True, "only_lists": True}, "conformance cases for clients"),
    ],
)
def test_a_protocol_without_cases_is_refused_for_servers_and_clients(given: dict[str, bool], missing: str) -> None:
    words = rf"^{BARE}: it has no {missing}; expected one of .*{plugin.NAME}; --capture judges"
    with pytest.raises(UsageError, match=words):
        run_conform(ConformOptions(BARE, **given))  # type: ignore[arg-type]


def test_a_protocol_without_mutants_says_so() -> None:
    with pytest.raises(UsageError, match=rf"^{plugin.NAME}: it has no mutants of its mock; expected one of pravega, "):
        run_conform(ConformOptions(plugin.NAME, tests_mutants=True))


def test_fuzz_of_a_protocol_without_cases_requires_sessions(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"^{BARE}: .*, so no sessions of its own; expected sessions of --seeds or"):
        fuzz_server(empty_result(FuzzOptions(BARE)), FuzzOptions(BARE), [])
    recording = tmp_path / "a.pcapng"
    conform("--record", str(recording))
    options = FuzzOptions(BARE, seeds=[recording], ports=[f"12345={BARE}"], runs=20, output=tmp_path / "findings")
    result = empty_result(options)
    fuzz_server(result, options, [])
    assert result.counts.runs >= 20
