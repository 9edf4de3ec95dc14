"""Secrets of TLS connections, in the format that browsers, OpenSSL and curl write (RFC 9850, SSLKEYLOGFILE)."""

import re
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType

from wiretool.limits import TLS_SECRETS_MAX

#: Bytes of the random value by which a connection is found.
RANDOM_BYTES = 32
#: The secret of a TLS 1.2 session.
MASTER_SECRET = "CLIENT_RANDOM"
#: The labels that are used, and the bytes of their secrets: those of the hash of the cipher suite, or of a master
#: secret (RFC 5246 §8.1).
_SIZES: Mapping[bytes, tuple[int, ...]] = {MASTER_SECRET.encode(): (48,)} | dict.fromkeys(
    (
        b"CLIENT_EARLY_TRAFFIC_SECRET",
        b"CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        b"SERVER_HANDSHAKE_TRAFFIC_SECRET",
        b"CLIENT_TRAFFIC_SECRET_0",
        b"SERVER_TRAFFIC_SECRET_0",
    ),
    (32, 48),
)
_NAMES = {label: label.decode() for label in _SIZES}
_LINE = re.compile(rb"([!-~]+) ([0-9A-Fa-f]+) ([0-9A-Fa-f]+)")
_NO_SECRETS: Mapping[str, bytes] = MappingProxyType({})


class KeyLogLineError(ValueError):
    """A line of another form; `number` counts from 1."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(number, why)
        self.number = number
        self.why = why


class KeyLog:
    """The secrets of TLS connections, by the random value of their client and the label of the secret."""

    def __init__(
        self,
        report: Callable[[str], None] = warnings.warn,
        more: Callable[[], bytes] | None = None,
        *,
        keeps_new: bool = False,
    ) -> None:
        """`report` takes the problems of secrets in captures; `more` returns the lines that were written since.

        `keeps_new` is whether `take_new` is called.
        """
        self.report = report
        self._more = more
        self._secrets: dict[bytes, dict[str, bytes]] = {}
        #: Those that were added since they were last taken: label, random value and secret.
        self._new: list[tuple[str, bytes, bytes]] | None = [] if keeps_new else None
        self._is_full = self._has_malformed_growth = False

    @classmethod
    def of(cls, data: bytes, *, keeps_new: bool = False) -> "KeyLog":
        """Return the secrets in the lines of a key log; errors as of `add`."""
        keys = cls(keeps_new=keeps_new)
        keys.add(data)
        return keys

    def __len__(self) -> int:
        return len(self._secrets)

    @property
    def may_grow(self) -> bool:
        """Return whether the file of the key log is read again for secrets that it lacks."""
        return self._more is not None

    def add(self, data: bytes, lines_before: int = 0) -> None:
        """Add the lines of a key log; then KeyLogLineError for the first one of another form, if there is one.

        Comments, empty lines and labels that are not used are skipped, and so is a last line that is not complete:
        another program may still write to the file. `lines_before` counts those that were added before.
        """
        problem = None
        for number, line in enumerate(BytesIO(data), lines_before + 1):
            text = line.strip()
            if not text or text.startswith(b"#"):
                continue
            why = self._add_line(text)
            if why and problem is None and line.endswith(b"\n"):
                problem = KeyLogLineError(number, why)
        if problem is not None:
            raise problem

    def add_reporting(self, data: bytes, place: str) -> None:
        """Add the lines of a key log in a capture; report the first one of another form."""
        try:
            self.add(data)
        except KeyLogLineError as err:
            self.report(f"{place}: line {err.number} of its TLS secrets is malformed and skipped: {err.why}")

    def take_new(self) -> bytes:
        """Return the lines that were added since the last call; `keeps_new` is required."""
        assert self._new is not None, "new lines are kept"
        new, self._new = self._new, []
        return b"".join(_line(*each) for each in new)

    def lines(self) -> bytes:
        """Return all secrets as the lines of a key log."""
        return b"".join(
            _line(label, random, secret)
            for random, secrets in self._secrets.items()
            for label, secret in secrets.items()
        )

    def secrets_of(self, client_random: bytes) -> Mapping[str, bytes]:
        """Return the secrets of a connection by label; none where the connection is not known."""
        if client_random not in self._secrets:
            self._read_more()
        return self._secrets.get(client_random, _NO_SECRETS)

    def secret_of(self, client_random: bytes, label: str) -> bytes:
        """Return one secret of a connection; empty where it is not known."""
        secret = self.secrets_of(client_random).get(label, b"")
        if not secret and self._read_more():
            secret = self._secrets.get(client_random, _NO_SECRETS).get(label, b"")
        return secret

    def _read_more(self) -> bool:
        """Return whether lines were written since the file was last read."""
        lines = b"" if self._more is None else self._more()
        try:
            self.add(lines)
        except KeyLogLineError as err:
            if not self._has_malformed_growth:
                self._has_malformed_growth = True
                self.report(f"key log: malformed lines that were added are skipped, the first one: {err.why}")
        return bool(lines)

    def _add_line(self, text: bytes) -> str:
        """Add a line; return its problem instead, if it has one."""
        found = _LINE.fullmatch(text)
        why = "not LABEL RANDOM SECRET" if found is None else _problem(*found.groups())
        if found is None or why:
            return why
        label = _NAMES.get(found[1], "")
        if label:
            self._keep(label, bytes.fromhex(found[2].decode()), bytes.fromhex(found[3].decode()))
        return ""

    def _keep(self, label: str, random: bytes, secret: bytes) -> None:
        if len(self._secrets) >= TLS_SECRETS_MAX and random not in self._secrets:
            if not self._is_full:
                self._is_full = True
                self.report(f"TLS secrets of more than {TLS_SECRETS_MAX:,} connections: the rest is skipped")
            return
        secrets = self._secrets.setdefault(random, {})
        if self._new is not None and secrets.get(label) != secret:
            self._new.append((label, random, secret))
        secrets[label] = secret


def _line(label: str, random: bytes, secret: bytes) -> bytes:
    return f"{label} {random.hex()} {secret.hex()}\n".encode()


def _problem(label: bytes, client_random: bytes, secret: bytes) -> str:
    """Return the problem of the hex values of a line; empty if there is none."""
    if len(client_random) % 2 or len(secret) % 2:
        return f"half a byte at the end of a value of {label.decode()}"
    # `RSA` lines have 8 bytes of an encrypted secret in its place; they are not used.
    if len(client_random) != 2 * RANDOM_BYTES and label != b"RSA":
        return f"a random value of {len(client_random) // 2} bytes; expected {RANDOM_BYTES}"
    sizes = _SIZES.get(label)
    if sizes is not None and len(secret) // 2 not in sizes:
        return f"a secret of {len(secret) // 2} bytes for {label.decode()}; expected {' or '.join(map(str, sizes))}"
    return ""
