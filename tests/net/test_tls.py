"""The secrets that servers and taps log: in the format of curl's SSLKEYLOGFILE, also of handshakes that fail."""

import re
import ssl
from pathlib import Path
from stat import S_IMODE

import pytest

from tests.helpers.tls import HOST, authority
from wiretool.capture.tls.keylog import KeyLog
from wiretool.errors import OutputError
from wiretool.net.tls import WrittenKeyLog, server_context

#: Labels of TLS 1.3 as OpenSSL names them, for curl as well; and that of TLS 1.2 (RFC 9850 §2).
LABELS = {
    ssl.TLSVersion.TLSv1_3: {
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
    },
    ssl.TLSVersion.TLSv1_2: {"CLIENT_RANDOM"},
}


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> bool:
    """Return whether both sides come to an end of the handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=HOST),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return True


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    ca, certificate = authority()
    pem, keylog = tmp_path / "server.pem", tmp_path / "keys"
    reported: list[str] = []
    certificate.private_key_and_cert_chain_pem.write_to_path(pem)
    keylog.symlink_to("/dev/full")
    server, client = server_context(pem, None), ssl.create_default_context()
    ca.configure_trust(client)
    keys = WrittenKeyLog(keylog, reported.append)
    keys.add(server)
    for _ in range(2):
        assert not shake_hands(client, server)
    why = f"--keylog {keylog}: cannot be written: No space left on device"
    assert reported == [f"{why}; connections over TLS fail"]
    with pytest.raises(OutputError, match=why):
        keys.check()


@pytest.mark.parametrize("version", LABELS, ids=["1.3", "1.2"])
@pytest.mark.parametrize("is_trusted", [True, False])
def test_secrets_are_logged_as_curl_does(version: ssl.TLSVersion, is_trusted: bool, tmp_path: Path) -> None:
    ca, certificate = authority()
    pem, keylog = tmp_path / "server.pem", tmp_path / "keys"
    certificate.private_key_and_cert_chain_pem.write_to_path(pem)
    server, client = server_context(pem, None), ssl.create_default_context()
    WrittenKeyLog(keylog, print).add(server)
    server.maximum_version = version
    if is_trusted:
        ca.configure_trust(client)
    assert shake_hands(client, server) == is_trusted
    lines = [line for line in keylog.read_text("ascii").splitlines() if not line.startswith("#")]
    expected = LABELS[version]
    if not is_trusted:  # the last secret is that of the client's Finished, which is missing; in TLS 1.2 the only one
        expected = expected - {"CLIENT_TRAFFIC_SECRET_0", "CLIENT_RANDOM"}
    assert {line.split()[0] for line in lines} == expected
    assert all(re.fullmatch(r"[A-Z0-9_]+ [0-9a-f]{64} ([0-9a-f]{64}|[0-9a-f]{96})", line) for line in lines)
    assert len(KeyLog.of(keylog.read_bytes())) == bool(lines)
    assert S_IMODE(keylog.stat().st_mode) == 0o600
