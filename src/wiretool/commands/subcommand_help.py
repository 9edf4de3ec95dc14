"""Subcommands that the parser would take for an argument of the command before them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from wiretool.commands.narrow_help import fit_help

HELP_OPTIONS = ("--help", "-h")


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether the words of a command line have the help option."""
    return any(word in HELP_OPTIONS for word in words)


class PlainArgument(TyperArgument):
    """An argument that help shows by its name alone, without its type in Python or further braces and dots."""

    def display_type_rich(self, ctx: Any) -> str | None:
        return None

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the name as the command spells it, in brackets where the argument may be left out."""
        if self.metavar is None:
            return super().get_usage_pieces(ctx)
        return [self.metavar if self.required or self.metavar.startswith("[") else f"[{self.metavar}]"]


def range_words(least: float | None, most: float | None) -> str:
    """Return the range of a number, as `1 to 64`; empty without bounds."""
    if least is None:
        return "" if most is None else f"at most {most}"
    return f"at least {least}" if most is None else f"{least} to {most}"


def show_plain_parameters(command: Any) -> None:
    """Let the help of a command, and of those under it, show no types of arguments, and ranges in words."""
    for parameter in command.params:
        if type(parameter) is TyperArgument:
            parameter.__class__ = PlainArgument
        if hasattr(parameter.type, "_describe_range"):  # Typer writes `1<=x<=64`, and no option is called x
            words = range_words(parameter.type.min, parameter.type.max)
            parameter.type._describe_range = partial(str, words)
    for each in getattr(command, "commands", {}).values():
        show_plain_parameters(each)


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
        return _context_of(app, f"{info_name} {COMPARE}", args[1:], parent, extra)


class FuzzCommand(TyperCommand):
    """The command `fuzz`: `corpus` in the place of its protocol is a group of commands of its own."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        from wiretool.commands.fuzz.corpus import app
        from wiretool.commands.fuzz.options import CORPUS

        if args[:1] != [CORPUS]:
            return super().make_context(info_name, args, parent, **extra)
        return _context_of(app, f"{info_name} {CORPUS}", args[1:], parent, extra)


def _context_of(app: typer.Typer, name: str, args: list[str], parent: Any, extra: Mapping[str, Any]) -> Any:
    """Return the context of a command that the parser does not know as one."""
    command = typer.main.get_command(app)
    show_plain_parameters(command)
    fit_help(command)
    return command.make_context(name, args, parent, **extra)
