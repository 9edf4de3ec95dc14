"""A fuzz run on the decoder: make a capture, read it on both paths, judge, shrink and confirm what is found."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.decoder.capture import FuzzCapture
from wiretool.fuzz.decoder.inputs import CaptureMaker
from wiretool.fuzz.decoder.oracles import FRAMES, ROUND_TRIP, SPANS, Judged, judge
from wiretool.fuzz.decoder.shrink import TRIES_MAX, CaptureShrinker
from wiretool.fuzz.oracles import MEMORY, SLOW, Bucket, Suspicion, first_of
from wiretool.records import Record

#: Readings by which a finding is confirmed.
CONFIRMATIONS = 3
#: Every so many runs the peak of memory is measured, even where the process does not grow.
MEMORY_EVERY = 64
#: Readings of a slow capture take long.
SLOW_TRIES_MAX = 40
#: Suspicions in one bucket that were not shown again, after which they are not looked at.
UNCONFIRMED_MAX = 5

#: Side, kind, message and error of a record, and the message before it on its side.
RecordFeature = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class ConfirmedCapture:
    """A finding: the smallest capture, and how many readings of it showed the bug."""

    suspicion: Suspicion
    capture: FuzzCapture
    shown: int

    @property
    def is_flaky(self) -> bool:
        """True where some readings did not show it."""
        return self.shown < CONFIRMATIONS


@dataclass(slots=True)
class DecoderCampaign:
    """One run."""

    maker: CaptureMaker
    limits: Limits
    on_finding: Callable[[ConfirmedCapture], None]
    on_progress: Callable[[Counts], None] = lambda counts: None
    is_stopped: Callable[[], bool] = lambda: False
    counts: Counts = field(default_factory=Counts)
    #: Buckets that are no new findings, and those of them that the run has shown.
    known: set[Bucket] = field(default_factory=set)
    shown: set[Bucket] = field(default_factory=set)
    features: set[RecordFeature] = field(default_factory=set)
    #: Bytes of all captures.
    read_bytes: int = 0
    _unconfirmed: Counter[Bucket] = field(default_factory=Counter)
    _started: float = 0.0

    def run(self) -> Counts:
        """Read the recorded sessions as they are, then mutated ones, up to a limit."""
        self._started = time.monotonic()
        for make in self.maker.seeds():
            if self._is_over():
                return self.counted()
            self._run_one(make())
        while not self._is_over():
            self._run_one(self.maker.make())
        return self.counted()

    def _is_over(self) -> bool:
        limits, counts = self.limits, self.counts
        return (
            self.is_stopped()
            or (limits.seconds is not None and time.monotonic() - self._started >= limits.seconds)
            or (limits.runs is not None and counts.runs >= limits.runs)
            or counts.findings >= limits.findings
        )

    def _run_one(self, capture: FuzzCapture) -> None:
        judged = judge(capture, measures_memory=self.counts.runs % MEMORY_EVERY == 0)
        self.counts.runs += 1
        self.counts.messages += sum(record.kind == "frame" for record in judged.records)
        self.read_bytes += capture.payload_bytes
        if judged.suspicions:
            self._suspect(judged, capture)
        elif self._is_new(judged.records) and capture.changes:
            self.maker.keep(capture)
        self.on_progress(self.counted())

    def _is_new(self, records: Sequence[Record]) -> bool:
        before = len(self.features)
        last: dict[tuple[int, str], str] = {}
        for record in records:
            key = record.connection, record.side
            name = record.message or record.error
            self.features.add((record.side, record.kind, record.message, record.error, last.get(key, "")))
            last[key] = name
        return len(self.features) > before

    def _suspect(self, judged: Judged, capture: FuzzCapture) -> None:
        self.shown.update(each.bucket for each in judged.suspicions if each.bucket in self.known)
        for suspicion in first_of(judged.suspicions, self.known):
            if self._unconfirmed[suspicion.bucket] >= UNCONFIRMED_MAX:
                continue
            confirmed = confirm(suspicion, capture)
            if confirmed is None:
                self._unconfirmed[suspicion.bucket] += 1
                continue
            self.known.add(suspicion.bucket)
            self.counts.findings += 1
            self.on_finding(confirmed)

    def counted(self) -> Counts:
        """Return the figures so far."""
        self.counts.seconds = time.monotonic() - self._started
        self.counts.features = len(self.features)
        return self.counts


def shows(capture: FuzzCapture, bucket: Bucket) -> Suspicion | None:
    """Return the suspicion in a bucket that a capture shows; None for none."""
    has_frames = bucket.phase in (SPANS, ROUND_TRIP, FRAMES)
    judged = judge(capture, measures_memory=bucket.oracle == MEMORY, has_frames=has_frames)
    return next((each for each in judged.suspicions if each.bucket == bucket), None)


def confirm(suspicion: Suspicion, capture: FuzzCapture) -> ConfirmedCapture | None:
    """Shrink a capture and read it again; None where it does not show its bucket a second time."""
    bucket = suspicion.bucket
    if shows(capture, bucket) is None:
        return None
    tries = SLOW_TRIES_MAX if bucket.oracle in (SLOW, MEMORY) else TRIES_MAX
    shrunk = CaptureShrinker(lambda each: shows(each, bucket) is not None, tries=tries).shrink(capture)
    found = [shows(shrunk, bucket) for _ in range(CONFIRMATIONS)]
    again = next((each for each in found if each is not None), None)
    if again is None:
        return None
    return ConfirmedCapture(again, shrunk, sum(each is not None for each in found))
