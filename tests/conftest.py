"""Options of the test run: further folders of vectors and captures, held to the same checks."""

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.quick import SlowTests, has_quick_tests, quick_tests
from tests.helpers.recorded import unpack_recordings
from wiretool.__main__ import COLLECTED_OBJECTS

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

HERE = Path(__file__).parent
#: The folder whose `captures/` holds the recordings of real programs.
SHARED = unpack_recordings()

# A shell that started us in the background ignores Ctrl-C, nohup ignores SIGHUP: so would each program of a test.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# A session of Spark is short here: its Java compiles quickly rather than well, which takes a third less processor time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# A program that a test starts need not compile the modules that the one before it has: that takes most of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Garbage is collected as seldom as in the program.
gc.set_threshold(COLLECTED_OBJECTS, *gc.get_threshold()[1:])
settings.register_profile(
    "project", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("project"), max_examples=5)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--vectors", action="append", default=[], type=Path, help="a further folder of vectors")
    parser.addoption("--captures", action="append", default=[], type=Path, help="a further folder of captures")
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew instead of comparing")
    parser.addoption("--note-slow", action="store_true", help="note the tests that are too slow for `-m quick`")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "quick":
        settings.load_profile("quick")
    if config.getoption("--note-slow"):
        config.pluginmanager.register(SlowTests())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over the files without quick tests where those alone are run: to import them takes a sixth of the time."""
    if config.option.markexpr != "quick" or not collection_path.match("test_*.py"):
        return None
    return not has_quick_tests(collection_path) or None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return two workers per processor, since many tests wait for servers and clocks; one for the quick tests."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return processors if config.option.markexpr == "quick" else 2 * processors


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling | None":
    """Give each worker files of its own, which share what they make; idle workers take over tests of others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the quick tests; put those with a Spark session first, so that one worker has them all."""
    skip_absent_protocols(items)
    for item in quick_tests(items):
        item.add_marker("quick")
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what stays: fifteen thousand tests, which it would look at over and over."""
    gc.collect()
    gc.freeze()


def skip_absent_protocols(items: list[pytest.Item]) -> None:
    """Skip the cases of protocols that are not registered."""
    from tests.helpers.examples import ABSENT, needs_protocol, protocols_in

    if not ABSENT:
        return
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if absent := ABSENT & protocols_in(tuple(params.values())):
            item.add_marker(needs_protocol(*absent))


def folders(config: pytest.Config, option: str, *own: Path) -> list[Path]:
    """Return the folders to check: our own, and those of the option."""
    given: list[Path] = config.getoption(option)
    for folder in given:
        if not folder.is_dir():
            raise pytest.UsageError(f"{option} {folder}: no such folder")
    return [*own, *given]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector" in metafunc.fixturenames:
        from tests.helpers.vectors import vectors_below

        found = vectors_below(folders(metafunc.config, "--vectors", HERE / "vectors"))
        metafunc.parametrize("vector", found, ids=[str(vector) for vector in found])
    own = HERE.parent / "captures"
    if "capture" in metafunc.fixturenames:
        parametrize_captures(metafunc, "capture", folders(metafunc.config, "--captures", own, SHARED / "captures"))
    if "own_capture" in metafunc.fixturenames:  # for what looks at all of them once more, in another way
        parametrize_captures(metafunc, "own_capture", [own])


def parametrize_captures(metafunc: pytest.Metafunc, name: str, folders: list[Path]) -> None:
    """Once with each capture in the folders, and its truth where it has one."""
    from tests.helpers.truth import captures_below

    paths = [(path, truth) for folder in folders for path, truth in captures_below(folder)]
    metafunc.parametrize(name, paths, ids=["/".join(path.parts[-3:]) for path, _ in paths])


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name longer bytes by their count: packed ones hold the time, and each xdist worker collects at its own."""
    return f"{len(val)}B" if isinstance(val, bytes) and len(val) > 12 else None
