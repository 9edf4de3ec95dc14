"""Values in cases: placeholders that a run fills in, and patterns that replies must match.

A placeholder stands in a message that is sent or expected. In an active run it takes a fresh value; in a capture it is
bound to the value that is found there. The same key means the same value everywhere in one case.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID, uuid5

#: The namespace of writer ids and other UUIDs that cases make up.
_NAMESPACE = UUID("6f1c9a0e-2d65-4c0b-9c55-1f2b7f6d5a10")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Bindings:
    """The values of one run of one case, by key. `token` makes names unique; None binds from a capture instead."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.values: dict[str, Any] = {}
        #: Keys of names that the case makes up: no two of them mean the same.
        self.made_up: set[str] = set()

    @property
    def is_passive(self) -> bool:
        """Whether values come from a capture."""
        return self.token is None

    def name(self, key: str) -> str:
        """Return the name for a key, a fresh one where it has none."""
        if key not in self.values:
            assert self.token is not None, f"{key} is not bound"
            self.values[key] = f"{key}{self.token}"
        return str(self.values[key])

    def bind(self, key: str, value: Any) -> bool:
        """Bind a key that has no value yet. Return whether its value is this one."""
        return bool(self.values.setdefault(key, value) == value)

    def bind_name(self, key: str, name: str) -> bool:
        """Bind a name that the case makes up. Return whether it is this one, and no other key has it."""
        if any(self.values[other] == name for other in self.made_up if other != key):
            return False
        self.made_up.add(key)
        return self.bind(key, name)

    def copy(self) -> "Bindings":
        """Return a copy that can be bound on its own."""
        other = Bindings(self.token)
        other.values = dict(self.values)
        other.made_up = set(self.made_up)
        return other


class Value(ABC):
    """A placeholder or pattern."""

    def resolve(self, bindings: Bindings) -> Any:
        """Return the value to send; AssertionError for a pattern, which has none."""
        raise AssertionError(f"{self.describe(bindings)} cannot be sent")

    @abstractmethod
    def matches(self, value: Any, bindings: Bindings) -> bool:
        """Return whether a value fits; it may bind keys."""

    @abstractmethod
    def describe(self, bindings: Bindings) -> str:
        """Return the expected value in words."""


class Text(Value):
    """Text with names in braces, each unique to the run: `{scope}/stream/0.#epoch.0`."""

    def __init__(self, template: str) -> None:
        self.template = template

    def resolve(self, bindings: Bindings) -> str:
        return _PLACEHOLDER.sub(lambda found: bindings.name(found[1]), self.template)

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not bindings.is_passive:
            return bool(value == self.resolve(bindings))
        found = re.fullmatch(self._pattern(bindings), value, re.DOTALL) if isinstance(value, str) else None
        return found is not None and all(bindings.bind_name(key, part) for key, part in found.groupdict().items())

    def _pattern(self, bindings: Bindings) -> str:
        seen: set[str] = set()

        def part(key: str) -> str:
            if key in bindings.values:
                return re.escape(str(bindings.values[key]))
            if key in seen:
                return f"(?P={key})"
            seen.add(key)
            return f"(?P<{key}>.+?)"

        pieces = _PLACEHOLDER.split(self.template)
        return "".join(part(piece) if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))

    def describe(self, bindings: Bindings) -> str:
        return repr(self.template if bindings.is_passive else self.resolve(bindings))


class Uuid(Value):
    """A UUID of the client's own, as text."""

    def __init__(self, key: str) -> None:
        self.key = key

    def resolve(self, bindings: Bindings) -> str:
        if self.key not in bindings.values:
            bindings.values[self.key] = str(uuid5(_NAMESPACE, f"{bindings.token}/{self.key}"))
        return str(bindings.values[self.key])

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if bindings.is_passive:
            return bindings.bind_name(self.key, value)
        return bool(value == self.resolve(bindings))

    def describe(self, bindings: Bindings) -> str:
        return str(bindings.values.get(self.key, f"the UUID {self.key}"))


