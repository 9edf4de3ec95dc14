"""`wiretool bench`: honest load on a server."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool import limits
from wiretool.commands.options import FaultRules, OutputFile, Seed, path_from

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    protocol: Annotated[str | None, typer.Option(metavar="NAME", help="whose server is loaded: pravega")] = None,
    appenders: Annotated[
        int | None,
        typer.Option(min=1, max=limits.BENCH_USERS_MAX, metavar="N", help="users that append, a connection each: 64"),
    ] = None,
    fetchers: Annotated[
        int | None,
        typer.Option(min=0, max=limits.BENCH_USERS_MAX, metavar="M", help="users that read what is written: 0"),
    ] = None,
    target: Annotated[str, typer.Option(metavar="ADDRESS", help="the server; without it a mock is started")] = "",
    controller: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Pravega: make a stream through this controller and load its stores; --target says where those are",
        ),
    ] = "",
    user: Annotated[str, typer.Option(metavar="USER:PASSWORD", help="Pravega: who asks the controller")] = "",
    allow_remote: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="let this other machine be the target, controller or store")
    ] = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="how long is measured: 10, 10s or 2m")] = "10s",
    warmup: Annotated[str, typer.Option(metavar="TIME", help="load before that, which does not count")] = "2s",
    ramp: Annotated[str, typer.Option(metavar="TIME", help="before the warm-up, while users begin one by one")] = "0s",
    rate: Annotated[
        str | None,
        typer.Option(metavar="R", help="appends a second, on schedule: 5000 or 5k; Offramp: the mock's messages"),
    ] = None,
    event_size: Annotated[
        str | None, typer.Option(metavar="N|DIST", help="bytes of an event, or uniform:100-1K: 100")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.BENCH_BATCH_MAX,
            metavar="N",
            help="events of one append: 1; Offramp: messages asked for: 1000",
        ),
    ] = None,
    pipeline: Annotated[
        int | None,
        typer.Option(min=1, max=limits.BENCH_PIPELINE_MAX, metavar="N", help="appends of a user on the way: 1"),
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(min=1, max=limits.BENCH_SEGMENTS_MAX, metavar="N", help="segments that are written to: 1"),
    ] = None,
    conditional: Annotated[
        bool | None,
        typer.Option("--conditional/--no-conditional", help="Pravega: append if the segment is as long as it was left"),
    ] = None,
    from_capture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=path_from, help="fit what is not said to the appends in a recording"),
    ] = None,
    backlog: Annotated[
        bool, typer.Option("--backlog", help="write while nobody reads, then let the fetchers read all of it")
    ] = False,
    road: Annotated[str, typer.Option(metavar="NAME", help="Offramp: the road of the target that is read")] = "",
    verify: Annotated[
        bool | None, typer.Option("--verify/--no-verify", help="read back what was written; on for the mock")
    ] = None,
    max_errors: Annotated[
        str, typer.Option(metavar="SHARE", help="the run is INVALID if more of an operation fails: 1% or 0.01")
    ] = "1%",
    seed: Seed = 0,
    fault: FaultRules = None,
    sample_pid: Annotated[
        int | None, typer.Option(min=1, metavar="PID", help="watch this process as the target's")
    ] = None,
    web: Annotated[str, typer.Option(metavar="ADDRESS", help="serve Locust's page there while it runs: :8089")] = "",
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            max=limits.BENCH_PROCESSES_MAX,
            metavar="N",
            help="load processes on this machine, sharing the users",
        ),
    ] = 1,
    master: Annotated[bool, typer.Option("--master", help="let workers that come to the master make the load")] = False,
    worker: Annotated[bool, typer.Option("--worker", help="be one of a master's load processes")] = False,
    expect_workers: Annotated[
        int, typer.Option(min=1, max=limits.BENCH_WORKERS_MAX, metavar="N", help="how many the master waits for")
    ] = 1,
    master_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="where the master listens, for --master and --worker")
    ] = "127.0.0.1:5557",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="write the report as JSON")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="write a row a second and operation")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="write the report as a page with plots")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="write what is judged as JUnit XML")] = None,
    hdr_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write each second's histograms, for HdrHistogram's tools")
    ] = None,
    keep_slow: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the slowest hundred exchanges as pcapng")
    ] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="such as 'append.p99 < 5ms'; else exit 1")
    ] = None,
) -> None:
    """Load a server, measure throughput and latency, and check that it kept what it acknowledged."""
    from wiretool.commands.bench_wishes import Reports, Spread, Wishes, check_spread, said_in
    from wiretool.commands.benching import run_bench, run_worker
    from wiretool.load.planning import Load

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
        seed=seed,
        keep_slow=0 if keep_slow is None else limits.BENCH_SLOW_MAX,
    )
    wishes = Wishes(
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
    )
    raise typer.Exit(run_bench(wishes, Reports(json, csv, html, junit, hdr_log, threshold or (), keep_slow)))


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A.json", show_default=False, help="a report of bench --json")],
    b: Annotated[Path, typer.Argument(metavar="B.json", show_default=False, help="the one that is held against it")],
    tolerance: Annotated[str, typer.Option(metavar="SHARE", help="how much worse B may be: 5% or 0.05")] = "5%",
    seed: Seed = 0,
    output: OutputFile = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="write the comparison as JSON")] = None,
) -> None:
    """Say by how much B is slower or faster than A, and how sure that is; exit 1 where it is worse."""
    from wiretool.commands.benching import run_compare

    raise typer.Exit(run_compare(a, b, tolerance, seed, output, json))
