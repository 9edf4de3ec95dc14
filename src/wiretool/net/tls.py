"""TLS for servers and clients."""

import ssl
from pathlib import Path

from wiretool.errors import UsageError


def server_context(certificate: Path, key: Path | None, *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """A server's context for a PEM certificate (chain) and its key, in the same file where none is named.

    UsageError where either cannot be read, or they do not belong together.
    """
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise UsageError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as err:
        named = f"{certificate}" if key is None else f"{certificate} and {key}"
        raise UsageError(f"{named}: no PEM certificate with its key: {err.reason or err}") from err
    except OSError as err:
        raise UsageError(f"{certificate}: cannot be read: {err.strerror}") from err
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def client_context(authority: Path | None, *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """A client's context that trusts the PEM certificates in a file, or the system's. UsageError as above."""
    try:
        context = ssl.create_default_context(cafile=authority)
    except (ssl.SSLError, OSError) as err:
        raise UsageError(f"{authority}: no PEM certificates: {err}") from err
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def alpn_of(protocol: str) -> tuple[str, ...]:
    """What the two ends agree on to speak a protocol over TLS: gRPC insists on it."""
    return ("h2",) if protocol == "pravega-controller" else ()