class Number(Value):
    """A number that the client chooses, unique to the run, `plus` a difference."""

    def __init__(self, key: str, *, bits: int = 40, plus: int = 0) -> None:
        """`bits` is its size; the highest bit is set, so no counter of a server reaches it."""
        self.key = key
        self.bits = bits
        self.plus = plus

    def resolve(self, bindings: Bindings) -> int:
        if self.key not in bindings.values:
            assert bindings.token is not None, f"{self.key} is not bound"
            drawn = uuid5(_NAMESPACE, f"{bindings.token}/{self.key}").int >> (128 - self.bits)
            bindings.values[self.key] = drawn | 1 << (self.bits - 1)
        return int(bindings.values[self.key]) + self.plus

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if not bindings.is_passive:
            return value == self.resolve(bindings)
        found = value - self.plus
        if self.key in bindings.values:
            return bool(bindings.values[self.key] == found)
        return self._could_be(found, bindings) and bindings.bind(self.key, found)

    def _could_be(self, found: int, bindings: Bindings) -> bool:
        """Return whether a client may have chosen a number: of this size, and no other one of the case."""
        return found.bit_length() == self.bits and found not in bindings.values.values()

    def describe(self, bindings: Bindings) -> str:
        return f"the number {self.key}" if self.key not in bindings.values else str(self.resolve(bindings))


class Var(Value):
    """A client's own value, such as a request id: sent as given; in a capture any value, the same for the key."""

    def __init__(self, key: str, value: Any) -> None:
        self.key = key
        self.value = value

    def resolve(self, bindings: Bindings) -> Any:
        bindings.values.setdefault(self.key, self.value)
        return bindings.values[self.key]

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if bindings.is_passive:
            return bindings.bind(self.key, value)
        return bool(value == self.resolve(bindings))

    def describe(self, bindings: Bindings) -> str:
        return repr(bindings.values.get(self.key, self.value))


class Free(Value):
    """A value that the requirement does not depend on: sent as given, any value in a capture and in a reply."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def resolve(self, bindings: Bindings) -> Any:
        return resolved(self.value, bindings)

    def matches(self, value: Any, bindings: Bindings) -> bool:
        return True

    def describe(self, bindings: Bindings) -> str:
        return "any value"


ANY = Free()


class Saved(Value):
    """The server's own value: bound by the first reply that has it, the same afterwards, `plus` a difference."""

    def __init__(self, key: str, plus: int = 0) -> None:
        self.key = key
        self.plus = plus

    def resolve(self, bindings: Bindings) -> Any:
        assert self.key in bindings.values, f"no reply has bound {self.key} yet"
        value = bindings.values[self.key]
        return value + self.plus if self.plus else value

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not self.plus:
            return bindings.bind(self.key, value)
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return bindings.bind(self.key, value - self.plus)

    def describe(self, bindings: Bindings) -> str:
        if self.key not in bindings.values:
            return f"any value ({self.key})"
        return f"{self.resolve(bindings)!r} ({self.key}{f' plus {self.plus}' if self.plus else ''})"


class Absent(Value):
    """In an object that is sent or expected: a field that is not there."""

    def matches(self, value: Any, bindings: Bindings) -> bool:
        return False

    def describe(self, bindings: Bindings) -> str:
        return "nothing"


ABSENT = Absent()


class Check(Value):
    """A value for which a function holds; `words` say what that is. The function gets the value and the bindings."""

    def __init__(self, words: str, holds: Callable[[Any, Mapping[str, Any]], bool]) -> None:
        self.words = words
        self.holds = holds

    def matches(self, value: Any, bindings: Bindings) -> bool:
        return self.holds(value, bindings.values)

    def describe(self, bindings: Bindings) -> str:
        return self.words


def one_of(*values: Any) -> Check:
    """Return a pattern for any of these values."""
    return Check(f"one of {', '.join(map(repr, values))}", lambda value, _: value in values)


def at_least(least: int) -> Check:
    """Return a pattern for a number of this or more."""
    return Check(f"at least {least}", lambda value, _: isinstance(value, int) and value >= least)


def below(limit: int) -> Check:
    """Return a pattern for a number under this one."""
    return Check(f"below {limit}", lambda value, _: isinstance(value, int) and value < limit)


