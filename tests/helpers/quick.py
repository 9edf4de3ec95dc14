"""The tests of `pytest -m quick`: the first cases of each test that takes little time and starts no process.

`pytest -n 0 -m quick --note-slow` measures these tests, and adds those that take long to tests/slow_tests.txt.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: The tests that take more than SLOW_S of processor time: a name a line.
NOTES = TESTS / "slow_tests.txt"
SLOW_S = 0.1
#: Cases of each test, of those with parameters.
CASES_MAX = 1
#: Folders of which no test is quick: Java, and programs that are not wiretool's.
SLOW_FOLDERS = ("tests/spark/", "tests/interop/")
#: Imports of what starts processes.
PROCESSES = re.compile(
    r"^ *(?:import subprocess\b|from (?:subprocess|tests\.helpers\.(?:forked|servers|kills|tools))\b)", re.M
)


def quick_tests(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that are quick."""
    slow = set(NOTES.read_text().split("\n"))
    cases: Counter[str] = Counter()
    for item in items:
        name = name_of(item)
        cases[name] += 1
        if not isinstance(item, pytest.Function) or cases[name] > CASES_MAX:
            continue
        if name not in slow and has_quick_tests(item.path):
            yield item


def name_of(item: pytest.Item) -> str:
    """Return the file and name of a test, without its parameters."""
    return item.nodeid.partition("[")[0]


@cache
def has_quick_tests(file: Path) -> bool:
    """Return whether a test file may have quick tests: it is in no slow folder, and starts no processes.

    Its imports are read as text: pytest passes over files without quick tests before it collects them.
    """
    if file.relative_to(TESTS.parent).as_posix().startswith(SLOW_FOLDERS):
        return False
    return PROCESSES.search(file.read_text()) is None


class SlowTests:
    """A plugin of pytest that measures tests, and adds to the notes those that take long."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test, its fixtures included."""
        begun_s = time.process_time()
        result = yield
        if time.process_time() - begun_s > SLOW_S:
            self.found.add(name_of(item))
        return result

    def pytest_sessionfinish(self) -> None:
        """Write the notes."""
        noted = set(NOTES.read_text().split("\n")) - {""}
        NOTES.write_text("".join(f"{name}\n" for name in sorted(noted | self.found)))
