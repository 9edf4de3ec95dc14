"""Known failures that a run expects, listed in a TOML file.

    [[expected]]
    case = "pravega/append/3"
    message = "the server closed"     # part of the reason; without it, any reason
    reason = "issue 12 of our store"

Each entry is for one case. A case that passes again, or fails for another reason, makes the run fail.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult
from wiretool.errors import InputError, UsageError
from wiretool.expectations import toml_problem

_KEYS = ("case", "message", "reason")
#: Verdicts that an entry can stand for.
_FAILURES = (Verdict.FAIL, Verdict.LENIENT, Verdict.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Expected:
    """One known failure."""

    case: str
    message: str
    reason: str
    #: The line of the file that names the case, from 1.
    line: int = 1

    def fits(self, result: CaseResult) -> bool:
        """Return whether a result is this failure."""
        return result.verdict in _FAILURES and self.message in result.why


class ChangedFailure(NamedTuple):
    """An entry that a run no longer shows, and what it shows instead, in words."""

    entry: Expected
    text: str


@dataclass(frozen=True, slots=True)
class ExpectedFailures:
    """All known failures of a run."""

    entries: Mapping[str, Expected]

    def reason(self, result: CaseResult) -> str | None:
        """Return why a failure is expected; None where it is not."""
        entry = self.entries.get(result.case.id)
        return entry.reason if entry is not None and entry.fits(result) else None

    def changes(self, results: Iterable[CaseResult]) -> list[ChangedFailure]:
        """Return each entry that the results no longer show."""
        by_id = {result.case.id: result for result in results}
        found = []
        for entry in self.entries.values():
            result = by_id.get(entry.case)
            if result is None or result.verdict is Verdict.NOT_EXERCISED:
                continue  # not selected in this run, or not to be seen in it
            if result.verdict is Verdict.PASS:
                found.append(ChangedFailure(entry, f"{entry.case} passes; remove it from the expected failures"))
            elif not entry.fits(result):
                text = (
                    f"{entry.case} is {result.verdict.value} for another reason: {result.why}; "
                    f"expected a reason with {entry.message!r}"
                )
                found.append(ChangedFailure(entry, text))
        return found


def expected_from(text: str, known: Sequence[str], *, name: str) -> ExpectedFailures:
    """Return the known failures of a TOML text. InputError for other content, UsageError for an unknown case."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as err:
        why = f"{toml_problem(err)}; expected entries as [[expected]] with case, message and reason"
        raise InputError(f"{name}: {why}") from err
    entries = table.pop("expected", [])
    if table or not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InputError(f"{name}: expected entries as [[expected]]")
    found: dict[str, Expected] = {}
    lines = text.splitlines()
    for number, table in enumerate(entries, 1):
        entry = _entry(table, known, f"{name}: expected[{number}]")
        if entry.case in found:
            raise InputError(f"{name}: expected[{number}]: {entry.case} is listed twice")
        found[entry.case] = replace(entry, line=_line_of(entry.case, lines))
    return ExpectedFailures(found)


def _line_of(case: str, lines: Sequence[str]) -> int:
    """Return the first line that assigns this case, from 1; 1 where the name is written in another form of TOML."""
    assigns = re.compile(rf"""\s*["']?case["']?\s*=\s*["']{re.escape(case)}["']""")
    return next((number for number, line in enumerate(lines, 1) if assigns.match(line)), 1)


def _entry(table: Mapping[str, Any], known: Sequence[str], where: str) -> Expected:
    from wiretool.codec.jsonform import nearest

    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(f"{where}: {key}: unknown key{nearest(key, _KEYS)}; expected {', '.join(_KEYS)}")
        if not isinstance(value, str):
            raise InputError(f"{where}: {key}: expected text")
    for key in ("case", "reason"):
        if key not in table:
            raise InputError(f"{where}: {key} is missing")
        if not table[key]:
            raise InputError(f"{where}: {key}: expected text that is not empty")
    if table["case"] not in known:
        raise UsageError(f"{where}: no case is called {table['case']!r}{nearest(table['case'], known)}")
    return Expected(table["case"], table.get("message", ""), table["reason"])


def _lasting(result: CaseResult) -> str:
    """Return the part of a reason that another run gives too: names and numbers are generated in each."""
    return (result.difference or result.why).partition(": expected ")[0]


def expected_text(results: Iterable[CaseResult]) -> str:
    """Return the failures of a run as such a file."""
    from wiretool.codec.json_text import json_text

    entries = [result for result in results if result.verdict in _FAILURES]
    parts = [
        f"[[expected]]\ncase = {json_text(each.case.id)}\nmessage = {json_text(_lasting(each))}\n"
        f"reason = {json_text('not yet examined')}\n"
        for each in entries
    ]
    return "\n".join(parts)
