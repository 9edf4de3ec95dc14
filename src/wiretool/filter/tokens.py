"""The words of a filter expression."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from wiretool.errors import UsageError
from wiretool.units import DURATION

TokenKind = Literal["path", "duration", "number", "text", "sign", "end"]
#: Characters of a number that is written out; longer ones name nothing that is in a capture.
NUMBER_CHARACTERS_MAX = 40

NS_PER_S = 1_000_000_000
_SPACE = re.compile(r"\s*")
_STEP = r"""(?:\.[A-Za-z_]\w*|\[\d{1,9}\]|\["(?:[^"\\]|\\.)*"\])"""
_TOKENS: tuple[tuple[TokenKind, re.Pattern[str]], ...] = (
    ("path", re.compile(rf"[A-Za-z_]\w*{_STEP}*", re.ASCII)),
    ("duration", re.compile(r"\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|min|m|h|d)\b")),
    ("number", re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)", re.ASCII)),
    ("text", re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)),
    ("sign", re.compile(r"[=!<>]=|[<>~()\[\],]")),
)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"'\\nrt])")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
_STEPS = re.compile(r"""\.([A-Za-z_]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]""", re.ASCII)
#: What other languages write, and how it is said here.
_FOREIGN = {"=": "==", "&": "and", "|": "or", "!": "not"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, where it stands (from 0), and its value: a number, a text, or the steps of a path."""

    kind: TokenKind
    text: str
    at: int
    value: Any = None


def wrong(at: int, why: str) -> UsageError:
    """The error at a place of an expression; people count columns from 1."""
    return UsageError(f"column {at + 1}: {why}")


def tokens_of(expression: str) -> Iterator[Token]:
    """The words of an expression, the last one of kind `end`; UsageError at what is no word."""
    at = 0
    while True:
        space = _SPACE.match(expression, at)
        at = space.end() if space else at
        if at >= len(expression):
            yield Token("end", "the end", at)
            return
        token = _token(expression, at)
        yield token
        at += len(token.text)


def _token(expression: str, at: int) -> Token:
    for kind, pattern in _TOKENS:
        found = pattern.match(expression, at)
        if found is not None:
            return Token(kind, found.group(), at, _value(kind, found.group(), at, expression[found.end() :]))
    char = expression[at]
    if char in "\"'":
        raise wrong(at, "a text without its closing quote")
    hint = f" (did you mean {_FOREIGN[char]}?)" if char in _FOREIGN else ""
    raise wrong(at, f"{char!r} means nothing here{hint}")


def _value(kind: TokenKind, text: str, at: int, behind: str) -> Any:
    if kind == "number":
        if behind[:1].isalnum() or behind[:1] in ("_", "."):
            expected = "expected one such as 12, 1.5 or 0x1f, or a duration such as 5ms"
            raise wrong(at, f"{text}{behind[:1]!s}… is not a number; {expected}")
        return _number(text, at)
    if kind == "duration":
        return round(DURATION.parse(text, f"column {at + 1}:") * NS_PER_S) / NS_PER_S
    if kind == "text":
        return unescaped(text[1:-1])
    return steps_of(text) if kind == "path" else None


def _number(text: str, at: int) -> int | float:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise wrong(at, f"a number of {len(text)} characters")
    if text.lstrip("-")[:2] in ("0x", "0X"):
        return int(text, 16)
    if any(char in text for char in ".eE"):
        return float(text)
    return int(text)


def unescaped(text: str) -> str:
    r"""What stands between quotes, with \n \r \t \\ \" \' \xNN \uNNNN replaced; other backslashes stay (`\d`)."""
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    escape = found.group()[1:]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _PLAIN.get(escape, escape)


def steps_of(path: str) -> tuple[str | int, ...]:
    """`fields.entries[0].key` as its steps: names and indices."""
    steps: list[str | int] = []
    for name, index, quoted in _STEPS.findall("." + path):
        steps.append(int(index) if index else name or unescaped(quoted))
    return tuple(steps)
