"""Options of `wiretool fuzz` that are refused: those without an effect, and files that cannot be what they should."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.servers import wiretool
from wiretool.commands.fuzz.options import FuzzOptions, check_options
from wiretool.errors import InputError, UsageError
from wiretool.fuzz.findings.baseline import read_baseline


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ports": ["foo"]}, "--port 'foo': not a port with its protocol"),
        ({"ports": ["123=foo"]}, "no protocol is called 'foo'"),
        ({"ports": ["99999=sbp"]}, "--port '99999=sbp': not a port with its protocol"),
        ({"ports": ["1234=sbp"]}, "--port: names the protocol of a port in captures; requires --seeds"),
        ({"is_self": True, "corpus": Path("none")}, "--self and --corpus: "),
        ({"is_self": True, "given_jobs": 4}, "--self and --jobs: "),
        ({"is_self": True, "given_timeout_s": 1.0}, "--self and --timeout: "),
        ({"given_jobs": 4}, "--jobs: sequences in memory run one after the other; expected --sockets, "),
        ({"given_timeout_s": 1.0}, "--timeout: in memory no time passes while a reply is awaited; expected --sockets"),
        ({"targets": ["127.0.0.1:0"]}, "--target 127.0.0.1:0: no server has port 0; expected the port of the server"),
    ],
)
def test_options_without_an_effect_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_options(FuzzOptions("sbp", **given))
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


def test_options_of_sockets_are_taken_where_a_finding_names_its_target(tmp_path: Path) -> None:
    for given in ({"uses_sockets": True}, {"targets": ["127.0.0.1:1"]}, {"replay": [tmp_path]}):
        check_options(FuzzOptions("sbp", given_jobs=4, given_timeout_s=1.0, **given))


@pytest.mark.parametrize("option", ["--json", "--seeds", "--corpus", "--replay", "--output"])
def test_an_option_without_its_value_does_not_take_the_next_option(option: str) -> None:
    ended = wiretool("fuzz", "sbp", option, "-o", "x")
    kind = "file" if option in ("--json", "--seeds") else "folder"
    expected = f"wiretool: {option}: expected the name of a {kind}, got the option -o; ./-o is a path\n"
    assert (ended.returncode, ended.stderr) == (2, expected)


def test_corpus_without_a_command_prints_its_help() -> None:
    ended = wiretool("fuzz", "corpus")
    assert ended.returncode == 2
    assert "Usage: wiretool fuzz corpus" in ended.stdout + ended.stderr
    assert "minimise" in ended.stdout + ended.stderr


def test_ports_of_captures_are_taken() -> None:
    options = FuzzOptions("sbp", seeds=[Path("a.pcap")], ports=["1234=sbp"])
    check_options(options)
    assert (options.timeout_s, options.jobs) == (2.0, 32)


def test_a_baseline_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    """Exit code 2 as for all other missing files; 3 is for their content."""
    for path, message in {
        tmp_path / "none.json": "none.json: no such file; --write-baseline writes it",
        tmp_path: f"{tmp_path.name}: a folder; expected a file that --write-baseline wrote",
    }.items():
        with pytest.raises(UsageError) as caught:
            read_baseline(path, "sbp")
        assert not isinstance(caught.value, InputError)
        assert str(caught.value) == str(path.parent / message)


def test_a_folder_without_sequences_is_not_minimised(tmp_path: Path) -> None:
    (tmp_path / "001-died-hello").mkdir()
    ended = wiretool("fuzz", "corpus", "minimise", str(tmp_path))
    assert ended.returncode == 3
    assert ended.stderr == f"wiretool: {tmp_path}: no sequence in it; expected a folder that `fuzz --corpus` wrote\n"
    assert ended.stdout == ""
