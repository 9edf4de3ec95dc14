"""`wiretool serve PROTOCOL`: a mock server for real clients."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool import limits
from wiretool.commands.options import (
    ConnectionsMax,
    ControlAddress,
    FaultFile,
    FaultRules,
    ListenAddress,
    ReadyFile,
    RecordFile,
    Seed,
    ServingSeconds,
    TlsCertificate,
    TlsKey,
)


def serve(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="whose server to be")],
    listen: ListenAddress = "",
    controller: Annotated[str, typer.Option(metavar="ADDRESS", help="Pravega: where the controller listens")] = "",
    admin: Annotated[str, typer.Option(metavar="ADDRESS", help="Pravega: listen for the admin gateway too")] = "",
    advertise: Annotated[str, typer.Option(metavar="HOST[:PORT]", help="Pravega: where getURI says the store is")] = "",
    wire_version: Annotated[int | None, typer.Option(metavar="N", help="Pravega: 16 as released, 17 as newest")] = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    auth: Annotated[str, typer.Option(metavar="USER:PASSWORD", help="whom Pravega lets in, and Offramp knows")] = "",
    road: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Offramp: a road there is; else any")] = None,
    feed: Annotated[Path | None, typer.Option(metavar="FILE", help="Offramp: messages, a JSON object a line")] = None,
    rate: Annotated[str, typer.Option(metavar="RATE", help="Offramp: messages per road, as 200/s or 1.5k")] = "0",
    retain: Annotated[str, typer.Option(metavar="SIZE", help="data to keep, as 512M; the oldest goes first")] = "2G",
    like_real: Annotated[bool, typer.Option("--like-real", help="hang and close where the real server does")] = False,
    leases: Annotated[bool, typer.Option(help="Pravega: abort transactions whose lease is over")] = True,
    mutant: Annotated[
        str, typer.Option(metavar="NAME", help="put a defect into the mock; conform PROTOCOL --mutants lists them")
    ] = "",
    seed: Seed = 0,
    fault: FaultRules = None,
    faults: FaultFile = None,
    control: ControlAddress = "",
    record: RecordFile = None,
    ready_file: ReadyFile = None,
    max_connections: ConnectionsMax = limits.MOCK_CONNECTIONS_MAX,
    duration: ServingSeconds = None,
) -> None:
    """Be a server of PROTOCOL until Ctrl-C: pravega (with its controller), pravega-draft, sbp, sbp-0.1 or offramp."""
    from wiretool.commands.serving import (
        Wishes,
        advertised,
        credentials,
        feed_from,
        listens_for,
        mutated,
        serving,
        size_from,
    )
    from wiretool.net.serving import run
    from wiretool.servers.choose import mock_for
    from wiretool.servers.options import RATE_MAX, MockOptions
    from wiretool.units import RATE

    options = MockOptions(
        seed=seed,
        retain_bytes=size_from(retain, option="--retain"),
        like_real=like_real,
        leases=leases,
        is_paced=True,
        wire_version=wire_version,
        has_admin=bool(admin),
        advertise=advertised(advertise),
        auth=credentials(auth),
        roads=road,
        feed=feed_from(feed),
        rate=RATE.parse(rate, "--rate", most=RATE_MAX),
    )
    with mutated(protocol, mutant):
        mock = mock_for(protocol, options)
        listens = listens_for(mock, {"--listen": listen, "--controller": controller, "--admin": admin})
        wishes = Wishes(
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
        )
        with serving(mock, listens, wishes) as (host, plan):
            run(host, plan)
