"""tshark shows connections of either schema of the batch style of SBP as `decode` does."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.export.wireshark.compared import compare
from tests.export.wireshark.shown import by_tshark
from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol
from tests.helpers.recorded import unpack_recordings
from tests.helpers.tools import run_tool
from wiretool.codec.message import Side
from wiretool.dissect.dissector import read
from wiretool.export.wireshark import make_dissector
from wiretool.protocols.base.registry import PROTOCOLS

pytestmark = needs_protocol("sbp-0.1", "sbp")

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "captures" / "sbp-0.1"
OPTIONS = [word for port in (10911, 10912, 10913, 12378) for word in ("-d", f"tcp.port=={port},sbp_0_1")]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dissector of the protocols that share ports."""
    path = tmp_path_factory.mktemp("lua") / "wiretool.lua"
    path.write_text(make_dissector([PROTOCOLS["sbp"], PROTOCOLS["sbp-0.1"]], "0"))
    return path


def test_the_batch_style_is_shown_as_decode_shows_it(script: Path, tmp_path: Path) -> None:
    """All in one capture: a start of tshark takes longer than reading one."""
    real = (unpack_recordings() / "captures" / "sbp-server").glob("pm_*.pcap")
    paths = {path.name: str(path) for path in [*CAPTURES.glob("*.pcap"), *real]}
    run_tool("mergecap", "-w", str(tmp_path / "all.pcapng"), *sorted(paths.values()))
    assert compare("sbp-0.1", script, tmp_path / "all.pcapng", OPTIONS) == (148, 0)


def test_other_ports_are_of_the_protocol_that_has_the_default_ones(script: Path, tmp_path: Path) -> None:
    """The first frames of both protocols are alike."""
    said = [(each.side, each.raw) for each in read(ROOT / "captures" / "sbp" / "pd_heartbeat.pcap") if each.raw]
    path = tmp_path / "other.pcap"
    path.write_bytes(pcap_bytes(tcp_packets(said, server=("10.0.0.2", 22378), acks=False)))
    shown = by_tshark(script, path, PROTOCOLS["sbp"])
    assert sum(map(len, shown.values())) == len(said) > 10


def conversations() -> list[Sequence[tuple[Side, bytes]]]:
    """Return connections of both schemas with batches, whole and broken, and the frames of all vectors."""
    from tests.protocols.sbp_0_1.talk import append, batch, fetched, plain
    from wiretool.protocols.sbp_0_1.messages import S1, S2

    said: list[Sequence[tuple[Side, bytes]]] = [plain(schema, 8) for schema in (S1, S2)]
    for schema in (S1, S2):
        whole = batch(schema, b"one", b"two")
        said += [[append(schema, 1, whole[:cut])] for cut in range(1, len(whole))]
        said.append([fetched(schema, 2, whole, whole[:-1])])
    vectors = json.loads((ROOT / "tests" / "vectors" / "sbp.json").read_text())
    frames = [bytes.fromhex(each["hex"]) for each in vectors if each["version"] == "sbp-0.1" and "expect" in each]
    return said + [[("server" if frame[7] & 1 else "client", frame)] for frame in frames]


def test_batches_and_vectors_are_shown_as_decode_shows_them(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    packets = [
        packet
        for number, said in enumerate(conversations())
        for packet in tcp_packets(said, client=("10.0.0.1", 20_000 + number), server=("10.0.0.2", 10911), acks=False)
    ]
    path.write_bytes(pcap_bytes(packets))
    count, others = compare("sbp-0.1", script, path, OPTIONS)
    assert count > 300
    assert others == 0
