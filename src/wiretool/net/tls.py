"""TLS for servers and clients."""

import os
import ssl
from errno import EISDIR, ENOENT
from pathlib import Path

from wiretool.errors import InputError, UsageError, system_reason, why_unreadable, write_error


def server_context(certificate: Path, key: Path | None, *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """A server's context for a PEM certificate (chain) and its key, in the same file where none is named.

    UsageError where either cannot be read, InputError where they are no certificate with its key.
    """
    for option, path in (("--tls-cert", certificate), ("--tls-key", key)):
        if path is not None and not os.path.isfile(path):
            number = EISDIR if os.path.isdir(path) else ENOENT
            raise UsageError(f"{option} {path}: {why_unreadable(OSError(number, ''))}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    named = f"--tls-cert {certificate}" if key is None else f"--tls-cert {certificate} and --tls-key {key}"
    try:
        context.load_cert_chain(certificate, key, _no_password)
    except ssl.SSLError as err:
        hint = "; give a key in another file with --tls-key" if key is None else ""
        raise InputError(f"{named}: not a PEM certificate with its key ({err.reason or 'not PEM'}){hint}") from err
    except OSError as err:
        raise UsageError(f"{named}: {why_unreadable(err)}") from err
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def _no_password() -> str:
    """Nobody can be asked for a password: not even an empty one opens an encrypted key."""
    raise UsageError(
        "--tls-key: the key is encrypted; expected a plain key; decrypt it with openssl pkey -in KEY -out PLAIN"
    )


def client_context(authority: Path | None, *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
    """A client's context that trusts the PEM certificates in a file, or the system's. UsageError as above."""
    try:
        context = ssl.create_default_context(cafile=authority)
    except ssl.SSLError as err:
        raise InputError(f"--upstream-ca {authority}: no PEM certificates ({err.reason or 'not PEM'})") from err
    except OSError as err:
        raise UsageError(f"--upstream-ca {authority}: {why_unreadable(err)}") from err
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def log_keys(context: ssl.SSLContext, path: Path) -> None:
    """Append the secrets of all connections to a file, which is closed to other users if it is new.

    UsageError where it cannot be written.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        context.keylog_filename = str(path)
    except OSError as err:
        raise write_error(f"--keylog {path}: cannot be written: {system_reason(err)}", err) from err


def alpn_of(protocol: str) -> tuple[str, ...]:
    """What the two ends agree on to speak a protocol over TLS: gRPC insists on it."""
    return ("h2",) if protocol == "pravega-controller" else ()
