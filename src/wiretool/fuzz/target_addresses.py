"""The addresses of a server under test, and the rule that other machines have to be allowed."""

from collections.abc import Collection, Sequence

from wiretool.errors import UsageError
from wiretool.net.addresses import Address, address_from, check_allowed


def addresses_by_endpoint(texts: Sequence[str], allowed_hosts: Collection[str], *, option: str) -> dict[str, Address]:
    """Return addresses by endpoint, the main one under the empty name; each text is `[ENDPOINT=]HOST:PORT`.

    UsageError for a machine that is neither this one nor allowed, and without a main address. `option` names the
    source of the texts.
    """
    found: dict[str, Address] = {}
    for text in texts:
        name, equals, place = text.partition("=")
        name, place = (name, place) if equals else ("", text)
        address = address_from(place, option=option)
        check_allowed(address, allowed_hosts, f"{option} {address}")
        found[name] = address
    if "" not in found:
        raise UsageError(f"{option}: expected the address of the server itself, as {option} HOST:PORT")
    return found
