"""The fixtures: a mock server for one test, with its marks checked and its recording kept where the test fails."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from wiretool.errors import UsageError, WiretoolError
from wiretool.protocols.base.registry import protocols_with
from wiretool.testing.marks import ServerSettings, arguments_from, settings_from
from wiretool.testing.mock_server import MockServer
from wiretool.testing.recordings import decode_command, new_recording, note_ports
from wiretool.testing.start import addresses_for, endpoints_of, listen_options, mock_from, start_mock

MARK = "wiretool"
#: The last lines of the log of a server that the report of a failed test has.
LOG_LINES = 20


class UnappliedFaultWarning(UserWarning):
    """A fault rule of a test never acted."""


class UnappliedMarkWarning(UserWarning):
    """No server of a test is one that a mark of the test applies to."""


class TestServers:
    """The servers of one test."""

    __test__ = False

    def __init__(self) -> None:
        self.servers: list[MockServer] = []
        self.has_failed = False

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report of a failed test."""
        for server in self.servers:
            yield f"recording of {server.protocol}: {server.path}"
            yield f"    {decode_command(server.path, server.ports)}"
            yield from (f"    {line}" for line in server.log[-LOG_LINES:])


SERVERS = pytest.StashKey[TestServers]()


def settings_of(item: pytest.Item, protocol: str) -> ServerSettings:
    """Return the settings that the marks of a test give the server of a protocol.

    UsageError for a bad mark, and a protocol without a server of its own.
    """
    if protocol not in (served := protocols_with("server")):
        raise UsageError(f"it has no mock server of its own; expected the fixture of {' or '.join(served)}")
    marks: list[tuple[tuple[Any, ...], Mapping[str, Any]]] = [
        (mark.args, mark.kwargs) for mark in item.iter_markers(MARK)
    ]
    plain = settings_from(((names, _without_rules(kw)) for names, kw in marks), protocol, ())
    arguments = arguments_from(plain.options)
    mock = mock_from(protocol, arguments)
    addresses_for(mock, listen_options(mock, arguments))
    return settings_from(marks, protocol, endpoints_of(mock).values())


def _without_rules(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in arguments.items() if name != "fault"}


def serve_test(request: pytest.FixtureRequest, protocol: str) -> Iterator[MockServer]:
    """Run a mock server for a test."""
    item: pytest.Item = request.node
    why = ""
    try:
        settings = settings_of(item, protocol)
        recording = new_recording(recordings_folder(request), item.nodeid, protocol)
        server = start_mock(protocol, settings, recording)
    except WiretoolError as err:
        why = str(err)
    if why:  # outside of the handler: pytest would show the chain of exceptions
        pytest.fail(f"{item.nodeid}: {protocol}: {why}", pytrace=False)
    note_ports(recording, server.ports)
    item.stash.setdefault(SERVERS, TestServers()).servers.append(server)
    yield server
    try:
        server.stop()
    except WiretoolError as err:
        why = str(err)
    for rule in server.unapplied:
        item.warn(UnappliedFaultWarning(f"fault {rule!r} never acted on the mock server of {protocol}"))
    if why:
        pytest.fail(f"{item.nodeid}: the mock server of {protocol} has failed: {why}", pytrace=False)


def warn_of_unapplied(item: pytest.Item, fixtures: Collection[str]) -> None:
    """Warn of marks of the test itself that apply to no server; `fixtures` are the protocols of its fixtures."""
    started = item.stash.get(SERVERS, TestServers()).servers
    protocols = {*fixtures, *(server.protocol for server in started)}
    for mark in item.own_markers:
        if mark.name == MARK and not (protocols if not mark.args else protocols.intersection(mark.args)):
            names = " or ".join(map(str, mark.args)) or "wiretool"
            item.warn(UnappliedMarkWarning(f"@pytest.mark.wiretool: the test has no server of {names}"))


def recordings_folder(request: pytest.FixtureRequest) -> Path:
    """Return the folder for the recordings of a test: the one of the option, or one that pytest keeps for a while."""
    chosen = request.config.getoption("--wiretool-recordings")
    if chosen:
        return Path(chosen).absolute()
    factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    return factory.mktemp("wiretool")
