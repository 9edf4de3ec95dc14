"""`wiretool bench`: honest load on a server."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool import limits
from wiretool.commands.options import FaultRules, KeyLogFile, OutputFile, Seed, capture_from, path_from

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME", show_default="{first with load}", help="protocol of the server")
    ] = None,
    appenders: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.BENCH_USERS_MAX,
            metavar="N",
            show_default="64",
            help="number of appending users, one connection each",
        ),
    ] = None,
    fetchers: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=limits.BENCH_USERS_MAX,
            metavar="M",
            show_default="0",
            help="number of users that read the appended data",
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="ADDRESS", show_default="a mock that bench starts", help="server to load")
    ] = "",
    controller: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Pravega: create a stream through this controller and append to its stores, or to --target",
        ),
    ] = "",
    user: Annotated[str, typer.Option(metavar="USER:PASSWORD", help="Pravega: credentials for the controller")] = "",
    allow_remote: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="allow this other machine as a target, as a controller or store too"),
    ] = None,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="duration of the measurement, such as 10s or 2m")
    ] = "10s",
    warmup: Annotated[str, typer.Option(metavar="TIME", help="duration of the load before the measurement")] = "2s",
    ramp: Annotated[
        str, typer.Option(metavar="TIME", help="duration before the warm-up in which users start one by one")
    ] = "0s",
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="appends due per second, all users together, such as 5000 or 5k; "
            "Offramp: messages per second of the mock",
        ),
    ] = None,
    event_size: Annotated[
        str | None,
        typer.Option(
            metavar="N|DIST",
            show_default="100",
            help="size of an event in bytes, or a distribution such as uniform:100-1K",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.BENCH_BATCH_MAX,
            metavar="N",
            show_default="1; Offramp: 1000",
            help="events per append; Offramp: messages per REQUEST",
        ),
    ] = None,
    pipeline: Annotated[
        int | None,
        typer.Option(
            min=1, max=limits.BENCH_PIPELINE_MAX, metavar="N", show_default="1", help="appends in flight per user"
        ),
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(
            min=1, max=limits.BENCH_SEGMENTS_MAX, metavar="N", show_default="1", help="number of segments to append to"
        ),
    ] = None,
    conditional: Annotated[
        bool | None,
        typer.Option(
            "--conditional/--no-conditional", help="Pravega: append only if the segment has the expected length"
        ),
    ] = None,
    from_capture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=capture_from,
            help="take the options that are not set from the appends in this capture",
        ),
    ] = None,
    keylog: KeyLogFile = None,
    backlog: Annotated[bool, typer.Option("--backlog", help="append everything first, then read it back")] = False,
    road: Annotated[str, typer.Option(metavar="NAME", help="Offramp: road of the target to consume")] = "",
    message: Annotated[
        str,
        typer.Option(
            metavar="JSON",
            help="protocols without appends: send this request again and again, a line as wiretool encode reads it",
        ),
    ] = "",
    verify: Annotated[
        bool | None,
        typer.Option("--verify/--no-verify", show_default="on for the mock", help="read back all acknowledged events"),
    ] = None,
    max_errors: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="share of failed exchanges of an operation above which the run is INVALID, such as 1% or 0.01",
        ),
    ] = "1%",
    seed: Seed = 0,
    fault: FaultRules = None,
    sample_pid: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="PID",
            help="measure this process, and report it as the target",
        ),
    ] = None,
    web: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="serve Locust's page at this address during the run; :8089 is port 8089 of 127.0.0.1",
        ),
    ] = "",
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            max=limits.BENCH_PROCESSES_MAX,
            metavar="N",
            help="number of load processes on this machine, which share the users",
        ),
    ] = 1,
    master: Annotated[
        bool, typer.Option("--master", help="generate the load with workers that connect to this process")
    ] = False,
    worker: Annotated[bool, typer.Option("--worker", help="be a load process of a master")] = False,
    expect_workers: Annotated[
        int,
        typer.Option(
            min=1, max=limits.BENCH_WORKERS_MAX, metavar="N", help="number of workers that the master waits for"
        ),
    ] = 1,
    master_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="address at which the master listens, for --master and --worker")
    ] = "127.0.0.1:5557",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="write the report as JSON")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write one row per second and operation as CSV")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the report as an HTML page with plots")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="write the verdicts as JUnit XML")] = None,
    hdr_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the histograms of each second for HdrHistogram's tools")
    ] = None,
    keep_slow: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the slowest hundred exchanges as pcapng")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="fail with exit code 1 unless this holds, such as 'append.p99 < 5ms'"),
    ] = None,
) -> None:
    """Load a server, and measure throughput and latency.

    --verify reads all acknowledged events back.
    """
    from wiretool.commands.bench.options import BenchOptions, Reports, Spread, check_spread, said_in
    from wiretool.commands.bench.run import run_bench, run_worker
    from wiretool.load.planning.validate import Load

    if context.invoked_subcommand is not None:
        return
    check_spread(said_in(context))
    spread = Spread(processes, master, expect_workers, master_address)
    if worker:
        raise typer.Exit(run_worker(spread, hdr_log))
    load = Load(
        protocol=protocol,
        appenders=appenders,
        fetchers=fetchers,
        duration=duration,
        warmup=warmup,
        ramp=ramp,
        rate=rate,
        event_size=event_size,
        batch=batch,
        pipeline=pipeline,
        segments=segments,
        is_conditional=conditional,
        has_backlog=backlog,
        max_errors=max_errors,
        road=road,
        message=message,
        seed=seed,
        keep_slow=0 if keep_slow is None else limits.BENCH_SLOW_MAX,
    )
    options = BenchOptions(
        load,
        target,
        allow_remote or (),
        verify,
        fault or (),
        sample_pid,
        spread,
        web,
        controller=controller,
        user=user,
        from_capture=from_capture,
        keylog=keylog,
    )
    raise typer.Exit(run_bench(options, Reports(json, csv, html, junit, hdr_log, threshold or (), keep_slow)))


@app.command()
def compare(
    a: Annotated[
        Path, typer.Argument(metavar="A.json", show_default=False, parser=path_from, help="report of bench --json")
    ],
    b: Annotated[
        Path,
        typer.Argument(
            metavar="B.json", show_default=False, parser=path_from, help="report of bench --json to compare with A"
        ),
    ],
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="share by which B may be worse, such as 5% or 0.05")
    ] = "5%",
    seed: Seed = 0,
    output: OutputFile = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="write the comparison as JSON")] = None,
) -> None:
    """Compare two reports.

    Prints the ratio of each figure of B to A with its interval. Exits with 1 if B is worse.
    """
    from wiretool.commands.bench.run import run_compare

    raise typer.Exit(run_compare(a, b, tolerance, seed, output, json))
