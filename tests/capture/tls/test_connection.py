"""TLS connections of Python's own client and server, decrypted: all versions, suites, cuts and damages."""

import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tls import Setup, TlsTalk, authority, talk_again, talk_tls
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import read_packets
from wiretool.capture.tcp.reassembler import Streams
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item, Side
from wiretool.capture.tls.connection import UNDECRYPTED, TlsBytes, TlsConnection
from wiretool.capture.tls.epochs import epoch_1_3
from wiretool.capture.tls.keylog import KeyLog
from wiretool.capture.tls.suites import SUITES

CLEAR: list[tuple[Side, bytes]] = [
    ("client", b"GET /"),
    ("server", bytes(range(256)) * 100),
    ("client", b"x" * 40_000),
    ("server", b"bye"),
]
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
#: Suites of TLS 1.2 in OpenSSL's words, with the kind of certificate that they ask for.
SUITES_1_2 = [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-AES128-CCM", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-AES256-CCM8", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-AES128-SHA", trustme.KeyType.ECDSA),
    ("ECDHE-ECDSA-AES256-SHA384", trustme.KeyType.ECDSA),
    ("AES256-SHA256", trustme.KeyType.RSA),
    ("AES128-GCM-SHA256", trustme.KeyType.RSA),
]


def version(lowest: ssl.TLSVersion, suites: str = "", options: ssl.Options | None = None) -> Setup:
    """Return a setup of one version, and of some suites of TLS 1.2."""

    def set_up(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        for context in (client, server):
            context.minimum_version = context.maximum_version = lowest
            if suites:
                context.set_ciphers(suites + ":@SECLEVEL=0")
        if options is not None:
            client.options |= options

    return set_up


@cache
def talk_1_3() -> TlsTalk:
    return talk_tls(CLEAR, setup=version(TLS_1_3))


def decrypted(says: Sequence[tuple[Side, bytes]], keylog: bytes, *, cut: int = 1 << 20) -> list[Item | TlsBytes]:
    """Return the items of a conversation, given in segments of so many bytes at most, each a packet."""
    connection = Connection(0, bytes(6), bytes(6), 0)
    items: list[Item] = []
    offsets: dict[Side, int] = {"client": 0, "server": 0}
    for side, data in says:
        for at in range(0, len(data), cut):
            number = len(items) + 1
            items.append(Data(connection, side, offsets[side], data[at : at + cut], 1000 * number, number))
            offsets[side] += len(data[at : at + cut])
    return taken(connection, [*items, End(connection, "", "fin", 0, 0)], keylog)


def taken(connection: Connection, items: Iterable[Item], keylog: bytes) -> list[Item | TlsBytes]:
    keys = KeyLog()
    keys.add(keylog)
    tls = TlsConnection(connection, keys)
    return [out for item in items for out in tls.take(item)]


def streams(items: Iterable[Item | TlsBytes]) -> dict[Side, bytes]:
    out: dict[Side, bytes] = {"client": b"", "server": b""}
    for item in items:
        if isinstance(item, Data):
            assert item.offset == len(out[item.side])
            out[item.side] += item.data
    return out


def sent(says: Iterable[tuple[Side, bytes]]) -> dict[Side, bytes]:
    out: dict[Side, bytes] = {"client": b"", "server": b""}
    for side, data in says:
        out[side] += data
    return out


def assert_read(talk: TlsTalk) -> None:
    """Assert that all bytes are decrypted, and that every byte of TLS is accounted for."""
    items = decrypted(talk.says, talk.keylog)
    assert streams(items) == sent(talk.clear)
    assert not [item for item in items if isinstance(item, Finding)]
    assert all(item.is_read for item in items if isinstance(item, TlsBytes))
    assert sum(size_of(item) for item in items) == sum(len(data) for _, data in talk.says)


def size_of(item: Item | TlsBytes) -> int:
    if isinstance(item, TlsBytes):
        return item.size
    return len(item.data) if isinstance(item, Data | Finding) else 0


@pytest.mark.parametrize(("suite", "key_type"), SUITES_1_2)
def test_suites_of_tls_1_2(suite: str, key_type: trustme.KeyType) -> None:
    assert_read(talk_tls(CLEAR, setup=version(TLS_1_2, suite), key_type=key_type))


def test_macs_of_records_and_of_their_content() -> None:
    """OpenSSL encrypts first, then makes the MAC, unless the client does not offer it (RFC 7366)."""
    no_extension = ssl.Options(1 << 19)  # SSL_OP_NO_ENCRYPT_THEN_MAC
    assert_read(talk_tls(CLEAR, setup=version(TLS_1_2, "ECDHE-ECDSA-AES256-SHA", no_extension)))


def test_tls_1_3() -> None:
    assert_read(talk_1_3())


@pytest.mark.parametrize("lowest", [TLS_1_2, TLS_1_3])
def test_resumed_sessions(lowest: ssl.TLSVersion) -> None:
    for talk in talk_again(CLEAR, setup=version(lowest)):
        assert_read(talk)


def test_a_hello_retry_request() -> None:
    def another_group(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
        version(TLS_1_3)(client, server)
        server.set_ecdh_curve("secp384r1")

    talk = talk_tls(CLEAR, setup=another_group)
    assert sum(data[:1] == b"\x16" and data[5:6] == b"\x02" for side, data in talk.says if side == "server") == 2
    assert_read(talk)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3000))
