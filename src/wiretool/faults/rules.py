"""Rules as people write them: on one line, in a file of TOML, or as an object that came by the control API."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from wiretool import limits
from wiretool.errors import InputError, UsageError
from wiretool.expectations import toml_problem
from wiretool.faults.oneline import action_of, count_of
from wiretool.faults.rule import Rule as Rule
from wiretool.faults.rule import make_rule
from wiretool.faults.tables import KeyedError, parts_of_table
from wiretool.faults.words import parts_of
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import protocol_named

_RULE_LINE = re.compile(r"[ \t]*\[\[[ \t]*rule[ \t]*\]\]")


def parse_rule(text: str, *, protocols: Sequence[str], origin: str = "fault") -> Rule:
    """The rule `EXPRESSION [nth=N | every=N | probability=P]: ACTION`, checked against the declarations.

    UsageError says the origin, the rule, the column where that shows, and why.
    """
    try:
        if len(text) > limits.FAULT_RULE_CHARACTERS_MAX:
            raise UsageError(f"{len(text)} characters, {limits.FAULT_RULE_CHARACTERS_MAX} at most")
        parts = parts_of(text)
        return make_rule(parts.expression, count_of(parts), action_of(text, parts.action_at), _known(protocols), origin)
    except UsageError as err:
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        raise UsageError(f"{origin} {shown!r}: {err}") from err


def _known(names: Sequence[str]) -> list[Protocol]:
    return [protocol_named(name) for name in dict.fromkeys(names)]


def rule_from(table: Mapping[str, Any], *, protocols: Sequence[str], origin: str = "rule") -> Rule:
    """The rule that an object says, with the keys of the TOML form. UsageError says the origin, the key and why."""
    try:
        return make_rule(*parts_of_table(table), _known(protocols), origin)
    except UsageError as err:
        raise UsageError(f"{origin}: {err}") from err


def rules_from(text: str, path: str, *, protocols: Sequence[str]) -> list[Rule]:
    """The rules of a TOML file, given its text. InputError says the file, the line, the rule and why."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as err:
        raise InputError(f"{path}: {toml_problem(err)}; expected rules as [[rule]]") from err
    for key in content:
        if key != "rule":
            raise InputError(f"{path}: {key}: unknown table; expected only [[rule]]")
    tables = content.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: no rules; expected entries as [[rule]]")
    if len(tables) > limits.FAULT_RULES_MAX:
        raise InputError(f"{path}: {len(tables)} rules, {limits.FAULT_RULES_MAX} at most")
    places = _Places(text)
    known = _known(protocols)
    return [_rule_of(table, number, places, path, known) for number, table in enumerate(tables, 1)]


def _rule_of(
    table: Mapping[str, Any], number: int, places: "_Places", path: str, protocols: Sequence[Protocol]
) -> Rule:
    try:
        return make_rule(*parts_of_table(table), protocols, places.origin(path, number))
    except UsageError as err:
        key = err.key if isinstance(err, KeyedError) else ""
        raise InputError(f"{places.origin(path, number, key)}: {err}") from err


class _Places:
    """Where the rules of a file are: tomllib does not say, so it is taken from how rules are usually written."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = [number for number, line in enumerate(self._lines, 1) if _RULE_LINE.match(line)]

    def origin(self, path: str, number: int, key: str = "") -> str:
        """`faults.toml, line 3 (rule 1)`; the line of the key where that is found."""
        if number > len(self._starts):
            return f"{path} (rule {number})"
        start = self._starts[number - 1]
        stop = self._starts[number] if number < len(self._starts) else len(self._lines) + 1
        line = next((at for at in range(start, stop) if self._has_key(self._lines[at - 1], key)), start)
        return f"{path}, line {line} (rule {number})"

    @staticmethod
    def _has_key(line: str, key: str) -> bool:
        return bool(key) and re.match(rf"[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*[=.]", line) is not None
