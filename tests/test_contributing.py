"""Check CONTRIBUTING.md and docs/architecture.md: each path exists, each folder and library is listed, at its home."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.words import page_hits
from tests.test_imports import imported, modules

ROOT = Path(__file__).parent.parent
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (CONTRIBUTING, ROOT / "docs" / "architecture.md")
#: The folders that paths are below.
BASES = (ROOT, ROOT / "src" / "wiretool")
LINES_MAX = 150
#: Files that a finding has, and those of examples.
FOREIGN = {"test_repro.py"}
#: Names of packages whose modules have other names.
MODULES = {
    "protobuf": "google",
    "hdrhistogram": "hdrh",
    "prometheus-client": "prometheus_client",
    "opentelemetry-sdk": "opentelemetry",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
}
PATH = r"(?<![\w./-])(?:\.?\w[\w.-]*/[\w./-]*|\w+\.py\b)"


def paths_in(page: str) -> Iterator[str]:
    """Yield the paths of a page: in backticks and in blocks, each word with a slash or `.py`."""
    block = re.compile(r"^```.*?^```|^    [^\n]*", re.M | re.S)
    blocks, inline = block.findall(page), re.findall(r"`([^`\n]+)`", block.sub("", page))
    for text in (*blocks, *inline):
        for path in re.findall(PATH, text):
            if not path.startswith(".venv/"):
                yield path.rstrip(".")


def exists(path: str, folders: Iterable[str] = ("",)) -> bool:
    """Return whether a path exists, below one of the folders of a base; NAME stands for any protocol."""
    patterns = [f"{folder}{path}".rstrip("/").replace("NAME", "*") for folder in folders]
    return any(next(base.glob(pattern), None) is not None for base in BASES for pattern in patterns)


def missing_in(page: str) -> set[str]:
    """Return the paths of a page that do not exist; in a row they may be below its first path, or of a protocol."""
    rows = re.findall(r"^\| .*$", page, re.M)
    missing = {path for path in paths_in(re.sub(r"^\| .*$", "", page, flags=re.M)) if not exists(path)}
    for row in rows:
        paths = list(paths_in(row))
        missing |= {path for path in paths if not exists(path, ("", paths[0], "protocols/NAME/"))}
    return missing


def rows() -> Iterator[list[str]]:
    """Yield the cells of each row of a table in CONTRIBUTING.md."""
    for line in CONTRIBUTING.read_text().splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def homes() -> dict[str, list[str]]:
    """Return the homes of each library, by its name."""
    return {
        library: re.findall(r"`([^`]+)`", cells[2])
        for cells in rows()
        if len(cells) == 3
        for library in cells[0].split(", ")
    }


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see `codec/cursor.py` and `limits.py`", ["codec/cursor.py", "limits.py"]),
        ("`python -m tests.bench.x docs/a.md`, `Message.field`, and/or", ["docs/a.md"]),
        ("    .venv/bin/pytest tests/codec/  # a/b", ["tests/codec/", "a/b"]),
        ("    `a/b`\nnot/here", ["a/b"]),
        ("```\n  |  dissect/columns/\n```\n", ["dissect/columns/"]),
    ],
)
def test_a_path_is_found(text: str, paths: list[str]) -> None:
    assert list(paths_in(text)) == paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_path_of_a_page_exists(page: Path) -> None:
    text = page.read_text()
    assert len(set(paths_in(text))) > 30
    assert missing_in(text) == set()


def test_a_path_that_does_not_exist_is_noticed() -> None:
    assert exists("protocols/NAME/session.py")
    assert not exists("protocols/NAME/manner.py")
    assert not exists("codec/cursors.py")
    assert missing_in("`codec/` `watch.py`\n\n| `capture/` | `files/`, `file/` |\n") == {"watch.py", "file/"}


def _docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_each_module_that_a_docstring_or_comment_names_exists() -> None:
    known = {str(path.relative_to(ROOT)) for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")}
    ends = {name[at:] for name in known for at in (0, *(found.end() for found in re.finditer("/", name)))}
    wrong = {}
    for path in modules():
        source = path.read_text()
        texts = (*_docstrings(source), *re.findall(r"^\s*#.*$", source, re.M))
        named = {name for text in texts for name in re.findall(r"[\w/]*\w\.py\b", text)} - FOREIGN
        if missing := {name for name in named if name not in ends and not ("NAME" in name and exists(name))}:
            wrong[str(path.relative_to(ROOT))] = missing
    assert wrong == {}


def test_contributing_begins_with_five_commands_and_is_short() -> None:
    lines = CONTRIBUTING.read_text().splitlines()
    assert len(lines) <= LINES_MAX
    first = lines[: lines.index("## The house")]
    commands = [line.strip() for line in first if line.startswith("    ")]
    assert len(commands) == 5
    assert all(command.startswith(".venv/bin/") for command in commands)
    assert lines.index(f"    {commands[0]}") < 6


def test_contributing_has_no_idiom_that_the_glossary_rules_out() -> None:
    assert "\n".join(map(str, page_hits(CONTRIBUTING))) == ""


def test_each_part_of_the_house_is_in_the_table() -> None:
    listed = {path.rstrip("/") for cells in rows() if len(cells) == 2 for path in re.findall(r"`([^`]+)`", cells[0])}
    folder = ROOT / "src" / "wiretool"
    # A folder that has moved may stay behind with nothing but compiled files.
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    parts = packages | {path.name for path in folder.glob("*.py") if path.name[0] != "_"}
    assert len(parts) > 20
    assert parts - {path.split("/")[0] for path in listed} == set()


def test_each_dependency_has_a_home() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[^\w-]", each)[0] for each in wanted} - {"wiretool"}
    assert names - homes().keys() == set()
    assert homes().keys() - names == {"library"}


@cache
def imports() -> dict[Path, set[str]]:
    """Return the packages that each module imports."""
    return {path: {name.split(".")[0] for name in imported(path)} for path in modules()}


@pytest.mark.parametrize(("library", "places"), [(name, places) for name, places in homes().items() if places])
def test_a_library_is_imported_in_its_homes_alone(library: str, places: list[str]) -> None:
    name = MODULES.get(library, library)
    assert name not in sys.stdlib_module_names
    folders = [base / place.rstrip("/") for base in BASES for place in places]
    outside = [
        path for path, names in imports().items() if name in names and not any(map(path.is_relative_to, folders))
    ]
    assert outside == []