def test_any_segments_give_the_same_bytes(cut: int) -> None:
    talk = talk_1_3()
    assert streams(decrypted(talk.says, talk.keylog, cut=max(cut, 40))) == sent(talk.clear)


def test_each_record_has_the_packet_of_its_last_byte() -> None:
    talk = talk_1_3()
    whole = [item for item in decrypted(talk.says, talk.keylog) if isinstance(item, Data)]
    split = [item for item in decrypted(talk.says, talk.keylog, cut=700) if isinstance(item, Data)]
    assert [item.data for item in split] == [item.data for item in whole]
    packets = [side for side, data in talk.says for _ in range(0, len(data), 700)]
    last = split[-1]
    assert (last.side, last.packet, last.time_ns) == ("server", len(packets), 1000 * len(packets))


# -- damage ------------------------------------------------------------------------------------------------------------


def lossy(talk: TlsTalk, lost_from: int, size: int) -> list[Item | TlsBytes]:
    """Return what is read where so many bytes of the server were not captured."""
    connection = Connection(0, bytes(6), bytes(6), 0)
    items: list[Item] = []
    at = 0
    for number, (side, data) in enumerate(talk.says, 1):
        if side == "client" or not at < lost_from + size or at + len(data) <= lost_from:
            items.append(Data(connection, side, 0, data, number, number))
        else:
            before, after = data[: max(lost_from - at, 0)], data[max(lost_from + size - at, 0) :]
            items += [Data(connection, side, 0, before, number, number)] if before else []
            items.append(Gap(connection, side, lost_from, len(data) - len(before) - len(after), number, number))
            items += [Data(connection, side, 0, after, number, number)] if after else []
        at += len(data) if side == "server" else 0
    return taken(connection, [*items, End(connection, "", "fin", 0, 0)], talk.keylog)


def test_records_after_a_gap_are_read() -> None:
    """They say nothing of their number: the next ones are tried."""
    clear: list[tuple[Side, bytes]] = [("server", bytes([number]) * 500) for number in range(40)]
    talk = talk_tls(clear, setup=version(TLS_1_3))
    total = len(sent(talk.says)["server"])
    items = lossy(talk, total - 12_000, 5_000)
    assert {item.is_exact for item in items if isinstance(item, Gap)} == {False}
    cut = [item for item in items if isinstance(item, TlsBytes) and not item.is_read]
    assert 0 < sum(item.size for item in cut) < 2 * 600  # what is left of the records at both ends of the gap
    assert not [item for item in items if isinstance(item, Finding)]
    after = b"".join(item.data for item in items if isinstance(item, Data))
    assert after.endswith(b"".join(data for _, data in clear[-10:]))
    assert sum(size_of(item) + (item.length if isinstance(item, Gap) else 0) for item in items) == sum(
        len(data) for _, data in talk.says
    )


