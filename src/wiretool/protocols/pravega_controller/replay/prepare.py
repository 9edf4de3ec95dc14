"""Makes what the recorded calls take for granted: scopes and streams that were there before them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wiretool.analysis.dialogues import Recording
from wiretool.codec.message import Message
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.pravega.replay.appends import frames_of
from wiretool.protocols.pravega.structures import NAME
from wiretool.protocols.pravega_controller.replay.names import name_of, stream_at, transaction_suffix
from wiretool.protocols.pravega_controller.roles import HIGH_BITS, LOW_BITS, SEGMENT_ID
from wiretool.protocols.pravega_controller.server.names import MARK
from wiretool.records import Record
from wiretool.replay.adapter import Talk
from wiretool.replay.playing.id_map import Values

#: What answers say of what they were asked for, where it is there.
_THERE = frozenset({"SUCCESS", "STREAM_SEALED", "STREAM_EXISTS", "STREAM_NOT_SEALED"})
#: Answers that only come of a stream that is there.
_TELLS_OF_ONE = frozenset(
    {
        *("getCurrentSegments", "getEpochSegments", "getSegments", "getSegmentsBetween", "getStreamConfiguration"),
        *("isSegmentValid", "isStreamCutValid", "createTransaction"),
    }
)

#: Calls that tell, if they succeed, that a transaction is, or was, there.
_DONE_TO_ONE = frozenset({"commitTransaction", "abortTransaction", "pingTransaction", "checkTransactionState"})
_ENDED = {"COMMITTED": "commitTransaction", "ABORTED": "abortTransaction"}
_LEASE_MS = 600_000

Range = tuple[float, float]


class Segments(NamedTuple):
    """The segments that a stream has, by their keys."""

    ids: Mapping[Range, int]


class Before:
    """The scopes and streams that were there before the recording, and the segments that these had."""

    def __init__(self, recording: Recording, protocol: str) -> None:
        self.scopes: dict[str, None] = {}
        self.streams: dict[str, Segments | None] = {}
        #: Stream -> the transactions that were there, and by which call they had ended, if they had.
        self.transactions: dict[str, dict[tuple[int, int], str]] = {}
        self._made: set[str] = set()
        self._begun: set[tuple[int, int]] = set()
        asked: dict[int, Record] = {}
        for event in frames_of(recording, protocol):
            record = event.record
            if not isinstance(record.fields, Mapping):
                continue
            if record.side == "client":
                asked[record.n] = record
            elif request := asked.get(record.reply_to or 0):
                assert isinstance(request.fields, Mapping)
                self._hear(record.message, request.fields, record.fields)

    def parts(self) -> Iterator[str]:
        """What the store calls the segments of the transactions."""
        for stream, open_ones in self.transactions.items():
            segments = self.streams.get(stream)
            for high, low in open_ones:
                suffix = transaction_suffix({"highBits": high, "lowBits": low})
                yield from (name_of(stream, number) + suffix for number in (segments.ids.values() if segments else ()))

    def _hear(self, method: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        status = answer.get("status")
        stream = stream_at(request, ())
        if method == "createScope" and status in ("SUCCESS", "SCOPE_EXISTS"):
            self._note(request["scope"], self.scopes, is_new=status == "SUCCESS")
        elif method == "createStream" and stream and status in ("SUCCESS", "STREAM_EXISTS"):
            self._scope_of(stream)
            self._note_stream(stream, None, is_new=status == "SUCCESS")
        elif stream and (method in _TELLS_OF_ONE or status in _THERE or _is_there(answer)):
            self._scope_of(stream)
            self._note_stream(stream, _segments_of(answer), is_new=False)
            self._note_transaction(method, stream, request, answer)
        elif method == "checkScopeExists" and answer.get("exists") is True:
            self._note(request["scope"], self.scopes, is_new=False)

    def _scope_of(self, stream: str) -> None:
        self._note(stream.partition("/")[0], self.scopes, is_new=False)

    def _note(self, name: str, where: dict[str, Any], *, is_new: bool) -> None:
        """Something is there: from now on if it is new, else since before the recording."""
        if is_new:
            self._made.add(name)
        elif name not in self._made:
            where.setdefault(name, None)

    def _note_stream(self, stream: str, segments: Segments | None, *, is_new: bool) -> None:
        scope, _, name = stream.partition("/")
        owner = f"{scope}/{name.removeprefix(MARK)}"
        if owner in self._made and not is_new:  # watermarks come with their stream
            return
        self._note(owner, self.streams, is_new=is_new)
        if owner == stream and segments and stream not in self._made:
            self.streams[stream] = self.streams[stream] or segments

    def _note_transaction(
        self, method: str, stream: str, request: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> None:
        """A transaction that was not begun in the recording was open before it, if something was done to it."""
        if method == "createTransaction" and answer["txnId"]:
            self._begun.add(_halves(answer["txnId"]))
        elif method in _DONE_TO_ONE and request["txnId"] and _halves(request["txnId"]) not in self._begun:
            ended = _ENDED.get(answer.get("state", ""), "")
            self.transactions.setdefault(stream, {}).setdefault(_halves(request["txnId"]), ended)


def _is_there(answer: Mapping[str, Any]) -> bool:
    return answer.get("exists") is True or answer.get("state", "UNKNOWN") != "UNKNOWN"


def _halves(transaction: Mapping[str, Any]) -> tuple[int, int]:
    return transaction["highBits"], transaction["lowBits"]


def _segments_of(answer: Mapping[str, Any]) -> Segments | None:
    """The segments of which an answer tells, if they are all that a stream has then."""
    told = answer.get("segmentRanges") or answer.get("activeSegments")
    if told:
        return Segments(dict(_ranges(told)))
    located = answer.get("segments")
    if not located or not all("offset" in each and each["segmentId"] for each in located):
        return None
    ids = sorted(each["segmentId"]["segmentId"] for each in located)
    return Segments({(at / len(ids), (at + 1) / len(ids)): number for at, number in enumerate(ids)})


def _ranges(told: Any) -> Iterator[tuple[Range, int]]:
    """The segments that are told with their ids, by their keys."""
    for each in told:
        if each["segmentId"]:
            yield (each["minKey"], each["maxKey"]), each["segmentId"]["segmentId"]


def prepared(before: Before, protocol: Protocol, values: Values) -> Talk:
    """Make what was there; where segments have other ids now, `values` learns it."""

    def call(method: str, **fields: Any) -> Message:
        return protocol.from_json(method, "client", fields)

    for scope in before.scopes:
        yield [call("createScope", scope=scope)]
    for stream, segments in before.streams.items():
        scope, _, name = stream.partition("/")
        info = {"scope": scope, "stream": name}
        count = len(segments.ids) if segments else 1
        policy = {"scaleType": "FIXED_NUM_SEGMENTS", "minNumSegments": count}
        yield [call("createStream", streamInfo=info, scalingPolicy=policy)]
        if segments is None:
            segments = Segments({})
        live = _told((yield [call("getCurrentSegments", **info)]))
        if not set(segments.ids) <= set(live):
            ranges = [{"start": low, "end": high} for low, high in sorted(segments.ids)]
            yield [call("scale", streamInfo=info, sealedSegments=sorted(live.values()), newKeyRanges=ranges)]
            live = _told((yield [call("getCurrentSegments", **info)]))
        for keys, number in segments.ids.items():
            if keys in live:
                values.learn(SEGMENT_ID, stream, number, live[keys])
                values.learn(NAME, None, name_of(stream, number), name_of(stream, live[keys]))
        for transaction, ended in before.transactions.get(stream, {}).items():
            replies = yield [call("createTransaction", streamInfo=info, lease=_LEASE_MS)]
            made = _learn_transaction(stream, segments, transaction, replies, values)
            if made is not None and ended:
                yield [call(ended, streamInfo=info, txnId=made)]


def _learn_transaction(
    stream: str, segments: Segments, transaction: tuple[int, int], replies: Sequence[Record], values: Values
) -> Mapping[str, Any] | None:
    """Another transaction stands for one that was there; its id, if there is one."""
    told = replies[0].fields if replies else None
    if not isinstance(told, Mapping) or not told.get("txnId"):
        return None
    (high, low), (live_high, live_low) = transaction, _halves(told["txnId"])
    values.learn(HIGH_BITS, low, high, live_high)
    values.learn(LOW_BITS, high, low, live_low)
    suffix = transaction_suffix({"highBits": high, "lowBits": low})
    for number in segments.ids.values():
        name = name_of(stream, number)
        values.learn(NAME, None, name + suffix, values.live_of(NAME, None, name) + transaction_suffix(told["txnId"]))
    made: Mapping[str, Any] = told["txnId"]
    return made


def _told(replies: Sequence[Record]) -> dict[Range, int]:
    """The ids of the segments that an answer tells of, by their keys."""
    found: dict[Range, int] = {}
    for reply in replies:
        if isinstance(reply.fields, Mapping):
            found |= dict(_ranges(reply.fields.get("segmentRanges", ())))
    return found
