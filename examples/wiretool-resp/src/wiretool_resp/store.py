"""The data of the mock server and the commands on it, with the errors of Redis 7.0 in its own words.

A command returns bytes for a bulk string, a number, a list, a dict for a map, None for null, NO_LIST or a `Simple`, and
raises `Refused`.
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_NS = {b"EX": 1_000_000_000, b"PX": 1_000_000}
Value = bytes | list[bytes] | None
Arguments = Sequence[bytes]
#: The null of RESP 2 for a list.
NO_LIST = object()


class Simple(str):
    """A simple string."""


class Refused(Exception):
    """The text of an error reply."""


def number(raw: bytes) -> int:
    """Return an argument as a number of 64 bits; Refused where it is none."""
    if not _NUMBER.fullmatch(raw) or not -(2**63) <= int(raw) < 2**63:
        raise Refused("ERR value is not an integer or out of range")
    return int(raw)


class Store:
    """Keys with strings or lists, and when they expire. The caller keeps `now_ns` up to date: there is no clock."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | list[bytes]] = {}
        self.expires: dict[bytes, int] = {}
        self.now_ns = 0

    def find(self, key: bytes) -> Value:
        """Return the value of a key; an expired one is dropped."""
        if self.expires.get(key, self.now_ns + 1) <= self.now_ns:
            self.drop(key)
        return self.values.get(key)

    def drop(self, key: bytes) -> bool:
        """Forget a key; return whether it was there."""
        self.expires.pop(key, None)
        return self.values.pop(key, None) is not None

    def text(self, key: bytes) -> bytes:
        """Return a string, an empty one where there is none; Refused where the key has a list."""
        return self._typed(key, bytes) or b""

    def elements(self, key: bytes) -> list[bytes]:
        """Return a list, an empty one where there is none; Refused where the key has a string."""
        return self._typed(key, list) or []

    def _typed(self, key: bytes, kind: type[Any]) -> Any:
        if not isinstance(value := self.find(key), kind | None):
            raise Refused("WRONGTYPE Operation against a key holding the wrong kind of value")
        return value

    def get(self, key: bytes) -> bytes | None:
        """Return a string, None where there is none."""
        return self.text(key) if self.find(key) is not None else None

    def count(self, keys: Arguments, change: Callable[[bytes], object] = lambda key: None) -> int:
        """Return how many of these keys there are; `change` each of them."""
        found = [change(key) for key in keys if self.find(key) is not None]
        return len(found)

    def keys(self, pattern: bytes = b"*") -> list[bytes]:
        """Return the names of keys that match a pattern."""
        names = [key for key in list(self.values) if self.find(key) is not None]
        return [key for key in names if fnmatchcase(key.decode("latin-1"), pattern.decode("latin-1"))]

    def put(self, key: bytes, value: bytes, expires_ns: int = 0) -> None:
        """Give a key a string, and an end or none."""
        self.drop(key)
        self.values[key] = value
        if expires_ns:
            self.expires[key] = expires_ns

    def set(self, key: bytes, value: bytes, *options: bytes) -> Any:
        """SET with its options."""
        expires_ns, words, left = 0, set(), list(options)
        while left:
            words.add(word := left.pop(0).upper())
            if word in _NS and not expires_ns and left:
                if (span := number(left.pop(0))) <= 0:
                    raise Refused("ERR invalid expire time in 'set' command")
                expires_ns = self.now_ns + span * _NS[word]
            elif word not in (b"NX", b"XX", b"GET", b"KEEPTTL"):
                raise Refused("ERR syntax error")
        if {b"NX", b"XX"} <= words or (b"KEEPTTL" in words and expires_ns):
            raise Refused("ERR syntax error")
        old = self.get(key) if b"GET" in words else self.find(key)
        is_set = not (b"NX" in words and old is not None) and not (b"XX" in words and old is None)
        if is_set:
            self.put(key, value, expires_ns or (self.expires.get(key, 0) if b"KEEPTTL" in words else 0))
        return old if b"GET" in words else Simple("OK") if is_set else None

    def append(self, key: bytes, value: bytes) -> int:
        """APPEND."""
        self.values[key] = text = self.text(key) + value
        return len(text)

    def add(self, key: bytes, count: int) -> int:
        """INCR and the like."""
        total = number(self.text(key) or b"0") + count
        if not -(2**63) <= total < 2**63:
            raise Refused("ERR increment or decrement would overflow")
        self.values[key] = b"%d" % total
        return total

    def expire(self, key: bytes, span_ns: int) -> int:
        """EXPIRE."""
        return self.count([key], lambda key: self.expires.update({key: self.now_ns + span_ns}))

    def left(self, key: bytes, unit_ns: int) -> int:
        """Return the time to live, rounded; -1 without an end, -2 without the key."""
        if self.find(key) is None:
            return -2
        return (self.expires[key] - self.now_ns + unit_ns // 2) // unit_ns if key in self.expires else -1

    def push(self, key: bytes, *added: bytes, is_left: bool) -> int:
        """LPUSH and RPUSH."""
        elements = self.elements(key)
        at = 0 if is_left else len(elements)
        elements[at:at] = added[::-1] if is_left else added
        self.values[key] = elements
        return len(elements)

    def pop(self, key: bytes, *counts: bytes, at: int) -> Any:
        """LPOP and RPOP."""
        if (count := number(counts[0]) if counts else 1) < 0:
            raise Refused("ERR value is out of range, must be positive")
        if not (elements := self.elements(key)):
            return NO_LIST if counts else None
        taken = [elements.pop(at) for _ in range(min(count, len(elements)))]
        if not elements:
            self.drop(key)
        return taken if counts else taken[0]

    def range(self, key: bytes, first: bytes, last: bytes) -> list[bytes]:
        """LRANGE."""
        elements, begin, end = self.elements(key), number(first), number(last)
        begin, end = (each + len(elements) if each < 0 else each for each in (begin, end))
        return elements[max(begin, 0) : max(end + 1, 0)]


def _index(store: Store, key: bytes, at: bytes) -> bytes | None:
    elements = store.elements(key)
    return elements[number(at)] if -len(elements) <= number(at) < len(elements) else None


def _set_all(store: Store, *pairs: bytes) -> Simple:
    if len(pairs) % 2:
        raise Refused("ERR wrong number of arguments for 'mset' command")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        store.put(key, value)
    return Simple("OK")


def _flush(store: Store, *options: bytes) -> Simple:
    store.values.clear()
    store.expires.clear()
    return Simple("OK")


def _type(store: Store, key: bytes) -> Simple:
    value = store.find(key)
    return Simple("none" if value is None else "list" if isinstance(value, list) else "string")


#: By name: how many words, with the name (at least so many where negative), and what is done with the arguments.
COMMANDS: dict[str, tuple[int, Callable[..., Any]]] = {
    "SET": (-3, Store.set),
    "GET": (2, Store.get),
    "MSET": (-3, _set_all),
    "MGET": (-2, lambda store, *keys: [None if isinstance(store.find(key), list) else store.find(key) for key in keys]),
    "APPEND": (3, Store.append),
    "STRLEN": (2, lambda store, key: len(store.text(key))),
    "INCR": (2, lambda store, key: store.add(key, 1)),
    "DECR": (2, lambda store, key: store.add(key, -1)),
    "INCRBY": (3, lambda store, key, count: store.add(key, number(count))),
    "DEL": (-2, lambda store, *keys: store.count(keys, store.drop)),
    "EXISTS": (-2, lambda store, *keys: store.count(keys)),
    "TYPE": (2, _type),
    "KEYS": (2, Store.keys),
    "DBSIZE": (1, lambda store: len(store.keys())),
    "FLUSHALL": (-1, _flush),
    "EXPIRE": (3, lambda store, key, span: store.expire(key, number(span) * _NS[b"EX"])),
    "PEXPIRE": (3, lambda store, key, span: store.expire(key, number(span) * _NS[b"PX"])),
    "PERSIST": (2, lambda store, key: store.count([key]) and int(store.expires.pop(key, None) is not None)),
    "TTL": (2, lambda store, key: store.left(key, _NS[b"EX"])),
    "PTTL": (2, lambda store, key: store.left(key, _NS[b"PX"])),
    "LPUSH": (-3, lambda store, *words: store.push(*words, is_left=True)),
    "RPUSH": (-3, lambda store, *words: store.push(*words, is_left=False)),
    "LPOP": (-2, lambda store, *words: store.pop(*words, at=0)),
    "RPOP": (-2, lambda store, *words: store.pop(*words, at=-1)),
    "LLEN": (2, lambda store, key: len(store.elements(key))),
    "LRANGE": (4, Store.range),
    "LINDEX": (3, _index),
}
