"""A file that is missing or unreadable is reported in the same words by every command."""

import errno
import os
from pathlib import Path

import pytest

from tests.helpers import forked
from wiretool.errors import UsageError, system_reason, why_unreadable
from wiretool.pipeline.layout import read_head

#: Commands that read a file, which `{}` stands for.
COMMANDS = (
    "decode {}",
    "decode --hex {} --protocol sbp --side client",
    "stats {}",
    "slice {} --connection 0 -o -",
    "encode {}",
    "replay {}",
    "diff {} {}",
    "diff captures/sbp/mixed_noise.pcap captures/sbp/mixed_noise.pcap --expect {}",
    "bench --from-capture {}",
    "bench compare {} {}",
    "serve sbp --faults {}",
    "serve offramp --feed {}",
    "serve sbp --tls-cert {}",
    "conform sbp --capture {}",
    "conform sbp --expect {}",
    "conform compare {} {}",
    "pipeline run {} -o {}.tables",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file(command: str, tmp_path: Path) -> None:
    path = tmp_path / "missing.x"
    ended = forked.run(*(word.replace("{}", str(path)) for word in command.split()))
    told = ended.stderr.decode()
    assert (ended.returncode, told.count("\n")) == (2, 1), told
    assert f"{path}: no such file" in told


@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.startswith("pipeline")])
def test_a_folder_in_place_of_a_file(command: str, tmp_path: Path) -> None:
    ended = forked.run(*(word.replace("{}", str(tmp_path)) for word in command.split()))
    told = ended.stderr.decode()
    assert (ended.returncode, told.count("\n")) == (2, 1), told
    assert f"{tmp_path}: a folder; expected a file" in told


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.ENOENT, "no such file"),
        (errno.ENOTDIR, "no such file"),
        (errno.EACCES, "permission denied"),
        (errno.EPERM, "permission denied"),
        (errno.EISDIR, "a folder; expected a file"),
        (errno.EIO, "cannot be read: Input/output error"),
    ],
)
def test_the_words_of_the_reasons(number: int, why: str) -> None:
    assert why_unreadable(OSError(number, os.strerror(number))) == why


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.EACCES, "permission denied"), (errno.EPERM, "permission denied"), (errno.EIO, "Input/output error")],
)
def test_a_missing_permission_has_one_spelling(number: int, why: str) -> None:
    assert system_reason(OSError(number, os.strerror(number))) == why


def test_an_output_that_may_not_be_written_has_that_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    why = r"manifest\.json: permission denied; expected a file that you may read$"
    with pytest.raises(UsageError, match=why):
        read_head(tmp_path)


def test_reports_that_cannot_be_opened_are_named_as_other_files(tmp_path: Path) -> None:
    """The command line does not look at them itself: its words would name an argument. An empty name shows it."""
    path = tmp_path / "report.json"
    path.write_text("{}")
    refused = forked.run("bench", "compare", "", str(path))
    assert refused.returncode == 2
    assert "the name is empty" in refused.stderr.decode()