def test_a_gap_over_the_end_of_the_handshake() -> None:
    for lowest in (TLS_1_2, TLS_1_3):
        talk = talk_tls([("server", b"1" * 400), ("server", b"2" * 400)] * 5, setup=version(lowest))
        hello = len(next(data for side, data in talk.says if side == "server"))
        items = lossy(talk, hello - 60, 700)
        assert b"".join(item.data for item in items if isinstance(item, Data)).endswith(b"1" * 400 + b"2" * 400)


def test_keys_that_do_not_fit() -> None:
    talk = talk_1_3()
    wrong = b"\n".join(line[:-4] + b"0000" for line in talk.keylog.split(b"\n") if line.startswith(b"SERVER"))
    client = b"\n".join(line for line in talk.keylog.split(b"\n") if line.startswith(b"CLIENT"))
    items = decrypted(talk.says, wrong + b"\n" + client + b"\n")
    (problem,) = [item for item in items if isinstance(item, Finding)]
    assert (problem.side, problem.kind) == ("server", UNDECRYPTED)
    assert problem.why.startswith("keys do not fit: the first encrypted record cannot be opened")
    assert streams(items) == {"client": sent(talk.clear)["client"], "server": b""}
    assert sum(size_of(item) for item in items) == sum(len(data) for _, data in talk.says)


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_damaged_record(side: Side) -> None:
    talk = talk_1_3()
    says = list(talk.says)
    at = max(at for at, (sender, data) in enumerate(says) if sender == side and len(data) > 20_000)
    says[at] = (side, says[at][1][:40] + bytes([says[at][1][40] ^ 1]) + says[at][1][41:])
    items = decrypted(says, talk.keylog)
    (problem,) = [item for item in items if isinstance(item, Finding)]
    assert problem.why.startswith("a record is damaged, or was encrypted with other keys")
    unread = [item for item in items if isinstance(item, TlsBytes) and not item.is_read]
    rest = sum(len(data) for sender, data in says[at:] if sender == side)
    assert {item.side for item in unread} == {side}
    assert sum(item.size for item in unread) == rest


def test_a_record_that_ends_early() -> None:
    talk = talk_1_3()
    says = [*talk.says[:-1], (talk.says[-1][0], talk.says[-1][1][:-3])]
    (problem,) = [item for item in decrypted(says, talk.keylog) if isinstance(item, Finding)]
    assert (problem.kind, len(problem.data)) == ("incomplete", len(talk.says[-1][1]) - 3)
    assert "a TLS record is not complete" in problem.why


def test_a_key_log_without_the_secret_of_a_side() -> None:
    talk = talk_1_3()
    lines = [line for line in talk.keylog.split(b"\n") if not line.startswith(b"SERVER_TRAFFIC")]
    problems = [item for item in decrypted(talk.says, b"\n".join(lines)) if isinstance(item, Finding)]
    assert [each.why for each in problems] == [
        "the key log lacks SERVER_TRAFFIC_SECRET_0 of this connection; the rest of this side is not decrypted"
    ]


def without(keylog: bytes, label: bytes) -> bytes:
    return b"".join(line for line in keylog.splitlines(keepends=True) if not line.startswith(label))


def test_accepted_early_data_without_its_secret() -> None:
    items = recorded("early_data", lambda keys: without(keys, b"CLIENT_EARLY"))
    assert b"".join(item.data for item in items if isinstance(item, Data) and item.side == "client") == b"line two\n"
    (problem,) = [item for item in items if isinstance(item, Finding)]
    assert problem.why == (
        "the key log lacks CLIENT_EARLY_TRAFFIC_SECRET of this connection; its early data is not decrypted"
    )
    gaps = [item for item in items if isinstance(item, Gap)]
    assert {(gap.side, gap.is_exact) for gap in gaps} == {("client", False)}
    (first, *_) = [item for item in items if isinstance(item, TlsBytes) and not item.is_read]
    assert (gaps[0].length, gaps[0].why) == (0, f"{first.size} bytes were not decrypted")


