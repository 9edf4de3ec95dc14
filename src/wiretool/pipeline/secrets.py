"""The secrets of TLS connections for a pipeline: of a key log, and of the captures themselves."""

from collections.abc import Iterable
from pathlib import Path

from wiretool.capture.files.reading import read_packets
from wiretool.capture.tls.keylog import KeyLog, KeyLogLineError
from wiretool.errors import CaptureError, InputError, RemoteError, UsageError, why_unreadable


def read_keylog(path: Path) -> KeyLog:
    """Return the secrets in a file. UsageError where it cannot be read, InputError if it is not a key log."""
    keys = KeyLog()
    try:
        keys.add(path.read_bytes())
    except OSError as err:
        raise UsageError(f"keylog {path}: {why_unreadable(err)}") from err
    except KeyLogLineError as err:
        raise InputError(f"keylog {path}: line {err.number}: {err.why}; expected a file as of SSLKEYLOGFILE") from err
    if not len(keys):
        raise InputError(f"keylog {path}: no secrets; expected lines of a label, a random value and a secret")
    return keys


def collect_secrets(captures: Iterable[Path], keys: KeyLog) -> bytes:
    """Add the secrets with which captures begin, and return all as the lines of a key log.

    A capture that cannot be read is left to the run, which reports it. RemoteError where a store fails.
    """
    for path in captures:
        try:
            next(read_packets([path], keys), None)
        except RemoteError:  # it may have secrets, without which the run would leave connections undecrypted
            raise
        except CaptureError:
            continue
    return keys.lines()
