"""Pages of help on narrow terminals."""

import os
import re

import pytest
import typer.main

from tests.helpers.forked import run
from wiretool import cli

GROUP = typer.main.get_command(cli.app)
COMMANDS = getattr(GROUP, "commands", {})
PAGES = [
    (),
    ("conform", "compare"),
    ("fuzz", "corpus"),
    ("fuzz", "corpus", "minimise"),
    ("fuzz", "corpus", "merge"),
    *((name,) for name in COMMANDS),
    *((name, below) for name in COMMANDS for below in getattr(COMMANDS[name], "commands", {})),
]


def page(*words: str, columns: int) -> list[str]:
    """Return the lines of a page of help."""
    ended = run(*words, "--help", env={**os.environ, "COLUMNS": str(columns)})
    assert ended.returncode == 0
    return [line.rstrip() for line in ended.stdout.decode().splitlines()]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", ["replay", "conform", "fuzz"])
def test_defaults_have_no_parentheses(name: str, columns: int) -> None:
    text = " ".join(" ".join(page(name, columns=columns)).split())
    assert "[default: (" not in text
    assert re.search(r"\[default: \d+s", text)


@pytest.mark.parametrize("columns", [40, 59, 80])
@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_pages_fit_and_have_all_words(words: tuple[str, ...], columns: int) -> None:
    """Only choices are broken within a word, and words at a hyphen; the terminal breaks a long line of usage."""
    lines, wide = page(*words, columns=columns), page(*words, columns=200)
    assert [line for line in lines if len(line) > columns and not line.startswith("Usage: ")] == []
    assert "".join(lines).replace(" ", "") == "".join(wide).replace(" ", "")
    whole = {word for line in wide for word in line.split() if not {"|", "-"} & set(word)}
    assert whole <= {word for line in lines for word in line.split()}


def test_a_description_is_below_its_option() -> None:
    lines = page("bench", columns=40)
    at = lines.index("  --appenders N")
    assert lines[at + 1] == "        number of appending users, one"


def test_choices_are_broken_between_them() -> None:
    lines = page("decode", columns=40)
    at = lines.index("  --format <text|json|ndjson|csv|")
    assert lines[at + 1] == "        parquet|arrow>"
