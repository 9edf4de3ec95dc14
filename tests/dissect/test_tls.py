"""TLS connections as records: the same messages as in the clear, on both paths, with and without keys."""

import ssl
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.capture.tls.test_connection import TLS_1_2, TLS_1_3, version
from tests.helpers.captures import packets_of, pcap_bytes, tcp_packets
from tests.helpers.examples import needs_protocol, parts
from tests.helpers.tls import HOST, talk_tls
from tests.helpers.truth import check_ledger
from wiretool.batches.rows import records_of
from wiretool.capture.packets import Packet, Tick
from wiretool.capture.tcp.stream_events import Side
from wiretool.capture.tls.keylog import KeyLog
from wiretool.dissect.columns.read import read_batches
from wiretool.dissect.columns.workers import read_batches_by
from wiretool.dissect.dissector import read, read_from
from wiretool.ledger import Ledger
from wiretool.records import Record
from wiretool.sinks.pcapng import tls_secrets

CAPTURES = Path(__file__).parents[2] / "captures"
OFFRAMP = CAPTURES / "offramp"
PORTS = {"pravega": 12345, "sbp": 10911, "offramp": 8080}


def real_keys() -> bytes:
    """Return the secrets of the real capture."""
    return (OFFRAMP / "java_tls13.keylog.txt").read_bytes()


def dissected(path: Path, keylog: bytes = b"") -> list[Record]:
    """Return the records of a capture, which are the same by rows and by columns, and add up."""
    by_rows, by_columns = Ledger(), Ledger()
    records = list(read(path, ledger=by_rows, keys=KeyLog.of(keylog)))
    batches = read_batches(path, ledger=by_columns, keys=KeyLog.of(keylog))
    assert [record for batch in batches for record in records_of(batch)] == records
    assert by_rows.as_json() == by_columns.as_json()
    check_ledger(records, by_rows)
    return records


def messages(records: Sequence[Record]) -> list[tuple[Side, str, bytes]]:
    return [(each.side, each.message, each.raw) for each in records if each.kind == "frame"]


def others(records: Sequence[Record]) -> set[str]:
    return {record.why for record in records if record.kind == "other"}


@needs_protocol("offramp")
def test_a_real_capture_has_the_messages_of_its_twin_in_the_clear() -> None:
    records = dissected(OFFRAMP / "java_tls13.pcap", real_keys())
    assert messages(records) == messages(dissected(OFFRAMP / "java_tls13_clear.pcap"))
    assert {record.kind for record in records} == {"frame", "other"}
    assert others(records) == {"TLS 1.3, decrypted: handshake, headers and tags of records"}


@needs_protocol("offramp")
def test_a_real_capture_has_the_events_that_its_server_has_noted() -> None:
    import json

    path = OFFRAMP / "java_tls13.truth.json"
    records = [each for each in dissected(OFFRAMP / "java_tls13.pcap", real_keys()) if each.kind == "frame"]
    parts("truth", "check_capture")["offramp"](records, json.loads(path.read_text()), path, True)


@needs_protocol("offramp")
def test_secrets_in_a_pcapng_file(tmp_path: Path) -> None:
    assert messages(dissected(pcapng_with(tmp_path, real_keys()))) == messages(
        dissected(OFFRAMP / "java_tls13_clear.pcap")
    )


def pcapng_with(folder: Path, secrets: bytes) -> Path:
    """Return the real capture as pcapng, with a block of secrets before its packets."""
    from tests.helpers.captures import interface, packet_block, section
    from wiretool.capture.files.reading import read_packets

    packets = list(read_packets([OFFRAMP / "java_tls13.pcap"]))
    head = section("<") + tls_secrets(secrets)
    head += interface("<", packets[0].link_type, options=[(9, b"\x09")])
    blocks = [packet_block("<", 0, packet.time_ns, packet.data, packet.length) for packet in packets]
    path = folder / "with_secrets.pcapng"
    path.write_bytes(head + b"".join(blocks))
    return path


@needs_protocol("offramp")
def test_a_malformed_line_of_secrets_in_a_pcapng_file_is_skipped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = pcapng_with(tmp_path, b"a line of another form\n" + real_keys() + b"RANDOM\n")
    reported: list[str] = []
    records = list(read(path, keys=KeyLog(reported.append)))
    assert reported == [f"{path}: line 1 of its TLS secrets is malformed and skipped: not LABEL RANDOM SECRET"]
    assert messages(records) == messages(dissected(OFFRAMP / "java_tls13_clear.pcap"))
    for batches in (read_batches, partial(read_batches_by, 3)):
        keys = KeyLog(partial(print, file=sys.stderr, flush=True))
        assert [record for batch in batches(path, keys=keys) for record in records_of(batch)] == records
        assert capfd.readouterr().err.splitlines() == reported