def test_refused_early_data_and_nothing_after_it_that_can_be_opened() -> None:
    """The server refuses it in its encrypted extensions; the keys of the client fit nothing."""

    def damaged(keys: bytes) -> bytes:
        return b"".join(
            line[:-9] + b"00000000\n" if line.startswith((b"CLIENT_TRAFFIC", b"CLIENT_HAND")) else line
            for line in keys.splitlines(keepends=True)
        )

    items = recorded("refused_in_extensions", damaged)
    (problem,) = [item for item in items if isinstance(item, Finding)]
    assert problem.why.startswith("no record after its early data, which the server has refused, can be opened")
    read = [item for item in items if isinstance(item, TlsBytes) and item.side == "client" and item.is_read]
    assert sum(item.size for item in read) < 363  # the hello, without the early data in the same packet


def test_a_client_that_authenticates_after_the_handshake() -> None:
    """Its Finished, the second one, changes no keys (RFC 8446 §4.6.2)."""
    clear: list[tuple[Side, bytes]] = [
        ("client", b"before"),
        ("server", b"asked"),
        ("client", b"after"),
        ("server", b"x"),
    ]
    assert_read(talk_tls(clear, setup=authenticating, ask_after=1))


def authenticating(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    version(TLS_1_3)(client, server)
    ca, certificate = authority()
    client.post_handshake_auth = server.post_handshake_auth = True
    server.verify_mode = ssl.CERT_OPTIONAL
    ca.configure_trust(server)
    certificate.configure_cert(client)


def test_secrets_that_come_with_the_handshake() -> None:
    """Programs write those of the traffic after the hello of the server."""
    talk = talk_1_3()
    keys = KeyLog.of(b"".join(line for line in talk.keylog.splitlines(keepends=True) if b"HANDSHAKE" in line))
    tls = TlsConnection(Connection(0, bytes(6), bytes(6), 0), keys)
    out: list[Item | TlsBytes] = []
    for number, (side, data) in enumerate(talk.says, 1):
        if number == 3:
            keys.add(talk.keylog)
        out += tls.take(Data(Connection(0, bytes(6), bytes(6), 0), side, 0, data, number, number))
    assert (
        b"".join(item.data for item in out if isinstance(item, Data) and item.side == "client") == sent(CLEAR)["client"]
    )


def test_a_client_captured_wholly_before_its_server() -> None:
    """As where each direction has a file of its own, and their clocks differ."""
    talk = talk_1_3()
    connection = Connection(0, bytes(6), bytes(6), 0)
    items: list[Item] = []
    for side in ("client", "server"):
        of_side = [data for sender, data in talk.says if sender == side]
        items += [Data(connection, side, 0, data, 1, 1) for data in of_side] + [End(connection, side, "fin", 2, 2)]
    out = taken(connection, items, talk.keylog)
    assert streams(out) == sent(talk.clear)
    assert [item.side for item in out if isinstance(item, End)] == ["client", "server"]


def test_bytes_after_many_gaps_are_not_tried_for_ever() -> None:
    """Each gap is followed by headers of records that no key opens; to try them all would take minutes."""
    talk = talk_1_3()
    connection = Connection(0, bytes(6), bytes(6), 0)
    tls = TlsConnection(connection, KeyLog.of(talk.keylog))
    for side, data in talk.says:
        tls.take(Data(connection, side, 0, data, 1, 1))
    before = time.process_time()
    hostile = b"\x17\x03\x03\x40\x00" * 24 + bytes(16_584)
    out: list[Item | TlsBytes] = []
    for _ in range(20):
        out += tls.take(Gap(connection, "server", 0, 1_000_000, 1, 1))
        out += tls.take(Data(connection, "server", 0, hostile, 1, 1))
    assert [item.why for item in out if isinstance(item, Finding)] == [
        "no record found after bytes that were not captured; the rest of this side is not decrypted"
    ]
    assert time.process_time() - before < 5


def test_decrypted_is_a_connection_of_which_a_record_was_opened_after_the_handshake() -> None:
    talk = talk_1_3()
    tls = TlsConnection(Connection(0, bytes(6), bytes(6), 0), KeyLog.of(talk.keylog))
    seen = []
    for side, data in talk.says[:4]:
        tls.take(Data(Connection(0, bytes(6), bytes(6), 0), side, 0, data, 1, 1))
        seen.append(tls.is_decrypted)
    assert seen[:2] == [False, False]  # the hellos, and the handshake of the server
    assert seen[-1]


def test_bytes_that_wait_can_be_discarded() -> None:
    talk = talk_1_3()
    connection = Connection(0, bytes(6), bytes(6), 0)
    tls = TlsConnection(connection, KeyLog.of(talk.keylog))
    out: list[Item | TlsBytes] = []
    for number, (side, data) in enumerate(talk.says):
        is_cut = side == "server" and len(data) > 20_000
        out += tls.take(Data(connection, side, 0, data[:20_000] if is_cut else data, 1, number))
        if is_cut:
            assert 0 < tls.held_bytes < 20_000
            out += tls.discard("over-limit", "too much")
            assert not tls.held_bytes
            out += tls.take(Data(connection, side, 0, data[20_000:], 1, number))
    assert [(item.kind, item.why) for item in out if isinstance(item, Finding)] == [("over-limit", "too much")]
    assert [item.is_exact for item in out if isinstance(item, Gap)] == [False]
    assert b"".join(item.data for item in out if isinstance(item, Data) and item.side == "server").endswith(b"bye")


def test_a_key_log_with_traffic_secrets_only() -> None:
    talk = talk_1_3()
    lines = [line for line in talk.keylog.split(b"\n") if b"_TRAFFIC_SECRET_0" in line]
    assert streams(decrypted(talk.says, b"\n".join(lines) + b"\n")) == sent(talk.clear)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_bytes_are_accounted_for(data: st.DataObject) -> None:
    """Damage anywhere raises nothing, and loses no byte."""
    talk = talk_1_3()
    says = list(talk.says)
    at = data.draw(st.integers(0, len(says) - 1))
    side, raw = says[at]
    place = data.draw(st.integers(0, len(raw) - 1))
    says[at] = (side, raw[:place] + data.draw(st.binary(max_size=20)) + raw[place + data.draw(st.integers(0, 20)) :])
    items = decrypted(says, talk.keylog)
    assert sum(size_of(item) for item in items) == sum(len(data) for _, data in says)


def test_an_epoch_without_a_secret_has_no_keys() -> None:
    assert epoch_1_3("TRAFFIC", "SERVER_TRAFFIC_SECRET_0", lambda _: b"", SUITES[0x1301]).protection is None


# -- OpenSSL -----------------------------------------------------------------------------------------------------------

#: Conversations of `openssl s_client` with `s_server` (3.0), through a proxy that noted their bytes: with key updates
#: of both sides (keys K and k), with a renegotiation (key R), with early data, and with early data that the server
#: refuses as it asks for another group, or in its encrypted extensions.
RECORDED = Path(__file__).parent / "recorded"
ANSWERS = b"".join(b"answer to line %s\n" % number for number in (b"one", b"two", b"three", b"four"))


def recorded(name: str, change: Callable[[bytes], bytes] = bytes) -> list[Item | TlsBytes]:
    """Return the items of a conversation of OpenSSL, with a changed key log."""
    segments = read_segments(read_packets([RECORDED / f"{name}.pcap"]), PacketCounts())
    reassembled = Streams({443})
    items = [item for segment in segments if isinstance(segment, Segment) for item in reassembled.feed(segment)]
    items += reassembled.end()
    return taken(items[0].connection, items, change((RECORDED / f"{name}.keys").read_bytes()))


@pytest.mark.parametrize(
    ("name", "client", "server"),
    [
        ("key_updates", b"line one\nline two\nline three\nline four\n", ANSWERS),
        ("renegotiation", b"line one\nline two\n", b"answer to line one\nanswer to line two\n"),
        ("early_data", b"early line\nline two\n", b"answer\n"),
        ("refused_early_data", b"line two\n", b"answer\n"),
        ("refused_in_extensions", b"line two\n", b"owt enil\n"),
    ],
)
def test_conversations_of_openssl(name: str, client: bytes, server: bytes) -> None:
    out = recorded(name)
    assert streams(out) == {"client": client, "server": server}
    assert not [item for item in out if isinstance(item, Finding)]
    assert all(item.is_read for item in out if isinstance(item, TlsBytes))
