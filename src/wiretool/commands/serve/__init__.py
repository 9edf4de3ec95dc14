"""`wiretool serve PROTOCOL`: a mock server for real clients."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    ConnectionsMax,
    ControlAddress,
    ControlHosts,
    FaultFile,
    FaultRules,
    ListenAddress,
    OtlpEndpoint,
    ReadyFile,
    RecordFile,
    Seed,
    ServingSeconds,
    TlsCertificate,
    TlsKey,
    WrittenKeyLog,
)
from wiretool.commands.target_options import refuse_empty


def serve(
    ctx: typer.Context,
    protocol: Annotated[
        str, typer.Argument(metavar="PROTOCOL", show_default=False, help="protocol of the server: {with server}")
    ],
    listen: ListenAddress = "",
    controller: Annotated[str, typer.Option(metavar="ADDRESS", help="Pravega: HOST:PORT of the controller")] = "",
    admin: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Pravega: also serve the admin port at this address")
    ] = "",
    advertise: Annotated[
        str, typer.Option(metavar="HOST[:PORT]", help="Pravega: address that getURI returns for this store")
    ] = "",
    wire_version: Annotated[
        int | None, typer.Option(metavar="N", help="Pravega: wire version, 16 (released) or 17 (newest)")
    ] = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    keylog: WrittenKeyLog = None,
    auth: Annotated[
        str, typer.Option(metavar="USER:PASSWORD", help="Pravega, Offramp: required credentials of clients")
    ] = "",
    road: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default="any name", help="Offramp: name of a road; repeatable"),
    ] = None,
    feed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Offramp: file of messages, one JSON object per line")
    ] = None,
    rate: Annotated[
        str,
        typer.Option(
            metavar="RATE",
            show_default="none",
            help="Offramp: new messages on each road, such as 200/s or 1.5k",
        ),
    ] = "0",
    retain: Annotated[
        str, typer.Option(metavar="SIZE", help="maximum size of the data, such as 512M; the oldest is deleted first")
    ] = "2G",
    like_real: Annotated[
        bool, typer.Option("--like-real", help="stall and close connections where the real server does")
    ] = False,
    leases: Annotated[bool, typer.Option(help="Pravega: abort transactions when their lease expires")] = True,
    setup: Annotated[
        str,
        typer.Option(metavar="NAME", help="configure the mock for the cases of conform --setup NAME"),
    ] = "",
    mutant: Annotated[
        str, typer.Option(metavar="NAME", help="serve a mutant; conform PROTOCOL --mutants lists them")
    ] = "",
    seed: Seed = 0,
    fault: FaultRules = None,
    faults: FaultFile = None,
    control: ControlAddress = "",
    allow_remote: ControlHosts = None,
    otlp: OtlpEndpoint = "",
    record: RecordFile = None,
    ready_file: ReadyFile = None,
    max_connections: ConnectionsMax = None,
    duration: ServingSeconds = None,
) -> None:
    """Run a mock server until Ctrl-C."""
    refuse_empty(ctx)
    from wiretool.commands.serve.options import MockArguments
    from wiretool.commands.serve.run import ServeOptions, in_setup, listens_for, mutated, serving
    from wiretool.net.serving.run import run
    from wiretool.server.part import mock_for

    arguments = MockArguments(
        listen=listen,
        controller=controller,
        admin=admin,
        advertise=advertise,
        wire_version=wire_version,
        auth=auth,
        road=road,
        feed=feed,
        rate=rate,
        retain=retain,
        like_real=like_real,
        leases=leases,
        seed=seed,
    )
    mock_options = arguments.mock_options(protocol)
    with mutated(protocol, mutant):
        mock = mock_for(protocol, in_setup(protocol, setup, mock_options))
        listens = listens_for(mock, arguments.endpoints, opens_all=bool(setup))
        options = ServeOptions(
            seed,
            fault or (),
            faults,
            control,
            record,
            ready_file,
            tls_cert,
            tls_key,
            max_connections,
            duration,
            (feed,),
            otlp,
            keylog,
            allow_remote or (),
        )
        with serving(mock, listens, options) as (host, plan):
            run(host, plan)
