"""How a run went, in a few stretches of whole seconds, each with its histogram: what a comparison draws from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wiretool.errors import DecodeError
from wiretool.load.backlog import drained_names
from wiretool.load.measure.figures import measured
from wiretool.load.measure.histograms import HIGHEST_US, Histogram
from wiretool.load.result import Moment, Result, Second

Floats = npt.NDArray[np.float64]

#: The two times of an exchange, the one that counts first.
SOURCES = ("response", "service")
#: Stretches of a run: of so few seconds each is one; of more, five to ten, as what delays exchanges (a flush, a
#: collection, a neighbour's load) often lasts longer than one second.
_SINGLE_MAX = 6
_FEWEST, _MOST = 5, 10
_SECONDS_EACH = 3
#: Buckets: of one microsecond as long as that is coarser than 3 in 1000, then of 3 in 1000. Half a microsecond down, as
#: times are rounded.
_FINENESS = 0.003
_WHOLE = round(1 / _FINENESS)
EDGES: Floats = np.concatenate(
    [
        np.arange(0.5, _WHOLE),
        np.exp(np.arange(np.log(_WHOLE + 0.5), np.log(HIGHEST_US) + 2 * _FINENESS, _FINENESS)),
    ]
)


class Course(NamedTuple):
    """One operation: exchanges of each stretch, and for each source how many of each stretch are in which bucket."""

    counts: Floats
    #: Shape (stretches, buckets).
    times: Mapping[str, Floats]


class Courses(NamedTuple):
    """A run: the seconds that each stretch has, and what each operation did in them."""

    seconds: Floats
    operations: Mapping[str, Course]
    remarks: Sequence[str]

    @property
    def stretches(self) -> int:
        """How many there are."""
        return len(self.seconds)


def stretches_of(seconds: int) -> int:
    """Into how many stretches so many seconds are cut."""
    return seconds if seconds <= _SINGLE_MAX else max(_FEWEST, min(_MOST, seconds // _SECONDS_EACH))


def courses_of(result: Result, name: str) -> Courses:
    """The run in stretches; DecodeError, with `name` and the place, where a histogram is damaged."""
    seconds = whole_seconds(result)
    if not seconds:
        return Courses(np.zeros(0), {}, [f"{name} has no whole second"])
    parts = np.array_split(np.arange(len(seconds)), stretches_of(len(seconds)))
    lengths = np.array([len(part) for part in parts], dtype=np.float64)
    drained = drained_names(result) & {*result.operations}
    operations = {each: _course(seconds, parts, each, name) for each in result.operations if each not in drained}
    bare = [each for each, course in operations.items() if course.counts.any() and not course.times]
    remarks = [f"{name} has no histograms of its seconds for {each}: its times have no interval" for each in bare]
    remarks += [f"{name} did {each} to drain a backlog, which goes as it goes: no interval" for each in sorted(drained)]
    return Courses(lengths, operations, remarks)


def whole_seconds(result: Result) -> list[Second]:
    """The measured seconds that were not cut short by the end, unless there is no other; those of a drain are none."""
    seconds = [second for second in measured(result) if not second.is_drain]
    return [each for each in seconds if each.second + 1 <= result.duration_s + 1e-3] or seconds


def _course(seconds: Sequence[Second], parts: Sequence[npt.NDArray[np.intp]], operation: str, name: str) -> Course:
    moments = [second.operations.get(operation) for second in seconds]
    counts = np.array([moment.count if moment else 0 for moment in moments], dtype=np.float64)
    times = {
        source: np.stack([rows[part].sum(axis=0) for part in parts])
        for source, rows in _rows(seconds, moments, operation, name)
    }
    return Course(np.array([counts[part].sum() for part in parts]), times)


def _rows(
    seconds: Sequence[Second], moments: Sequence[Moment | None], operation: str, name: str
) -> Iterator[tuple[str, Floats]]:
    """Each source that every second has, service time only where it is another, with a row of buckets a second."""
    texts = {source: [_text(moment, source) for moment in moments] for source in SOURCES}
    for source, each in texts.items():
        if source != SOURCES[0] and each == texts[SOURCES[0]]:
            continue
        if any(moment and moment.count and not text for moment, text in zip(moments, each, strict=True)):
            continue
        rows = np.zeros((len(seconds), len(EDGES)))
        for row, second, text in zip(rows, seconds, each, strict=True):
            if text:
                where = f"{name}: second {second.second}, {operation}, {source}_histogram"
                row += buckets_of(_read(text, where))
        yield source, rows


def _text(moment: Moment | None, source: str) -> str:
    """A histogram of one second; that of the response time where the service time's is left out, being the same."""
    if moment is None:
        return ""
    return (moment.service_histogram if source == "service" else "") or moment.response_histogram


def _read(text: str, where: str) -> Histogram:
    try:
        return Histogram.from_text(text)
    except DecodeError as err:
        raise DecodeError(err.kind, err.why, path=where) from err


def buckets_of(histogram: Histogram) -> Floats:
    """How many times are from each of `EDGES` to the next."""
    ends, counts = histogram.recorded()
    widths = 2.0 ** np.maximum(np.frexp(ends.astype(np.float64))[1] - 11, 0)
    middles = ends - (widths - 1) / 2
    places = np.clip(np.searchsorted(EDGES, middles, side="right") - 1, 0, len(EDGES) - 1)
    return np.bincount(places, weights=counts, minlength=len(EDGES)).astype(np.float64)
