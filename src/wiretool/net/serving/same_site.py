"""Which requests to a page or an API on this machine come from another web page: a browser that sends them says so."""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

#: What browsers say of a request that nobody but the page itself, or the person in front of it, has made.
_OWN_SITES = ("same-origin", "none")


def refusal(headers: Mapping[str, str]) -> str:
    """Return why a request with these headers is refused, "" where it is not.

    `Host` has to be an address or a name of this machine: with any other name, a page elsewhere has this address.
    """
    host = headers.get("Host", "")
    if not _is_own(_name_of(host)):
        return f"the host {host[:100]!r} is not this machine; expected its address or name"
    origin = headers.get("Origin")
    if origin is not None and _place_of(origin) != host:
        return f"the request comes from a page of {origin[:100]!r}, which may not control this one"
    referer = headers.get("Referer")
    if origin is None and referer is not None and _place_of(referer) != host:
        return f"the request comes from a page of {referer[:100]!r}, which may not control this one"
    if is_of_other_site(headers):
        return "the request comes from a page of another site, which may not control this one"
    return ""


def is_of_other_site(headers: Mapping[str, str]) -> bool:
    """Return whether a browser says that a page of another site has it send a request."""
    return headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES


def _place_of(url: str) -> str:
    """Return the host and port of a URL, "" where it has none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_own(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return name in ("localhost", socket.gethostname().lower())
    return True
