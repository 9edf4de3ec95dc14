"""How a run went, in a few stretches of whole seconds, each with its histogram: what a comparison draws from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wiretool.errors import DecodeError
from wiretool.load.backlog import drained_names
from wiretool.load.measure.figures import measured
from wiretool.load.measure.histograms import COUNTERS, Histogram, Whole
from wiretool.load.result import Moment, Result, Second

Floats = npt.NDArray[np.float64]

#: The two times of an exchange, the one that counts first.
SOURCES = ("response", "service")
#: Stretches of a run: of so few seconds each is one; of more, five to ten, as what delays exchanges (a flush, a
#: collection, a neighbour's load) often lasts longer than one second.
_SINGLE_MAX = 6
_FEWEST, _MOST = 5, 10
_SECONDS_EACH = 3


class Times(NamedTuple):
    """Counts of times by stretch and bucket of a histogram."""

    #: Those in use, rising.
    buckets: Whole
    #: Shape (stretches, buckets).
    counts: Floats


class Course(NamedTuple):
    """One operation: exchanges of each stretch, and the times of each source."""

    counts: Floats
    times: Mapping[str, Times]


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
    places = [f"{name}: second {second.second}, {operation}" for second in seconds]
    return Course(np.array([counts[part].sum() for part in parts]), dict(_times(moments, parts, places)))


def _times(
    moments: Sequence[Moment | None], parts: Sequence[npt.NDArray[np.intp]], places: Sequence[str]
) -> Iterator[tuple[str, Times]]:
    """Each source that every second has, service time only where it is another; `places` are for errors."""
    texts = {source: [_text(moment, source) for moment in moments] for source in SOURCES}
    for source, each in texts.items():
        if source != SOURCES[0] and each == texts[SOURCES[0]]:
            continue
        if any(moment and moment.count and not text for moment, text in zip(moments, each, strict=True)):
            continue
        counters = np.zeros((len(parts), COUNTERS))
        for row, part in zip(counters, parts, strict=True):
            for second in part:
                if each[second]:
                    row += _read(each[second], f"{places[second]}, {source}_histogram").counters()
        yield source, times_of(counters)


def times_of(counters: Floats) -> Times:
    """The times of stretches out of all counters of each."""
    used = np.flatnonzero(counters.any(axis=0))
    return Times(used, counters[:, used])


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
