"""TLS conversations between Python's own client and server, in memory, and the key log of them."""

import ssl
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import trustme

from wiretool.capture.tcp.stream_events import Side

#: What a test makes of the contexts of client and server.
Setup = Callable[[ssl.SSLContext, ssl.SSLContext], None]
HOST = "logs.example"


class TlsTalk(NamedTuple):
    """The bytes that both sides have sent in turn, as TLS and in the clear, and the key log."""

    says: list[tuple[Side, bytes]]
    clear: list[tuple[Side, bytes]]
    keylog: bytes


@cache
def authority(key_type: trustme.KeyType = trustme.KeyType.ECDSA) -> tuple[trustme.CA, trustme.LeafCert]:
    """Return an authority and its certificate for HOST."""
    ca = trustme.CA(key_type=key_type)
    return ca, ca.issue_cert(HOST, key_type=key_type)


def talk_tls(
    clear: Sequence[tuple[Side, bytes]],
    *,
    setup: Setup = lambda client, server: None,
    key_type: trustme.KeyType = trustme.KeyType.ECDSA,
    ask_after: int = 0,
) -> TlsTalk:
    """Have both sides send these bytes over TLS; `setup` chooses versions and cipher suites.

    After so many of them, if that is not 0, the server asks for the certificate of its client.
    """
    return _Talk(setup, key_type, ask_after).run(clear)


def talk_again(clear: Sequence[tuple[Side, bytes]], *, setup: Setup) -> tuple[TlsTalk, TlsTalk]:
    """Have two conversations, the second of which resumes the session of the first."""
    pair = _Talk(setup, trustme.KeyType.ECDSA)
    first = pair.run(clear)
    second = pair.run(clear, session=pair.session)
    assert pair.was_resumed
    return first, second


class _Talk:
    """A client and a server."""

    def __init__(self, setup: Setup, key_type: trustme.KeyType, ask_after: int = 0) -> None:
        self._ask_after = ask_after
        ca, certificate = authority(key_type)
        self._client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.configure_trust(self._client)
        certificate.configure_cert(self._server)
        setup(self._client, self._server)
        self.session: ssl.SSLSession | None = None
        self.was_resumed = False

    def run(self, clear: Sequence[tuple[Side, bytes]], *, session: ssl.SSLSession | None = None) -> TlsTalk:
        with TemporaryDirectory() as folder:
            path = Path(folder, "keys")
            self._client.keylog_filename = str(path)
            says = self._say(clear, session)
            return TlsTalk(says, list(clear), path.read_bytes())

    def _say(self, clear: Sequence[tuple[Side, bytes]], session: ssl.SSLSession | None) -> list[tuple[Side, bytes]]:
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        #: What each side has written, until the other one gets it.
        out_client, out_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self._client.wrap_bio(to_client, out_client, server_hostname=HOST, session=session)
        server = self._server.wrap_bio(to_server, out_server, server_side=True)
        says: list[tuple[Side, bytes]] = []
        ways: list[tuple[Side, ssl.MemoryBIO, ssl.MemoryBIO]] = [
            ("client", out_client, to_server),
            ("server", out_server, to_client),
        ]

        def carry() -> None:
            for side, out, target in ways:
                if data := out.read():
                    says.append((side, data))
                    target.write(data)

        done = {"client": False, "server": False}
        while not all(done.values()):
            for side, end in (("client", client), ("server", server)):
                try:
                    end.do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
                carry()
        for number, (side, data) in enumerate(clear):
            if number == self._ask_after > 0:
                server.verify_client_post_handshake()
            sender, receiver = (client, server) if side == "client" else (server, client)
            sender.write(data)
            carry()
            received = b""
            while len(received) < len(data):
                try:
                    received += receiver.read(len(data))
                except ssl.SSLWantReadError:
                    carry()
            carry()
        self.session, self.was_resumed = client.session, client.session_reused
        return says