@needs_protocol("offramp")
def test_a_capture_without_keys_is_described_by_its_hellos() -> None:
    assert others(dissected(OFFRAMP / "java_tls13.pcap")) == {
        "TLS 1.3; not decrypted: no keys; give them with --keylog FILE"
    }
    another = real_keys().replace(b"448895", b"448896")
    assert others(dissected(OFFRAMP / "java_tls13.pcap", another)) == {
        "TLS 1.3; not decrypted: the key log has no secrets of this connection"
    }


# -- conversations made for the test ----------------------------------------------------------------------------------


def clear_of(name: str, source: str) -> list[tuple[Side, bytes]]:
    """Return the bytes of the first connections' frames of a capture, as they were sent in turn."""
    records = [each for each in read(CAPTURES / name / source) if each.kind == "frame" and each.connection == 0]
    assert len(records) > 10
    return [(each.side, each.raw) for each in records[:60]]


@pytest.fixture(scope="module", params=[TLS_1_2, TLS_1_3], ids=["1.2", "1.3"])
def lowest(request: pytest.FixtureRequest) -> ssl.TLSVersion:
    value: ssl.TLSVersion = request.param
    return value


def written(path: Path, packets: Sequence[Packet]) -> Path:
    path.write_bytes(pcap_bytes(packets))
    return path


@pytest.mark.parametrize(
    ("name", "source"), [("sbp", "rs_append.pcap"), ("offramp", "plain.pcap"), ("pravega", "write.pcap")]
)
@pytest.mark.parametrize("mtu", [1460, 100])
def test_conversations_are_read_as_in_the_clear(
    name: str, source: str, mtu: int, lowest: ssl.TLSVersion, tmp_path: Path
) -> None:
    """The server's port is that of the protocol, on which columns expect it."""
    clear = clear_of(name, source)
    talk = talk_tls(clear, setup=version(lowest))
    server = "10.0.0.2", PORTS[name]
    sealed = tcp_packets(talk.says, server=server, mtu=mtu)
    plain = dissected(written(tmp_path / "plain.pcap", tcp_packets(clear, server=server)))
    records = dissected(written(tmp_path / "sealed.pcap", sealed), talk.keylog)
    assert messages(records) == messages(plain)
    assert [record.fields for record in records if record.kind == "frame"] == [
        record.fields for record in plain if record.kind == "frame"
    ]


def test_many_connections_with_and_without_keys(lowest: ssl.TLSVersion, tmp_path: Path) -> None:
    """Connections in the clear are beside them, so that columns read many together."""
    clear = clear_of("sbp", "rs_append.pcap")
    talks = [talk_tls(clear, setup=version(lowest)) for _ in range(2)]
    says = [talks[0].says, clear, talks[1].says, clear, clear]
    lists = [
        tcp_packets(each, client=("10.0.0.1", 40_000 + number), server=("10.0.0.2", 10911))
        for number, each in enumerate(says)
    ]
    frames = [packets[at].data for at in range(max(map(len, lists))) for packets in lists if at < len(packets)]
    path = written(tmp_path / "many.pcap", packets_of(frames))
    records = dissected(path, talks[0].keylog)
    by_client: dict[str, list[Record]] = {record.client: [] for record in records}
    for record in records:
        by_client[record.client].append(record)
    expected = messages(by_client["10.0.0.1:40001"])
    assert expected
    for number in (0, 3, 4):
        assert messages(by_client[f"10.0.0.1:{40_000 + number}"]) == expected
    (why,) = others(by_client["10.0.0.1:40002"])
    name = "TLS 1.2" if lowest == TLS_1_2 else "TLS 1.3"
    assert why == (
        f"{name} (server name {HOST}), on a port of sbp; not decrypted: the key log has no secrets of this connection"
    )


