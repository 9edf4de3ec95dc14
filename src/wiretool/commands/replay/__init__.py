"""`wiretool replay CAPTURE...`: send the requests of a recording to a server again, and compare its replies."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    CaptureFiles,
    FaultFile,
    FaultRules,
    KeyLogFile,
    MinJudged,
    OutputFile,
    PortNames,
    ProtocolName,
    RecordFile,
    ReportFormat,
    Seed,
    duration_parser,
    format_from,
    keys_from,
    where_from,
)
from wiretool.commands.target_options import AllowedHosts


def replay(
    captures: CaptureFiles = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ENDPOINT=]ADDRESS",
            show_default="a mock that replay starts",
            help="server to replay to",
        ),
    ] = None,
    controller: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Pravega: send the recorded controller calls to this address; with --target alone they are not sent",
        ),
    ] = "",
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ENDPOINT=]ADDRESS",
            show_default=False,
            help="second server; report the differences between the two",
        ),
    ] = None,
    allow_remote: AllowedHosts = None,
    prepare: Annotated[
        bool | None,
        typer.Option(
            "--prepare/--no-prepare",
            show_default="on for the mock",
            help="first create the streams, segments and tables that the recording presupposes",
        ),
    ] = None,
    speed: Annotated[
        str, typer.Option(metavar="1|N|max", help="speed relative to the recording; max only waits for replies")
    ] = "1",
    causal: Annotated[
        bool,
        typer.Option("--causal", help="send a request as soon as the replies before it arrived; implies --speed max"),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            parser=duration_parser("--timeout", most=3600),
            metavar="TIME",
            show_default="5s",
            help="longest delay of a reply beyond the recorded one; "
            "replay gives up on all missing replies after six times this",
        ),
    ] = 5.0,
    connections: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="number of simultaneous copies, each with its own names")
    ] = 1,
    repeat: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="number of repetitions, each with its own names")
    ] = 1,
    copy: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="use the names of copy N, so that data of an earlier run is not in the way"
        ),
    ] = 0,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN", show_default=False, help="Pravega: delegation token to send, to a controller as Bearer"
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME: VALUE",
            show_default=False,
            help="header to send, NAME: VALUE, in handshakes (Offramp) or calls (Pravega); repeatable",
        ),
    ] = None,
    user: Annotated[
        str,
        typer.Option(
            metavar="USER:PASSWORD", help="credentials to send as Authorization (Offramp, Pravega's controller)"
        ),
    ] = "",
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", parser=where_from, help="send only requests that match")
    ] = None,
    from_: Annotated[
        float,
        typer.Option(
            "--from",
            parser=duration_parser("--from", least=0, most=1e9),
            metavar="TIME",
            show_default="0s",
            help="start this long after the first packet",
        ),
    ] = 0,
    to: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--to", least=0, most=1e9),
            metavar="TIME",
            show_default=False,
            help="stop this long after the first packet",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="only list the planned requests, preparation, exchanged values and skipped parts"
        ),
    ] = False,
    expect: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file of accepted differences")] = None,
    learn_noise: Annotated[
        bool, typer.Option("--learn-noise", help="replay twice; values that differ between the runs are noise")
    ] = False,
    min_judged: MinJudged = "50%",
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    format_: Annotated[
        ReportFormat | None,
        typer.Option("--format", show_default="by the ending of -o, else text", help="format of the report"),
    ] = None,
    output: OutputFile = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="also write a JUnit report")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="also write the report as an HTML page")] = None,
    record: RecordFile = None,
    fault: FaultRules = None,
    faults: FaultFile = None,
    seed: Seed = 0,
) -> None:
    """Send recorded requests to a server again, and judge the replies.

    Exits with 1 if a reply differs, is missing or is unsolicited, or if too little could be judged; with 3 if a
    capture is damaged; with 4 if the server cannot be reached.
    """
    from wiretool.commands.options import share_from
    from wiretool.commands.replay.options import (
        Judging,
        Playing,
        Reading,
        controller_from,
        headers_from,
        speed_from,
        targets_from,
        token_from,
    )
    from wiretool.commands.replay.run import replayed
    from wiretool.commands.serve.run import told_unapplied

    reading = Reading(captures, protocol, port, where or "", from_, to, keylog, keys_from(keylog))
    playing = Playing(
        targets_from(target, allow_remote or ()) | controller_from(controller, allow_remote or ()),
        prepare,
        speed_from("max" if causal else speed),
        timeout,
        record,
        tuple(fault or ()),
        faults,
        seed,
        learn_noise,
        targets_from(against, allow_remote or (), option="--against"),
        connections,
        repeat,
        copy,
        token_from(token),
        headers_from(header, user),
    )
    share = share_from(min_judged, "--min-judged")
    form = format_ or (ReportFormat.TEXT if against else format_from(output, ReportFormat))
    judging = Judging(form, output, junit, html, expect, share)
    with told_unapplied(playing.applied):
        replayed(reading, playing, judging, is_dry=dry_run)
