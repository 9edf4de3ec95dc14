"""`wiretool conform`: does a server, a client or a capture follow the protocol?"""

from typing import Annotated

import typer

from wiretool.commands.options import Seed


def conform(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="the protocol to judge by")],
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", show_default=False, help="run these cases only, as pravega/append/*; !GLOB excludes"
        ),
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(metavar="LEVEL", show_default=False, help="must, should or observed; repeatable")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="list the cases and run none")] = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="run the cases against each defect of the mock and show what they find")
    ] = False,
    mutant: Annotated[str, typer.Option(metavar="NAME", help="put one defect into the built-in mock")] = "",
    jobs: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="cases that run at the same time")] = 1,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="show the conversation of every case")] = False,
    seed: Seed = 0,
) -> None:
    """Judge a server by the conformance cases of PROTOCOL; without a target the built-in mock.

    Exit code 1 when a case fails.
    """
    from wiretool.commands.conform.options import ConformOptions
    from wiretool.commands.conform.run import run_conform

    options = ConformOptions(
        protocol, case or (), level or (), list_, mutants, mutant, jobs=jobs, is_verbose=verbose, seed=seed
    )
    run_conform(options)
