"""`wiretool replay CAPTURE...`: the clients of a recording, spoken again to a server, and what it answers judged."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    CaptureFiles,
    FaultFile,
    FaultRules,
    MinJudged,
    OutputFile,
    PortNames,
    ProtocolName,
    RecordFile,
    ReportFormat,
    Seed,
    duration_parser,
)


def replay(
    captures: CaptureFiles = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DOOR=]ADDRESS", show_default=False, help="the server; without one a mock of ours is started"
        ),
    ] = None,
    controller: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Pravega: the controller, which is called as it was; left out where --target is alone",
        ),
    ] = "",
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DOOR=]ADDRESS", show_default=False, help="another server: tell what the two answer differently"
        ),
    ] = None,
    allow_remote: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", show_default=False, help="let this host be a target, though it is another machine"
        ),
    ] = None,
    prepare: Annotated[
        bool | None,
        typer.Option(
            "--prepare/--no-prepare",
            show_default="on for the mock",
            help="first make what the recording takes for granted: streams that calls name, else segments and tables",
        ),
    ] = None,
    speed: Annotated[
        str, typer.Option(metavar="1|N|max", help="times as fast as recorded; max waits for answers only")
    ] = "1",
    causal: Annotated[
        bool, typer.Option("--causal", help="go on when what was waited for has come, whatever the clock: --speed max")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            parser=duration_parser("--timeout", most=3600),
            metavar="TIME",
            help="how much longer than recorded an answer may take",
        ),
    ] = 5.0,
    connections: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="play so many copies at once, each with other names")
    ] = 1,
    repeat: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="play it so often, with other names")] = 1,
    copy: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="play it under other names, which no other N has: a server keeps things"),
    ] = 0,
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", show_default=False, help="Pravega: the token to give, to a controller as Bearer"),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME: VALUE",
            show_default=False,
            help="Offramp: a header of the handshake; Pravega: of calls; repeatable",
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="USER:PASSWORD", help="Offramp, Pravega's controller: who asks, as Authorization")
    ] = "",
    where: Annotated[str, typer.Option(metavar="EXPR", help="say only requests for which this is true")] = "",
    from_: Annotated[
        float,
        typer.Option(
            "--from",
            parser=duration_parser("--from", least=0, most=1e9),
            metavar="TIME",
            help="begin so long after the first packet",
        ),
    ] = 0,
    to: Annotated[
        float | None,
        typer.Option(
            parser=duration_parser("--to", least=0, most=1e9),
            metavar="TIME",
            show_default=False,
            help="end so long after the first packet",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only tell what would be said, prepared, exchanged and left out")
    ] = False,
    expect: Annotated[
        Path | None, typer.Option(metavar="FILE", help="accept the differences listed there, TOML")
    ] = None,
    learn_noise: Annotated[
        bool, typer.Option("--learn-noise", help="play it twice: what is another in each run is no difference")
    ] = False,
    min_judged: MinJudged = "50%",
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    format_: Annotated[ReportFormat, typer.Option("--format", help="form of the report")] = ReportFormat.TEXT,
    output: OutputFile = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="write a JUnit report too")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="write a page for the browser too")] = None,
    record: RecordFile = None,
    fault: FaultRules = None,
    faults: FaultFile = None,
    seed: Seed = 0,
) -> None:
    """Speak the clients of a recording to a server again, and judge what it answers.

    Exit code 1 when an answer differs, is missing or is unsolicited, or when too little could be judged; 3 when a
    capture is damaged; 4 when the server cannot be reached.
    """
    from wiretool.commands.options import share_from
    from wiretool.commands.replay_wishes import (
        Judging,
        Playing,
        Reading,
        controller_from,
        headers_from,
        speed_from,
        targets_from,
        token_from,
    )
    from wiretool.commands.replaying import replayed
    from wiretool.commands.serving import told_unapplied

    reading = Reading(captures, protocol, port, where, from_, to)
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
    judging = Judging(format_, output, junit, html, expect, share)
    with told_unapplied(playing.applied):
        replayed(reading, playing, judging, is_dry=dry_run)
