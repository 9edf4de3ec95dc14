"""Differences that the user accepts, listed in a TOML file.

    [[accept]]
    message = "SegmentRead"       # the reply; the request, where two captures are compared
    field = "at_tail"             # as expressions spell it; without it, the message itself
    verdict = "different"         # or "missing" or "extra"; without it, any of them
    reason = "our store answers before the event is in it"

A difference is accepted by the first entry that fits; an exchange whose differences all are becomes `explained`, with
the reasons. A field stands for what is inside it too, and one of a list's elements for that of each element. Without
`field`, an entry is about the message itself: it has not come, nobody asked for it, or another came in its place. The
message `end` stands for how a connection ended. Three more keys narrow an entry:

    request = "ReadSegment"       # what was asked
    connection = 2                # number of the connection in the recording
    value = true                  # what the live server says; without a field, the message that came instead
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wiretool.codec.jsonform import nearest
from wiretool.errors import InputError, UsageError
from wiretool.expectations import toml_problem
from wiretool.filter.names import spelt
from wiretool.protocols.base.protocol import Protocol
from wiretool.replay.adapter import Difference, Steps, Verdict
from wiretool.replay.judging.accept import END, settle, verdict_of
from wiretool.replay.judging.field_selector import Spot, check_spot, field_of
from wiretool.replay.judging.outcomes import Outcome

#: The keys of an entry, and what each must be.
_KEYS: Mapping[str, tuple[type, str]] = {
    "message": (str, "text"),
    "field": (str, "text"),
    "verdict": (str, "text"),
    "reason": (str, "text"),
    "request": (str, "text"),
    "connection": (int, "a whole number"),
    "value": (object, ""),
}
_VERDICTS = {verdict.name.lower(): verdict for verdict in Verdict if verdict.is_finding}
#: Stands for any value.
_ANY = object()


@dataclass(eq=False, slots=True)
class Accepted:
    """One entry, and how often it was of use."""

    number: int
    spot: Spot
    reason: str
    verdict: Verdict | None = None
    request: str = ""
    connection: int | None = None
    value: Any = _ANY
    used: int = 0

    @property
    def name(self) -> str:
        """How the user is told of it."""
        return f"accept[{self.number}] ({spelt((self.spot.message, *self.spot.steps))})"

    def fits(self, outcome: Outcome, difference: Difference) -> bool:
        """Whether it accepts a difference."""
        asked = outcome.request.message if outcome.request is not None else ""
        return (
            self.spot.holds(outcome, difference)
            and self.verdict in (None, verdict_of(difference))
            and self.request in ("", asked)
            and self.connection in (None, outcome.dialogue.number)
            and (self.value is _ANY or _is_same(self.value, difference.live))
        )


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a file accepts."""

    entries: Sequence[Accepted]

    def apply(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Explain what is accepted; what to tell of entries that nothing was accepted by."""

        def accepts(outcome: Outcome, difference: Difference) -> str | None:
            entry = next((entry for entry in self.entries if entry.fits(outcome, difference)), None)
            if entry is None:
                return None
            entry.used += 1
            return entry.reason

        settle(outcomes, accepts, Verdict.EXPLAINED)
        return [f"{entry.name} of the expected differences matches nothing" for entry in self.entries if not entry.used]


def expectations_from(text: str, protocols: Sequence[Protocol], *, name: str = "expected differences") -> Expectations:
    """Return the accepted differences of the TOML file `name`. InputError for an unknown key, message or field."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as err:
        raise InputError(f"{name}: {toml_problem(err)}; expected entries as [[accept]]") from err
    for key in table:
        if key != "accept":
            raise InputError(f"{name}: {key}: no such table; entries are [[accept]]")
    tables = table.get("accept", [])
    if not isinstance(tables, list) or not all(isinstance(each, Mapping) for each in tables):
        raise InputError(f"{name}: accept: not entries; expected [[accept]]")
    return Expectations([_entry(each, number, protocols, name) for number, each in enumerate(tables, 1)])


def _entry(table: Mapping[str, Any], number: int, protocols: Sequence[Protocol], name: str) -> Accepted:
    try:
        return _read(table, number, protocols)
    except UsageError as err:
        raise InputError(f"{name}: accept[{number}]: {err}") from err


def _read(table: Mapping[str, Any], number: int, protocols: Sequence[Protocol]) -> Accepted:
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"{key}: no key of an entry{nearest(key, _KEYS)}; there are {', '.join(_KEYS)}")
        kind, words = _KEYS[key]
        if not isinstance(value, kind) or (kind is int and type(value) is not int):
            raise UsageError(f"{key}: expected {words}, got {value!r}")
    for key in ("message", "reason"):
        if not table.get(key):
            raise UsageError(f"{key} is missing")
    verdict = table.get("verdict", "")
    if verdict and verdict not in _VERDICTS:
        raise UsageError(f"verdict: one of {', '.join(_VERDICTS)}, not {verdict!r}{nearest(verdict, _VERDICTS)}")
    steps: Steps = field_of(table["field"]) if "field" in table else ()
    if steps and verdict in ("missing", "extra"):
        raise UsageError(f"verdict: a field is different; it is a message that is {verdict}")
    spot = Spot(table["message"], steps)
    if spot != END:
        check_spot(spot, protocols)
    if "request" in table:
        check_spot(Spot(table["request"], ()), protocols)
    return Accepted(
        number=number,
        spot=spot,
        reason=table["reason"],
        verdict=_VERDICTS.get(verdict),
        request=table.get("request", ""),
        connection=table.get("connection"),
        value=table.get("value", _ANY),
    )


def _is_same(wanted: Any, live: Any) -> bool:
    """Whether two JSON values are equal; true is no 1."""
    return bool(wanted == live) and (isinstance(wanted, bool) == isinstance(live, bool))
