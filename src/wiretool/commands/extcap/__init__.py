"""`wiretool extcap`: a tap that Wireshark starts as a capture interface."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import FaultFile, FaultRules, ListenAddress, Seed, TlsCertificate, TlsKey, path_from
from wiretool.commands.tap.options import (
    AdvertisedAddress,
    ControllerAddress,
    UpstreamAddress,
    UpstreamCa,
    UpstreamController,
    UpstreamTls,
)


def extcap(
    ctx: typer.Context,
    interfaces: Annotated[bool, typer.Option("--extcap-interfaces", help="list the interfaces")] = False,
    interface: Annotated[str, typer.Option("--extcap-interface", metavar="NAME", help="name of the interface")] = "",
    link_types: Annotated[bool, typer.Option("--extcap-dlts", help="list the link types of the interface")] = False,
    config: Annotated[bool, typer.Option("--extcap-config", help="list the options of the interface")] = False,
    version: Annotated[
        str, typer.Option("--extcap-version", metavar="VERSION", help="version of Wireshark; not used")
    ] = "",
    capture_filter: Annotated[
        str, typer.Option("--extcap-capture-filter", metavar="BPF", help="capture filter; a tap has none")
    ] = "",
    capture: Annotated[bool, typer.Option("--capture", help="run the tap; requires --fifo")] = False,
    fifo: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=path_from, help="write the traffic to this pipe as pcapng")
    ] = None,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", show_default="the first in the list", help="protocol of the server")
    ] = "",
    upstream: UpstreamAddress = "",
    listen: ListenAddress = "",
    controller: ControllerAddress = "",
    upstream_controller: UpstreamController = "",
    advertise: AdvertisedAddress = "",
    upstream_tls: UpstreamTls = False,
    upstream_ca: UpstreamCa = None,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    fault: FaultRules = None,
    faults: FaultFile = None,
    seed: Seed = 0,
) -> None:
    """Run a tap as an interface of Wireshark, which starts this command.

    `export wireshark --install` puts it where Wireshark looks.
    """
    from wiretool.commands.extcap.run import Question, TapOptions, answer, capture_into

    question = Question(interfaces, interface, link_types, config, capture_filter)
    if not capture:
        answer(question, ctx.command.params)
        return
    options = TapOptions(
        protocol,
        upstream,
        listen,
        controller,
        upstream_controller,
        advertise,
        upstream_tls,
        upstream_ca,
        tls_cert,
        tls_key,
        fault or (),
        faults,
        seed,
    )
    capture_into(fifo, question, options)
