"""A protocol from outside the package brings its cases: the engine asks the protocol, not the folder of its name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conformance import plugin
from wiretool.cli import app
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
    monkeypatch.setattr(registry, "registered", lambda: added)
    registry.expected_on.cache_clear()
    yield
    conformance_of.cache_clear()
    registry.expected_on.cache_clear()


def conform(*words: str) -> tuple[int, dict[str, str]]:
    ended = CliRunner().invoke(app, ["conform", plugin.NAME, *words, "--format", "json"])
    return ended.exit_code, {case["id"]: case["verdict"] for case in json.loads(ended.stdout)["cases"]}


def test_its_case_judges_a_server_and_its_rule_the_recording(tmp_path: Path) -> None:
    recording = tmp_path / "a.pcapng"
    assert conform("--record", str(recording)) == (0, {"plugin-draft/alive/1": "pass"})
    code, verdicts = conform("--capture", str(recording), "--port", f"12345={plugin.NAME}")
    assert (code, verdicts) == (0, {"plugin-draft/alive/1": "pass", "plugin-draft/traffic/server/1": "pass"})


def test_a_protocol_without_cases_is_refused() -> None:
    with pytest.raises(UsageError, match=rf"{BARE}: it has no conformance cases; expected one of .*{plugin.NAME}$"):
        conformance_of(BARE)