def test_lost_segments_are_a_gap(tmp_path: Path) -> None:
    clear = clear_of("sbp", "rs_append.pcap")
    talk = talk_tls(clear, setup=version(TLS_1_3))
    packets = tcp_packets(talk.says, server=("10.0.0.2", 10911))
    big = [at for at, packet in enumerate(packets) if len(packet.data) > 200]
    lossy = [packet for at, packet in enumerate(packets) if at != big[len(big) // 2]]
    records = dissected(written(tmp_path / "lossy.pcap", packets_of(packet.data for packet in lossy)), talk.keylog)
    assert sum(record.kind == "gap" for record in records) == 1
    assert not [record for record in records if record.error == "tls-undecrypted"]
    whole = messages(dissected(written(tmp_path / "whole.pcap", packets), talk.keylog))
    assert len(whole) - 3 <= len(messages(records)) < len(whole)
    assert messages(records)[-3:] == whole[-3:]


def test_frames_after_a_gap_of_tls_are_found() -> None:
    """A gap in TLS is longer than the bytes that it protects: the rest of a frame has another length."""
    padding = (0xFFFFFFFF).to_bytes(4, "big")
    frames: list[tuple[Side, bytes]] = [
        ("client", padding + size.to_bytes(4, "big") + bytes(size)) for size in (60_000, *[92] * 300)
    ]
    talk = talk_tls(frames, setup=version(TLS_1_3))
    packets = tcp_packets(talk.says, server=("10.0.0.2", 12345))
    big = [at for at, packet in enumerate(packets) if len(packet.data) > 1300]
    lossy = packets_of(packet.data for at, packet in enumerate(packets) if at != big[len(big) // 2])
    seen = list(read_from(lossy, keys=KeyLog.of(talk.keylog)))
    assert sum(record.kind == "frame" for record in seen) == 300


def test_a_live_source_decrypts_as_packets_come() -> None:
    """The tick asks for what waits while the hello is all that there is."""
    clear = clear_of("sbp", "rs_append.pcap")
    talk = talk_tls(clear, setup=version(TLS_1_3))
    packets = tcp_packets(talk.says, server=("10.0.0.2", 10911))
    half = len(packets) // 2
    given: list[Packet | Tick] = []
    for packet in packets[:half]:
        given += [packet, Tick(packet.time_ns + 10**9)]
    seen = list(read_from([*given, *packets[half:]], keys=KeyLog.of(talk.keylog)))
    assert messages(seen) == messages(list(read_from(packets, keys=KeyLog.of(talk.keylog))))
    assert len(messages(seen)) == len(clear)


def test_a_live_source_waits_for_the_secrets_that_a_program_writes() -> None:
    """They are in the file after the hello of the server has passed."""
    clear = clear_of("sbp", "rs_append.pcap")
    talk = talk_tls(clear, setup=version(TLS_1_3))
    packets = tcp_packets(talk.says, server=("10.0.0.2", 10911))
    has_hellos = min(at for at, packet in enumerate(packets) if packet.data[36:38] == b"\x2a\x9f") + 3
    written = [b""]
    keys = KeyLog(more=lambda: written[0])

    def source() -> Iterator[Packet | Tick]:
        for at, packet in enumerate(packets):
            yield packet
            yield Tick(packet.time_ns + 10**9)
            if at == has_hellos:
                written[0] = talk.keylog

    seen = list(read_from(source(), keys=keys))
    assert len(messages(seen)) == len(clear)


def test_a_live_source_waits_for_secrets_that_are_written_one_by_one() -> None:
    """Those of the handshake come first, and the messages keep their order and their requests."""
    clear = clear_of("sbp", "rs_append.pcap")
    talk = talk_tls(clear, setup=version(TLS_1_3))
    packets = tcp_packets(talk.says, server=("10.0.0.2", 10911))
    lines = sorted(talk.keylog.splitlines(keepends=True), key=lambda line: (b"_HANDSHAKE_" not in line, line))
    written: list[bytes] = []
    keys = KeyLog(more=lambda: written.pop() if written else b"")

    def source() -> Iterator[Packet | Tick]:
        for at, packet in enumerate(packets):
            yield packet
            if at % 8 == 7 and lines:
                written.append(lines.pop(0))
            yield Tick(packet.time_ns + 10**9)

    seen = list(read_from(source(), keys=keys))
    expected = list(read_from(packets, keys=KeyLog.of(talk.keylog)))
    assert messages(seen) == messages(expected)
    assert [each.reply_to for each in seen if each.kind == "frame"] == [
        each.reply_to for each in expected if each.kind == "frame"
    ]
