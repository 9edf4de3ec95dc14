"""`wiretool control ADDRESS ...`: steer a server or tap that was started with --control."""

import json
from typing import Annotated, Any

import typer

from wiretool.commands.options import duration_parser
from wiretool.commands.subcommand_help import AddressedGroup

RuleId = Annotated[
    int, typer.Argument(metavar="ID", show_default=False, help="number of the rule, as listed by `rules`")
]

control = typer.Typer(
    cls=AddressedGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Control a server or tap that was started with --control ADDRESS.",
)


@control.callback()
def to(
    ctx: typer.Context,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", show_default=False, help="HOST:PORT of the control API")],
) -> None:
    """Control a server or tap that was started with --control ADDRESS."""
    from wiretool.net.addresses import address_from
    from wiretool.net.serving.control_client import ControlClient

    ctx.obj = ControlClient(address_from(address.removeprefix("http://").rstrip("/"), option="ADDRESS"))


def show(answer: Any) -> None:
    """An answer as JSON: a line for each element of a list."""
    for each in answer if isinstance(answer, list) else [answer]:
        if each is not None:
            print(json.dumps(each))


@control.command()
def connections(ctx: typer.Context) -> None:
    """List the open connections."""
    show(ctx.obj.ask("GET", "/connections"))


@control.command()
def messages(ctx: typer.Context) -> None:
    """Count the messages seen so far, by side and name."""
    show(ctx.obj.ask("GET", "/messages"))


@control.command()
def rules(ctx: typer.Context) -> None:
    """List the fault rules with their number of hits."""
    show(ctx.obj.ask("GET", "/rules"))


@control.command()
def add(
    ctx: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="RULE", show_default=False, help="fault rule, as for serve --fault")],
) -> None:
    """Add a fault rule."""
    show(ctx.obj.ask("POST", "/rules", {"rule": rule}))


@control.command()
def remove(ctx: typer.Context, rule: RuleId) -> None:
    """Remove a fault rule."""
    show(ctx.obj.ask("DELETE", f"/rules/{rule}"))


@control.command()
def wait(
    ctx: typer.Context,
    rule: RuleId,
    count: Annotated[int, typer.Option(min=1, metavar="N", help="number of hits to wait for")] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            parser=duration_parser("--timeout", most=600),
            metavar="TIME",
            show_default="10s",
            help="maximum time to wait",
        ),
    ] = 10.0,
) -> None:
    """Wait until a fault rule was hit."""
    show(ctx.obj.ask("POST", f"/rules/{rule}/wait", count=count, timeout_s=timeout, patience_s=timeout))


@control.command()
def scale(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(metavar="SCOPE/STREAM", show_default=False, help="Pravega stream")],
    segments: Annotated[
        int, typer.Argument(metavar="N", min=1, show_default=False, help="new number of segments, at least 1")
    ],
) -> None:
    """Split or merge segments of a stream until there are N."""
    from wiretool.errors import UsageError

    scope, slash, name = stream.partition("/")
    if not (scope and slash and name):
        raise UsageError(f"{stream!r}: wants SCOPE/STREAM")
    show(ctx.obj.ask("POST", "/operations/scale", {"scope": scope, "stream": name, "segments": segments}))


@control.command()
def seal(
    ctx: typer.Context,
    segment: Annotated[str, typer.Argument(metavar="SEGMENT", show_default=False, help="full name of the segment")],
) -> None:
    """Seal a Pravega segment."""
    show(ctx.obj.ask("POST", "/operations/seal", {"segment": segment}))


@control.command()
def operate(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="operation of the protocol's server")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="arguments of the operation, as an object")] = "{}",
) -> None:
    """Call another operation of the protocol's server."""
    from wiretool.errors import UsageError
    from wiretool.expectations import json_problem

    try:
        told = json.loads(arguments)
    except (ValueError, RecursionError) as err:
        raise UsageError(f"{arguments[:100]!r}: {json_problem(err)}; expected an object") from err
    show(ctx.obj.ask("POST", f"/operations/{name}", told))


@control.command()
def restart(ctx: typer.Context) -> None:
    """Reset every connection and lose all state."""
    show(ctx.obj.ask("POST", "/restart"))


@control.command()
def cut(
    ctx: typer.Context,
    connection: Annotated[
        int, typer.Argument(metavar="CONNECTION", show_default=False, help="number of the connection")
    ],
    abort: Annotated[bool, typer.Option("--abort", help="reset the connection instead of closing it")] = False,
) -> None:
    """Close a connection."""
    show(ctx.obj.ask("DELETE", f"/connections/{connection}", abort=abort))
