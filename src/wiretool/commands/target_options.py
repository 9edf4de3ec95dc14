"""Options that commands with a target share: the server, the machines that are allowed, and reports in files."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from wiretool.errors import UsageError
from wiretool.storage.url_path import is_url


def text_parser(option: str, expected: str) -> Callable[[str], str]:
    """Return a parser that refuses an empty text of an option, as from an unset variable of the shell."""

    def parse(text: str) -> str:
        if not text.strip():
            raise UsageError(f"{option}: expected {expected}, got an empty text")
        return text

    return parse


def refuse_empty(ctx: typer.Context) -> None:
    """UsageError for an option that is given an empty text, as from an unset variable of the shell."""
    for option in ctx.command.params:
        value = ctx.params.get(option.name or "")
        source = ctx.get_parameter_source(option.name or "")
        is_empty = value == "" or (isinstance(value, list | tuple) and "" in value)
        if is_empty and source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"{option.opts[0]}: the text is empty; expected a value")


def file_parser(option: str) -> Callable[[str], Path]:
    """Return a parser of the name of a file for an option, as `_path_parser` does."""
    return _path_parser(option, "the name of a file")


def folder_parser(option: str) -> Callable[[str], Path]:
    """Return a parser of the name of a folder for an option, as `_path_parser` does."""
    return _path_parser(option, "the name of a folder")


def _path_parser(option: str, expected: str) -> Callable[[str], Path]:
    """Return a parser of a path that refuses an empty one, which is the current folder, and the next option."""
    parse = text_parser(option, expected)

    def parse_path(text: str) -> Path:
        if is_url(text):
            raise UsageError(f"{option} {text}: a URL; expected a local path")
        if text.startswith("-") and text != "-":
            raise UsageError(f"{option}: expected {expected}, got the option {text}; ./{text} is a path")
        return Path(parse(text))

    return parse_path


ServerCommand = Annotated[
    str | None,
    typer.Option(
        parser=text_parser("--command", "a program and its arguments"),
        metavar="COMMAND",
        show_default=False,
        help="start this command, which serves at --target; restart it if it exits; stop it after the run",
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        parser=text_parser("--allow-remote", "a host"),
        metavar="HOST",
        show_default=False,
        help="allow this other machine as a target",
    ),
]
JunitFile = Annotated[
    Path | None,
    typer.Option(parser=file_parser("--junit"), metavar="FILE", show_default=False, help="write a JUnit report"),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(parser=file_parser("--json"), metavar="FILE", show_default=False, help="write a JSON report"),
]
SarifFile = Annotated[
    Path | None,
    typer.Option(parser=file_parser("--sarif"), metavar="FILE", show_default=False, help="write a SARIF report"),
]
