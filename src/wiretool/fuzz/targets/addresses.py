"""The addresses of a server under test, and the rule that other machines have to be allowed."""

from collections.abc import Collection, Sequence

from wiretool.errors import UsageError
from wiretool.net.addresses import Address, named_address


def addresses_by_endpoint(texts: Sequence[str], allowed_hosts: Collection[str], *, option: str) -> dict[str, Address]:
    """Return addresses by endpoint, the main one under the empty name; each text is `[ENDPOINT=]HOST:PORT`.

    UsageError for a machine that is neither this one nor allowed, for port 0, and without a main address. `option`
    names the source of the texts.
    """
    found = dict(named_address(text, allowed_hosts, option=option) for text in texts)
    for address in found.values():
        if not address.port:
            raise UsageError(f"{option} {address}: no server has port 0; expected the port of the server")
    if "" not in found:
        raise UsageError(f"{option}: expected the address of the server itself, as {option} HOST:PORT")
    return found
