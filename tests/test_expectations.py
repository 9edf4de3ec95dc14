"""No text of a validation or network library reaches a user."""

import pytest

from tests.helpers.servers import wiretool
from wiretool.expectations import expectation


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("Input should be greater than or equal to 1", "expected 1 or more"),
        ("Input should be less than or equal to 64", "expected 64 or less"),
        ("Input should be greater than 0", "expected more than 0"),
        ("Input should be a valid integer, unable to parse string as an integer", "expected a whole number"),
        ("Input should be 'text' or 'json'", "expected 'text' or 'json'"),
        ("Field required", "missing; expected a value"),
        ("the name is empty", "the name is empty"),
    ],
)
def test_what_a_library_says_is_said_in_our_words(said: str, ours: str) -> None:
    assert expectation(said) == ours


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "--appenders", "0"], "wiretool bench: invalid value for '--appenders': expected 1 or more"),
        (["bench", "--batch", "x"], "wiretool bench: invalid value for '--batch': expected a whole number"),
        (["serve", "sbp", "--seed", "x"], "wiretool serve: invalid value for '--seed': expected a whole number"),
    ],
)
def test_a_wrong_option_is_told_in_our_words(words: list[str], said: str) -> None:
    ended = wiretool(*words)
    assert ended.returncode == 2
    assert ended.stderr == f"{said}; see {said.split(':')[0]} --help\n"


def test_an_address_that_is_not_here_is_told_as_the_system_does() -> None:
    ended = wiretool("serve", "offramp", "--listen", "203.0.113.7:1000")
    assert ended.returncode == 4
    assert ended.stderr == "wiretool: cannot listen on 203.0.113.7:1000 (offramp): Cannot assign requested address\n"
