"""`wiretool export`: the declarations of messages in the formats of other programs."""

from typing import Annotated

import typer

from wiretool.commands.options import OutputFile

export = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write the declarations of messages in the formats of other programs.",
)


@export.callback()
def formats() -> None:
    """Write the declarations of messages in the formats of other programs."""


@export.command()
def wireshark(
    output: OutputFile = None,
    install: Annotated[
        bool, typer.Option("--install", help="install it, and the interface 'wiretool tap', for Wireshark")
    ] = False,
) -> None:
    """Write a dissector for Wireshark, in Lua.

    --install also adds a tap to the interfaces that Wireshark captures from.
    Protocols whose messages cannot be described in Lua are skipped, and listed on stderr.
    """
    from wiretool.commands.export.run import export_wireshark

    export_wireshark(output, is_installed=install)


@export.command()
def protobuf(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="one of {as protobuf}")],
    output: OutputFile = None,
) -> None:
    """Write the .proto file of a protocol that uses gRPC, for Wireshark and clients of gRPC."""
    from wiretool.commands.export.protobuf import export_protobuf

    export_protobuf(protocol, output)


@export.command("json-schema")
def json_schema(
    protocol: Annotated[
        str | None,
        typer.Argument(metavar="PROTOCOL", show_default=False, help="write the schema of its messages alone"),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Write a JSON Schema of the records of decode, or of the messages of one protocol."""
    from wiretool.commands.export.json_schema import export_json_schema

    export_json_schema(protocol, output)


@export.command()
def kaitai(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL", show_default=False, help="one of {as kaitai}")],
    output: OutputFile = None,
) -> None:
    """Write a Kaitai Struct file (.ksy) of the frames of one direction of a connection."""
    from wiretool.commands.export.kaitai import export_kaitai

    export_kaitai(protocol, output)


@export.command()
def scapy(
    protocol: Annotated[
        str | None,
        typer.Argument(metavar="PROTOCOL", show_default=False, help="a protocol; all protocols without"),
    ] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(
            min=1, max=65535, metavar="PORT", show_default="those of the protocol", help="TCP port to dissect"
        ),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Write a start script for Scapy that has messages as layers, and dissects TCP at their ports.

    Start Scapy with it: scapy -c FILE.
    """
    from wiretool.commands.export.scapy import export_scapy

    export_scapy(protocol, port or [], output)
