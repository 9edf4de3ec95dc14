"""Targets of another protocol are recognised by the conformance cases that they pass."""

from pathlib import Path

import pytest

from tests.helpers.servers import started, wiretool

FEW = ("--runs", "20", "--timeout", "500ms")


@pytest.mark.parametrize(
    ("server", "protocols"),
    [("pravega", ("pravega-draft", "pravega-controller", "sbp", "offramp")), ("sbp-0.1", ("sbp",))],
)
def test_a_server_of_a_related_protocol_is_named(tmp_path: Path, server: str, protocols: tuple[str, ...]) -> None:
    with started(tmp_path, "serve", server, "--listen", "127.0.0.1:0") as running:
        host, port = next(iter(running.doors.values()))
        for protocol in protocols:
            ended = wiretool("fuzz", protocol, "--target", f"{host}:{port}", *FEW, "-o", str(tmp_path / "found"))
            assert ended.returncode == 3, ended.stdout + ended.stderr
            assert ended.stderr == (
                f"wiretool: {host}:{port}: the target does not use {protocol}; it seems to use {server}\n"
            )
    assert not (tmp_path / "found").exists()
