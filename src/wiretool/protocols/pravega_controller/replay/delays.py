"""When a recorded controller did what it was asked: some time after, while clients went on.

What ends segments is asked for when the recorded controller did it, or else what clients said meanwhile would be
refused; and then nothing is said before it is done.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wiretool.analysis.dialogues import Recording
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega.replay.appends import append_log, frames_of
from wiretool.protocols.pravega_controller.replay.names import name_of, stream_at, stream_of, transaction_suffix
from wiretool.records import Record
from wiretool.replay.adapter import Talk

_CONTROLLER = "pravega-controller"
#: How often is asked whether something is done, at most.
_QUESTIONS_MAX = 2_000
#: Whether a call ends the segment of that name.
Ends = Callable[[str], bool]


def delays_in(recording: Recording) -> Mapping[int, int]:
    """The numbers of calls that were done late, and of the frames behind which they were."""
    ending = dict(_ending_in(recording))
    if not ending:
        return {}
    accepted = _accepted_in(recording)
    found: dict[int, int] = {}
    for n, ends in ending.items():
        later = [at for segment, places in accepted.items() if ends(segment) for at in places if at > n]
        if later:
            found[n] = max(later)
    return found


def _accepted_in(recording: Recording) -> Mapping[str, list[int]]:
    """Segment -> the numbers of the frames that say, or after which it is known, that an append was stored."""
    log = append_log(recording)
    found: dict[str, list[int]] = defaultdict(list)
    for n, appends in log.acked.items():
        for append in appends:
            if append.segment is not None:
                found[append.segment].append(n)
    return found


def _ending_in(recording: Recording) -> Iterator[tuple[int, Ends]]:
    """The calls that end segments, and which."""
    for event in frames_of(recording, _CONTROLLER):
        record = event.record
        make = _ENDING.get(record.message)
        if make is not None and record.side == "client" and isinstance(record.fields, Mapping):
            yield record.n, make(record.fields)


def _scaled(call: Mapping[str, Any]) -> Ends:
    stream = stream_at(call, ()) or ""
    names = {name_of(stream, number) for number in call["sealedSegments"]}
    return lambda segment: segment in names


def _sealed(call: Mapping[str, Any]) -> Ends:
    stream = stream_at(call, ())
    return lambda segment: stream_of(segment) == stream


def _completed(call: Mapping[str, Any]) -> Ends:
    stream, suffix = stream_at(call, ()), transaction_suffix(call["txnId"])
    return lambda segment: stream_of(segment) == stream and bool(suffix) and segment.endswith(suffix)


#: Calls that are answered when they are begun, and how.
_GOES_ON = {"scale": "STARTED", "commitTransaction": "SUCCESS", "abortTransaction": "SUCCESS"}
_UNDER_WAY = {"IN_PROGRESS", "COMMITTING", "ABORTING", "OPEN"}
_ENDING: Mapping[str, Callable[[Mapping[str, Any]], Ends]] = {
    "scale": _scaled,
    "sealStream": _sealed,
    "commitTransaction": _completed,
    "abortTransaction": _completed,
}


# -- until it is done --------------------------------------------------------------------------------------------------


def unfinished_in(recording: Recording) -> Iterator[tuple[int, Record]]:
    """The answers after which the controller goes on with what it was asked."""
    asked: dict[int, Record] = {}
    for event in frames_of(recording, _CONTROLLER):
        record = event.record
        if record.side == "client":
            asked[record.n] = record
        elif record.reply_to in asked and _goes_on(record):
            yield record.n, asked[record.reply_to]


def _goes_on(answer: Record) -> bool:
    """Whether it says that the controller has begun."""
    fields = answer.fields
    return isinstance(fields, Mapping) and fields.get("status") == _GOES_ON.get(answer.message, "")


def finished(protocol: Protocol, method: str, call: Mapping[str, Any], answer: Mapping[str, Any]) -> Talk:
    """Asks until a call is done, which is given with its answer."""
    if method == "scale":
        fields = {"streamInfo": call["streamInfo"], "epoch": answer["epoch"]}
        question = protocol.from_json("checkScale", "client", fields)
    else:
        fields = {"streamInfo": call["streamInfo"], "txnId": call["txnId"]}
        question = protocol.from_json("checkTransactionState", "client", fields)
    for _ in range(_QUESTIONS_MAX):
        replies = yield [question]
        said = replies[0].fields if replies else None
        if not isinstance(said, Mapping) or not _UNDER_WAY & {said.get("status"), said.get("state")}:
            return
