"""`wiretool export`: what it writes where."""

import json
import os
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from wiretool.commands.export.extcap_launcher import launcher_text
from wiretool.protocols.base.registry import PROTOCOLS

EXPORTED = ("pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp")


def test_skipped_protocols_are_listed(tmp_path: Path) -> None:
    ended = run("export", "wireshark", "-o", tmp_path / "w.lua")
    told = ended.stderr.decode()
    assert ended.returncode == 0
    grpc = "skipped pravega-controller: Wireshark reads gRPC, with the file of `wiretool export protobuf`\n"
    assert (f"wiretool: {grpc}" in told) == ("pravega-controller" in PROTOCOLS)
    others = ", ".join(name for name in PROTOCOLS if name not in (*EXPORTED, "pravega-controller"))
    line = f"wiretool: skipped {others}: declarations alone do not describe their messages\n"
    assert (line in told) == bool(others)


@needs_protocol("pravega-controller", "sbp")
def test_the_declarations_of_grpc_are_written(tmp_path: Path) -> None:
    path = tmp_path / "controller.proto"
    assert run("export", "protobuf", "pravega-controller", "-o", path).returncode == 0
    assert "rpc createScope(ScopeInfo) returns (CreateScopeStatus);" in path.read_text()
    refused = run("export", "protobuf", "sbp")
    assert refused.returncode == 2
    assert b"protocol 'sbp' does not use gRPC; expected pravega-controller" in refused.stderr
    assert run("export", "protobuf", "nonsense").returncode == 2


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


def test_the_interface_is_installed_for_each_version_of_wireshark(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
    for config in ("", str(tmp_path / "other")):
        home = tmp_path / "a home's" / config[-5:]
        ended = run(
            "export", "wireshark", "--install", env={**environment, "HOME": str(home), "XDG_CONFIG_HOME": config}
        )
        assert ended.returncode == 0, ended.stderr
        older = Path(config or home / ".config") / "wireshark" / "extcap" / "wiretool"
        paths = [home / ".local" / "lib" / "wireshark" / "extcap" / "wiretool", older]
        assert all(path.stat().st_mode & 0o111 == 0o111 for path in paths)
        assert f"installed {paths[0]} and {paths[1]}; Wireshark then" in ended.stderr.decode()
        assert paths[0].read_text() == paths[1].read_text()


def test_the_launcher_quotes_its_interpreter() -> None:
    assert launcher_text("/a b/it's/python").splitlines()[-1] == (
        "exec '/a b/it'\"'\"'s/python' -P -m wiretool extcap \"$@\""
    )


def test_folders_are_made_before_any_file(tmp_path: Path) -> None:
    (tmp_path / ".config").write_text("as it was")
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    ended = run("export", "wireshark", "--install", env=environment)
    folder = tmp_path / ".config" / "wireshark" / "extcap"
    assert (ended.returncode, ended.stderr.decode()) == (2, f"wiretool: cannot make {folder}: Not a directory\n")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / ".config"]


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


@pytest.mark.parametrize("path", [".local/lib/wireshark/plugins/wiretool.lua", ".local/lib/wireshark/extcap/wiretool"])
def test_files_of_others_are_not_replaced(path: str, tmp_path: Path) -> None:
    other = tmp_path / path
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
    ended = run("export", "wireshark", "--install", env={**environment, "HOME": str(tmp_path)})
    why = "not written by `wiretool export wireshark`; move it away, and install again"
    assert (ended.returncode, ended.stderr.decode()) == (2, f"wiretool: {other}: {why}\n")
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [other]
    assert other.read_text() == "mine"
