"""Protocols can be deleted: a copy of the project without them imports, collects its tests, and passes them.

A test of the copy that takes a deleted protocol as its example is skipped, and says so: `needs_protocol`.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.helpers.examples import ABSENT, folder_name
from wiretool.protocols.base.registry import PROTOCOLS

ROOT = Path(__file__).parents[1]
DELETED = ("sbp-0.1", "offramp")
#: Modules that have libraries of their own, or read the command line.
NOT_IMPORTED = r"wiretool\.(__main__|load|pipeline\.spark|commands\.bench)|pyspark_wiretool"
#: Tests that are not run in the copy: those of the other protocols alone, and those of the project's
#: texts and imports, which hold for each part of it.
NOT_RUN = ("tests/protocols", "tests/test_contributing.py", "tests/test_imports.py", "tests/test_words.py")
PASSED_MIN = 1_200
COLLECTED_MIN = 10_000


def test_no_example_is_absent() -> None:
    """In the whole project nothing is skipped for the absence of a protocol."""
    assert not ABSENT


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project without some protocols."""
    root = tmp_path_factory.mktemp("without")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for path in filter(None, listed.stdout.split("\0")):
        if (ROOT / path).exists():
            copy_file(ROOT / path, root / path)
    for name in DELETED:
        delete(root, name)
    describe_installed(root)
    return root


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, and of a module what is compiled already: it is used, as the time of its source is copied too."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    if source.suffix == ".py":
        for path in source.parent.glob(f"__pycache__/{source.stem}.cpython-*.pyc"):
            (target.parent / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(path, target.parent / "__pycache__" / path.name)


def delete(root: Path, name: str) -> None:
    """Delete all that is of a protocol, its entry point included."""
    for folder in ("src/wiretool/protocols", "tests/protocols"):
        shutil.rmtree(root / folder / folder_name(name))
    shutil.rmtree(root / "captures" / name)
    for path in [*root.glob(f"tests/vectors/{name}.json"), *root.glob(f"tests/golden/{name}.*")]:
        path.unlink()
    project = root / "pyproject.toml"
    text, count = re.subn(rf'(?m)^"?{re.escape(name)}"? = "wiretool\.protocols\..*\n', "", project.read_text())
    assert count == 1
    project.write_text(text)


def describe_installed(root: Path) -> None:
    """Write the entry points that an installed project has."""
    installed = root / "src" / "wiretool-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: wiretool\nVersion: 0\n")
    groups = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [line for group, entries in groups.items() for line in (f"[{group}]", *entry_lines(entries))]
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n")


def entry_lines(entries: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{entry} = {place}" for entry, place in entries.items())


def run(root: Path, *arguments: str) -> str:
    """Run Python in a copy, and return what it printed; AssertionError with that where it fails."""
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    failed = re.search(r"(?m)^=+ (ERRORS|FAILURES) =+$", ended.stdout)
    shown = ended.stdout[failed.start() :][:4000] if failed else ended.stdout[-4000:]
    assert ended.returncode == 0, shown + ended.stderr[-4000:]
    return ended.stdout


def test_every_module_imports(copy: Path) -> None:
    paths = sorted((copy / "src").rglob("*.py"))
    names = [".".join(path.relative_to(copy / "src").with_suffix("").parts) for path in paths]
    chosen = [name.removesuffix(".__init__") for name in names if not re.match(NOT_IMPORTED, name)]
    assert len(chosen) > 500
    known = "from wiretool.protocols.base.registry import PROTOCOLS; print(*PROTOCOLS)"
    script = f"from importlib import import_module; [import_module(name) for name in {chosen!r}]; {known}"
    assert len(run(copy, "-c", script).split()) == len(PROTOCOLS) - len(DELETED)


def test_every_test_is_collected_and_the_quick_ones_of_the_engines_pass(copy: Path) -> None:
    shown = run(copy, "-m", "pytest", "-m", "quick", "-vv", *(f"--deselect={path}" for path in NOT_RUN), "tests")
    (collected,) = re.findall(r"collected (\d+) items", shown)
    assert int(collected) > COLLECTED_MIN
    assert len(re.findall(r"(?m) PASSED", shown)) > PASSED_MIN
