"""The interval log: every measured second as HdrHistogram's own tools read it.

The format is that of HdrHistogram's `HistogramLogWriter`, version 1.3: comments that begin with `#[`, a legend, then a
line for each histogram, `Tag=append.service,START,LENGTH,MAX,HISTOGRAM`. START and LENGTH are seconds, START from
BaseTime on by the clock of who measured, and the histogram is its text. (hdrh has a writer too, of version 1.2, which
knows no tags.)
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.totals import MergedSecond, is_measured
from wiretool.sinks.printable import printable

#: The unit of MAX, in the histograms' microseconds; a comment says so. What takes the file for nanoseconds, as
#: HdrHistogram's plots do by default, is a thousand off, so the unit of the values is said as well.
MAX_UNIT_US = 1000
#: What must not be in a tag.
NOT_IN_TAGS = re.compile(r"[\s,]")


class HdrLog:
    """Writes measured seconds, as they are whole: `write` takes the text.

    The sum of all lines with one tag is the histogram that the result has: the warm-up is not in it. What a process
    told late of a second that is written already comes as a line more for it. Each begins when it began: between a
    build-up and its drain is what it took to come to an end there.
    """

    def __init__(self, write: Callable[[str], object], end_s: float) -> None:
        self._write = write
        self._end_s = end_s
        #: When measuring began, seconds since 1970; known once a second is.
        self._base: float | None = None

    def add(self, merged: MergedSecond) -> None:
        """Write a second, if it counts."""
        if not is_measured(merged.second, self._end_s):
            return
        start_s = max(merged.began_at - self._begun_at(merged), 0.0)  # a clock that was set back is before the base
        length_s = max((pulse.wall_s for pulse in merged.pulses), default=0.0) or 1.0
        for name, operation in merged.operations.items():
            for kind, histogram in (("service", operation.service), ("response", operation.response)):
                if histogram.count:
                    self._write(line(f"{name}.{kind}", start_s, length_s, histogram))

    def _begun_at(self, first: MergedSecond) -> float:
        """When measuring began, as that second tells where it is the first; the lines above come with it."""
        if self._base is None:
            self._base = first.began_at - first.second
            self._write("".join(f"{each}\n" for each in head(self._base)))
        return self._base


def head(began_at: float) -> Iterator[str]:
    """The lines above the histograms."""
    yield "#[Histogram log format version 1.3]"
    yield "#[Logged by wiretool: values are microseconds, Interval_Max is in milliseconds]"
    yield f"#[BaseTime: {began_at:.3f} (seconds since epoch)]"
    yield f"#[StartTime: {began_at:.3f} (seconds since epoch), {datetime.fromtimestamp(began_at, UTC).isoformat()}]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'


def line(tag: str, start_s: float, length_s: float, histogram: Histogram) -> str:
    """The line of one histogram."""
    greatest = histogram.max_us / MAX_UNIT_US
    return f"Tag={tag_from(tag)},{start_s:.3f},{length_s:.3f},{greatest:.3f},{histogram.text()}\n"


def tag_from(name: str) -> str:
    """A name as a tag, which has neither blanks nor commas."""
    return NOT_IN_TAGS.sub("_", printable(name))
