"""TLS for servers and clients."""

import os
import ssl
from collections.abc import Callable
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


class WrittenKeyLog:
    """A file to which the secrets of connections are appended; it is closed to other users if it is new.

    A connection whose secrets cannot be written fails in its handshake.
    """

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        """`report` takes the first failure, when it happens."""
        self._path = path
        self._report = report
        #: Why the file cannot be written, once that was so.
        self._failure: OSError | None = None

    def add(self, context: ssl.SSLContext) -> None:
        """Append the secrets of the connections of a context. UsageError where the file cannot be opened."""
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            context.keylog_filename = str(self._path)
        except OSError as err:
            raise write_error(self._problem(err), err) from err
        note = self._note

        class Logged(ssl.SSLObject):
            def do_handshake(self) -> None:
                try:
                    super().do_handshake()
                except ssl.SSLError as err:
                    if err.library == "BIO":  # of the file: the bytes of the connection are in memory
                        note(err)
                    raise

        context.sslobject_class = Logged

    def check(self) -> None:
        """Raise OutputError where secrets could not be written."""
        if self._failure is not None:
            raise write_error(self._problem(self._failure), self._failure) from self._failure

    def _note(self, err: OSError) -> None:
        if self._failure is None:
            self._failure = self._find_reason() or err
            self._report(f"{self._problem(self._failure)}; connections over TLS fail")

    def _find_reason(self) -> OSError | None:
        """Write an empty line, since the error of a handshake has no reason; return the error of that."""
        try:
            with self._path.open("ab", buffering=0) as file:
                file.write(b"\n")
        except OSError as err:
            return err
        return None

    def _problem(self, err: OSError) -> str:
        return f"--keylog {self._path}: cannot be written: {system_reason(err)}"


def alpn_of(protocol: str) -> tuple[str, ...]:
    """What the two ends agree on to speak a protocol over TLS: gRPC insists on it."""
    return ("h2",) if protocol == "pravega-controller" else ()