def other_than(key: str) -> Check:
    """Return a pattern for any value but the one that is bound to a key."""
    return Check(f"another value than {key}", lambda value, values: value != values.get(key))


def text_matching(pattern: str) -> Check:
    """Return a pattern for text that a regular expression matches as a whole."""
    return Check(
        f"text that matches {pattern}",
        lambda value, _: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None,
    )


class Subset(Value):
    """An object that has at least these fields."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def resolve(self, bindings: Bindings) -> Any:
        return resolved(self.fields, bindings)

    def matches(self, value: Any, bindings: Bindings) -> bool:
        return first_difference(self, value, bindings) is None

    def describe(self, bindings: Bindings) -> str:
        return ", ".join(f"{name}={described(value, bindings)}" for name, value in self.fields.items())


class AnyOrder(Value):
    """A list with these items in any order, and no others."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def resolve(self, bindings: Bindings) -> Any:
        return resolved(self.items, bindings)

    def matches(self, value: Any, bindings: Bindings) -> bool:
        if not isinstance(value, list | tuple) or len(value) != len(self.items):
            return False
        left = list(value)
        for item in self.items:
            for found in left:
                attempt = bindings.copy()
                if first_difference(item, found, attempt) is None:
                    bindings.values |= attempt.values
                    left.remove(found)
                    break
            else:
                return False
        return True

    def describe(self, bindings: Bindings) -> str:
        return f"in any order [{', '.join(described(item, bindings) for item in self.items)}]"


class Difference(NamedTuple):
    """Where a value differs from what was expected."""

    path: str
    expected: str
    found: Any

    def __str__(self) -> str:
        return f"{self.path or 'value'}: expected {self.expected}, found {shown(self.found)}"


#: Characters of a value in a message; more is cut.
SHOWN_MAX = 200


def shown(value: Any) -> str:
    """Return a value as text, cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... ({len(text):,} characters)"


def resolved(value: Any, bindings: Bindings) -> Any:
    """Return a value with its placeholders filled in."""
    if isinstance(value, Value):
        return value.resolve(bindings)
    if isinstance(value, Mapping):
        return {name: resolved(each, bindings) for name, each in value.items() if each is not ABSENT}
    if isinstance(value, list | tuple):
        return [resolved(each, bindings) for each in value]
    return value


def described(value: Any, bindings: Bindings) -> str:
    """Return an expected value in words."""
    if isinstance(value, Value):
        return value.describe(bindings)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {described(each, bindings)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(described(each, bindings) for each in value) + "]"
    return shown(value)


def first_difference(expected: Any, found: Any, bindings: Bindings, path: str = "") -> Difference | None:
    """Return where `found` differs from a pattern, None where it fits. Lists have the same length, objects all keys."""
    if isinstance(expected, Subset):
        return _in_object(expected.fields, found, bindings, path, is_whole=False)
    if isinstance(expected, Value):
        fits = expected.matches(found, bindings)
        return None if fits else Difference(path, expected.describe(bindings), found)
    if isinstance(expected, Mapping):
        return _in_object(expected, found, bindings, path, is_whole=True)
    if isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return Difference(path, described(expected, bindings), found)
        pairs = enumerate(zip(expected, found, strict=True))
        return _first(first_difference(one, other, bindings, f"{path}[{at}]") for at, (one, other) in pairs)
    is_same = expected == found and isinstance(expected, bool) == isinstance(found, bool)
    return None if is_same else Difference(path, shown(expected), found)


def _in_object(
    expected: Mapping[str, Any], found: Any, bindings: Bindings, path: str, *, is_whole: bool
) -> Difference | None:
    if not isinstance(found, Mapping) or (is_whole and set(found) - set(expected)):
        return Difference(path, described(expected, bindings), found)
    for name, value in expected.items():
        where = f"{path}.{name}" if path else name
        if name not in found:
            if value is ABSENT:
                continue
            return Difference(where, described(value, bindings), None)
        if difference := first_difference(value, found[name], bindings, where):
            return difference
    return None


def _first(differences: Iterable[Difference | None]) -> Difference | None:
    return next((each for each in differences if each is not None), None)
