"""Options of `wiretool fuzz` that are refused: those without an effect, and files that cannot be what they should."""

from pathlib import Path
from typing import Any

import pytest
from tests.helpers.servers import wiretool

from wiretool.commands.fuzz.options import FuzzOptions, check_options
from wiretool.errors import InputError, UsageError
from wiretool.fuzz.baseline import read_baseline


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
        ({"targets": ["127.0.0.1:0"]}, "--target 127.0.0.1:0: no server has port 0; expected the port of the server"),
    ],
)
def test_options_without_an_effect_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_options(FuzzOptions("sbp", **given))
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


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
