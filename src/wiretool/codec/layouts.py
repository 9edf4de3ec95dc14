"""The layout of values in bytes, as data, from which readers in other languages are generated.

Each `WireType` describes itself with one of these. Numbers are big-endian.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Number:
    """A number of fixed width; `form` is its character for `struct`."""

    form: str
    #: Its only value; any is allowed where it is None.
    only: int | None = None
    #: Whether a value above the number of bytes that are left, its own included, is an error.
    within_left: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    """One byte; any value other than 0 is true."""


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit of a byte: of the next byte, or of the one that the member before has."""

    mask: int
    is_next_byte: bool
    #: The bits of its byte that must be 0; else the kind of problem is `reserved-bits-set`.
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class UuidBytes:
    """16 bytes, in the order of the text."""


@dataclass(frozen=True, slots=True)
class NamedNumber:
    """One byte with a name for each value."""

    names: Mapping[int, str]
    #: The kind of problem that any other value is.
    kind: str


@dataclass(frozen=True, slots=True)
class Counted:
    """A count of bytes, then the bytes: Java's modified UTF-8, or anything."""

    count: Number
    content: Literal["text", "bytes"]
    #: Whether a count below 0 means no bytes; else it is an error.
    negative_is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes whose number an earlier member of the same group has."""

    by: str


@dataclass(frozen=True, slots=True)
class Rest:
    """All bytes up to the end of the message; of zeros the value is how many."""

    content: Literal["bytes", "zeros"]


@dataclass(frozen=True, slots=True)
class Repeated:
    """An i32 count of elements, then the elements."""

    element: "Layout"
    #: Whether a count below 0 means no elements; else it is an error.
    negative_is_empty: bool = False
    #: A count above that is an error.
    count_max: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group."""

    name: str
    layout: "Layout"
    #: The member is there only where so many bytes of the message are left.
    if_left: int = 0
    #: The member is there only where the number of an earlier one is not 0.
    if_any: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Members, one after another."""

    members: tuple[Member, ...]
    #: Whether the counts of all members stand in front of the first one; each member has a count then.
    counts_first: bool = False


@dataclass(frozen=True, slots=True)
class Until:
    """Elements up to the end of the bytes, or to the place of one that begins with the byte `stop`."""

    element: Group
    stop: int


@dataclass(frozen=True, slots=True)
class CountedTable:
    """A count of bytes, then a FlatBuffers table that is the root of them."""

    count: Number
    table: type[Any]


Layout = (
    Number | Truth | Bit | UuidBytes | NamedNumber | Counted | Measured | Rest | Repeated | Until | Group | CountedTable
)
