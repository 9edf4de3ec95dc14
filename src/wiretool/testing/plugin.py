"""The plugin of pytest, which pytest loads in every project: it imports the rest of wiretool when a test needs it."""

import re
import shutil
from collections.abc import Callable, Generator, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wiretool.testing.fixtures import TestServers
    from wiretool.testing.mock_server import MockServer

#: The entry points of protocols, as in the registry, which takes a while to load.
PROTOCOLS = "wiretool.protocols"
MARK_HELP = (
    "wiretool(*protocols, fault=..., options=..., process=...): fault rules and options of serve for the mock servers "
    "of a test; process=True runs each in a process of its own"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("wiretool")
    group.addoption(
        "--wiretool-recordings",
        metavar="DIR",
        help="keep the recordings of failed tests in this folder; without, they are below the base temporary folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and a fixture for each protocol."""
    config.addinivalue_line("markers", MARK_HELP)
    folder = config.getoption("--wiretool-recordings")
    if folder is not None and not is_worker(config):
        check_recordings(folder)
    config.pluginmanager.register(fixtures_module(), "wiretool-fixtures")


def is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def check_recordings(folder: str) -> None:
    from wiretool.errors import UsageError
    from wiretool.testing.recordings import check_folder

    if not folder:
        raise pytest.UsageError("--wiretool-recordings: the name is empty; expected a folder")
    try:
        check_folder(Path(folder).absolute())
    except UsageError as err:
        raise pytest.UsageError(str(err)) from err


# -- fixtures ----------------------------------------------------------------------------------------------------------


def fixture_name(protocol: str) -> str:
    """Return the name of the fixture of a protocol."""
    return re.sub(r"\W", "_", protocol) + "_server"


def fixtures_module() -> ModuleType:
    """Return a module with the fixtures of all protocols that are registered, by their entry points."""
    module = ModuleType("wiretool_fixtures")
    protocols = sorted({entry.name for entry in entry_points(group=PROTOCOLS)})
    vars(module).update({fixture_name(name): fixture_for(name) for name in protocols})
    return module


def fixture_for(protocol: str) -> Callable[..., Any]:
    """Return the fixture of a protocol."""

    def server(request: pytest.FixtureRequest) -> "Iterator[MockServer]":
        from wiretool.testing.fixtures import serve_test

        yield from serve_test(request, protocol)

    server.__doc__ = f"A mock server of {protocol} for one test."
    found: Callable[..., Any] = pytest.fixture(name=fixture_name(protocol))(server)
    return found


# -- marks -------------------------------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse bad marks before the first test runs. Workers of pytest-xdist report them when the test runs."""
    marked = [item for item in items if item.get_closest_marker("wiretool") is not None]
    if not marked or is_worker(config):
        return
    for item in marked:
        check_words(item)
    names = {fixture_name(entry.name): entry.name for entry in entry_points(group=PROTOCOLS)}
    for item in marked:
        for name in getattr(item, "fixturenames", ()):
            if name in names:
                check_marks(item, names[name])


def check_words(item: pytest.Item) -> None:
    """Refuse a test whose marks have an argument or a protocol that does not exist, whatever fixtures it has."""
    from wiretool.errors import UsageError
    from wiretool.testing.marks import check_mark

    for mark in item.iter_markers("wiretool"):
        try:
            check_mark(mark.args, mark.kwargs)
        except UsageError as err:
            raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.wiretool: {err}") from err


def check_marks(item: pytest.Item, protocol: str) -> None:
    """Refuse a test with a bad mark."""
    from wiretool.errors import WiretoolError
    from wiretool.testing.fixtures import settings_of

    try:
        settings_of(item, protocol)
    except WiretoolError as err:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.wiretool: {err}") from err


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Warn of marks that apply to no server of a test that has passed: where warnings are errors, it fails."""
    result = yield
    if any(mark.name == "wiretool" for mark in item.own_markers):
        from wiretool.testing.fixtures import warn_of_unapplied

        protocols = {fixture_name(entry.name): entry.name for entry in entry_points(group=PROTOCOLS)}
        names = getattr(item, "fixturenames", ())
        warn_of_unapplied(item, {protocol for name, protocol in protocols.items() if name in names})
    return result


# -- recordings --------------------------------------------------------------------------------------------------------


def servers_of(item: pytest.Item) -> "TestServers | None":
    """Return the servers of a test; None where it has none, and nothing was loaded for it."""
    import sys

    fixtures = sys.modules.get("wiretool.testing.fixtures")
    return None if fixtures is None else item.stash.get(fixtures.SERVERS, None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Name the recordings in the report of a failed test."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    servers = servers_of(item)
    if servers is not None and report.failed:
        servers.has_failed = True
        report.sections.append(("wiretool", "\n".join(servers.lines())))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """Remove the recordings of a test that passed, unless pytest keeps its temporary folders, too."""
    yield
    servers = servers_of(item)
    if servers is None or servers.has_failed:
        return
    if item.config.getoption("--wiretool-recordings"):
        for server in servers.servers:
            server.path.unlink(missing_ok=True)
    elif item.config.getini("tmp_path_retention_policy") != "all":
        for server in servers.servers:
            shutil.rmtree(server.path.parent, ignore_errors=True)
