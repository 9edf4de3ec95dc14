"""`pytest -m quick` has tests of every package."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.quick import NOTES, name_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "wiretool"
#: Tests that a package has among the quick ones, at least.
TESTS_MIN = 3


def packages() -> list[str]:
    """Return the folders of the package that have modules of their own: `codec`, `protocols/sbp`."""
    folders = [path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE]
    names = sorted(folder.relative_to(SOURCE).as_posix() for folder in folders)
    return [name for name in names if name.count("/") == name.startswith("protocols/")]


def quick_names(session: pytest.Session) -> list[str]:
    """Return the names of the quick tests: those of this run if it has all files, else those that pytest lists."""
    if session.config.args == session.config.getini("testpaths"):
        return [name_of(item) for item in session.items if item.get_closest_marker("quick")]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "quick", "--collect-only", "-o", "addopts=-q"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    return [line.partition("[")[0] for line in listed.stdout.splitlines() if "::" in line]


def imports(file: str, package: str) -> bool:
    """Return whether a test file imports a package."""
    return f"wiretool.{package.replace('/', '.')}" in (ROOT / file).read_text()


def test_every_package_has_quick_tests(request: pytest.FixtureRequest) -> None:
    names = quick_names(request.session)
    files = {name.partition("::")[0] for name in names}
    assert len(packages()) > 20
    for package in packages():
        folder = f"tests/{package}/"
        own = {file for file in files if file.startswith(folder)} or {file for file in files if imports(file, package)}
        count = sum(name.partition("::")[0] in own for name in names)
        assert count >= TESTS_MIN, f"{package}: {count} quick tests; expected {TESTS_MIN}"


@needs_protocol("offramp")
@needs_protocol("sbp-0.1")
def test_slow_tests_exist() -> None:
    for name in NOTES.read_text().splitlines():
        file, _, test = name.partition("::")
        assert f"def {test.rpartition('::')[2]}(" in (ROOT / file).read_text(), f"{name}: remove it from {NOTES.name}"
