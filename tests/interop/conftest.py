"""One mock server for all scenarios of a file that ask for nothing special; each has a scope of its own."""

import time
from collections.abc import Iterator

import pytest

from tests.interop.pravega_server import ELSEWHERE, Server, pravega_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with no options."""
    if ELSEWHERE:
        yield Server(ELSEWHERE)
        return
    with pravega_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> str:
    """A scope's name for one test; the time tells this run from earlier ones against the same server."""
    name = "".join(letter for letter in request.node.name if letter.isalnum())
    return f"{name}{time.time_ns() // 10**6 % 10**9}"
