"""Names and numbers of segments, and which names may be given."""

import re
from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

#: With a leading underscore a name is internal: the controller's own streams, and what clients make beside theirs.
_NAME = re.compile(r"_?[A-Za-z0-9.\-]+")
_USER_NAME = re.compile(r"[A-Za-z0-9.\-]+")
_NAME_CHARACTERS_MAX = 255

#: Before the name of a stream that carries another's watermarks, and the state of a reader group.
MARK = "_MARK"
READER_GROUP = "_RG"
#: Behind the name of a key-value table, in the names of its segments.
TABLE = "_kvtable"
_NUMBER_BITS = 32
#: How many lists a HashSet of Java begins with, and how full it may be.
_JAVA_BUCKETS_MIN = 16
_JAVA_LOAD_MAX = 0.75


def is_name(name: str) -> bool:
    """Whether a scope or stream may be called so."""
    return len(name) <= _NAME_CHARACTERS_MAX and _NAME.fullmatch(name) is not None


def is_user_name(name: str) -> bool:
    """Whether a user may call a reader group or key-value table so."""
    return len(name) <= _NAME_CHARACTERS_MAX and _USER_NAME.fullmatch(name) is not None


def segment_id(number: int, epoch: int) -> int:
    """The 64-bit id of a stream's segment."""
    return epoch << _NUMBER_BITS | number


def segment_name(scope: str, stream: str, number: int, epoch: int) -> str:
    """What the store calls a stream's segment."""
    return f"{scope}/{stream}/{number}.#epoch.{epoch}"


def missing_scope(name: str) -> str:
    """Return how the real controller, which keeps its state in tables, reports a scope that is missing."""
    return f"get entry: key: {name} table: _system/_tables/scopes"


def missing_entry(key: str, table: str) -> str:
    """Return how the real controller reports an entry that is missing in a table; the table's name ends in an id."""
    path = f"_system/_tables/{table}"
    return f"get entry: key: {key} table: {path}.#.{uuid5(NAMESPACE_URL, path)}"


def transaction_name(segment: str, high_bits: int, low_bits: int) -> str:
    """What the store calls a transaction's part of a segment."""
    return f"{segment}#transaction.{high_bits:016x}{low_bits:016x}"


def as_java_set(words: Iterable[str]) -> list[str]:
    """Return each word once, in the order of a HashSet of Java: the real controller keeps tags in one."""
    unique = list(dict.fromkeys(words))
    buckets = _JAVA_BUCKETS_MIN
    while len(unique) > buckets * _JAVA_LOAD_MAX:
        buckets *= 2
    return sorted(unique, key=lambda word: _java_spread(word) & buckets - 1)


def _java_spread(word: str) -> int:
    """The hash of a string of Java, as its maps use it."""
    data = word.encode("utf-16-be", "surrogatepass")
    found = 0
    for high, low in zip(data[::2], data[1::2], strict=True):
        found = 31 * found + (high << 8 | low) & 0xFFFF_FFFF
    return found ^ found >> 16
