"""Secrets of TLS connections, in the format that browsers, OpenSSL and curl write (RFC 9850, SSLKEYLOGFILE)."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

#: Bytes of the random value by which a connection is found.
RANDOM_BYTES = 32
#: The secret of a TLS 1.2 session.
MASTER_SECRET = "CLIENT_RANDOM"
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

    def __init__(self) -> None:
        self._secrets: dict[bytes, dict[str, bytes]] = {}
        #: Lines that were added since they were last taken.
        self._new: list[bytes] = []

    @classmethod
    def of(cls, data: bytes) -> "KeyLog":
        """Return the secrets in the lines of a key log; errors as of `add`."""
        keys = cls()
        keys.add(data)
        return keys

    def __len__(self) -> int:
        return len(self._secrets)

    def add(self, data: bytes) -> None:
        """Add the lines of a key log; KeyLogLineError, with none of them added, for one of another form.

        Comments and empty lines are skipped, and so is a last line that is not complete: another program may still
        write to the file.
        """
        found = list(_secrets_in(data))
        for label, client_random, secret in found:
            self._secrets.setdefault(client_random, {})[label] = secret
            self._new.append(f"{label} {client_random.hex()} {secret.hex()}\n".encode())

    def take_new(self) -> bytes:
        """Return the lines that were added since the last call."""
        lines, self._new = b"".join(self._new), []
        return lines

    def secrets_of(self, client_random: bytes) -> Mapping[str, bytes]:
        """Return the secrets of a connection by label; none where the connection is not known."""
        return self._secrets.get(client_random, _NO_SECRETS)


def _secrets_in(data: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        found = _LINE.fullmatch(text)
        why = "not LABEL RANDOM SECRET" if found is None else _problem(*found.groups())
        if found is not None and not why:
            yield found[1].decode(), bytes.fromhex(found[2].decode()), bytes.fromhex(found[3].decode())
        elif number < len(lines):
            raise KeyLogLineError(number, why)


def _problem(label: bytes, client_random: bytes, secret: bytes) -> str:
    """Return the problem of the hex values of a line; empty if there is none."""
    if len(client_random) % 2 or len(secret) % 2:
        return f"half a byte at the end of a value of {label.decode()}"
    # `RSA` lines have 8 bytes of an encrypted secret in its place; they are not used.
    if len(client_random) != 2 * RANDOM_BYTES and label != b"RSA":
        return f"a random value of {len(client_random) // 2} bytes; expected {RANDOM_BYTES}"
    return ""
