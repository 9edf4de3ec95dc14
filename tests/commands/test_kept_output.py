"""A protocol that does not exist, or a filter without sense, is refused before any output is opened."""

from pathlib import Path

import pytest

from tests.helpers.forked import run_text
from wiretool.protocols.base.registry import PROTOCOLS

READ = str(Path(__file__).parents[2] / "captures" / "pravega" / "read.pcap")
KEPT = "precious\n"


#: Commands that read captures, with `--protocol` and `--port`.
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


@pytest.mark.parametrize("option", [("--where", "kind =="), ("--fields", "nope")], ids=" ".join)
def test_a_filter_without_sense_keeps_output_and_ledger(option: tuple[str, str], tmp_path: Path) -> None:
    output, ledger = tmp_path / "kept.csv", tmp_path / "kept.json"
    for path in (output, ledger):
        path.write_text(KEPT)
    ended = run_text("decode", READ, *option, "-o", output, "--ledger", ledger)
    assert (ended.returncode, output.read_text(), ledger.read_text()) == (2, KEPT, KEPT)
