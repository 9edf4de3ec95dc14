"""`wiretool export`: what it writes where."""

import json
import os
from pathlib import Path

import pytest

from tests.helpers.forked import run
from wiretool.protocols.base.registry import PROTOCOLS

EXPORTED = ("pravega", "pravega-draft", "sbp")


def test_skipped_protocols_are_listed(tmp_path: Path) -> None:
    ended = run("export", "wireshark", "-o", tmp_path / "w.lua")
    skipped = ", ".join(name for name in PROTOCOLS if name not in EXPORTED)
    line = f"wiretool: skipped {skipped}: declarations alone do not describe their messages\n"
    assert (ended.returncode, ended.stderr.decode()) == (0, line)


def test_it_is_written_to_stdout() -> None:
    ended = run("export", "wireshark")
    assert ended.returncode == 0
    assert ended.stdout.decode().startswith("-- wiretool: ")


def test_it_is_installed_where_wireshark_looks(tmp_path: Path) -> None:
    ended = run("export", "wireshark", "--install", env={**os.environ, "HOME": str(tmp_path)})
    path = tmp_path / ".local" / "lib" / "wireshark" / "plugins" / "wiretool.lua"
    assert ended.stdout == b""
    assert ended.stderr.decode().splitlines()[-1] == f"wiretool: installed {path}; Wireshark loads it at the next start"
    assert "Proto(" in path.read_text()


def test_one_place_is_chosen(tmp_path: Path) -> None:
    both = run("export", "wireshark", "--install", "-o", tmp_path / "x", env={**os.environ, "HOME": str(tmp_path)})
    assert (both.returncode, both.stderr.decode()) == (2, "wiretool: -o and --install: expected one of them\n")
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("")
    ended = run("export", "wireshark", "--install", env={**os.environ, "HOME": str(tmp_path)})
    folder = tmp_path / ".local" / "lib" / "wireshark" / "plugins"
    assert (ended.returncode, ended.stderr.decode()) == (2, f"wiretool: cannot make {folder}: Not a directory\n")


def test_an_empty_home_is_refused() -> None:
    ended = run("export", "wireshark", "--install", env={**os.environ, "HOME": ""})
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"--install: HOME is empty" in ended.stderr


def test_json_schema_of_records_and_of_a_protocol(tmp_path: Path) -> None:
    ended = run("export", "json-schema", "-o", tmp_path / "records.json")
    assert (ended.returncode, ended.stderr) == (0, b"")
    records = json.loads((tmp_path / "records.json").read_text())
    assert records["properties"]["protocol"]["enum"] == list(PROTOCOLS)
    messages = json.loads(run("export", "json-schema", "pravega").stdout)
    assert "AppendSetup" in messages["properties"]["message"]["enum"]


@pytest.mark.parametrize("name", ["redis", "auto", ""])
def test_json_schema_of_an_unknown_protocol_keeps_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "kept").write_text("as it was")
    ended = run("export", "json-schema", name, "-o", tmp_path / "kept")
    assert ended.returncode == 2
    assert ended.stderr.decode().startswith(f"wiretool: no protocol is called {name!r}; there are pravega, ")
    assert (tmp_path / "kept").read_text() == "as it was"
