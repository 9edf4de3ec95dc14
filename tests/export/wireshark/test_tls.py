"""tshark shows messages that it has decrypted as `decode --keylog` does."""

import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.export.wireshark.compared import compare
from tests.export.wireshark.shown import by_decode, by_tshark
from tests.export.wireshark.test_tshark import check_same
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.tls import talk_tls
from tests.helpers.tools import run_tool
from wiretool.capture.tls.keylog import KeyLog
from wiretool.dissect.dissector import read
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

CAPTURES = Path(__file__).parents[3] / "captures"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    names = ("pravega", "sbp", "offramp")
    path.write_text(make_dissector([PROTOCOLS[name] for name in names if name in PROTOCOLS], "0"))
    return path


def options_of(keylog: Path) -> Sequence[str]:
    return ("-o", f"tls.keylog_file:{keylog}")


def write_tls(capture: Path, protocol: str, port: int, path: Path, version: ssl.TLSVersion) -> KeyLog:
    """Write the frames of a capture as one conversation over TLS, with its key log beside it; return that."""

    def choose(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        client.maximum_version = version

    frames = [record for record in read(capture) if record.kind == "frame" and record.protocol == protocol]
    first = frames[0].connection
    talk = talk_tls([(each.side, each.raw) for each in frames if each.connection == first], setup=choose)
    path.write_bytes(pcap_bytes(tcp_packets(talk.says, server=("10.0.0.2", port), acks=False)))
    path.with_suffix(".keys").write_bytes(talk.keylog)
    return KeyLog.of(talk.keylog)


@needs_protocol("pravega")
@pytest.mark.parametrize(("port", "version"), [(12345, ssl.TLSVersion.TLSv1_3), (9876, ssl.TLSVersion.TLSv1_2)])
def test_pravega_over_tls_is_shown_as_decode_shows_it(
    port: int, version: ssl.TLSVersion, script: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tls.pcap"
    keys = write_tls(CAPTURES / "pravega" / "read.pcap", "pravega", port, path, version)
    ours = by_decode(path, PROTOCOLS["pravega"], keys)
    theirs = by_tshark(script, path, PROTOCOLS["pravega"], options_of(path.with_suffix(".keys")))
    assert check_same("pravega", ours, theirs) == 24


@needs_protocol("pravega")
def test_tls_is_decrypted_in_two_passes(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "tls.pcap"
    write_tls(CAPTURES / "pravega" / "read.pcap", "pravega", 12345, path, ssl.TLSVersion.TLSv1_3)
    words = ("-X", f"lua_script:{script}", "-r", str(path), "-T", "fields", "-e", "pravega.type")
    shown = run_tool("tshark", *words, *options_of(path.with_suffix(".keys")), "-2").split()
    assert sum(line.count(",") + 1 for line in shown) == 24


@needs_protocol("sbp")
def test_sbp_over_tls_is_shown_as_decode_shows_it(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "tls.pcap"
    keys = write_tls(CAPTURES / "sbp" / "rs_fetch.pcap", "sbp", 10911, path, ssl.TLSVersion.TLSv1_3)
    count, others = compare("sbp", script, path, options_of(path.with_suffix(".keys")), keys)
    assert count > 50
    assert others == 0


@needs_protocol("offramp")
def test_offramp_over_tls_is_shown_as_decode_shows_it(script: Path) -> None:
    from tests.export.wireshark.websocket import compare_messages

    keylog = CAPTURES / "offramp" / "java_tls13.keylog.txt"
    keys = KeyLog.of(keylog.read_bytes())
    assert compare_messages(script, CAPTURES / "offramp" / "java_tls13.pcap", options_of(keylog), keys=keys) == 285
