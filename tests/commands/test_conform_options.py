"""`wiretool conform` with options that cannot work: refused at once, in one line."""

import re
from pathlib import Path

import pytest

from tests.helpers.servers import wiretool

REPORTS = ("--json", "--junit", "--sarif", "--html", "--badge", "--write-expect")


def refused(*words: str) -> str:
    """Return the problem of a command that ends with 2, before it has written anything else."""
    ended = wiretool("conform", *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    return line.removeprefix("wiretool: ")


@pytest.mark.parametrize("option", [*REPORTS, "--record"])
def test_a_folder_is_no_file_of_a_report(option: str, tmp_path: Path) -> None:
    assert refused("sbp", option, str(tmp_path)) == f"{option} {tmp_path}: a folder; expected a file"


@pytest.mark.parametrize("option", [*REPORTS, "--expect"])
def test_an_empty_name_is_no_file(option: str) -> None:
    assert refused("sbp", option, "") == f"{option}: expected the name of a file, got an empty text"


@pytest.mark.parametrize("option", ["--setup", "--allow-remote", "--case", "--level", "--command", "--mutant"])
@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_text_is_refused(option: str, text: str) -> None:
    line = refused("sbp", "--target", "127.0.0.1:1", option, text)
    assert re.fullmatch(rf"{option}: expected .+, got an empty text", line)


def test_an_empty_program_is_no_client() -> None:
    assert refused("sbp", "--client", "--", "") == "--client: expected a program after --, got an empty text"


@pytest.mark.parametrize("words", [("--target", "127.0.0.1:1"), ("-v",), ("--html", "x.html"), ("--list",)])
def test_compare_takes_no_options_before_it(words: tuple[str, ...], tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a.json", "b.json")]
    line = refused(*words, "compare", *names)
    assert line == "compare: expected right after conform; put options after compare"
