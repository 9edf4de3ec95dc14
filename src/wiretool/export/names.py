"""Names of protocols and messages as identifiers of other programs."""

import re


def protocol_identifier(protocol: str) -> str:
    """Return the name of a protocol as an identifier: `pravega_draft`."""
    return re.sub("[-.]", "_", protocol)


def snake(name: str) -> str:
    """Return the name of a message in snake case: `setup_append`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
