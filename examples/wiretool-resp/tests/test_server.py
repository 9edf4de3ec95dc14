"""The mock server by its clock, with what no client of redis-server was asked in `test_redis.py`."""

import pytest

from conftest import last_words
from wiretool import limits
from wiretool.server.mock import Close, Send
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

S = 1_000_000_000


class Client:
    """A connection to a mock in memory."""

    def __init__(self) -> None:
        self.mock = mock_for("resp", MockOptions())
        self.mock.opened(1, "server", 0)

    def send(self, data: bytes, now_ns: int = 0) -> bytes:
        """Send bytes; return the replies, and `(closed)` where the mock closes the connection."""
        actions = self.mock.received(1, data, now_ns)
        sent = b"".join(action.data for action in actions if isinstance(action, Send))
        return sent + b"(closed)" * any(isinstance(action, Close) for action in actions)


def test_keys_expire_by_the_clock_of_the_mock() -> None:
    client = Client()
    assert client.send(b"SET a b PX 1500\r\nTTL a\r\nPTTL a\r\n") == b"+OK\r\n:2\r\n:1500\r\n"
    assert client.send(b"GET a\r\n", 1_499_999_999) == b"$1\r\nb\r\n"
    assert client.send(b"GET a\r\nTTL a\r\nEXISTS a\r\n", 1_500_000_000) == b"$-1\r\n:-2\r\n:0\r\n"
    assert client.send(b"RPUSH l x\r\nEXPIRE l 10\r\nDBSIZE\r\n", 2 * S) == b":1\r\n:1\r\n:1\r\n"
    assert client.send(b"TTL l\r\nSET l z\r\nTTL l\r\n", 3 * S) == b":9\r\n+OK\r\n:-1\r\n"
    assert client.send(b"EXPIRE l -1\r\nEXISTS l\r\nEXPIRE l 5\r\n", 4 * S) == b":1\r\n:0\r\n:0\r\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*3000000000\r\n", "invalid multibulk length"),
        (b"*99999999999\r\n", "invalid multibulk length"),
        (b"*1\r\n$x\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$9999999999\r\n", "invalid bulk length"),
        (b"*2\r\n$4\r\nPING\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"x" * 65_537, "too big inline request"),
    ],
)
def test_what_is_no_command_ends_the_connection_as_in_redis(redis_port: int, data: bytes, words: str) -> None:
    expected = f"-ERR Protocol error: {words}\r\n(closed)".encode()
    assert (Client().send(data), last_words(redis_port, data)) == (expected, expected)


def test_the_mock_bounds_commands_to_a_million_words() -> None:
    """Redis 7.0 waits for 2^31 - 1 of them; older ones have the bound and the words of the mock."""
    assert Client().send(b"*1048576\r\n") == b""
    assert Client().send(b"*2000000\r\n") == b"-ERR Protocol error: invalid multibulk length\r\n(closed)"


def test_commands_before_a_broken_one_are_answered() -> None:
    assert Client().send(b"PING\r\n*x\r\n").startswith(b"+PONG\r\n-ERR Protocol error")
    assert Client().send(b"QUIT\r\nPING\r\n") == b"+OK\r\n(closed)"


def test_errors_are_one_line() -> None:
    reply = Client().send(b"*2\r\n$3\r\nA\nB\r\n$2\r\n\r\n\r\n")
    assert reply == b"-ERR unknown command 'A B', with args beginning with: '  ' \r\n"


def test_a_transaction_is_done_at_once_or_not_at_all() -> None:
    client = Client()
    assert client.send(b"MULTI\r\nSET a 1\r\nLPUSH a x\r\nEXEC\r\n") == (
        b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n"
        b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
    )
    refused = client.send(b"MULTI\r\nSET a 2\r\nGET\r\nEXEC\r\nGET a\r\n").splitlines()
    assert refused[-3:] == [b"-EXECABORT Transaction discarded because of previous errors.", b"$1", b"1"]


def test_replies_wait_for_room_and_nothing_is_left_after_the_end() -> None:
    client = Client()
    big = b"SET a " + b"x" * 60_000 + b"\r\n"
    assert client.send(big) == b"+OK\r\n"
    count = limits.MOCK_REPLY_BYTES_MAX // 60_000 + 20
    first = client.send(b"GET a\r\n" * count)
    assert first.count(b"$60000") < count
    rest = b"".join(action.data for action in client.mock.drained(1, 0) if isinstance(action, Send))
    assert (first + rest).count(b"$60000") == count
    assert [type(action) for action in client.mock.ended(1, 0)] == [Close]


def test_a_restart_forgets() -> None:
    client = Client()
    client.send(b"SET a 1\r\n")
    client.mock.restart(0)
    client.mock.opened(1, "server", 0)
    assert client.send(b"GET a\r\n*1\r\n$4\r\nPING\r\n\r\n*0\r\n") == b"$-1\r\n+PONG\r\n"
