"""`wiretool tap PROTOCOL`: a proxy before a server that shows and records messages, and applies fault rules."""

from typing import Annotated

import typer

from wiretool.commands.options import (
    ConnectionsMax,
    ControlAddress,
    ControlHosts,
    FaultFile,
    FaultRules,
    Format,
    ListenAddress,
    OtlpEndpoint,
    OutputFile,
    ReadyFile,
    RecordFile,
    Seed,
    ServingSeconds,
    TlsCertificate,
    TlsKey,
    WrittenKeyLog,
    where_from,
)
from wiretool.commands.tap.options import (
    AdvertisedAddress,
    ControllerAddress,
    UpstreamAddress,
    UpstreamCa,
    UpstreamController,
    UpstreamTls,
)
from wiretool.commands.target_options import refuse_empty


def tap(
    ctx: typer.Context,
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="protocol of the server")],
    upstream: UpstreamAddress,
    listen: ListenAddress = "",
    controller: ControllerAddress = "",
    upstream_controller: UpstreamController = "",
    advertise: AdvertisedAddress = "",
    upstream_tls: UpstreamTls = False,
    upstream_ca: UpstreamCa = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    keylog: WrittenKeyLog = None,
    format_: Annotated[Format, typer.Option("--format", help="output format")] = Format.TEXT,
    tree: Annotated[
        bool, typer.Option("-v", "--verbose", help="show every field with offset, length and meaning")
    ] = False,
    dump: Annotated[bool, typer.Option("-x", "--hex-dump", help="show the bytes, coloured by field")] = False,
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", parser=where_from, help="show only records that match")
    ] = None,
    fields: Annotated[
        str, typer.Option(metavar="A,B,C", help="show only these fields, such as n,message,fields.offset")
    ] = "",
    output: OutputFile = None,
    fault: FaultRules = None,
    faults: FaultFile = None,
    seed: Seed = 0,
    control: ControlAddress = "",
    allow_remote: ControlHosts = None,
    otlp: OtlpEndpoint = "",
    record: RecordFile = None,
    ready_file: ReadyFile = None,
    max_connections: ConnectionsMax = None,
    duration: ServingSeconds = None,
) -> None:
    """Proxy a server and decode its traffic live.

    Fault rules change the traffic; --record writes it to a capture.
    """
    refuse_empty(ctx)
    from wiretool.commands.serve.run import ServeOptions
    from wiretool.commands.tap.run import Shown, Side, tapping
    from wiretool.net.serving.run import run

    sides = [
        Side(protocol, "--listen", listen, "--upstream", upstream),
        Side("pravega-controller", "--controller", controller, "--upstream-controller", upstream_controller),
    ]
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
        (upstream_ca,),
        otlp,
        keylog,
        allow_remote or (),
    )
    shown = Shown(format_, tree, dump, where or "", fields, output)
    with tapping(sides, options, shown, advertise=advertise, is_tls=upstream_tls, authority=upstream_ca) as (
        running,
        plan,
    ):
        run(running, plan)
