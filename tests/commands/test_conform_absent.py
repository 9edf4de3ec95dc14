"""`wiretool conform --target` where nothing listens: it ends soon, as little is loaded before the first connection."""

import socket
import subprocess
import sys
import time

import pytest

from tests.helpers.servers import wiretool

PROTOCOLS = ("sbp", "sbp-0.1", "offramp", "pravega", "pravega-controller", "pravega-draft")
#: Modules of fault rules, mocks and terminals, which take longer to load than the cases.
NEEDLESS = ("wiretool.faults", "wiretool.net.serving.host", "rich.console", "pyarrow")
#: Seconds that the machine of a test may take at most, many times what it takes alone.
LIMIT_S = 20


@pytest.fixture
def absent() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_little_is_loaded_before_the_target_refuses(protocol: str, absent: str) -> None:
    code = f"""
import sys
from wiretool.__main__ import main
sys.argv = ["wiretool", "conform", {protocol!r}, "--target", {absent!r}]
try: main()
finally: print(*sys.modules)
"""
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (4, f"wiretool: cannot reach {absent}: Connection refused\n")
    assert time.monotonic() - begun < LIMIT_S
    loaded = set(ended.stdout.split())
    assert "wiretool.conformance.active.target_run" in loaded
    assert not loaded.intersection(NEEDLESS)
    if protocol != "sbp-0.1":  # its cases encode batches when they are loaded, and flatbuffers loads NumPy
        assert "numpy" not in loaded


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--case", "sbp/frame/x"), "--case sbp/frame/x: no case has such an id"),
        (("--level", "most"), "--level most: expected must, should or observed"),
        (("--setup", "apartt"), "--setup apartt: sbp has no such setup"),
        (("--target", "nowhere=127.0.0.1:1"), "--target nowhere=127.0.0.1:1: unknown endpoint 'nowhere'"),
        (("--controller", "127.0.0.1:1"), "--controller controller=127.0.0.1:1: unknown endpoint 'controller'"),
    ],
)
def test_what_is_wrong_with_an_option_comes_first(words: tuple[str, ...], problem: str, absent: str) -> None:
    ended = wiretool("conform", "sbp", "--target", absent, *words)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith(f"wiretool: {problem}")
