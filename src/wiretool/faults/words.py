"""The words of a rule that stands on one line: `EXPRESSION [nth=N | every=N | probability=P]: ACTION`."""

import json
import re
from dataclasses import dataclass
from typing import Any

from wiretool.errors import UsageError
from wiretool.faults.actions import duration_ns
from wiretool.filter.tokens import NUMBER_CHARACTERS_MAX, steps_of, unescaped, wrong
from wiretool.units import DURATION

#: What a condition is made of, as far as its end has to be found: texts, which may hold anything, and the rest.
_PART = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?<![.\w])(?P<count>nth|every|probability)\s*=(?!=)\s*(?P<number>[^\s:]*)
    |(?P<colon>:)
    |(?P<space>\s+)
    |(?P<other>\w+|[^"'\w:\s])""",
    re.DOTALL | re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+(?![\w.])", re.ASCII)
_DURATION = re.compile(r"\d+(?:\.\d+)?[A-Za-zµμ]*(?![\w.])")
_APART = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s+(?P<unit>[A-Za-zµμ]+)(?!\w)")
_PATH = re.compile(r"""[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,9}\]|\["(?:[^"\\]|\\.)*"\])*""", re.ASCII)
_HEX = re.compile(r"0[xX][0-9a-fA-F]+(?!\w)", re.ASCII)
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parts:
    """The three parts of a rule; `count` and `number` are empty where it acts every time."""

    expression: str
    count: str
    number: str
    number_at: int
    action_at: int


def parts_of(text: str) -> Parts:
    """Where the parts of a rule are; UsageError at the column where that cannot be told."""
    at, end, count, number, number_at = 0, 0, "", "", 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            raise wrong(at, "a text without its closing quote")
        at = found.end()
        if found.lastgroup == "colon":
            return Parts(text[:end], count, number, number_at, at)
        if found["space"]:
            continue
        if count:
            raise wrong(found.start(), f"{found.group()!r} after {count}=, which must be right before the colon")
        if found["count"]:
            count, number, number_at = found["count"], found["number"], found.start("number")
        else:
            end = at
    raise wrong(at, "no colon; expected CONDITION: ACTION")


class Words:
    """An action, read from left to right."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self.at = at
        self._skip_space()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self._text)

    def expect_end(self) -> None:
        """UsageError where something is left."""
        if not self.is_over:
            raise wrong(self.at, f"{self._shown()} after the end of the action")

    def word(self, wanted: str) -> str:
        """The next word; `wanted` says what it is, should it be missing."""
        found = _WORD.match(self._text, self.at)
        if found is None:
            raise wrong(self.at, f"{self._shown()}; expected {wanted}")
        self._advance(found.end())
        return found.group()

    def takes(self, word: str) -> bool:
        """Whether that word is next; if so it is passed."""
        found = _WORD.match(self._text, self.at)
        if found is None or found.group() != word:
            return False
        self._advance(found.end())
        return True

    def takes_sign(self, sign: str) -> bool:
        """Whether that sign is next; if so it is passed."""
        if not self._text.startswith(sign, self.at):
            return False
        self._advance(self.at + len(sign))
        return True

    def integer(self) -> int:
        """A whole number, with or without a sign."""
        found = _INTEGER.match(self._text, self.at)
        if found is None or len(found.group()) > NUMBER_CHARACTERS_MAX:
            raise wrong(self.at, f"{self._shown()}; expected a whole number")
        self._advance(found.end())
        return int(found.group())

    def duration_ns(self) -> int:
        """A number and its unit, as nanoseconds."""
        found = _DURATION.match(self._text, self.at)
        if (apart := _APART.match(self._text, self.at)) and apart["unit"] in DURATION.units:
            whole = apart["number"] + apart["unit"]
            raise wrong(self.at, f"duration {apart.group()!r}: a space before the unit; expected {whole}")
        if found is None or len(found.group()) > NUMBER_CHARACTERS_MAX:
            raise wrong(self.at, f"{self._shown()}; expected a duration like 200ms")
        try:
            duration = duration_ns(found.group())
        except UsageError as err:
            raise wrong(self.at, str(err)) from err
        self._advance(found.end())
        return duration

    def path(self) -> tuple[str | int, ...]:
        """The steps to a field: `entries[0].key.data`."""
        found = _PATH.match(self._text, self.at)
        if found is None:
            raise wrong(self.at, f"{self._shown()}; expected a field")
        self._advance(found.end())
        return steps_of(found.group())

    def value(self) -> Any:
        """A JSON value; a text may stand in single quotes, and a whole number in hexadecimal."""
        if found := _TEXT.match(self._text, self.at):
            self._advance(found.end())
            return unescaped(found.group()[1:-1])
        if found := _HEX.match(self._text, self.at):
            self._advance(found.end())
            return int(found.group(), 16)
        try:
            value, end = _JSON.raw_decode(self._text, self.at)
        except (ValueError, RecursionError) as err:
            why = f"{self._shown()}; expected a JSON value (text in quotes)"
            raise wrong(self.at, why) from err
        self._advance(end)
        return value

    def _advance(self, at: int) -> None:
        self.at = at
        self._skip_space()

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self.at)
        self.at = space.end() if space else self.at

    def _shown(self) -> str:
        rest = self._text[self.at : self.at + 20].split(" ")[0]
        return repr(rest) if rest else "the end"


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_constant=_no_number)
