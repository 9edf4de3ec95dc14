"""Options that several commands share: declared once, with the same help and checks."""

import inspect

import pytest

from wiretool.commands import target_options as shared
from wiretool.commands.conform import conform
from wiretool.commands.fuzz import fuzz
from wiretool.commands.replay import replay
from wiretool.errors import UsageError


@pytest.mark.parametrize(
    ("name", "declaration", "commands"),
    [
        ("command", shared.ServerCommand, (conform, fuzz)),
        ("junit", shared.JunitFile, (conform, fuzz)),
        ("json", shared.JsonFile, (conform, fuzz)),
        ("sarif", shared.SarifFile, (conform, fuzz)),
        ("allow_remote", shared.AllowedHosts, (conform, replay)),
    ],
)
def test_commands_share_a_declaration(name: str, declaration: object, commands: tuple[object, ...]) -> None:
    for command in commands:
        assert inspect.signature(command).parameters[name].annotation is declaration  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="--junit: expected the name of a file, got an empty text"):
        shared.file_parser("--junit")(text)
