"""The examples of docs/object-storage.md, with a server."""

import shlex
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.forked import run
from tests.helpers.object_store import ENVIRONMENT, put, s3_server
from tests.test_docs import ROOT, blocks

pytestmark = needs_protocol("offramp")

LINES = [line for section, block in blocks("sh") if section.page == "object-storage.md" for line in block.splitlines()]


@pytest.fixture(scope="module")
def endpoint() -> str:
    store, port = s3_server()
    store.create_dir("captures")
    for name in ("pravega/write.pcap", "offramp/plain.pcap", "offramp/plain_ipv6.pcap"):
        put(store, f"captures/{name}", (ROOT / "captures" / name).read_bytes())
    return f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("line", LINES)
def test_an_example_runs(line: str, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    program, *words = shlex.split(line)
    assert program == "wiretool"
    ended = run(*words, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout or any(path.name != "captures" for path in tmp_path.iterdir()) or "s3://captures/lake" in line
