"""The tests of `pytest -m quick`: the first cases of each test that takes little time and starts no process.

`pytest -n 0 -m quick --note-slow` measures these tests, and adds those that take long to tests/slow_tests.txt.
"""

import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
#: The tests that take more than SLOW_S of processor time: a name a line.
NOTES = TESTS / "slow_tests.txt"
SLOW_S = 0.1
#: Cases of each test, of those with parameters.
CASES_MAX = 2
#: Folders of which no test is quick: Java, and programs that are not wiretool's.
SLOW_FOLDERS = ("tests/spark/", "tests/interop/")
#: Helpers that start processes.
PROCESSES = ("tests.helpers.forked", "tests.helpers.servers", "tests.helpers.kills", "subprocess")


def quick_tests(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that are quick."""
    slow = set(NOTES.read_text().split("\n"))
    cases: Counter[str] = Counter()
    for item in items:
        name = name_of(item)
        cases[name] += 1
        if not isinstance(item, pytest.Function) or cases[name] > CASES_MAX:
            continue
        if name not in slow and not name.startswith(SLOW_FOLDERS) and not starts_processes(item.module):
            yield item


def name_of(item: pytest.Item) -> str:
    """Return the file and name of a test, without its parameters."""
    return item.nodeid.partition("[")[0]


@cache
def starts_processes(module: ModuleType) -> bool:
    """Return whether a test module has a helper that starts processes."""
    values = vars(module).values()
    return any(value is subprocess or getattr(value, "__module__", None) in PROCESSES for value in values)


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
