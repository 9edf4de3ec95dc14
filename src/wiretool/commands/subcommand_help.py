"""Subcommands that the parser would take for an argument of the command before them."""

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from wiretool.commands.narrow_help import fit_help

HELP_OPTIONS = ("--help", "-h")


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether the words of a command line have the help option."""
    return any(word in HELP_OPTIONS for word in words)


class AddressedGroup(TyperGroup):
    """A group of which an argument stands before the name of the command: `add --help` needs no such argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        command = self.commands.get(args[0]) if args else None
        if command is not None and asks_for_help(args[1:]):
            command.make_context(args[0], args[1:], parent=ctx)
        return super().parse_args(ctx, args)


class ConformCommand(TyperCommand):
    """The command `conform`: `compare` in the place of its protocol is a command of its own."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        from wiretool.commands.conform.compare import compare
        from wiretool.commands.conform.options import COMPARE

        if args[:1] != [COMPARE]:
            return super().make_context(info_name, args, parent, **extra)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(COMPARE)(compare)
        command = typer.main.get_command(app)
        fit_help(command)
        return command.make_context(f"{info_name} {COMPARE}", args[1:], parent, **extra)
