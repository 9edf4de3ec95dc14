"""The options of a tap, which `tap` and `extcap` share."""

from pathlib import Path
from typing import Annotated

import typer

UpstreamAddress = Annotated[str, typer.Option(metavar="ADDRESS", show_default=False, help="address of the real server")]
ControllerAddress = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Pravega: listen for clients of the controller at this address")
]
UpstreamController = Annotated[str, typer.Option(metavar="ADDRESS", help="Pravega: the controller of the server")]
AdvertisedAddress = Annotated[
    str, typer.Option(metavar="HOST[:PORT]", help="Pravega: address that getURI returns for the tap")
]
UpstreamTls = Annotated[bool, typer.Option("--upstream-tls", help="use TLS to the server")]
UpstreamCa = Annotated[Path | None, typer.Option(metavar="FILE", help="trust these PEM certificates of the server")]
