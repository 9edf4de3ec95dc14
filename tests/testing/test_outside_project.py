"""A project outside of this one: the examples of docs/pytest.md and a test that fails, in an environment of its own."""

import re
import subprocess
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.interop.pravega_server import HAS_WHEEL, IS_CI
from wiretool.dissect.dissector import read

pytestmark = needs_protocol("pravega", "offramp")
ROOT = Path(__file__).parents[2]
PAGE, EXAMPLE = ROOT / "docs" / "pytest.md", ROOT / "examples" / "wiretool-resp" / "src"
#: A test that is wrong about its client.
FAILING = """
from test_consumer import consume


def test_order(offramp_server):
    offramp_server.operate("publish", road="orders", payload={"id": 2})
    assert consume(offramp_server.address, 1) == [{"id": 1}]
"""
#: A test of a client of the protocol of another package.
PLUGIN = """
import socket


def test_ping(resp_server):
    with socket.create_connection(resp_server.address, timeout=10) as connection:
        connection.sendall(b"*1\\r\\n$4\\r\\nPING\\r\\n")
        assert connection.recv(7) == b"+PONG\\r\\n"
    (ping,) = resp_server.received('fields.name == "PING"')
    assert ping.protocol == "resp"
"""
ENTRY_POINT = "[wiretool.protocols]\nresp = wiretool_resp:PROTOCOL\n"


def examples() -> dict[str, str]:
    """Return the examples of the page in Python, by the name of the file in their first line."""
    return dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", PAGE.read_text(), re.M | re.S))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with test files, and an environment in which the packages of this one are installed."""
    folder = tmp_path_factory.mktemp("project")
    for name, source in {**examples(), "test_failing.py": FAILING, "test_plugin.py": PLUGIN}.items():
        (folder / name).write_text(source)
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    (packages,) = (folder / ".venv").glob("[Ll]ib/**/site-packages")
    installed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    lines = [f"import site; site.addsitedir({at!r})" for at in installed]
    (packages / "installed.pth").write_text("\n".join([*lines, str(EXAMPLE), ""]))
    information = packages / "wiretool_resp-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: wiretool-resp\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINT)
    return folder


def test_a_project_tests_its_client(project: Path) -> None:
    python = str(next((project / ".venv").glob("bin/python")))
    run = [
        python,
        "-W",
        "error",
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        "-rs",
        "-p",
        "no:locust",
        "-p",
        "no:hypothesispytest",
    ]
    run += ["--wiretool-recordings", "kept", "-W", "error"]
    ended = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    has_client = find_spec("pravega_client") is not None
    assert has_client or not (IS_CI and HAS_WHEEL), "CI has to have PyPI pravega"
    counts = "1 failed, 5 passed" if has_client else "1 failed, 4 passed, 1 skipped"
    assert re.search(rf"=+ {counts} in ", ended.stdout), ended.stdout + ended.stderr
    assert ended.returncode == 1
    if not has_client:
        assert "PyPI pravega has wheels for Linux and Python 3.11 at most" in ended.stdout
    (recording,) = (project / "kept").iterdir()
    assert f"recording of offramp: {recording}\n" in ended.stdout
    (port,) = re.findall(rf"wiretool decode --port (\d+)=offramp {re.escape(str(recording))}", ended.stdout)
    records = list(read(recording, ports={int(port): "offramp"}))
    assert [record.side for record in records if record.message == "MESSAGE"] == ["server"]
