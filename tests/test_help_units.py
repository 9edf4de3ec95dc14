"""Help texts and documented commands: durations have units, and pipes show packets at once."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.helpers.forked import run
from wiretool import cli
from wiretool.commands.options import duration_parser

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for under, each in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {under}", each)


def durations() -> list[Any]:
    """Options whose value is a duration."""
    return [
        pytest.param(option, id=f"{name} {option.opts[0]}")
        for name, command in commands("wiretool", typer.main.get_command(cli.app))
        for option in command.params
        if option.metavar == "TIME" and option.default is not None
    ]


def test_there_are_durations() -> None:
    assert len(durations()) >= 5


@pytest.mark.parametrize("option", durations())
def test_the_default_of_a_duration_has_its_unit(option: Any) -> None:
    shown = option.show_default if isinstance(option.show_default, str) else str(option.default)
    assert not re.search(r"\d[\d.]*$", shown), f"{option.opts[0]}: {shown}"


@pytest.mark.parametrize("option", durations())
def test_the_default_of_a_duration_is_the_one_shown(option: Any) -> None:
    shown = option.show_default
    if isinstance(shown, str) and isinstance(option.default, float):
        assert duration_parser("--timeout", least=0)(shown) == option.default


def test_a_pipe_from_tcpdump_delivers_packets_at_once() -> None:
    pipes = [line for page in PAGES for line in page.read_text().splitlines() if re.search(r"tcpdump .*-w - ", line)]
    assert pipes
    assert [line for line in pipes if "--immediate-mode -U -B 65536" not in line] == []  # else the kernel drops some


def ranges() -> list[Any]:
    """Commands of which an option has a range."""
    every = commands("wiretool", typer.main.get_command(cli.app))
    return [pytest.param(name.split()[1:], id=name) for name, command in every if any(map(has_range, command.params))]


def has_range(option: Any) -> bool:
    return getattr(option.type, "min", None) is not None


def test_there_are_ranges() -> None:
    assert len(ranges()) >= 10


@pytest.mark.parametrize("words", ranges())
def test_ranges_of_numbers_are_in_words(words: list[str]) -> None:
    """No option is called x, as in `1<=x<=64`."""
    shown = run(*words, "--help").stdout.decode()
    assert re.search(r"\b\d+\s+to\s+\d+\b|\bat\s+least\b", shown)
    assert not re.search(r"x\s*[<>]=", shown)


def test_the_help_of_commands_shows_no_types_of_python() -> None:
    shown = run("conform", "compare", "--help", env={**os.environ, "COLUMNS": "100"}).stdout.decode()
    assert shown.startswith("Usage: wiretool conform compare [OPTIONS] REPORT...\n")
    assert not re.search(r"list\[|Path\]", shown)


def test_the_lists_of_commands_are_not_cut() -> None:
    """A description that is too long for a terminal of 80 columns would end in three dots."""
    group: Any = typer.main.get_command(cli.app)
    groups = [group, *(each for each in group.commands.values() if hasattr(each, "commands"))]
    assert len(groups) == 5
    for each in groups:
        for name, command in each.commands.items():
            assert not command.get_short_help_str(limit=80 - 6 - max(map(len, each.commands))).endswith("..."), name


@pytest.mark.parametrize(
    ("name", "command"),
    [pytest.param(*pair, id=pair[0]) for pair in commands("wiretool", typer.main.get_command(cli.app))],
)
def test_help_names_no_type_of_python(name: str, command: Any) -> None:
    """Choices in angle brackets are fine; what a value is called in Python is not for users."""
    shown = command.get_help(command.context_class(command, info_name=name, terminal_width=200))
    types = re.findall(
        r"<(?:list\[.*?\]|str|int|float|bool|path|Path|(?:int|float) range|function|[a-z_]+_from)>.*", shown
    )
    assert types == []
    assert "list[" not in shown
