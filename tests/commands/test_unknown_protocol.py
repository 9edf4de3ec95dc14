"""A protocol that does not exist is refused before any output is opened: what a file held is kept."""

from pathlib import Path

import pytest

from tests.helpers.forked import run_text
from wiretool.protocols.base.registry import PROTOCOLS

READ = str(Path(__file__).parents[2] / "captures" / "pravega" / "read.pcap")
KEPT = "precious\n"


#: Commands that read captures, which may be told the protocol of a port.
READERS = (
    ("decode", READ, "--format", "csv"),
    ("decode", READ, "--engine", "rows"),
    ("stats", READ),
    ("slice", READ, "--where", 'kind == "frame"'),
    ("diff", READ, READ),
    ("replay", READ, "--dry-run"),
)


@pytest.mark.parametrize(
    "command",
    [
        *((*command, *option) for command in READERS for option in (("--protocol", "sdp"), ("--port", "1=sdp"))),
        ("encode", "--protocol", "sdp"),
    ],
    ids=" ".join,
)
def test_nothing_is_written(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text(KEPT)
    known = ", ".join(PROTOCOLS)
    for output in (str(path), "-"):
        ended = run_text(*command, "-o", output)
        assert ended.stderr == f"wiretool: no protocol is called 'sdp' (did you mean sbp?); there are {known}\n"
        assert (ended.returncode, ended.stdout, path.read_text()) == (2, "", KEPT)
