"""Run every example of README and docs/, check links and options, and look for private paths."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main

from tests.helpers import filter_page, message_table
from tests.helpers.benches import is_busy
from tests.helpers.servers import parted, started
from tests.helpers.tools import path_of_tool
from tests.interop.pravega_server import HAS_WHEEL, IS_CI
from wiretool import cli

ROOT = Path(__file__).parent.parent
#: Programs of others that examples run.
TOOLS = ("curl", "openssl")
README = ROOT / "README.md"
#: The pages whose examples run.
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
README_LINES_MAX = 250
#: Sections whose commands set the machine up: the build runs them.
SET_UP = ("Try it", "Test it")


class Section(NamedTuple):
    """A heading of a page."""

    page: str
    heading: str

    def __str__(self) -> str:
        return f"{self.page}: {self.heading}"


def blocks(kind: str) -> Iterator[tuple[Section, str]]:
    """Yield each fenced block of a kind, with the section it is in."""
    for page in PAGES:
        section, fence, held = Section(page.name, ""), "", ""
        for line in page.read_text().splitlines(keepends=True):
            if line.startswith("```"):
                if fence == kind:
                    yield section, held
                fence, held = ("" if fence else line.strip("`\n")), ""
            elif fence:
                held += line
            elif line.startswith("#"):
                section = Section(page.name, line.strip("# \n"))


def examples() -> list[tuple[Section, str]]:
    """Return every command line that runs wiretool, with its section."""
    return [
        (section, line)
        for section, block in blocks("sh")
        for line in block.splitlines()
        if section.heading not in SET_UP and re.search(r"(^|\| )wiretool ", line)
    ]


def shell_lines() -> list[str]:
    """Return every command line that runs wiretool."""
    return [line for _, line in examples()]


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


def is_fine(ended: subprocess.CompletedProcess[str]) -> bool:
    """Return whether a command succeeded, or was a load that a busy machine made INVALID and nothing else did."""
    return ended.returncode == 0 or is_busy(ended.stdout)


def is_server(line: str) -> bool:
    """Return whether a command runs until it is stopped."""
    return re.match(r"wiretool (serve |tap |bench .*--worker\b)", line) is not None


def is_in_background(line: str) -> bool:
    """Return whether the shell goes on with the next command at once."""
    return re.search(r" &( \w+=\$!)?$", line) is not None


def pasted_blocks() -> list[tuple[Section, str]]:
    """Return the blocks that start servers in the background: a user pastes each as a whole."""
    return [
        (section, block)
        for section, block in blocks("sh")
        if any(is_server(line) and is_in_background(line) for line in block.splitlines())
    ]


def pasted_lines() -> set[str]:
    """Return the commands of these blocks."""
    return {line for _, block in pasted_blocks() for line in block.splitlines()}


def server_sections() -> list[Section]:
    """Return the sections that start servers."""
    found = [
        section
        for section, block in blocks("sh")
        if any(is_server(line) and not is_in_background(line) for line in block.splitlines())
    ]
    return list(dict.fromkeys(found))


def lines_under(section: Section) -> list[str]:
    """Return the commands of a section, in their order."""
    return [line for each, block in blocks("sh") if each == section for line in block.splitlines()]


def test_there_are_commands() -> None:
    assert len(shell_lines()) > 10


def target(line: str) -> str:
    """Return the file or folder that a command writes; "" for none."""
    found = re.search(r" (?:-o|--json|--checkpoint|--record|--corpus) (\S+)", line)
    return found.group(1) if found else ""


def makers(section: Section, line: str) -> list[str]:
    """Return the commands that write the inputs of a command: earlier ones of its page."""
    lines = [each for other, each in examples() if other.page == section.page]
    read = set(shlex.split(line)) - {target(line)}
    return [each for each in lines[: lines.index(line)] if target(each) in read]


def run_example(line: str, desk: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line with bash; one that is shown to fail (`... || echo`) must end with exit code 1."""
    command, shown_to_fail, _ = line.partition(" || echo ")
    ended = run(["bash", "-euo", "pipefail", "-c", command], desk)
    if not shown_to_fail:
        assert is_fine(ended), ended.stderr
    elif command.startswith("wiretool bench compare"):
        assert ended.returncode in (0, 1), ended.stderr
    else:
        assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def first_examples() -> list[tuple[Section, str]]:
    """Return each command line once, with the first section that has it."""
    sections: dict[str, Section] = {}
    for section, line in examples():
        sections.setdefault(line, section)
    return [(section, line) for line, section in sections.items()]


@pytest.mark.parametrize(("section", "line"), first_examples(), ids=str)
def test_an_example_runs(section: Section, line: str, desk: Path) -> None:
    assert shutil.which("bash"), "no bash to run it with"
    if line.startswith("sudo ") or " --live " in line:
        return  # requires a privilege; test_the_options_of_examples_exist checks its options
    if section.page == "object-storage.md":
        return  # tests/storage/test_examples.py runs it, with a server
    if section in server_sections() or line in pasted_lines():
        return  # test_a_session_runs or test_a_block_can_be_pasted runs it, with the servers
    for each in makers(section, line):  # another process may have run it
        if not (desk / target(each)).exists():
            run_example(each, desk)
    ended = run_example(line, desk)
    assert ended.stdout or (target(line) and (desk / target(line)).stat().st_size), line


