"""A conversation with Pravega's controller, call by call: the answers of a real one are the expectation for the mock.

`ip netns exec NAME python -m tests.interop.controller_calls 127.0.0.1:9090 FILE.json` records the answers of a server.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from wiretool.protocols.pravega_controller import controller_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["ControllerService"]
#: Send the bytes of a request to a method: the bytes of its answer, or the gRPC code and text of its failure.
Send = Callable[[str, bytes], bytes | tuple[str, str]]
#: Wait between two calls of `await_state`.
Wait = Callable[[], None]
LEASE_MS = 10_000
UNKNOWN_TXN = {"highBits": "0", "lowBits": "12345"}
#: Stand-ins in answers for what a run makes up.
SCOPE, ID = "SCOPE", "ID"
#: The id in the name of one of the controller's tables.
_TABLE_ID = re.compile("(?<=\\.#\\.)[0-9a-f-]{36}")
#: Fields that a server makes up.
MADE_UP = {"endpoint", "port", "continuationToken", "delegationToken", "txnId", "readerGroupId"}
_POLLS_MAX = 200
_POLL_S = 0.05


class Caller:
    """Sends the calls of the conversation and notes each outcome under a name."""

    def __init__(self, send: Send, scope: str, wait: Wait) -> None:
        self.outcomes: dict[str, Any] = {}
        self.scope = scope
        self._send = send
        self._wait = wait

    def call(self, name: str, method: str, **request: Any) -> Any:
        """Send one call; its answer, or its failure as `code` and `text`, is noted and returned."""
        outcome = self._outcome(method, request)
        assert name not in self.outcomes, name
        self.outcomes[name] = self._comparable(outcome)
        return outcome

    def await_state(self, state: str, txn: Any) -> None:
        """Wait until a transaction has reached a state: a real controller works on it after its answer."""
        for _ in range(_POLLS_MAX):
            answer = self._outcome("checkTransactionState", txn)
            if answer.get("state") == state:
                return
            self._wait()
        raise AssertionError(f"the transaction is not {state} but {answer}")

    def info(self, stream: str = "stream") -> dict[str, str]:
        """A stream's name, as requests carry it."""
        return {"scope": self.scope, "stream": stream}

    def _outcome(self, method: str, request: Any) -> Any:
        declared = _SERVICE.methods_by_name[method]
        message = ParseDict(request, GetMessageClass(declared.input_type)())
        answer = self._send(method, message.SerializeToString())
        if isinstance(answer, tuple):
            return {"code": answer[0], "text": answer[1]}
        return MessageToDict(GetMessageClass(declared.output_type).FromString(answer))

    def _comparable(self, value: Any) -> Any:
        """An outcome without what servers make up; lists are sorted, since their order means nothing."""
        if isinstance(value, dict):
            return {name: self._comparable(part) for name, part in value.items() if name not in MADE_UP}
        if isinstance(value, list):
            return sorted((self._comparable(part) for part in value), key=repr)
        return _TABLE_ID.sub(ID, value.replace(self.scope, SCOPE)) if isinstance(value, str) else value


def converse(caller: Caller) -> None:
    """Hold the whole conversation."""
    for part in (_ask_for_the_missing, _make, _scale, _transact, _seal, _truncate, _group, _tabulate, _remove):
        part(caller)


def _ask_for_the_missing(caller: Caller) -> None:
    """Ask about things that are not there: in no scope, and in an empty one."""
    for where in ("no_scope", "no_stream"):
        if where == "no_stream":
            caller.call("createScope", "createScope", scope=caller.scope)
            caller.call("createScope_again", "createScope", scope=caller.scope)
        for name, method, request in _requests_about(caller, caller.info("none")):
            caller.call(f"{where}.{name}", method, **request)


