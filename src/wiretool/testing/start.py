"""Start a mock server for a test: in a thread of this process, or in a process of its own."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wiretool.errors import UsageError
from wiretool.testing.marks import ServerSettings, arguments_from
from wiretool.testing.mock_server import MockServer, RunningMock

if TYPE_CHECKING:
    from wiretool.commands.serve.options import MockArguments
    from wiretool.net.addresses import Address
    from wiretool.server.mock import Mock

#: The address of an endpoint for which the test gives none: the system assigns a port.
FREE = "127.0.0.1:0"


def mock_from(protocol: str, arguments: "MockArguments") -> "Mock":
    """Return a mock server. UsageError for a protocol without one, or options that are not its."""
    from wiretool.server.part import mock_for

    return mock_for(protocol, arguments.mock_options(protocol))


def endpoints_of(mock: "Mock") -> dict[str, str]:
    """Return the protocol of each endpoint, by its name."""
    return {door.name: door.protocol for door in mock.doors}


def needs_process(protocol: str) -> bool:
    """Return whether a client is loaded that keeps all threads of this process waiting while it calls."""
    from wiretool.server.part import required_part

    return not required_part(protocol).blocking_clients.isdisjoint(sys.modules)


def start_mock(protocol: str, settings: ServerSettings, recording: Path) -> MockServer:
    """Start a server. UsageError for bad options, PeerError where it cannot listen."""
    arguments = arguments_from(settings.options)
    mock = mock_from(protocol, arguments)
    listens = listen_options(mock, arguments)
    has_process = needs_process(protocol) if settings.process is None else settings.process
    run = run_process if has_process else run_thread
    texts = [rule.text for rule in settings.rules]
    running = run(mock, settings, arguments, listens, recording)
    return MockServer(protocol, running, endpoints_of(mock), recording, dict(enumerate(texts, 1)))


def listen_options(mock: "Mock", arguments: "MockArguments") -> dict[str, str]:
    """Return the address of each endpoint by its option; those that are not given are free ports."""
    options = arguments.endpoints
    return {name: text or (FREE if at < len(mock.doors) else "") for at, (name, text) in enumerate(options.items())}


def run_thread(
    mock: "Mock", settings: ServerSettings, arguments: "MockArguments", listens: Mapping[str, str], recording: Path
) -> RunningMock:
    """Run it in a thread."""
    from wiretool.net.serving.mock_thread import MockThread

    addresses = addresses_for(mock, listens)
    return MockThread(mock, addresses, rules=settings.rules, seed=arguments.seed, record=recording)


def addresses_for(mock: "Mock", listens: Mapping[str, str]) -> "dict[str, Address]":
    """Parse the address of each endpoint. UsageError for a bad one, or one of an endpoint that does not exist."""
    from wiretool.commands.serve.run import listens_for
    from wiretool.net.addresses import is_loopback

    addresses = listens_for(mock, listens, opens_all=True)
    for address in addresses.values():
        if not is_loopback(address.host):
            raise UsageError(f"options: address {address}: not a loopback address; expected 127.0.0.1 or ::1")
    return addresses


def run_process(
    mock: "Mock", settings: ServerSettings, arguments: "MockArguments", listens: Mapping[str, str], recording: Path
) -> RunningMock:
    """Run it in a process. UsageError as of `run_thread`."""
    from wiretool.net.programs.mock_process import MockProcess

    addresses_for(mock, listens)
    given: dict[str, Any] = {option.removeprefix("--"): text for option, text in listens.items()}
    words = [mock.doors[0].protocol, *replace(arguments, **given).words()]
    words += [f"--fault={rule.text}" for rule in settings.rules]
    return MockProcess(words, record=recording)
