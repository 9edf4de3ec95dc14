"""The data of the mock server and the commands on it, with the errors of Redis 7.0 in its own words.

A command returns a value in its JSON form, with bytes for bulk strings and None for null, or raises `Refused`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_NS = {b"EX": 1_000_000_000, b"PX": 1_000_000}
#: The null of RESP 2 for a list, and the usual reply.
NO_LIST, OK = {"null": "*"}, {"simple": "OK"}


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

    def find(self, key: bytes, kind: type[Any] = object) -> Any:
        """Return the value of a key, None where there is none (any more); Refused where it is of another kind."""
        if self.expires.get(key, self.now_ns + 1) <= self.now_ns:
            self.drop(key)
        if (value := self.values.get(key)) is not None and not isinstance(value, kind):
            raise Refused("WRONGTYPE Operation against a key holding the wrong kind of value")
        return value

    def drop(self, key: bytes) -> None:
        """Forget a key."""
        self.expires.pop(key, None)
        self.values.pop(key, None)

    def each(self, keys: Iterable[bytes], change: Callable[[bytes], Any] = lambda key: None) -> int:
        """Change those of the keys that there are; return how many."""
        return len([change(key) for key in keys if self.find(key) is not None])


def _set(store: Store, key: bytes, value: bytes, *options: bytes) -> Any:
    expires_ns, words, left = 0, set(), list(options)
    while left:
        words.add(word := left.pop(0).upper())
        if word in _NS and not expires_ns and left:
            if (span := number(left.pop(0))) <= 0:
                raise Refused("ERR invalid expire time in 'set' command")
            expires_ns = store.now_ns + span * _NS[word]
        elif word not in (b"NX", b"XX", b"GET"):
            raise Refused("ERR syntax error")
    if {b"NX", b"XX"} <= words:
        raise Refused("ERR syntax error")
    old = store.find(key, bytes if b"GET" in words else object)
    is_set = b"NX" not in words if old is not None else b"XX" not in words
    if is_set:
        store.drop(key)
        store.values[key] = value
        store.expires.update({key: expires_ns} if expires_ns else {})
    return old if b"GET" in words else OK if is_set else None


def _set_all(store: Store, *pairs: bytes) -> Any:
    if len(pairs) % 2:
        raise Refused("ERR wrong number of arguments for 'mset' command")
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        _set(store, key, value)
    return OK


def _add(store: Store, key: bytes, count: int) -> int:
    total = number(store.find(key, bytes) or b"0") + count
    if not -(2**63) <= total < 2**63:
        raise Refused("ERR increment or decrement would overflow")
    store.values[key] = b"%d" % total
    return total


def _expire(store: Store, key: bytes, span_ns: int) -> int:
    return store.each([key], lambda key: store.expires.update({key: store.now_ns + span_ns}))


def _left(store: Store, key: bytes, unit_ns: int) -> int:
    """Return the time to live, rounded; -1 without an end, -2 without the key."""
    if store.find(key) is None:
        return -2
    return (store.expires[key] - store.now_ns + unit_ns // 2) // unit_ns if key in store.expires else -1


def _push(store: Store, key: bytes, *added: bytes, is_left: bool) -> int:
    elements = store.find(key, list) or []
    at = 0 if is_left else len(elements)
    elements[at:at] = added[::-1] if is_left else added
    store.values[key] = elements
    return len(elements)


def _pop(store: Store, key: bytes, *counts: bytes, at: int) -> Any:
    if (count := number(counts[0]) if counts else 1) < 0:
        raise Refused("ERR value is out of range, must be positive")
    if not (elements := store.find(key, list)):
        return NO_LIST if counts else None
    taken = [elements.pop(at) for _ in range(min(count, len(elements)))]
    if not elements:
        store.drop(key)
    return taken if counts else taken[0]


def _range(store: Store, key: bytes, *ends: bytes) -> list[bytes]:
    first, last = map(number, ends)
    elements = store.find(key, list) or []
    first, last = (each + len(elements) if each < 0 else each for each in (first, last))
    return list(elements[max(first, 0) : max(last + 1, 0)])


def _flush(store: Store, *options: bytes) -> Any:
    store.values.clear()
    store.expires.clear()
    return OK


#: By name: how many words, with the name (at least so many where negative), and what is done with the arguments.
COMMANDS: dict[str, tuple[int, Callable[..., Any]]] = {
    "SET": (-3, _set),
    "GET": (2, lambda store, key: store.find(key, bytes)),
    "MSET": (-3, _set_all),
    "MGET": (-2, lambda store, *keys: [None if isinstance(store.find(key), list) else store.find(key) for key in keys]),
    "INCR": (2, lambda store, key: _add(store, key, 1)),
    "DECR": (2, lambda store, key: _add(store, key, -1)),
    "INCRBY": (3, lambda store, key, count: _add(store, key, number(count))),
    "DEL": (-2, lambda store, *keys: store.each(keys, store.drop)),
    "EXISTS": (-2, lambda store, *keys: store.each(keys)),
    "DBSIZE": (1, lambda store: store.each(list(store.values))),
    "FLUSHALL": (-1, _flush),
    "EXPIRE": (3, lambda store, key, span: _expire(store, key, number(span) * _NS[b"EX"])),
    "PERSIST": (2, lambda store, key: store.each([key]) and int(store.expires.pop(key, None) is not None)),
    "TTL": (2, lambda store, key: _left(store, key, _NS[b"EX"])),
    "PTTL": (2, lambda store, key: _left(store, key, _NS[b"PX"])),
    "LPUSH": (-3, lambda store, *words: _push(store, *words, is_left=True)),
    "RPUSH": (-3, lambda store, *words: _push(store, *words, is_left=False)),
    "LPOP": (-2, lambda store, *words: _pop(store, *words, at=0)),
    "RPOP": (-2, lambda store, *words: _pop(store, *words, at=-1)),
    "LLEN": (2, lambda store, key: len(store.find(key, list) or [])),
    "LRANGE": (4, _range),
}
