"""Keeps results of pure functions of bytes, while it is switched on.

Fuzzing sends most messages again and again, and has them read by the server, the client and the oracles. Elsewhere
hardly any frame comes twice, so nothing is remembered unless a block asks for it.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar, cast

K = TypeVar("K", bound=Hashable)
P = ParamSpec("P")
R = TypeVar("R")
_Place = tuple[bytes | str, int, int]
#: The longest data whose result is kept, in bytes; and the results of one function, after which the older half is
#: dropped.
BYTES_MAX, RESULTS_MAX = 1_024, 4_096


class _Switch:
    is_on = False


_switch = _Switch()


@contextmanager
def remembering(*, is_on: bool) -> Iterator[None]:
    """Remember results inside a block; with `is_on` false, compute each of them."""
    before, _switch.is_on = _switch.is_on, is_on
    try:
        yield
    finally:
        _switch.is_on = before


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Remember the results of `function(*context, data, at, end, **named)`; it must read only `data[at:end]`.

    Results are shared, so they must not be changed. An exception is not remembered.
    """
    newer: dict[tuple[Any, ...], R] = {}
    older: dict[tuple[Any, ...], R] = {}

    @wraps(function)
    def recall(*arguments: P.args, **named: P.kwargs) -> R:
        nonlocal newer, older
        if not _switch.is_on:
            return function(*arguments, **named)
        context, (data, at, end) = arguments[:-3], cast(_Place, arguments[-3:])
        if end - at > BYTES_MAX:
            return function(*arguments, **named)
        key = (context, data[at:end], tuple(named.items()))
        if key in newer:
            return newer[key]
        result = older[key] if key in older else function(*arguments, **named)
        if len(newer) >= RESULTS_MAX // 2:
            newer, older = {}, newer
        newer[key] = result
        return result

    return recall


class ResultCache(Generic[K, R]):
    """Results by what they were made of, for functions whose arguments are not just bytes."""

    def __init__(self) -> None:
        self._newer: dict[K, R] = {}
        self._older: dict[K, R] = {}

    @property
    def is_on(self) -> bool:
        """Return whether a block asks for remembering."""
        return _switch.is_on

    def get(self, key: K) -> R | None:
        """Return the result of a key; None where it is not kept."""
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def put(self, key: K, result: R) -> None:
        """Keep a result."""
        if len(self._newer) >= RESULTS_MAX // 2:
            self._newer, self._older = {}, self._newer
        self._newer[key] = result


def remembered_bytes(function: Callable[[K], bytes]) -> Callable[[K], bytes]:
    """Remember the bytes that a pure function makes of an immutable value, unless they are long."""
    cache: ResultCache[K, bytes] = ResultCache()

    @wraps(function)
    def recall(value: K) -> bytes:
        if not cache.is_on:
            return function(value)
        result = cache.get(value)
        if result is None:
            result = function(value)
            if len(result) <= BYTES_MAX:
                cache.put(value, result)
        return result

    return recall
