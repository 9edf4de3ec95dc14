"""The grammar of a filter expression: words in, a tree out.

either     = both { "or" both }
both       = negation { "and" negation }
negation   = "not" negation | comparison
comparison = "(" either ")" | operand [ operator operand ]
operand    = path | number | duration | text | true | false | null | "[" [ operand { "," operand } ] "]"
"""

from dataclasses import dataclass
from typing import Any

from wiretool import limits
from wiretool.filter.tokens import Token, tokens_of, wrong

OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "contains", "~")
#: Words that are no names of fields.
CONSTANTS = {"true": True, "false": False, "null": None}
WORDS = {"and", "or", "not", "in", "contains", *CONSTANTS}


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, true, false, null, or a list of them."""

    value: Any
    at: int
    #: Written with a unit of time; the value is in seconds.
    is_duration: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """A value of the record: `fields.entries[0].key`."""

    steps: tuple[str | int, ...]
    text: str
    at: int


Operand = Constant | Path


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and what is asked of them; `at` is where the operator stands."""

    operator: str
    left: Operand
    right: Operand
    at: int


@dataclass(frozen=True, slots=True)
class Truth:
    """A value that is itself true or false."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: tuple["Node", ...]


Node = Comparison | Truth | Not | Every | AnyOf


def parse(expression: str) -> Node:
    """The tree of an expression; UsageError at the column where it makes no sense."""
    parser = _Parser(expression)
    node = parser.either()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, expression: str) -> None:
        self._tokens = tokens_of(expression)
        self._token = next(self._tokens)
        self._depth = 0

    def either(self) -> Node:
        parts = [self._both()]
        while self._takes_word("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def expect_end(self) -> None:
        token = self._token
        if token.kind == "end":
            return
        if token.text in OPERATORS:
            raise wrong(token.at, f"a second {token.text!r}: comparisons are joined with and, or")
        raise wrong(token.at, f"{token.text!r}; expected and, or, or the end")

    def _both(self) -> Node:
        parts = [self._negation()]
        while self._takes_word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _negation(self) -> Node:
        at = self._token.at
        if not self._takes_word("not"):
            return self._comparison()
        self._deeper(at)
        part = Not(self._negation())
        self._depth -= 1
        return part

    def _comparison(self) -> Node:
        at = self._token.at
        if self._takes("("):
            self._deeper(at)
            node = self.either()
            self._expect(")", at)
            self._depth -= 1
            return node
        left = self._operand()
        operator = self._token
        if operator.text not in OPERATORS or operator.kind == "text":
            return Truth(left)
        self._advance()
        return Comparison(operator.text, left, self._operand(), operator.at)

    def _operand(self) -> Operand:
        token = self._token
        if self._takes("["):
            return self._list(token.at)
        if token.kind == "path" and token.text in CONSTANTS:
            self._advance()
            return Constant(CONSTANTS[token.text], token.at)
        if token.kind == "path" and token.text not in WORDS:
            self._advance()
            return Path(token.value, token.text, token.at)
        if token.kind in ("number", "text", "duration"):
            self._advance()
            return Constant(token.value, token.at, is_duration=token.kind == "duration")
        raise wrong(token.at, f"{_named(token)}; expected a field or a value")

    def _list(self, at: int) -> Constant:
        self._deeper(at)
        values: list[Any] = []
        while not self._takes("]"):
            if values:
                self._expect(",", at)
            item = self._operand()
            if isinstance(item, Path):
                raise wrong(item.at, f"{item.text} in a list, which takes numbers and texts only")
            if item.is_duration:
                raise wrong(item.at, "a duration in a list, which takes numbers and texts only")
            values.append(item.value)
        self._depth -= 1
        return Constant(values, at)

    def _deeper(self, at: int) -> None:
        self._depth += 1
        if self._depth > limits.NESTING_MAX:
            raise wrong(at, f"nested more than {limits.NESTING_MAX} deep")

    def _takes(self, sign: str) -> bool:
        return self._advance_if(self._token.kind == "sign" and self._token.text == sign)

    def _takes_word(self, word: str) -> bool:
        return self._advance_if(self._token.kind == "path" and self._token.text == word)

    def _advance_if(self, fits: bool) -> bool:
        if fits:
            self._advance()
        return fits

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _expect(self, sign: str, opened_at: int) -> None:
        if not self._takes(sign):
            raise wrong(self._token.at, f"{_named(self._token)}; expected {sign!r} (opened in {opened_at + 1})")


def _named(token: Token) -> str:
    return token.text if token.kind == "end" else repr(token.text)
