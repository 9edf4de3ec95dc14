"""Protocols of other packages, found through the entry point group."""

import json
import os
import subprocess
import sys
from pathlib import Path

PLUGIN = """
from dataclasses import replace
from wiretool.protocols.pravega_draft import PROTOCOL as DRAFT

GOOD = replace(DRAFT, name="good", ports=(23451,), rank=100)
LACKING = replace(GOOD, name="lacking", conformance="no_such_module:CONFORMANCE")
"""


def installed(folder: Path, **entries: str) -> None:
    """Lay a package in a folder as pip would install it, with these entry points."""
    (folder / "plugin.py").write_text(PLUGIN)
    info = folder / "wiretool_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wiretool-plugin\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[wiretool.protocols]", *lines, ""]))


def wiretool(folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "wiretool", *words]
    return subprocess.run(command, capture_output=True, text=True, input=stdin, env=os.environ | {"PYTHONPATH": path})


def test_a_plugin_is_found(tmp_path: Path) -> None:
    installed(tmp_path, good="plugin:GOOD")
    sent = json.dumps({"protocol": "good", "message": "KeepAlive", "fields": {"data": ""}})
    encoded = tmp_path / "a.pcap"
    made = wiretool(tmp_path, "encode", "--format", "pcap", "-o", str(encoded), stdin=sent)
    assert (made.returncode, made.stderr) == (0, "")
    shown = wiretool(tmp_path, "decode", str(encoded), "--protocol", "good", "--format", "ndjson")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert [json.loads(line)["message"] for line in shown.stdout.splitlines()] == ["KeepAlive"]


def test_a_broken_plugin_is_reported_in_a_line_and_the_others_work(tmp_path: Path) -> None:
    installed(tmp_path, absent="no_such_module:PROTOCOL", misnamed="plugin:GOOD", good="plugin:GOOD")
    shown = wiretool(tmp_path, "explain", "KeepAlive")
    assert shown.returncode == 0
    assert "KeepAlive" in shown.stdout
    loading = "of wiretool-plugin does not load"
    assert shown.stderr.splitlines() == [
        f"wiretool: warning: protocol 'absent': the entry point no_such_module:PROTOCOL {loading}: "
        "ModuleNotFoundError: No module named 'no_such_module'",
        f"wiretool: warning: protocol 'misnamed': the entry point plugin:GOOD {loading}: "
        "it is not a Protocol with the name 'misnamed'",
    ]


def test_a_broken_plugin_that_is_asked_for_ends_in_a_line(tmp_path: Path) -> None:
    installed(tmp_path, absent="no_such_module:PROTOCOL")
    refused = wiretool(tmp_path, "decode", "--protocol", "absent", "-")
    assert refused.returncode == 2
    assert "ModuleNotFoundError: No module named 'no_such_module'" in refused.stderr.splitlines()[0]


def test_a_part_that_does_not_load_ends_in_a_line(tmp_path: Path) -> None:
    installed(tmp_path, lacking="plugin:LACKING")
    refused = wiretool(tmp_path, "conform", "lacking")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "wiretool: protocol 'lacking': its part 'conformance' (no_such_module:CONFORMANCE) does not load: "
        "No module named 'no_such_module'\n"
    )
