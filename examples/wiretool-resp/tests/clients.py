"""Sessions of clients that are not ours: redis-cli and PyPI redis."""

import subprocess
from typing import Any

import redis

CLI_LINES = (
    "PING", "SET a b", "GET a", "GET none", "RPUSH l 1 2 3", "LPUSH l 0", "LRANGE l 0 -1",
    "LRANGE l -2 5", "LPOP l", "RPOP l 2", "LPOP none", "LPOP none 2", "LLEN l",
    "SET e v EX 100", "TTL e", "PERSIST e", "TTL e", "TTL none", "INCR n", "DECR n", "INCRBY n 5", "INCR a",
    "MSET x 1 y 2", "MGET x y none l", "EXISTS x y none", "DEL x none", "DBSIZE", "SET x 1 NX", "SET x 2 NX",
    "SET x 3 GET", "SET none 1 XX", "GET", "FOO bar", "LPUSH a x", "SET a b QQ", "SET a b EX 0", "MSET x", "EXEC",
    "MULTI", "SET t 1", "GET t", "EXEC", "MULTI", "NONE", "EXEC", "MULTI", "MULTI", "DISCARD", "DISCARD", "HELLO 9",
    "CLIENT NOTHING", "PING hello", "FLUSHALL", "DBSIZE",
)  # fmt: skip


def cli(port: int, *options: str) -> str:
    """Send the lines with redis-cli; return its output."""
    command = ["redis-cli", "-p", str(port), *options]
    lines = "\n".join(CLI_LINES)
    return subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=False).stdout


def outcome(client: Any, *words: Any) -> Any:
    """Return what a command returns, or the text of its error."""
    try:
        return client.execute_command(*words)
    except redis.ResponseError as err:
        return str(err)


def session(port: int, protocol: int) -> list[Any]:
    """Use a server through PyPI redis, with pipelines and a transaction; return all results."""
    with redis.Redis(port=port, protocol=protocol, socket_timeout=20) as client:
        found: list[Any] = [client.ping(), client.set("a", b"\xff\x00"), client.get("a"), client.get("none")]
        found += [
            client.rpush("l", *range(300)),
            client.lrange("l", 0, -1),
            client.lpop("l", 3),
            client.lpop("none", 2),
        ]
        with client.pipeline(transaction=False) as pipeline:
            for number in range(100):
                pipeline.set(f"k{number}", number).get(f"k{number}")
            found += pipeline.execute()
        with client.pipeline() as pipeline:
            found += pipeline.set("b", "2").get("b").incr("b").mget("b", "none").execute()
        found += [client.set("e", "1", ex=100), client.ttl("e"), client.persist("e"), client.ttl("e")]
        found += [outcome(client, *line.split()) for line in CLI_LINES if line.split()[0] not in ("HELLO", "MULTI")]
        return [sorted(each) if isinstance(each, set) else each for each in found]


def publish(port: int, protocol: int) -> None:
    """Subscribe to channels and patterns, and have messages published."""
    with redis.Redis(port=port, protocol=protocol, socket_timeout=20) as client, client.pubsub() as listener:
        listener.subscribe("a", "b")
        listener.psubscribe("c*")
        expected = ["subscribe", "subscribe", "psubscribe"]
        assert [listener.get_message(timeout=20)["type"] for _ in expected] == expected
        for channel in ("a", "b", "cc"):
            assert client.publish(channel, "x") == 1
        assert [listener.get_message(timeout=20)["type"] for _ in range(3)] == ["message", "message", "pmessage"]
        listener.unsubscribe()
        listener.punsubscribe()
        expected = ["unsubscribe", "unsubscribe", "punsubscribe"]
        assert [listener.get_message(timeout=20)["type"] for _ in expected] == expected
