"""What the documents say is so: every command in the README runs, every option is explained, nothing is private."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer.main

from wiretool import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
#: Sections whose commands set the machine up: the build runs them.
SET_UP = ("Try it", "Test it")


def blocks(kind: str) -> Iterator[tuple[str, str]]:
    """The heading above each fenced block of a kind, and the block."""
    heading, fence, held = "", "", ""
    for line in README.splitlines(keepends=True):
        if line.startswith("```"):
            if fence == kind:
                yield heading, held
            fence, held = ("" if fence else line.strip("`\n")), ""
        elif fence:
            held += line
        elif line.startswith("#"):
            heading = line.strip("# \n")


def shell_lines() -> list[str]:
    """Every command line that runs wiretool, as it is."""
    return [
        line
        for heading, block in blocks("sh")
        for line in block.splitlines()
        if heading not in SET_UP and re.search(r"(^|\| )wiretool ", line)
    ]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the captures in it, where commands may write."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "captures").symlink_to(ROOT / "captures", target_is_directory=True)
    return folder


def run(command: list[str], desk: Path) -> subprocess.CompletedProcess[str]:
    """Run something where `wiretool` and `python` are those of this test."""
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command,
        cwd=desk,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )


def test_there_are_commands() -> None:
    assert len(shell_lines()) > 10


@pytest.mark.parametrize("line", shell_lines())
def test_a_command_of_the_readme_runs(line: str, desk: Path) -> None:
    assert shutil.which("bash"), "no bash to run it with"
    if line.startswith("sudo ") or " --live " in line:
        return  # an interface takes a privilege; that the options exist is tested below
    ended = run(["bash", "-euo", "pipefail", "-c", line], desk)
    assert ended.returncode == 0, ended.stderr
    written = re.search(r" -o (\S+)", line)
    assert ended.stdout or (written and (desk / written.group(1)).stat().st_size), line
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("line", shell_lines())
def test_the_options_in_the_readme_exist(line: str) -> None:
    for part in line.split("|"):
        words = part.split()
        if "wiretool" not in words:
            continue
        name = words[words.index("wiretool") + 1]
        assert name in COMMANDS, line
        known = {
            option for parameter in COMMANDS[name].params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)}
        assert used <= known, line


@pytest.mark.parametrize("script", [block for _, block in blocks("python")])
def test_the_example_in_python_runs(script: str, desk: Path) -> None:
    ended = run([sys.executable, "-W", "error", "-c", script], desk)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


def commands() -> dict[str, Any]:
    """The commands by name, as the library that typer stands on knows them."""
    group: Any = typer.main.get_command(cli.app)
    return dict(group.commands)


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_everything(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert command.help.strip().splitlines()[0].endswith(".")
    for parameter in command.params:
        told: str | None = getattr(parameter, "help", None)
        assert told, f"{name} {parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name: str) -> None:
    assert any(re.search(rf"\bwiretool {name}\b", line) for line in shell_lines())


def test_the_documents_are_there() -> None:
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "captures/README.md"):
        assert (ROOT / name).read_text().strip(), name
    assert "# " in (ROOT / "CHANGELOG.md").read_text()


def links() -> list[str]:
    found: list[str] = re.findall(r"\]\(([^)#:]+)\)", README)
    return found


@pytest.mark.parametrize("target", links())
def test_what_the_readme_points_at_exists(target: str) -> None:
    assert (ROOT / target).exists()


def test_every_capture_has_a_line_on_its_origin() -> None:
    rows = [line.split("|") for line in (ROOT / "captures" / "README.md").read_text().splitlines() if "|" in line]
    patterns = [pattern for row in rows for pattern in re.findall(r"[\w*]+", row[2])]
    for path in sorted((ROOT / "captures").rglob("*.pcap*")):
        name = path.name.split(".")[0]
        assert any(fnmatch(name, pattern) for pattern in patterns if pattern.strip("*")), path


def test_the_sources_of_every_protocol_are_named() -> None:
    folders = [path for path in (ROOT / "src/wiretool/protocols").iterdir() if (path / "__init__.py").exists()]
    assert folders
    assert [path.name for path in folders if not (path / "SOURCES.md").exists()] == []


def tracked() -> list[Path]:
    """The files of the project: those that git knows, or in an unpacked archive all that are no caches."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*.*") if path.is_file()]


#: Folders that exist on somebody's machine only.
TEXT = (".py", ".md", ".toml", ".json", ".jsonl", ".txt", ".lua", ".svg", ".yml")
PRIVATE = re.compile(rb"(?<![\w.])/(?:home|Users|root|work)/\w|[A-Z]:\\Users\\")


def test_nothing_names_a_folder_of_somebodys_machine() -> None:
    text = [
        path for path in tracked() if path.suffix in (".py", ".md", ".toml", ".json", ".txt", ".lua", ".svg", ".yml")
    ]
    assert len(text) > 100
    found = {
        str(path.relative_to(ROOT)): match.group()
        for path in text
        if (match := PRIVATE.search(path.read_bytes())) and path != Path(__file__)
    }
    assert found == {}
