"""`wiretool conform`: whether a server, a client or a capture follows the protocol."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import KeyLogFile, PortNames, RecordFile, Seed, duration_parser
from wiretool.commands.target_options import (
    AllowedHosts,
    JsonFile,
    JunitFile,
    SarifFile,
    ServerCommand,
    file_parser,
    text_parser,
)

_FILE = {"metavar": "FILE", "show_default": False}


def conform(
    protocol: Annotated[
        str,
        typer.Argument(metavar="PROTOCOL", show_default=False, help="protocol of the cases; `compare` for two reports"),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ARGUMENTS]...",
            show_default=False,
            help="captures after --capture, a command after --client --, two JSON reports after compare",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="[ENDPOINT=]ADDRESS", show_default="the built-in mock", help="server to judge"),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            parser=text_parser("--controller", "HOST:PORT"),
            metavar="ADDRESS",
            show_default=False,
            help="Pravega: the controller of the server",
        ),
    ] = None,
    command: ServerCommand = None,
    setup: Annotated[
        str | None,
        typer.Option(
            parser=text_parser("--setup", "the name of a setup"),
            metavar="NAME",
            show_default=False,
            help="configuration of the server; --list shows which one each case needs",
        ),
    ] = None,
    client: Annotated[bool, typer.Option("--client", help="judge a client: the command after --")] = False,
    capture: Annotated[bool, typer.Option("--capture", help="judge both sides of captures")] = False,
    allow_remote: AllowedHosts = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            parser=text_parser("--case", "the id of a case or a glob"),
            metavar="GLOB",
            show_default=False,
            help="only these cases, such as pravega/append/*; !GLOB excludes",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            parser=text_parser("--level", "must, should or observed"),
            metavar="LEVEL",
            show_default=False,
            help="must, should or observed; repeatable",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="list the cases and run none")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="cases that run at the same time")] = 1,
    timeout: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--timeout", most=3600),
            metavar="TIME",
            show_default="5s, 30s with --client",
            help="time for one reply; with --client, for one run of the client",
        ),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--deadline", most=86_400),
            metavar="TIME",
            show_default="ten times the time with the mock, at least 60s; none with --client",
            help="end the run after this time; ignored for the built-in mock",
        ),
    ] = None,
    expect: Annotated[
        Path | None, typer.Option(parser=file_parser("--expect"), **_FILE, help="known failures, TOML")
    ] = None,
    write_expect: Annotated[
        Path | None,
        typer.Option(parser=file_parser("--write-expect"), **_FILE, help="write the failures as such a file"),
    ] = None,
    allow_lenient: Annotated[
        bool, typer.Option("--allow-lenient", help="lenient verdicts do not fail the run")
    ] = False,
    format_: Annotated[str, typer.Option("--format", metavar="<text|json>", help="output format")] = "text",
    junit: JunitFile = None,
    json: JsonFile = None,
    sarif: SarifFile = None,
    html: Annotated[
        Path | None, typer.Option(parser=file_parser("--html"), **_FILE, help="write a page for the browser")
    ] = None,
    badge: Annotated[
        Path | None, typer.Option(parser=file_parser("--badge"), **_FILE, help="write a badge, SVG")
    ] = None,
    record: RecordFile = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="run the cases against each mutant of the mock; show which ones they find")
    ] = False,
    mutant: Annotated[
        str | None,
        typer.Option(
            parser=text_parser("--mutant", "the name of a mutant"),
            metavar="NAME",
            show_default=False,
            help="run against this mutant of the built-in mock",
        ),
    ] = None,
    port: PortNames = None,
    keylog: KeyLogFile = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="show the conversation of every case")] = False,
    seed: Seed = 0,
) -> None:
    """Judge a server, a client or captures by conformance cases.

    `wiretool conform compare A.json B.json` lists the cases that changed between two reports.
    Exit code 1 when a case fails or nothing was exercised, 2 for wrong options or unknown cases, 3 when the target uses
    another protocol or an input file is damaged, 4 when the target was never reached.
    """
    from wiretool.commands.conform.options import ConformOptions, Reports
    from wiretool.commands.conform.run import run_conform

    reports = Reports(format_, junit, json, sarif, html, badge, write_expect, is_verbose=verbose)
    options = ConformOptions(
        protocol=protocol,
        arguments=arguments or (),
        targets=target or (),
        controller=controller,
        command=command,
        setup=setup or "",
        is_client=client,
        is_capture=capture,
        allowed_hosts=allow_remote or (),
        case_globs=case or (),
        levels=level or (),
        only_lists=list_,
        jobs=jobs,
        timeout_s=timeout,
        deadline_s=deadline,
        expect=expect,
        allows_lenient=allow_lenient,
        reports=reports,
        record=record,
        tests_mutants=mutants,
        mutant=mutant,
        ports=port or (),
        keylog=keylog,
        seed=seed,
    )
    run_conform(options)
