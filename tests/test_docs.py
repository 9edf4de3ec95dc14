"""What the documents say is so: every command in the README runs, every option is explained, nothing is private."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.helpers.servers import started
from tests.interop.pravega_server import HAS_WHEEL, IS_CI
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


def is_fine(line: str, ended: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command has done what it should: a machine that is busy with other tests makes a load INVALID."""
    return ended.returncode == 0 or (line.startswith("wiretool bench ") and "INVALID" in ended.stdout)


def is_server(line: str) -> bool:
    """Whether a command runs until it is told to stop."""
    return re.match(r"wiretool (serve|tap) ", line) is not None


def server_sections() -> list[str]:
    """The headings under which servers are started."""
    found = [heading for heading, block in blocks("sh") if any(map(is_server, block.splitlines()))]
    return list(dict.fromkeys(found))


def lines_under(heading: str) -> list[str]:
    """The commands under a heading, in their order."""
    return [line for each, block in blocks("sh") if each == heading for line in block.splitlines()]


def test_there_are_commands() -> None:
    assert len(shell_lines()) > 10


def target(line: str) -> str:
    """What a command writes; "" for nothing."""
    found = re.search(r" -o (\S+)", line)
    return found.group(1) if found else ""


def makers(line: str) -> list[str]:
    """The commands that make what a command reads: those before it in its section that write something it names."""
    lines = next(lines for heading, _ in blocks("sh") if line in (lines := lines_under(heading)))
    read = set(shlex.split(line)) - {target(line)}
    return [each for each in lines[: lines.index(line)] if target(each) in read]


@pytest.mark.parametrize("line", shell_lines())
def test_a_command_of_the_readme_runs(line: str, desk: Path) -> None:
    assert shutil.which("bash"), "no bash to run it with"
    if line.startswith("sudo ") or " --live " in line:
        return  # an interface takes a privilege; that the options exist is tested below
    if any(line in lines_under(heading) for heading in server_sections()):
        return  # below, with the servers
    for each in makers(line):  # another process may have been given them
        if not (desk / target(each)).exists():
            made = run(["bash", "-euo", "pipefail", "-c", each], desk)
            assert is_fine(each, made), made.stderr
    ended = run(["bash", "-euo", "pipefail", "-c", line], desk)
    assert is_fine(line, ended), ended.stderr
    assert ended.stdout or (target(line) and (desk / target(line)).stat().st_size), line
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("heading", server_sections())
def test_a_session_of_the_readme_runs(heading: str, desk: Path) -> None:
    """All servers of a section together; what others do meanwhile; then what is read from their recordings."""
    lines = lines_under(heading)
    served = [line for line in lines if is_server(line)]
    afterwards = [line for line in lines if line.startswith("wiretool decode ")]
    with ExitStack() as stack:
        servers = []
        for number, line in enumerate(served):
            arguments = shlex.split(line)[1:]
            servers.append(stack.enter_context(started(desk, *arguments, name=f"{heading}{number}")))
        for line in lines:
            if line not in served and line not in afterwards:
                ended = run(["bash", "-euo", "pipefail", "-c", line], desk)
                assert is_fine(line, ended), ended.stderr
                assert ended.stdout, line
        for script in [block for each, block in blocks("python") if each == heading]:
            if find_spec("pravega_client") is None:
                assert not (IS_CI and HAS_WHEEL), "CI has to have PyPI pravega"
                pytest.skip("PyPI pravega has no wheel for this machine: what README does with it is left out")
            ended = run([sys.executable, "-W", "error", "-c", script], desk)
            assert ended.returncode == 0, ended.stderr
            assert "hello world" in ended.stdout
        for server in servers:
            assert server.stop() == 0, server.stderr
            assert "Traceback" not in server.stderr
    for line in afterwards:
        ended = run(["bash", "-euo", "pipefail", "-c", line], desk)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout, line


@pytest.mark.parametrize("line", shell_lines())
def test_the_options_in_the_readme_exist(line: str) -> None:
    for part in line.split("|"):
        words = part.split()
        if "wiretool" not in words:
            continue
        name = words[words.index("wiretool") + 1]
        assert name in COMMANDS, line
        known = {
            option
            for command in (COMMANDS[name], *getattr(COMMANDS[name], "commands", {}).values())
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)}
        assert used <= known, line


@pytest.mark.parametrize(
    ("heading", "script"), [(heading, block) for heading, block in blocks("python") if heading not in server_sections()]
)
def test_the_example_in_python_runs(heading: str, script: str, desk: Path) -> None:
    """After the first command of its section, if that has one: it reads what that has written."""
    for line in lines_under(heading)[:1]:
        ended = run(["bash", "-euo", "pipefail", "-c", line], desk)
        assert is_fine(line, ended), ended.stderr
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
    for command in (COMMANDS[name], *getattr(COMMANDS[name], "commands", {}).values()):
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
    for path in sorted((ROOT / "captures").rglob("[!.]*.pcap*")):
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
