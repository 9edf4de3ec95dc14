"""permessage-deflate on the server's side: what of an offer is taken, and events made smaller (RFC 7692)."""

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.protocols.offramp import http
from wiretool.protocols.offramp.deflate import TAIL
from wiretool.protocols.offramp.handshake import DEFLATE, Deflate

_BITS = re.compile(r"8|9|1[0-5]", re.ASCII)
_BITS_MAX = "15"
#: The names of all parameters in the order of the answer; those of the window take a number.
_PARAMETERS = (
    "server_no_context_takeover",
    "server_max_window_bits",
    "client_no_context_takeover",
    "client_max_window_bits",
)
#: A window and a memory that cost 32 KiB a connection instead of 256: any smaller window may be read with 15 bits.
_WINDOW_BITS, _MEMORY_LEVEL = -12, 5


class Negotiated(NamedTuple):
    """What is agreed, and the header value that says so; nothing where no offer can be taken."""

    deflate: Deflate | None = None
    answer: str = ""


def is_lawful(offers: Sequence[str]) -> bool:
    """Whether each parameter of each permessage-deflate in these header values is known, well-formed and there once."""
    return all(_parameters(offer) is not None for offer in http.tokens(offers) if _name(offer) == DEFLATE)


def negotiate(offers: Sequence[str]) -> Negotiated:
    """Take the first offer that can be: one that is well-formed and does not want a smaller window of the server."""
    for offer in http.tokens(offers):
        parameters = _parameters(offer) if _name(offer) == DEFLATE else None
        if parameters is None or parameters.get("server_max_window_bits", _BITS_MAX) != _BITS_MAX:
            continue
        agreed = Deflate("client_no_context_takeover" in parameters, "server_no_context_takeover" in parameters)
        said = [
            f"{name}={parameters[name] or _BITS_MAX}" if name.endswith("_bits") else name
            for name in _PARAMETERS
            if name in parameters
        ]
        return Negotiated(agreed, ";".join((DEFLATE, *said)))
    return Negotiated()


def _name(offer: str) -> str:
    return offer.partition(";")[0].strip().lower()


def _parameters(offer: str) -> Mapping[str, str] | None:
    """The parameters of an offer with their values, empty where they have none; None where one is wrong."""
    parameters: dict[str, str] = {}
    for part in offer.split(";")[1:]:
        name, equals, value = (each.strip() for each in part.partition("="))
        value = value.removeprefix('"').removesuffix('"')
        if name not in _PARAMETERS or name in parameters or not _is_value(name, value, has_one=bool(equals)):
            return None
        parameters[name] = value
    return parameters


def _is_value(name: str, value: str, *, has_one: bool) -> bool:
    if not has_one:
        return name != "server_max_window_bits"
    return name.endswith("_bits") and _BITS.fullmatch(value) is not None


class Deflater:
    """The messages of the server, each made smaller; with `resets` each for itself."""

    def __init__(self, *, resets: bool) -> None:
        self._resets = resets
        self._running: Any = None

    def deflate(self, data: bytes) -> bytes:
        """One message as it goes on the wire."""
        running = self._running or zlib.compressobj(wbits=_WINDOW_BITS, memLevel=_MEMORY_LEVEL)
        self._running = None if self._resets else running
        made: bytes = running.compress(data) + running.flush(zlib.Z_SYNC_FLUSH)
        return made.removesuffix(TAIL)
