"""No text of a validation or network library reaches a user."""

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from tests.helpers.servers import wiretool
from wiretool.expectations import expectation, json_problem, toml_problem

SOURCE = Path(__file__).parent.parent / "src"
SAMPLE = Path(__file__).parent.parent / "captures" / "sbp" / "pd_heartbeat.pcap"


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("Input should be greater than or equal to 1", "expected 1 or more"),
        ("Input should be less than or equal to 64", "expected 64 or less"),
        ("Input should be greater than 0", "expected more than 0"),
        ("Input should be a valid integer, unable to parse string as an integer", "expected a whole number"),
        ("Input should be 'text' or 'json'", "expected 'text' or 'json'"),
        ("Field required", "missing; expected a value"),
        ("path 'secret.pcap' is not readable", "secret.pcap: permission denied"),
        ("file 'x' is not readable", "x: permission denied"),
        ("1001 is not in the range 1 to 1000.", "expected 1 to 1000"),
        ("65 is not in the range 1 to 64.", "expected 1 to 64"),
        ("0 is not in the range at least 1.", "expected 1 or more"),
        ("2 is not in the range at most 1.", "expected 1 or less"),
        ("-1 is not in the range at least 0.", "expected 0 or more"),
        ("9 is not in the range at most 8.", "expected 8 or less"),
        ("0.0 is not in the range x>0.", "expected more than 0"),
        ("'x' is not a valid int range.", "expected a whole number"),
        ('"it\'s" is not a valid int.', "expected a whole number"),
        ("Invalid value for '--rate': 'x' is not a valid float.", "Invalid value for '--rate': expected a number"),
        ("the name is empty", "the name is empty"),
    ],
)
def test_what_a_library_says_is_said_in_our_words(said: str, ours: str) -> None:
    assert expectation(said) == ours


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "--appenders", "0"], "wiretool bench: invalid value for '--appenders': expected 1 to 28000"),
        (["bench", "--batch", "x"], "wiretool bench: invalid value for '--batch': expected a whole number"),
        (["serve", "sbp", "--seed", "x"], "wiretool serve: invalid value for '--seed': expected a whole number"),
    ],
)
def test_a_wrong_option_is_told_in_our_words(words: list[str], said: str) -> None:
    ended = wiretool(*words)
    assert ended.returncode == 2
    assert ended.stderr == f"{said}; see {said.split(':')[0]} --help\n"


def test_an_address_that_is_not_here_is_told_as_the_system_does() -> None:
    ended = wiretool("serve", "sbp", "--listen", "203.0.113.7:1000")
    assert ended.returncode == 4
    assert ended.stderr == "wiretool: cannot listen on 203.0.113.7:1000 (sbp): Cannot assign requested address\n"


# -- JSON and TOML -----------------------------------------------------------------------------------------------------


class Item(msgspec.Struct, forbid_unknown_fields=True):
    """A value inside another one."""

    name: str = ""
    size: Annotated[int, msgspec.Meta(ge=0)] | None = None
    kind: Literal["a", "b"] = "a"
    pair: Annotated[list[float], msgspec.Meta(min_length=2)] | None = None
    by_name: dict[str, bool] = {}


class Content(msgspec.Struct):
    """The expected content of a file."""

    items: list[Item]


def error_of(read: Callable[[], Any]) -> Exception:
    """Return what a library raises."""
    with pytest.raises((ValueError, RecursionError)) as caught:
        read()
    return caught.value


def in_items(text: str) -> str:
    return f'{{"items": [{{{text}}}]}}'


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("", "not JSON: it ends early"),
        ('{"items": [', "not JSON: it ends early"),
        ("nope", "not JSON: unexpected byte 4"),
        ('{"items": []} x', "not JSON: unexpected byte 15"),
        ("[]", "expected an object, got a list"),
        ("{}", "field items is missing"),
        (in_items('"name": 1'), "field items[0].name: expected text, got a whole number"),
        (in_items('"truncated": 1'), "field items[0].truncated is unknown"),
        (in_items('"size": -1'), "field items[0].size: expected a whole number >= 0"),
        (in_items('"size": "x"'), "field items[0].size: expected a whole number or null, got text"),
        (in_items('"more": 1'), "field items[0].more is unknown"),
        (in_items('"kind": "c"'), "field items[0].kind: unknown value 'c'"),
        (in_items('"pair": [1]'), "field items[0].pair: expected a list of length >= 2"),
        (in_items('"by_name": {"x": 1}'), "field items[0].by_name[...]: expected true or false, got a whole number"),
    ],
)
def test_json_that_does_not_fit_is_told_in_our_words(text: str, ours: str) -> None:
    assert json_problem(error_of(lambda: msgspec.json.decode(text, type=Content))) == ours


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (b"", "not JSON: expected a value at character 1"),
        (b'{"a": 1,}', "not JSON: "),
        (b'{"a" 1}', "not JSON: expected a colon at character 6"),
        (b"[1 2]", "not JSON: expected a comma at character 4"),
        (b'["x', "not JSON: a text without its closing quote at character 2"),
        (b"1 2", "not JSON: more text after the value at character 3"),
        (b'"\xff"', "not UTF-8"),
        (b"[" * 1_000_000, "not JSON: nested too deeply"),
    ],
)
def test_text_that_is_not_json_is_told_in_our_words(text: bytes, ours: str) -> None:
    assert json_problem(error_of(lambda: json.loads(text))).startswith(ours)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("a = 1\nb = nope\n", "line 2, column 5: not TOML: expected a value"),
        ("a =", "end of the file: not TOML: expected a value"),
        ("a = 1\na = 2", "end of the file: not TOML: a key that has a value already"),
        ("[a]\n[a]", "line 2, column 3: not TOML: a table that is declared already"),
        ('a = "x\\q"', "line 1, column 9: not TOML: an unknown escape"),
        ("[[x", "end of the file: not TOML: expected the closing bracket of a table"),
        ("a = " + "[" * 100_000, "not TOML: nested too deeply"),
    ],
)
def test_text_that_is_not_toml_is_told_in_our_words(text: str, ours: str) -> None:
    assert toml_problem(error_of(lambda: tomllib.loads(text))) == ours