@pytest.mark.parametrize("section", server_sections(), ids=str)
def test_a_session_runs(section: Section, desk: Path) -> None:
    """Start all servers of a section, each of its own block; run its other commands, then read the recordings."""
    lines = lines_under(section)
    served = [line for line in lines if is_server(line)]
    afterwards = [line for line in lines if line.startswith("wiretool decode ")]
    with ExitStack() as stack:
        servers = []
        for number, line in enumerate(served):
            arguments = shlex.split(line)[1:]
            name = f"{section.page}-{re.sub(chr(92) + 'W+', '-', section.heading)}{number}"
            servers.append(stack.enter_context(started(desk, *arguments, name=name)))
        for line in lines:
            if line not in served and line not in afterwards:
                assert run_example(line, desk).stdout, line
        for script in [block for each, block in blocks("python") if each == section]:
            if find_spec("pravega_client") is None:
                assert not (IS_CI and HAS_WHEEL), "CI has to have PyPI pravega"
                pytest.skip("PyPI pravega has no wheel for this machine: the documented session is left out")
            ended = run([sys.executable, "-W", "error", "-c", script], desk)
            assert ended.returncode == 0, ended.stderr
            assert "hello world" in ended.stdout
        for server in servers:
            assert server.stop() == 0, server.stderr
            assert "Traceback" not in server.stderr
    for line in afterwards:
        assert run_example(line, desk).stdout, line


def name_of(value: Section | str) -> str:
    """Return the name of a test: that of the section, without the block."""
    return str(value) if isinstance(value, Section) else ""


def test_blocks_with_servers_are_pasted() -> None:
    assert len(pasted_blocks()) >= 6


def is_alone(block: str) -> bool:
    """Return whether nothing follows a server in the foreground: pasted as a whole, that would never run."""
    lines = block.splitlines()
    return not any(is_server(line) and not is_in_background(line) for line in lines[:-1])


def test_a_server_in_the_foreground_is_noticed() -> None:
    assert not is_alone("wiretool serve sbp\nwiretool tap sbp\n")
    assert not is_alone("wiretool serve sbp &\nwiretool tap sbp\nwiretool ports\n")
    assert not is_alone("wiretool bench --worker\nwiretool bench --master\n")
    assert is_alone("wiretool serve sbp & server=$!\nwiretool tap sbp &\nwiretool serve sbp-0.1\n")


@pytest.mark.parametrize(("section", "block"), list(blocks("sh")), ids=name_of)
def test_no_command_follows_a_server_in_the_foreground(section: Section, block: str) -> None:
    assert is_alone(block), f"{section}: start the server with `&`, wait for its ready file, stop it at the end"


#: Each command that fails notes itself; the shell goes on, as that of a user does.
NOTE_FAILURES = "trap 'echo \"$? $BASH_COMMAND\" >> failures' ERR\n"


def failures_after(block: str, desk: Path) -> tuple[list[str], str]:
    """Paste a block into a shell; return the commands that failed, each behind its exit code, and what was printed."""
    script = NOTE_FAILURES + block
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    (desk / "failures").write_text("")
    with (desk / "printed").open("w") as printed:  # no pipe: a server that is left would keep it open
        subprocess.run(
            ["bash", "--norc", "-i"],
            cwd=desk,
            env={**environment, "PYTHONIOENCODING": "utf-8"},
            input=script,
            encoding="utf-8",
            stdout=printed,
            stderr=subprocess.STDOUT,
            timeout=180,
            check=False,
        )
    text = (desk / "printed").read_text(errors="replace")
    return (desk / "failures").read_text().splitlines(), text


def is_only_busy(failures: list[str], printed: str) -> bool:
    """Return whether all that failed were loads, each INVALID for no other reason than a busy machine."""
    verdicts = re.findall(r"^INVALID: do not quote these figures\n(?:  .*\n)+", printed, re.MULTILINE)
    are_loads = all(failure.startswith("1 wiretool bench ") for failure in failures)
    return bool(failures) and are_loads and bool(verdicts) and all(map(is_busy, verdicts))


def leftovers(block: str, desk: Path) -> list[str]:
    """Return what a block should have removed: ready files, and servers that still accept connections; stop those."""
    found = []
    for ready in desk.glob("*.ready"):
        found.append(ready.name)
        with suppress(ProcessLookupError):
            os.kill(json.loads(ready.read_text())["pid"], signal.SIGTERM)
    for address in re.findall(r"--(?:listen|controller) (\S+)", block):
        with suppress(ConnectionRefusedError), socket.create_connection(parted(address), timeout=5):
            found.append(address)
    return found