def _requests_about(caller: Caller, info: dict[str, str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Requests about a stream, a reader group, or a table."""
    cut = {"streamInfo": info, "cut": {"0": "0"}}
    config = {"streamInfo": info, "scalingPolicy": {"minNumSegments": 1}}
    txn = {"streamInfo": info, "txnId": UNKNOWN_TXN}
    segment = {"streamInfo": info, "segmentId": "0"}
    scope, name = info["scope"], info["stream"]
    yield "checkStreamExists", "checkStreamExists", info
    yield "getStreamConfiguration", "getStreamConfiguration", info
    yield "updateStream", "updateStream", config
    yield "truncateStream", "truncateStream", cut
    yield "sealStream", "sealStream", info
    yield "deleteStream", "deleteStream", info
    yield "getCurrentSegments", "getCurrentSegments", info
    yield "getEpochSegments", "getEpochSegments", {"streamInfo": info, "epoch": 0}
    yield "getSegments", "getSegments", {"streamInfo": info, "timestamp": "0"}
    yield "getSegmentsImmediatelyFollowing", "getSegmentsImmediatelyFollowing", segment
    between = {"streamInfo": info, "from": {"0": "0"}, "to": {"0": "1"}}
    yield "getSegmentsBetween", "getSegmentsBetween", between
    yield "isSegmentValid", "isSegmentValid", segment
    yield "isStreamCutValid", "isStreamCutValid", cut
    yield "createTransaction", "createTransaction", {"streamInfo": info, "lease": str(LEASE_MS)}
    yield "commitTransaction", "commitTransaction", txn
    yield "abortTransaction", "abortTransaction", txn
    yield "pingTransaction", "pingTransaction", {**txn, "lease": str(LEASE_MS)}
    yield "checkTransactionState", "checkTransactionState", txn
    yield "listCompletedTransactions", "listCompletedTransactions", {"streamInfo": info}
    scaling = {"sealedSegments": ["0"], "newKeyRanges": [{"start": 0.0, "end": 1.0}], "scaleTimestamp": "1"}
    yield "scale", "scale", {"streamInfo": info, **scaling}
    yield "checkScale", "checkScale", {"streamInfo": info, "epoch": 0}
    note = {"writer": "writer", "position": cut, "timestamp": "1"}
    yield "noteTimestampFromWriter", "noteTimestampFromWriter", note
    yield "removeWriter", "removeWriter", {"writer": "writer", "stream": info}
    yield "listSubscribers", "listSubscribers", info
    subscriber = {"subscriber": "group", "generation": "0", "readerGroupId": _GROUP_ID, "streamCut": cut}
    yield "updateSubscriberStreamCut", "updateSubscriberStreamCut", subscriber
    yield "getDelegationToken", "getDelegationToken", info
    group = {"scope": scope, "readerGroup": name, "readerGroupId": _GROUP_ID}
    yield "getReaderGroupConfig", "getReaderGroupConfig", group
    yield "deleteReaderGroup", "deleteReaderGroup", group
    table = {"scope": scope, "kvtName": name}
    yield "getCurrentSegmentsKeyValueTable", "getCurrentSegmentsKeyValueTable", table
    yield "getKeyValueTableConfiguration", "getKeyValueTableConfiguration", table
    yield "deleteKeyValueTable", "deleteKeyValueTable", table
    if scope == caller.scope:
        yield "listStreamsInScope", "listStreamsInScope", {"scope": {"scope": scope}}
        tagged = {"scope": {"scope": scope}, "tag": "a"}
        yield "listStreamsInScopeForTag", "listStreamsInScopeForTag", tagged
        yield "listKeyValueTablesInScope", "listKeyValueTablesInScope", {"scope": {"scope": scope}}


_GROUP_ID = "00000000-0000-0000-0000-00000000000a"


def _make(caller: Caller) -> None:
    """Make streams, and be refused names."""
    config = {"streamInfo": caller.info(), "scalingPolicy": {"minNumSegments": 2}, "tags": {"tag": ["a"]}}
    caller.call("createStream", "createStream", **config)
    caller.call("createStream_again", "createStream", **config)
    for label, name in (("space", "a b"), ("internal", "_own"), ("slash", "a/b")):
        caller.call(f"createScope_{label}", "createScope", scope=f"{caller.scope}{name}")
        caller.call(
            f"createStream_{label}", "createStream", streamInfo=caller.info(name), scalingPolicy={"minNumSegments": 1}
        )
    for name, method, request in _requests_about(caller, caller.info()):
        if method not in _CHANGING:
            caller.call(f"stream.{name}", method, **request)
    caller.call("getEpochSegments_none", "getEpochSegments", streamInfo=caller.info(), epoch=7)
    caller.call("isSegmentValid_none", "isSegmentValid", streamInfo=caller.info(), segmentId="77")
    caller.call("following_none", "getSegmentsImmediatelyFollowing", streamInfo=caller.info(), segmentId="77")
    caller.call("deleteStream_open", "deleteStream", **caller.info())
    caller.call("deleteScope_full", "deleteScope", scope=caller.scope)
    caller.call("removeWriter_none", "removeWriter", writer="none", stream=caller.info())


#: Calls that would change the stream which the conversation goes on with.
_CHANGING = {"updateStream", "truncateStream", "sealStream", "deleteStream", "createTransaction", "scale"}


def _scale(caller: Caller) -> None:
    """Be refused scalings and cuts."""
    info = caller.info()
    scaling = {"newKeyRanges": [{"start": 0.0, "end": 0.4}], "scaleTimestamp": "1"}
    caller.call("scale_uneven", "scale", streamInfo=info, sealedSegments=["0"], **scaling)
    caller.call("scale_unknown", "scale", streamInfo=info, sealedSegments=["9"], **scaling)
    caller.call("checkScale_later", "checkScale", streamInfo=info, epoch=5)
    cuts = {"from": {"0": "0", "1": "0"}, "to": {}}
    caller.call("between_open", "getSegmentsBetween", streamInfo=info, **cuts)
    caller.call("between_none", "getSegmentsBetween", streamInfo=info, **{"from": {}, "to": {}})
    caller.call("between_unknown", "getSegmentsBetween", streamInfo=info, **{"from": {"9": "0"}, "to": {"1": "0"}})


def _truncate(caller: Caller) -> None:
    """Truncate a stream where there is no cut, and beyond its end."""
    info = caller.info("cut")
    caller.call("createStream_cut", "createStream", streamInfo=info, scalingPolicy={"minNumSegments": 2})
    caller.call("truncate_half", "truncateStream", streamInfo=info, cut={"0": "2000"})
    caller.call("truncate_unknown", "truncateStream", streamInfo=info, cut={"55": "0", "56": "0"})
    caller.call("truncate_start", "truncateStream", streamInfo=info, cut={"0": "0", "1": "0"})
    caller.call("truncate_beyond", "truncateStream", streamInfo=info, cut={"0": "1000", "1": "500"})
    caller.call("getSegments_truncated", "getSegments", streamInfo=info, timestamp="0")
    caller.call("truncate_backwards", "truncateStream", streamInfo=info, cut={"0": "1", "1": "1"})
    caller.call("getSegments_again", "getSegments", streamInfo=info, timestamp="0")


def _transact(caller: Caller) -> None:
    """Commit and abort transactions, and ask for what is refused."""
    info = caller.info()
    for label, lease in (("short", "9999"), ("long", "600001"), ("zero", "0")):
        caller.call(f"createTransaction_{label}", "createTransaction", streamInfo=info, lease=lease)
    for end, other, state in (
        ("commitTransaction", "abortTransaction", "COMMITTED"),
        ("abortTransaction", "commitTransaction", "ABORTED"),
    ):
        begun = caller.call(f"{end}.create", "createTransaction", streamInfo=info, lease=str(LEASE_MS))
        txn = {"streamInfo": info, "txnId": begun["txnId"]}
        caller.call(f"{end}.ping", "pingTransaction", **txn, lease=str(LEASE_MS))
        caller.call(f"{end}.ping_long", "pingTransaction", **txn, lease="700000")
        caller.call(f"{end}.state", "checkTransactionState", **txn)
        caller.call(end, end, **txn)
        caller.await_state(state, txn)
        caller.call(f"{end}.again", end, **txn)
        caller.call(f"{end}.other", other, **txn)
        caller.call(f"{end}.ping_ended", "pingTransaction", **txn, lease=str(LEASE_MS))


def _seal(caller: Caller) -> None:
    """Seal a stream, and ask everything about it again."""
    info = caller.info()
    caller.call("seal", "sealStream", **info)
    caller.call("seal_again", "sealStream", **info)
    for name, method, request in _requests_about(caller, info):
        if method not in ("deleteStream", "updateStream"):
            caller.call(f"sealed.{name}", method, **request)


def _group(caller: Caller) -> None:
    """Make reader groups, in a scope in which nobody asked for one that is missing."""
    scope = f"{caller.scope}-groups"
    stream = {"scope": scope, "stream": "stream"}
    caller.call("createScope_groups", "createScope", scope=scope)
    caller.call("createStream_groups", "createStream", streamInfo=stream, scalingPolicy={"minNumSegments": 1})
    config = {
        "scope": scope,
        "readerGroupName": "group",
        "groupRefreshTimeMillis": "3000",
        "automaticCheckpointIntervalMillis": "30000",
        "maxOutstandingCheckpointRequest": 3,
        "retentionType": 1,
        "readerGroupId": _GROUP_ID,
        "startingStreamCuts": [{"streamInfo": stream, "cut": {"0": "0"}}],
        "endingStreamCuts": [{"streamInfo": stream, "cut": {}}],
    }
    caller.call("createReaderGroup_ill_named", "createReaderGroup", **{**config, "readerGroupName": "a b"})
    caller.call("createReaderGroup_no_scope", "createReaderGroup", **{**config, "scope": f"{scope}-none"})
    caller.call("createReaderGroup", "createReaderGroup", **config)
    caller.call("createReaderGroup_again", "createReaderGroup", **config)
    caller.call("group_config", "getReaderGroupConfig", scope=scope, readerGroup="group")
    caller.call("subscribers", "listSubscribers", **stream)
    caller.call("updateReaderGroup_stale", "updateReaderGroup", **{**config, "generation": "7"})
    caller.call("updateReaderGroup_none", "updateReaderGroup", **{**config, "readerGroupName": "none"})
    cut = {"streamInfo": stream, "cut": {"0": "0"}}
    note = {"subscriber": f"{scope}/group", "readerGroupId": _GROUP_ID, "generation": "0"}
    caller.call("subscriber", "updateSubscriberStreamCut", **note, streamCut=cut)
    caller.call("subscriber_stale", "updateSubscriberStreamCut", **{**note, "generation": "9"}, streamCut=cut)
    caller.call("subscriber_none", "updateSubscriberStreamCut", **{**note, "subscriber": "none"}, streamCut=cut)
    other = {"scope": scope, "readerGroup": "group", "readerGroupId": _GROUP_ID.replace("a", "b")}
    caller.call("deleteReaderGroup_other", "deleteReaderGroup", **other)
    caller.call("deleteReaderGroup", "deleteReaderGroup", scope=scope, readerGroup="group", readerGroupId=_GROUP_ID)


def _tabulate(caller: Caller) -> None:
    """Make key-value tables, in a scope in which nobody asked for one that is missing."""
    scope = f"{caller.scope}-tables"
    caller.call("createScope_tables", "createScope", scope=scope)
    table = {"scope": scope, "kvtName": "table"}
    config = {**table, "partitionCount": 2, "primaryKeyLength": 4, "secondaryKeyLength": 4}
    caller.call("createKeyValueTable_ill_named", "createKeyValueTable", **{**config, "kvtName": "a b"})
    caller.call("createKeyValueTable_no_scope", "createKeyValueTable", **{**config, "scope": f"{caller.scope}-none"})
    caller.call("createKeyValueTable", "createKeyValueTable", **config)
    caller.call("createKeyValueTable_again", "createKeyValueTable", **config)
    caller.call("table_segments", "getCurrentSegmentsKeyValueTable", **table)
    caller.call("table_config", "getKeyValueTableConfiguration", **table)
    caller.call("table_config_none", "getKeyValueTableConfiguration", **{**table, "kvtName": "none"})
    caller.call("table_segments_none", "getCurrentSegmentsKeyValueTable", **{**table, "kvtName": "none"})
    caller.call("tables", "listKeyValueTablesInScope", scope={"scope": scope})
    caller.call("deleteKeyValueTable", "deleteKeyValueTable", **table)


def _remove(caller: Caller) -> None:
    """Delete the streams and the scope, and ask about them once more."""
    caller.call("delete", "deleteStream", **caller.info())
    caller.call("streams_left", "listStreamsInScope", scope={"scope": caller.scope})
    caller.call("deleteScopeRecursive", "deleteScopeRecursive", scope=caller.scope)
    caller.call("deleteScope_gone", "deleteScope", scope=caller.scope)
    caller.call("exists_gone", "checkScopeExists", scope=caller.scope)
    caller.call("deleteScopeRecursive_gone", "deleteScopeRecursive", scope=caller.scope)


def sender(channel: grpc.Channel) -> Send:
    """Return what sends calls over a channel."""

    def send(method: str, request: bytes) -> bytes | tuple[str, str]:
        call = channel.unary_unary(f"/{_SERVICE.full_name}/{method}")
        try:
            answer: bytes = call(request, timeout=30)
        except grpc.RpcError as err:
            return err.code().name, err.details()
        return answer

    return send


def main() -> None:
    """Record the answers of the server that the command line names."""
    address, file = sys.argv[1:]
    with grpc.insecure_channel(address) as channel:
        caller = Caller(sender(channel), f"calls{time.time_ns() // 10**6}", lambda: time.sleep(_POLL_S))
        try:
            converse(caller)
        finally:
            Path(file).write_text(json.dumps(caller.outcomes, indent=1, sort_keys=True) + "\n")
    print(json.dumps({"calls": len(caller.outcomes)}))


if __name__ == "__main__":
    main()
