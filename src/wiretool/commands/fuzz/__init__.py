"""`wiretool fuzz`: send mutated messages to a server or a client, and reduce each failure to a test case."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import KeyLogFile, PortNames, Seed, duration_parser
from wiretool.commands.target_options import (
    JsonFile,
    JunitFile,
    SarifFile,
    ServerCommand,
    file_parser,
    folder_parser,
    text_parser,
)

_FILE = {"metavar": "FILE", "show_default": False}


def fuzz(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="protocol to fuzz")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", show_default=False, help="command of a client, after --client --"),
    ] = None,
    seeds: Annotated[
        list[Path] | None,
        typer.Option(
            "--seeds",
            parser=file_parser("--seeds"),
            metavar="FILE",
            show_default=False,
            help="also start from the sessions in this capture, or the messages in this .json file; "
            "with --replay, load the data of the capture into the mock first; repeatable",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            parser=folder_parser("--corpus"),
            metavar="FOLDER",
            show_default=False,
            help="start from the sequences in this folder too, and add those that show something new",
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ENDPOINT=]ADDRESS",
            show_default="the built-in mock in memory",
            help="server to fuzz",
        ),
    ] = None,
    command: ServerCommand = None,
    sockets: Annotated[bool, typer.Option("--sockets", help="fuzz the built-in mock over loopback")] = False,
    mutant: Annotated[
        str | None,
        typer.Option(
            parser=text_parser("--mutant", "the name of a mutant"),
            metavar="NAME",
            show_default=False,
            help="fuzz this mutant of the built-in mock",
        ),
    ] = None,
    differs: Annotated[
        bool,
        typer.Option("--differs", help="also report answers to the same bytes that differ from the built-in mock's"),
    ] = False,
    client: Annotated[bool, typer.Option("--client", help="fuzz a client: the command after --")] = False,
    self_: Annotated[
        bool, typer.Option("--self", help="fuzz wiretool's own decoder: decode mutated captures with both engines")
    ] = False,
    allow_remote: Annotated[
        list[str] | None,
        typer.Option(
            parser=text_parser("--allow-remote", "a host"),
            metavar="HOST",
            show_default=False,
            help="allow this other machine as a target; at most 100 sessions a second, for 10 minutes",
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            parser=text_parser("--case", "the name of a mutation or a glob"),
            metavar="GLOB",
            show_default=False,
            help="only these mutations, such as number/*; !GLOB excludes",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="list the mutations and run none")] = False,
    time: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--time", most=86_400 * 7),
            metavar="TIME",
            show_default="60s, unless --runs is given",
            help="end the run after this time",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", show_default=False, help="end the run after this many sequences"),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--timeout", most=3600),
            metavar="TIME",
            show_default="2s, 30s with --client",
            help="time for one reply; with --client, for one run of the client",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            show_default="32, 1 with --client",
            help="sequences, or runs of the client, at the same time",
        ),
    ] = None,
    replay: Annotated[
        list[Path] | None,
        typer.Option(
            parser=folder_parser("--replay"),
            metavar="FOLDER",
            show_default=False,
            help="run the finding in this folder again, or all findings in it; repeatable",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            parser=folder_parser("--output"),
            metavar="FOLDER",
            show_default=False,
            help="folder for findings; without it, wiretool-findings",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(parser=file_parser("--baseline"), **_FILE, help="known findings, which do not fail the run"),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(parser=file_parser("--write-baseline"), **_FILE, help="write the findings to a baseline file"),
    ] = None,
    junit: JunitFile = None,
    json: JsonFile = None,
    sarif: SarifFile = None,
    port: PortNames = None,
    keylog: KeyLogFile = None,
    seed: Seed = 0,
) -> None:
    """Fuzz a server or a client: send mutated messages, and write a minimal test case for each bug.

    Sessions come from the conformance cases, from files with --seeds, and from a folder with --corpus; `wiretool
    fuzz corpus` reduces and joins such folders. A client runs again and again against
    the built-in mock, whose replies are mutated. Exit code 1 with new findings, 2 with wrong options, 3 when no seed
    decodes or an input file is damaged, 4 when the server is gone or the client never connects.
    """
    from wiretool.commands.fuzz.options import FuzzOptions, Reports
    from wiretool.commands.fuzz.run import run_fuzz

    options = FuzzOptions(
        protocol=protocol,
        arguments=arguments or (),
        is_client=client,
        is_self=self_,
        seeds=seeds or (),
        corpus=corpus,
        targets=target or (),
        command=command,
        uses_sockets=sockets,
        mutant=mutant,
        compares_answers=differs,
        allowed_hosts=allow_remote or (),
        case_globs=case or (),
        only_lists=list_,
        time_s=time,
        runs=runs,
        given_timeout_s=timeout,
        given_jobs=jobs,
        replay=replay or (),
        output=output or Path("wiretool-findings"),
        baseline=baseline,
        reports=Reports(junit, json, sarif, write_baseline),
        ports=port or (),
        keylog=keylog,
        seed=seed,
    )
    run_fuzz(options)
