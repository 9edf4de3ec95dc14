"""What the controller's messages are about: streams, and the names that the store has for what they tell in numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.codec.message import Position
from wiretool.faults.adapter import Form
from wiretool.faults.places import Pattern, changed_at
from wiretool.protocols.pravega.structures import NAME
from wiretool.protocols.pravega_controller.roles import SEGMENT_ID
from wiretool.protocols.pravega_controller.server.names import TABLE, segment_name, transaction_name
from wiretool.replay.adapter import Place, Steps

_NUMBER_BITS = 32
#: Where the name of the stream stands that a structure is about, if not in itself.
_SETS = ("segmentRanges", "segments", "activeSegments")
_INSIDE = ("streamInfo", "segmentId", "segment")


def stream_at(form: Any, steps: Steps) -> str | None:
    """The stream, `scope/stream`, that a place in a form is about: what is told nearest to it."""
    around = [form]
    for step in steps:
        form = form[step]
        around.append(form)
    return next(filter(None, map(_stream_in, reversed(around))), None)


def _stream_in(form: Any) -> str | None:
    if not isinstance(form, Mapping):
        return None
    if "scope" in form and "stream" in form:
        return f"{form['scope']}/{form['stream']}"
    if "scope" in form and "kvtName" in form:
        return f"{form['scope']}/{form['kvtName']}{TABLE}"
    return next(filter(None, (_stream_in(form.get(name)) for name in _INSIDE)), None)


def name_of(stream: str, number: int) -> str:
    """What the store calls the segment of a stream with that id."""
    scope, _, rest = stream.partition("/")
    return segment_name(scope, rest, number & (1 << _NUMBER_BITS) - 1, number >> _NUMBER_BITS)


def epoch_of(number: int) -> int:
    """The epoch that made a segment, by its id."""
    return number >> _NUMBER_BITS


def stream_of(segment: str) -> str | None:
    """The stream of a segment of that name; None for one that is in no scope."""
    scope, _, rest = segment.partition("/")
    stream, slash, _ = rest.partition("/")
    return f"{scope}/{stream}" if slash else None


def transaction_suffix(transaction: Any) -> str:
    """What stands behind the name of a segment in that of its part in a transaction; empty where none is told."""
    if not isinstance(transaction, Mapping):
        return ""
    high, low = (int(transaction[half]) & (1 << 64) - 1 for half in ("highBits", "lowBits"))
    return transaction_name("", high, low)


def other_scope(name: str, number: int) -> str:
    """A scope, or what is in one, as the client of that number calls it."""
    scope, slash, rest = name.partition("/")
    return f"{scope}-{number}{slash}{rest}" if scope else name


# -- cuts --------------------------------------------------------------------------------------------------------------


def with_pairs(form: Form, patterns: Sequence[tuple[Pattern, Any]]) -> Form:
    """The form with every cut as pairs: in a map no key can be another."""
    made: Form = _recast(form, patterns, _pairs)
    return made


def with_maps(form: Form, patterns: Sequence[tuple[Pattern, Any]]) -> Form:
    """The form with every cut as the map that it is."""
    made: Form = _recast(form, patterns, _map)
    return made


def _recast(form: Any, patterns: Sequence[tuple[Pattern, Any]], cast: Any) -> Any:
    for pattern, role in patterns:
        if isinstance(role, Position):
            form = changed_at(form, pattern, cast)
    return form


def _pairs(cut: Any) -> Any:
    if not isinstance(cut, Mapping):
        return cut
    return [{"segment": segment, "offset": cut[str(segment)]} for segment in sorted(map(int, cut))]


def _map(pairs: Any) -> Any:
    return {str(each["segment"]): each["offset"] for each in pairs} if isinstance(pairs, list) else pairs


# -- sets --------------------------------------------------------------------------------------------------------------


def in_order(form: Form) -> Form:
    """The form with segments in the order of their keys: the controller has them in none, and clients seek none."""
    made: dict[str, Any] = dict(form)
    for name in _SETS:
        if isinstance(made.get(name), list):
            made[name] = sorted(map(_with_sorted_values, made[name]), key=_rank)
    return made


def _with_sorted_values(entry: Any) -> Any:
    return {**entry, "value": sorted(entry["value"])} if isinstance(entry, Mapping) and "value" in entry else entry


def _rank(entry: Any) -> tuple[float, int]:
    """By the lowest key, as far as keys are told, then by the id."""
    low = 0.0
    while isinstance(entry, Mapping):
        low = float(entry.get("minKey", low))
        entry = entry.get("segment") or entry.get("segmentId")
    return low, entry if isinstance(entry, int) else 0


# -- names that follow -------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    steps: Steps
    name: str


def names_in(places: Sequence[Place], form: Form) -> Iterator[Place]:
    """The names of segments that follow from the ids in what the server says; they stand nowhere in it.

    The segments of a transaction are its parts of those that are active.
    """
    told = [
        _Told(place.steps, name_of(place.within, place.value))
        for place in places
        if place.role is SEGMENT_ID and isinstance(place.within, str) and type(place.value) is int
    ]
    for steps, name in told:
        yield Place(steps, name, NAME, None)
    suffix = transaction_suffix(form.get("txnId")) if "activeSegments" in form else ""
    for steps, name in told if suffix else ():
        yield Place(steps[:-2], name + suffix, NAME, None)