def test_other_words_of_a_library_are_not_shown() -> None:
    assert json_problem(ValueError("Exceeds the limit (4300 digits) for integer string conversion")) == "not JSON"
    assert json_problem(ValueError("Expected a `thing` - at `$.x`")) == "field x: expected another value"


#: Whoever catches one of these does not show its text.
FOREIGN = {"DecodeError", "ValidationError", "MsgspecError", "TOMLDecodeError", "JSONDecodeError"}


def foreign_handlers(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Yield the handlers of errors of msgspec, tomllib and json, by their names or by the calls before them."""
    for attempt in ast.walk(tree):
        if not isinstance(attempt, ast.Try):
            continue
        calls = re.search(r"\b(json|msgspec|tomllib)\.", "\n".join(map(ast.unparse, attempt.body)))
        for handler in attempt.handlers:
            caught = "" if handler.type is None else ast.unparse(handler.type)
            names = set(re.findall(r"(?:msgspec|tomllib|json)\.(\w+)|(JSONDecodeError)", caught))
            is_foreign = bool({name for pair in names for name in pair} & FOREIGN)
            if handler.name and (is_foreign or (calls and re.search(r"\b(ValueError|RecursionError)\b", caught))):
                yield handler


def shown_in(handler: ast.ExceptHandler) -> list[int]:
    """Return the lines of a handler in which the text of its error becomes a part of another one."""
    found = []
    for node in ast.walk(handler):
        if isinstance(node, ast.FormattedValue):
            value = node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"str", "repr"}:
            value = node.args[0]
        else:
            continue
        if isinstance(value, ast.Name | ast.Attribute) and ast.unparse(value).split(".")[0] == handler.name:
            found.append(node.lineno)
    return found


def test_a_shown_text_is_noticed() -> None:
    for body, caught in (("read()", "(msgspec.DecodeError, RecursionError)"), ("json.loads(text)", "ValueError")):
        code = f"try:\n  {body}\nexcept {caught} as err:\n  raise Bad(f'damaged: {{err}}') from err"
        assert [line for handler in foreign_handlers(ast.parse(code)) for line in shown_in(handler)] == [4]


def test_no_text_of_a_library_that_reads_json_or_toml_is_shown() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for handler in foreign_handlers(ast.parse(path.read_text()))
        for line in shown_in(handler)
    ]
    assert found == []


# -- exit codes of files that are no captures --------------------------------------------------------------------------

#: Commands that read reports or lists, with the file in place of FILE.
READING = {
    "conform compare": ["conform", "compare", "FILE", "FILE"],
    "conform compare --html": ["conform", "compare", "FILE", "FILE", "FILE", "--html", "matrix.html"],
    "conform --expect": ["conform", "sbp", "--case", "sbp/ping/*", "--expect", "FILE"],
    "bench compare": ["bench", "compare", "FILE", "FILE"],
    "replay --expect": ["replay", str(SAMPLE), "--speed", "max", "--expect", "FILE"],
    "diff --expect": ["diff", str(SAMPLE), str(SAMPLE), "--expect", "FILE"],
}


def ended_with(command: str, path: Path) -> subprocess.CompletedProcess[str]:
    return wiretool(*(str(path) if word == "FILE" else word for word in READING[command]))


@pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', "a = 1", "\x00"])
@pytest.mark.parametrize("command", READING)
def test_a_file_of_another_form_is_bad_input(command: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.file"
    path.write_text(content)
    ended = ended_with(command, path)
    assert (ended.returncode, ended.stdout) == (3, "")
    last = ended.stderr.splitlines()[-1]
    assert f"{path}: " in last
    assert "`" not in last.replace("`wiretool conform --json`", "")


@pytest.mark.parametrize("command", READING)
def test_a_missing_file_is_wrong_usage(command: str, tmp_path: Path) -> None:
    ended = ended_with(command, tmp_path / "none")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert str(tmp_path / "none") in ended.stderr.splitlines()[-1]
    assert ended_with(command, tmp_path).returncode == 2  # a folder


def test_a_list_of_known_failures_is_read_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("a =")
    ended = wiretool("conform", "sbp", "--target", "127.0.0.1:1", "--expect", str(tmp_path / "bad.toml"))
    assert ended.returncode == 3  # and not 4, as for a server that is not there