@pytest.mark.parametrize(("section", "block"), pasted_blocks(), ids=name_of)
def test_a_block_can_be_pasted(section: Section, block: str, tmp_path: Path) -> None:
    """Paste the whole block into bash: every command succeeds, and no server is left behind."""
    for tool in TOOLS:
        if re.search(rf"^{tool} ", block, re.MULTILINE):
            path_of_tool(tool)
    (tmp_path / "captures").symlink_to(ROOT / "captures", target_is_directory=True)
    failures, printed = failures_after(block, tmp_path)
    left = leftovers(block, tmp_path)
    assert left == [], printed
    assert failures == [] or is_only_busy(failures, printed), printed
    assert "Traceback" not in printed
    assert printed.count(" is ready: ") == sum(map(is_server, block.splitlines()))


@pytest.mark.parametrize("line", shell_lines())
def test_the_options_of_examples_exist(line: str) -> None:
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


def scripts() -> list[tuple[Section, str]]:
    """Return the scripts in Python; test_outside_project.py runs the test files, test_a_session_runs clients."""
    sections = server_sections()
    return [
        (section, script)
        for section, script in blocks("python")
        if section not in sections and not script.startswith("# test_")
    ]


@pytest.mark.parametrize(("section", "script"), scripts(), ids=str)
def test_the_example_in_python_runs(section: Section, script: str, desk: Path) -> None:
    """Run it after the first command of its section, whose output it may read."""
    for line in lines_under(section)[:1]:
        run_example(line, desk)
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


def links() -> list[tuple[Path, str]]:
    """Return the links of all pages to files of the project."""
    return [(page, link) for page in PAGES for link in re.findall(r"\]\(([^):]+)\)", page.read_text())]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "link"), links(), ids=str)
def test_a_link_leads_somewhere(page: Path, link: str) -> None:
    path, _, anchor = link.partition("#")
    linked = (page.parent / path) if path else page
    assert linked.exists()
    assert not anchor or anchor in anchors(linked)


def test_every_page_is_in_the_contents() -> None:
    contents = README.read_text()
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in contents] == []


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.read_text().splitlines()) <= README_LINES_MAX


def test_the_page_of_messages_is_that_of_the_declarations() -> None:
    assert message_table.PAGE.read_text() == message_table.page_text(), "python -m tests.helpers.message_table"


def test_the_page_of_filters_is_that_of_the_filter_language() -> None:
    assert filter_page.PAGE.read_text() == filter_page.page_text(), "python -m tests.helpers.filter_page"


def test_every_capture_has_a_line_on_its_origin() -> None:
    rows = [line.split("|") for line in (ROOT / "captures" / "README.md").read_text().splitlines() if "|" in line]
    patterns = [pattern for row in rows for pattern in re.findall(r"[\w*]+", row[2])]
    for path in sorted((ROOT / "captures").rglob("[!.]*.pcap*")):
        name = path.name.split(".")[0]
        assert any(fnmatch(name, pattern) for pattern in patterns if pattern.strip("*")), path


def test_the_sources_of_every_protocol_are_named() -> None:
    folders = [path.parent for path in (ROOT / "src/wiretool/protocols").glob("*/wire.py")]
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


#: Options of examples that name a file or folder to write.
WRITES = r" (?:-o|--(?:json|junit|sarif|html|record|ledger|checkpoint|ready-file|keep-slow)) ([a-z][\w.-]*)(?![\w.:-])"


def test_git_ignores_what_the_examples_write() -> None:
    written = {name for line in shell_lines() for name in re.findall(WRITES, line)}
    assert len(written) > 10
    ignored = run(["git", "check-ignore", "--no-index", *(f"{name}/x" for name in written)], ROOT).stdout.split()
    assert {name for name in written if f"{name}/x" not in ignored} == set()
    tracked = run(["git", "ls-files", "-ci", "--exclude-standard"], ROOT)
    assert tracked.stdout == "", "files of the project are ignored"


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "conformance.md"], ids=lambda page: page.name)
@pytest.mark.parametrize(
    ("judged", "has_last", "compared", "code"),
    [
        (0, False, 0, 0),
        (1, False, 0, 1),
        (0, True, 0, 0),
        (1, True, 0, 1),
        (0, True, 1, 1),
        (4, True, 1, 4),
    ],
)
def test_the_gate_works_in_a_shell_that_stops_at_a_failure(
    page: Path, judged: int, has_last: bool, compared: int, code: int, tmp_path: Path
) -> None:
    (gate,) = [
        block for _, block in blocks("text") if "conform compare last.json" in block and block in page.read_text()
    ]
    stub = f'case "$2" in compare) echo compared; exit {compared};; *) echo > conform.json; exit {judged};; esac'
    (tmp_path / "wiretool").write_text(f"#!/bin/sh\n{stub}\n")
    (tmp_path / "wiretool").chmod(0o755)
    if has_last:
        (tmp_path / "last.json").write_text("{}")
    script = f"export PATH={shlex.quote(str(tmp_path))}:$PATH\n" + gate.partition("\n")[2]
    ended = run(["bash", "-e", "-c", script], tmp_path)
    assert ended.returncode == code, ended.stderr
    assert ("compared" in ended.stdout) == has_last
