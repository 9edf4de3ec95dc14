"""A load fitted to a recording: what a command line leaves open is set so that the load is as what was recorded."""

import shlex
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import gcd
from typing import Any

from wiretool import limits
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import CaptureError, UsageError
from wiretool.load.in_flight import Tally
from wiretool.load.part import load_part, loadable
from wiretool.load.planning.recorded import Recorded, Seen
from wiretool.load.planning.sizes import sizes_from
from wiretool.load.planning.validate import EVENT_SIZE, HEAD_BYTES, Load

OPTION = "--from-capture"
#: So many sizes are listed one by one. More are put together: twentieths of all events, and of the largest the last
#: hundredth and thousandth apart, as these are what fills pipes.
LISTED_MAX = 20
_SHARES = (*(part / 20 for part in range(1, 20)), 0.99, 0.999, 1.0)
#: What all weights of a list come to where they would have many digits.
_WEIGHTS = 10_000
#: A rate that is taken over less than this may be that of a burst.
SPAN_S_MIN = 0.02
#: Of how many appends that were on the way at a time a load does the most: all but one in a hundred.
_DEPTH = 0.99


@dataclass(slots=True)
class Fitted:
    """The load, and what is to be told of how it was fitted."""

    load: Load
    #: What was recorded: `300 appends of pravega in 5.67 s`.
    recorded: str
    remarks: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The load as options, for a command line: what was fitted, and what was said instead."""
        return shlex.join(_words(self.load))


def fitted(load: Load, recorded: Recorded, *, name: str, is_verified: bool, has_target: bool) -> Fitted:
    """The load as written, and what it leaves open as in the recording called `name`.

    CaptureError where nothing in it can be loaded; UsageError where it has to be said what.
    """
    protocol = _protocol(load, recorded, name)
    fit = _Fit(recorded.seen[protocol], replace(load, protocol=protocol), is_verified=is_verified)
    if load_part(protocol).is_read_only:
        fit.reading(has_target=has_target)
    else:
        fit.writing()
    return Fitted(fit.load, fit.told(), fit.remarks)


def _protocol(load: Load, recorded: Recorded, name: str) -> str:
    """Which protocol is loaded: the one that was named, or the only one of which anything was recorded."""
    found = {protocol: seen.appends for protocol, seen in recorded.seen.items() if seen.appends}
    counts = " and ".join(counted(protocol, found[protocol]) for protocol in sorted(found))
    if load.protocol in found:
        return load.protocol
    if load.protocol is not None:
        why = f"no {_noun(load.protocol)} of {load.protocol} is in it"
        raise CaptureError(name, f"{why}, only {counts}; omit --protocol" if found else why)
    if not found:
        raise CaptureError(name, f"no appends of a supported protocol ({', '.join(loadable())})")
    if len(found) > 1:
        raise UsageError(f"{OPTION} {name}: {counts} are in it; pick one with --protocol")
    return next(iter(found))


def counted(protocol: str, count: int) -> str:
    """So many appends of a protocol, in words."""
    return f"{count:,} {_noun(protocol)}{'s' * (count != 1)} of {protocol}"


def _noun(protocol: str) -> str:
    return "message" if load_part(protocol).is_read_only else "append"


class _Fit:
    """Sets what a load leaves open, and notes where it could not be as it was recorded."""

    def __init__(self, seen: Seen, load: Load, *, is_verified: bool) -> None:
        self.load = load
        self.remarks: list[str] = []
        self._seen = seen
        self._protocol = load.protocol or ""
        self._smallest = MARK_BYTES if is_verified else 1

    def told(self) -> str:
        """What was recorded, in words."""
        seen = self._seen
        return f"{counted(self._protocol, seen.appends)} in {number_text(seen.span_s)} s"

    def reading(self, *, has_target: bool) -> None:
        """What consumers did: an append is a message, and what comes to the roads of a target is not ours to say.

        Each consumer of ours gets all that is on the road, whatever they shared in the recording.
        """
        asked, consumers = self._seen.counts.quantile(0.5), max(self._seen.readers_at_once, 1)
        self._fill(
            fetchers=self._within("--fetchers", consumers, limits.BENCH_USERS_MAX),
            rate=None if has_target else self._rate(consumers),
        )
        if asked:
            self._fill(batch=self._within("--batch", asked, limits.BENCH_BATCH_MAX), pipeline=self._pipeline())
        self._tell_gaps()

    def writing(self) -> None:
        """What writers did, and those beside them who read."""
        self._fill(rate=self._rate())
        self._users()
        if self._is_conditional():
            self._fill(is_conditional=True, event_size=self._one_size())
        else:
            self._fill(event_size=sizes_text(self._sizes()))
            self._fill(batch=self._batch(), pipeline=self._pipeline(), segments=self._segments())
            self._tell_events()
        self._tell_gaps()

    def _fill(self, **found: Any) -> None:
        """Set what was not said."""
        self.load = replace(
            self.load, **{name: value for name, value in found.items() if getattr(self.load, name) is None}
        )

    def _within(self, option: str, number: int, most: int) -> int:
        """The number, or the most that there may be, which is told."""
        name = option.removeprefix("--").replace("-", "_")
        if number > most and getattr(self.load, name) is None:
            self.remarks.append(f"{option} would be {number:,}; {most:,} is the most")
        return min(number, most)

    # -- who, and how often --------------------------------------------------------------------------------------------

    def _users(self) -> None:
        seen, most = self._seen, limits.BENCH_USERS_MAX
        self._fill(fetchers=self._within("--fetchers", seen.readers_at_once, most - (self.load.appenders or most // 2)))
        appenders = max(len(seen.writers), 1)
        self._fill(appenders=self._within("--appenders", appenders, most - (self.load.fetchers or 0)))

    def _rate(self, takers: int = 1) -> str | None:
        """Appends a second, or messages of each who takes them; None where they say nothing of it."""
        seen = self._seen
        if seen.appends < 2 or seen.span_s <= 0:
            if self.load.rate is None:
                self.remarks.append("no rate is in it: as many as the server answers")
            return None
        if seen.span_s < SPAN_S_MIN and self.load.rate is None:
            self.remarks.append(
                f"the rate is that of {seen.span_s * 1000:.3g} ms, maybe of a burst: --rate gives another"
            )
        rate = (seen.appends - 1) / seen.span_s / takers
        if rate > limits.BENCH_RATE_MAX:
            self._within("--rate", round(rate), round(limits.BENCH_RATE_MAX))
        return number_text(min(rate, limits.BENCH_RATE_MAX))

    # -- how much ------------------------------------------------------------------------------------------------------

    def _sizes(self) -> Tally:
        """The sizes of events, within what is possible."""
        sizes = Tally()
        for size, times in self._seen.sizes.items():
            sizes.note(min(max(size, self._smallest), limits.BENCH_EVENT_BYTES_MAX), times)
        if self.load.event_size is None and self._seen.sizes:
            least, most = min(self._seen.sizes), max(self._seen.sizes)
            if least < self._smallest:
                small = f"events below {self._smallest} bytes are enlarged to this size for the marks of --verify"
                self.remarks.append(small if self._smallest > 1 else "empty events have a byte here")
            if most > limits.BENCH_EVENT_BYTES_MAX:
                self.remarks.append(f"events of up to {most:,} bytes are made 8M, the most")
        return sizes

    def _batch(self) -> int:
        """Events of an append: as they have on average, which makes as many events a second, as far as they fit."""
        size = EVENT_SIZE if self.load.event_size is None else self.load.event_size
        largest = sizes_from(size, option="--event-size", smallest=self._smallest).max
        most = min(limits.BENCH_APPEND_BYTES_MAX // (largest + HEAD_BYTES), limits.BENCH_BATCH_MAX)
        return self._within("--batch", max(round(self._seen.counts.mean), 1), most)

    def _pipeline(self) -> int | None:
        depth = self._seen.depths.quantile(_DEPTH)
        if not depth:
            if self.load.pipeline is None:
                self.remarks.append("no answer was recorded, so --pipeline is 1")
            return None
        return self._within("--pipeline", depth, limits.BENCH_PIPELINE_MAX)

    def _segments(self) -> int | None:
        """Segments that were written to, where they are known and appenders may share them."""
        if not load_part(self._protocol).has_shared_segments or not self._seen.segments:
            return None
        most = min(self.load.appenders or 1, limits.BENCH_SEGMENTS_MAX)
        return self._within("--segments", len(self._seen.segments), most)

    def _is_conditional(self) -> bool:
        """Whether every append waits for the one before it, and nothing was said that speaks against it."""
        load, seen = self.load, self._seen
        if load.is_conditional is not None:
            return load.is_conditional
        if not seen.conditional:
            return False
        is_said = {load.batch, load.pipeline, load.segments} - {None, 1} or "@" in (load.event_size or "")
        if seen.conditional < seen.appends or is_said:
            self.remarks.append(f"{seen.conditional:,} of {seen.appends:,} appends are conditional, here none is")
            return False
        return True

    def _one_size(self) -> str | None:
        """The size of most events, for all of them."""
        sizes = self._sizes()
        if len(sizes) > 1 and self.load.event_size is None:
            self.remarks.append(f"conditional appends have events of one size here, not of {len(sizes):,}")
        return str(sizes.most_common(1)[0][0]) if sizes else None

    # -- what it is not ------------------------------------------------------------------------------------------------

    def _tell_events(self) -> None:
        """Here all appends are of one length, which may make more events of them, or fewer."""
        counts = self._seen.counts
        if len(counts) > 1:
            what = f"{min(counts):,} to {max(counts):,} events, {number_text(counts.mean)} on average"
            self.remarks.append(f"appends have {what}, here {self.load.batch:,} each")

    def _tell_gaps(self) -> None:
        if gaps := self._seen.gaps:
            self.remarks.append(f"the bytes lost in {gaps:,} gap{'s' * (gaps != 1)} are not counted")


# -- words -------------------------------------------------------------------------------------------------------------


def _words(load: Load) -> Iterator[str]:
    """The options of what is fitted, as far as they say more than is taken without them."""
    options = {
        "--protocol": load.protocol,
        "--appenders": load.appenders,
        "--fetchers": load.fetchers or None,
        "--rate": load.rate,
        "--event-size": load.event_size,
        "--batch": load.batch,
        "--pipeline": load.pipeline,
        "--segments": load.segments,
    }
    for option, value in options.items():
        if value is not None:
            yield from (option, str(value))
    if load.is_conditional:
        yield "--conditional"


def sizes_text(sizes: Mapping[int, int]) -> str | None:
    """Sizes and how often each came as `sizes_from` reads them: `100@9,1000@1`; None of none."""
    pairs = sorted(sizes.items())
    if len(pairs) > LISTED_MAX:
        pairs = _together(pairs)
    if len(pairs) < 2:
        return str(pairs[0][0]) if pairs else None
    whole = sum(times for _, times in pairs)
    common = gcd(*(times for _, times in pairs))
    if whole // common <= _WEIGHTS:
        return ",".join(f"{size}@{times // common}" for size, times in pairs)
    return ",".join(f"{size}@{number_text(times * _WEIGHTS / whole)}" for size, times in pairs)


def _together(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sizes between the same two quantiles as one, their mean: all events have as many bytes as before."""
    whole, passed = sum(times for _, times in pairs), 0
    parts: dict[int, list[tuple[int, int]]] = {}
    for size, times in pairs:
        parts.setdefault(bisect_left(_SHARES, (passed + times / 2) / whole), []).append((size, times))
        passed += times
    found = Tally()
    for part in parts.values():
        count = sum(times for _, times in part)
        found.note(round(sum(size * times for size, times in part) / count), count)
    return sorted(found.items())


def number_text(number: float) -> str:
    """A number with four digits that count, without an exponent."""
    rounded = float(f"{number:.4g}") if number < 10_000 else round(number)
    text = format(Decimal(repr(rounded)), "f")
    return text.removesuffix(".0")
