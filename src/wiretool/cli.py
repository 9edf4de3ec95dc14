"""The Typer app, and the one place that turns an error into a line and an exit code."""

import os
import re
import signal
import sys
import traceback
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from wiretool import __version__
from wiretool.commands.bench import app as bench
from wiretool.commands.conform import conform
from wiretool.commands.control import control
from wiretool.commands.decode import decode
from wiretool.commands.diff import diff
from wiretool.commands.encode import encode
from wiretool.commands.explain import explain
from wiretool.commands.export import export
from wiretool.commands.extcap import extcap
from wiretool.commands.fuzz import fuzz
from wiretool.commands.narrow_help import fit_help
from wiretool.commands.pipeline import app as pipeline
from wiretool.commands.replay import replay
from wiretool.commands.serve import serve
from wiretool.commands.slice import slice_
from wiretool.commands.stats import stats
from wiretool.commands.subcommand_help import ConformCommand, FuzzCommand, show_plain_parameters
from wiretool.commands.tap import tap
from wiretool.errors import OutputError, Stopped, WiretoolError, system_reason
from wiretool.processes import signal_name

EXIT_DEFECT = 70
EXIT_MISUSED = 2
ISSUES = "https://github.com/wiretool/wiretool/issues"


#: Typer's message about a command that does not exist; suggestions come after it.
_NO_COMMAND = re.compile(r"No such command '(.*?)'\.")
#: What Typer raises for a command line that it does not understand.
Misuse: type[Exception] = typer.BadParameter.__mro__[1]


class Guarded(TyperGroup):
    """Runs a command; whatever it raises becomes what the shell is told."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        show_plain_parameters(self)
        fit_help(self)

    def main(self, *args: Any, **options: Any) -> NoReturn:
        try:
            sys.exit(super().main(*args, **options | {"standalone_mode": False}))
        except Misuse as err:
            sys.exit(_misused(err, "wiretool"))
        except OSError as err:
            if not _is_of_help(err):
                raise
            _forget_stdout()
            sys.exit(_refused(OutputError(f"cannot write stdout: {system_reason(err)}")))

    def invoke(self, ctx: Any) -> Any:
        refusal = ""
        try:
            return super().invoke(ctx)
        except WiretoolError as err:
            refusal = str(err)
            raise typer.Exit(_refused(err)) from err
        except Misuse as err:
            raise typer.Exit(_misused(err, f"wiretool {ctx.invoked_subcommand or ''}".rstrip())) from err
        except BrokenPipeError as err:
            _forget_stdout()
            raise typer.Exit(0) from err
        except KeyboardInterrupt as err:
            raise typer.Exit(_stopped(err)) from err
        finally:
            _report_broken_plugins(refusal)


app = typer.Typer(
    cls=Guarded,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (decode, stats, encode, explain, serve, tap, replay, diff):
    app.command()(command)
app.command(cls=FuzzCommand)(fuzz)
app.command(cls=ConformCommand)(conform)
app.command("slice")(slice_)
app.command()(extcap)
app.add_typer(control, name="control")
app.add_typer(export, name="export")
app.add_typer(bench, name="bench")
app.add_typer(pipeline, name="pipeline")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wiretool {__version__}")
        raise typer.Exit


@app.callback()
def wiretool(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Dissect the wire protocols of streaming storage: Pravega, Streaming Batch Protocol, Data Highway Offramp."""


def main() -> None:
    """Run the command line; an unexpected exception is a bug in wiretool and is shown with its traceback."""
    try:
        app(prog_name="wiretool")
    except Exception as err:  # noqa: BLE001  (the last resort: everything expected has been dealt with)
        traceback.print_exc()
        plugin = _faulty_plugin(err)
        where = f"the plugin of the protocol {plugin!r}" if plugin else "wiretool"
        whom = "to its authors with the lines above" if plugin else f"with the lines above: {ISSUES}"
        print(f"wiretool: this is a bug in {where}; please report it {whom}", file=sys.stderr)
        sys.exit(EXIT_DEFECT)


def _report_broken_plugins(refusal: str) -> None:
    """Report each plugin that could not be loaded in a line, where the command has looked for protocols at all.

    The one for which the command was refused has already been reported.
    """
    registry = sys.modules.get("wiretool.protocols.base.registry")
    for why in registry.broken_plugins() if registry is not None else ():
        from wiretool.sinks.stderr import report

        if why != refusal:
            report(f"wiretool: warning: {why}")


def _faulty_plugin(err: Exception) -> str:
    """Return the protocol of the plugin whose code failed; empty where it was that of wiretool."""
    registry = sys.modules.get("wiretool.protocols.base.registry")
    for frame, _ in reversed(list(traceback.walk_tb(err.__traceback__))):
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("wiretool.") or registry is None:
            return ""
        if plugin := str(registry.plugin_with(module)):
            return plugin
    return ""


def _refused(err: WiretoolError) -> int:
    from wiretool.sinks.stderr import report

    report(f"wiretool: {err}")
    return err.exit_code


def _misused(err: Any, command: str) -> int:
    """What is wrong with the words of a command, in one line; the whole help where there are none."""
    from wiretool.expectations import expectation
    from wiretool.sinks.stderr import report

    if type(err).__name__ == "NoArgsIsHelpError":
        err.show()
        return EXIT_MISUSED
    command = err.ctx.command_path.translate({ord("{"): "", ord("}"): ""}) if err.ctx is not None else command
    message = _unknown_name(err) or err.format_message().replace("Value error, ", "")
    why = expectation(" ".join(message.split()).removesuffix("."))
    report(f"{command}: {why[:1].lower()}{why[1:]}; see {command} --help")
    return EXIT_MISUSED


def _unknown_name(err: Any) -> str:
    """Return that no option or command has a name, with the nearest one; empty for any other misuse."""
    from wiretool.codec.jsonform import nearest

    command = err.ctx.command if err.ctx is not None else None
    if type(err).__name__ == "NoSuchOption":
        known = [name for param in command.params for name in param.opts] if command is not None else []
        return f"no such option: {err.option_name}{nearest(err.option_name, known)}"
    unknown = _NO_COMMAND.match(err.format_message())
    if unknown is None:
        return ""
    return f"no such command: {unknown[1]}{nearest(unknown[1], getattr(command, 'commands', {}))}"


def _stopped(err: KeyboardInterrupt) -> int:
    stopped = err if isinstance(err, Stopped) else Stopped(signal.SIGINT)
    if not stopped.is_told:
        print(f"wiretool: stopped by {signal_name(stopped.number)}", file=sys.stderr)
    return stopped.exit_code


def _is_of_help(err: OSError) -> bool:
    """Whether a page of help could not be written: our own output has its own words for that."""
    *_, (frame, _) = traceback.walk_tb(err.__traceback__)
    return frame.f_code is typer.echo.__code__


def _forget_stdout() -> None:
    """Nobody can read any more: let nothing be flushed into the closed pipe, or onto the full disk, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
