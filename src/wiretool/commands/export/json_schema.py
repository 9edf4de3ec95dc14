"""The implementation of `wiretool export json-schema`."""

import json
from pathlib import Path

from wiretool import __version__
from wiretool.export.json_schema import make_messages_schema, make_records_schema
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named
from wiretool.sinks.output import open_whole_output


def export_json_schema(protocol: str | None, output: Path | None) -> None:
    """Write the schema of records, or of the messages of one protocol, to a file or stdout."""
    if protocol is None:
        schema = make_records_schema(list(PROTOCOLS.values()), __version__)
    else:
        schema = make_messages_schema(protocol_named(protocol), __version__)
    with open_whole_output(output) as out:
        out.write(json.dumps(schema, indent=2) + "\n")
