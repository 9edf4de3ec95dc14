"""Cases of reader groups, key-value tables, and writers (protocols/pravega-controller.md, Methods and Messages)."""

from typing import Any

from wiretool.conformance.case import MUST, OBSERVED, Case, case
from wiretool.conformance.values import AnyOrder, Subset, Text, Uuid, text_matching
from wiretool.protocols.pravega_controller.conformance.steps import (
    SCOPE,
    Call,
    call,
    cut,
    info,
    listing,
    made,
    make_scope,
    no_entry,
    no_scope,
    ranged,
    talk,
)

_METHODS = "protocols/pravega-controller.md, Methods"
_MESSAGES = "protocols/pravega-controller.md, Messages"
_RUN = "every call against server 0.13.0 (interop tests)"
#: Retention types of groups: that of a subscriber whose cuts are its own, and none.
_NONE, _MANUAL = 0, 1
GROUP = Text("{group}")
FULL = Text("{scope}/{group}")
_ID = Uuid("group id")
_TABLE = Text("{table}")


def _config(name: Any = GROUP, **more: Any) -> dict[str, Any]:
    """Return the configuration of a group that tells how far it has read the stream."""
    return {
        "scope": SCOPE,
        "readerGroupName": name,
        "groupRefreshTimeMillis": 3_000,
        "automaticCheckpointIntervalMillis": 30_000,
        "maxOutstandingCheckpointRequest": 3,
        "retentionType": _MANUAL,
        "generation": 0,
        "readerGroupId": _ID,
        "startingStreamCuts": [cut({0: 0})],
        "endingStreamCuts": [cut({})],
        "rolloverSizeBytes": 0,
        **more,
    }


def _kept(**more: Any) -> Subset:
    fields = {
        "scope": SCOPE,
        "readerGroupName": GROUP,
        "groupRefreshTimeMillis": 3_000,
        "automaticCheckpointIntervalMillis": 30_000,
        "maxOutstandingCheckpointRequest": 3,
        "retentionType": _MANUAL,
        "generation": 0,
        "readerGroupId": _ID,
    }
    return Subset(**(fields | more))


def _make(**more: Any) -> Call:
    return call("createReaderGroup", _config(**more), status="SUCCESS", config=_kept(**more))


def _of_group(id: Any = _ID, name: Any = GROUP) -> dict[str, Any]:
    return {"scope": SCOPE, "readerGroup": name, "readerGroupId": id, "generation": 0}


def _note(subscriber: Any = FULL, generation: int = 0, id: Any = _ID) -> dict[str, Any]:
    return {"subscriber": subscriber, "generation": generation, "readerGroupId": id, "streamCut": cut({0: 0})}


def _table(name: Any = _TABLE, **more: Any) -> dict[str, Any]:
    return {
        "scope": SCOPE,
        "kvtName": name,
        "partitionCount": 2,
        "primaryKeyLength": 4,
        "secondaryKeyLength": 4,
        "rolloverSizeBytes": 0,
        **more,
    }


def _of_table(name: Any = _TABLE) -> dict[str, Any]:
    return {"scope": SCOPE, "kvtName": name}


def _written(timestamp: int, offsets: dict[int, int], result: str) -> Call:
    request = {"writer": Text("{writer}"), "position": cut(offsets), "timestamp": timestamp}
    return call("noteTimestampFromWriter", request, result=result)


CASES: tuple[Case, ...] = (
    case(
        "pravega-controller/group/1",
        MUST,
        "getReaderGroupConfig returns the configuration with which the group was created.",
        _METHODS,
        made(1, _make(), call("getReaderGroupConfig", _of_group(), status="SUCCESS", config=_kept())),
    ),
    case(
        "pravega-controller/group/2",
        MUST,
        "Creating an existing group returns its configuration.",
        _RUN,
        made(
            1,
            _make(),
            call(
                "createReaderGroup",
                _config(groupRefreshTimeMillis=9_999, readerGroupId=Uuid("other id")),
                status="SUCCESS",
                config=_kept(),
            ),
        ),
    ),
    case(
        "pravega-controller/group/3",
        MUST,
        "A group is refused for its name, or for a scope that is missing.",
        _RUN,
        talk(
            call("createReaderGroup", _config(), status="SCOPE_NOT_FOUND"),
            make_scope(),
            call("createReaderGroup", _config("a b"), status="INVALID_RG_NAME"),
        ),
    ),
    case(
        "pravega-controller/group/4",
        MUST,
        "A group that is missing has no configuration.",
        _RUN,
        talk(
            no_scope("getReaderGroupConfig", _of_group()),
            make_scope(),
            call("getReaderGroupConfig", _of_group(), status="RG_NOT_FOUND"),
            call("updateReaderGroup", _config(), status="RG_NOT_FOUND"),
            call("deleteReaderGroup", _of_group(), status="RG_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/group/5",
        MUST,
        "An update of a group increments its generation, and getReaderGroupConfig returns the new configuration.",
        _METHODS,
        made(
            1,
            _make(),
            call("updateReaderGroup", _config(groupRefreshTimeMillis=5_000), status="SUCCESS", generation=1),
            call(
                "getReaderGroupConfig",
                _of_group(),
                status="SUCCESS",
                config=_kept(groupRefreshTimeMillis=5_000, generation=1),
            ),
        ),
    ),
    case(
        "pravega-controller/group/6",
        MUST,
        "An update that names another generation is refused, with that generation.",
        _RUN,
        made(
            1,
            _make(),
            call("updateReaderGroup", _config(generation=7), status="INVALID_CONFIG", generation=7),
            call("getReaderGroupConfig", _of_group(), status="SUCCESS", config=_kept()),
        ),
    ),
    case(
        "pravega-controller/group/7",
        MUST,
        "A group is deleted by its id, and not by another one.",
        _RUN,
        made(
            1,
            _make(),
            call("deleteReaderGroup", _of_group(Uuid("other id")), status="RG_NOT_FOUND"),
            call("deleteReaderGroup", _of_group(), status="SUCCESS"),
            call("getReaderGroupConfig", _of_group(), status="RG_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/group/8",
        MUST,
        "A group that retains a stream's data is one of its subscribers until it is deleted.",
        _RUN,
        made(
            1,
            call("listSubscribers", info(), status="SUCCESS", subscribers=[]),
            _make(),
            call("listSubscribers", info(), status="SUCCESS", subscribers=[FULL]),
            call("deleteReaderGroup", _of_group(), status="SUCCESS"),
            call("listSubscribers", info(), status="SUCCESS", subscribers=[]),
        ),
    ),
    case(
        "pravega-controller/group/9",
        MUST,
        "A group that retains no data is not a subscriber.",
        _METHODS,
        made(
            1,
            call("createReaderGroup", _config(retentionType=_NONE), status="SUCCESS"),
            call("listSubscribers", info(), status="SUCCESS", subscribers=[]),
        ),
    ),
    case(
        "pravega-controller/group/10",
        MUST,
        "A subscriber updates its stream cut; another generation is refused.",
        _RUN,
        made(
            1,
            _make(),
            call("updateSubscriberStreamCut", _note(), status="SUCCESS"),
            call("updateSubscriberStreamCut", _note(generation=9), status="GENERATION_MISMATCH"),
            call("updateSubscriberStreamCut", _note("none"), status="SUBSCRIBER_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/group/11",
        MUST,
        "A stream that is missing has no subscribers.",
        _RUN,
        talk(
            no_scope("listSubscribers", info()),
            make_scope(),
            call("listSubscribers", info(), status="STREAM_NOT_FOUND"),
            call("updateSubscriberStreamCut", _note(), status="STREAM_NOT_FOUND"),
        ),
    ),
    case(
        "pravega-controller/group/12",
        MUST,
        "A group that is made without an id gets one.",
        _MESSAGES,
        made(
            1,
            call(
                "createReaderGroup",
                _config(readerGroupId=""),
                status="SUCCESS",
                config=Subset(readerGroupId=text_matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
            ),
        ),
    ),
    # -- key-value tables ----------------------------------------------------------------------------------------------
    case(
        "pravega-controller/table/1",
        MUST,
        "A key-value table is made, configured as was given, and listed.",
        _METHODS,
        talk(
            make_scope(),
            call("createKeyValueTable", _table(), status="SUCCESS"),
            call(
                "getKeyValueTableConfiguration",
                _of_table(),
                status="SUCCESS",
                config=Subset(**_table()),
            ),
            call("listKeyValueTablesInScope", listing(), status="SUCCESS", kvtables=[_of_table()]),
        ),
    ),
    case(
        "pravega-controller/table/2",
        MUST,
        "Creating an existing table is answered with TABLE_EXISTS.",
        _RUN,
        talk(
            make_scope(),
            call("createKeyValueTable", _table(), status="SUCCESS"),
            call("createKeyValueTable", _table(partitionCount=1), status="TABLE_EXISTS"),
            call("getKeyValueTableConfiguration", _of_table(), status="SUCCESS", config=Subset(partitionCount=2)),
        ),
    ),
    case(
        "pravega-controller/table/3",
        MUST,
        "A table is refused for its name, or for a scope that is missing.",
        _RUN,
        talk(
            call("createKeyValueTable", _table(), status="SCOPE_NOT_FOUND"),
            make_scope(),
            call("createKeyValueTable", _table("a b"), status="INVALID_TABLE_NAME"),
        ),
    ),
    case(
        "pravega-controller/table/4",
        MUST,
        "The segments of a table divide its keys.",
        _RUN,
        talk(
            make_scope(),
            call("createKeyValueTable", _table(), status="SUCCESS"),
            call(
                "getCurrentSegmentsKeyValueTable",
                _of_table(),
                segmentRanges=AnyOrder(ranged(0, 0.0, 0.5, name=_TABLE), ranged(1, 0.5, 1.0, name=_TABLE)),
            ),
        ),
    ),
    case(
        "pravega-controller/table/5",
        MUST,
        "A table is deleted, and is gone.",
        _METHODS,
        talk(
            make_scope(),
            call("createKeyValueTable", _table(), status="SUCCESS"),
            call("deleteScope", {"scope": SCOPE}, status="SCOPE_NOT_EMPTY"),
            call("deleteKeyValueTable", _of_table(), status="SUCCESS"),
            call("getKeyValueTableConfiguration", _of_table(), status="TABLE_NOT_FOUND"),
            call("listKeyValueTablesInScope", listing(), status="SUCCESS", kvtables=[]),
        ),
    ),
    case(
        "pravega-controller/table/6",
        MUST,
        "A missing table is answered with TABLE_NOT_FOUND, and a call for its segments fails with NOT_FOUND.",
        _RUN,
        talk(
            call("deleteKeyValueTable", _of_table(), status="TABLE_NOT_FOUND"),
            no_scope("getCurrentSegmentsKeyValueTable", _of_table()),
            make_scope(),
            call("deleteKeyValueTable", _of_table(), status="TABLE_NOT_FOUND"),
            call("getKeyValueTableConfiguration", _of_table(), status="TABLE_NOT_FOUND"),
            no_entry("getCurrentSegmentsKeyValueTable", _of_table(), "kvTablesInScope"),
        ),
    ),
    # -- writers -------------------------------------------------------------------------------------------------------
    case(
        "pravega-controller/writer/1",
        MUST,
        "A writer notes its time, which does not go back.",
        f"{_MESSAGES}: TimestampResponse",
        made(
            1,
            _written(1_000, {0: 0}, "SUCCESS"),
            _written(999, {0: 0}, "INVALID_TIME"),
            _written(1_000, {0: 10}, "SUCCESS"),
        ),
    ),
    case(
        "pravega-controller/writer/2",
        MUST,
        "The position of a writer names segments of the stream, and does not go back.",
        f"{_MESSAGES}: TimestampResponse",
        made(
            1,
            _written(1, {0: 10}, "SUCCESS"),
            _written(2, {0: 9}, "INVALID_POSITION"),
            _written(3, {77: 0}, "INVALID_POSITION"),
        ),
    ),
    case(
        "pravega-controller/writer/3",
        MUST,
        "A writer that has noted a time is removed, and then is unknown.",
        _RUN,
        made(
            1,
            call("removeWriter", {"writer": Text("{writer}"), "stream": info()}, result="UNKNOWN_WRITER"),
            _written(1, {0: 0}, "SUCCESS"),
            call("removeWriter", {"writer": Text("{writer}"), "stream": info()}, result="SUCCESS"),
            call("removeWriter", {"writer": Text("{writer}"), "stream": info()}, result="UNKNOWN_WRITER"),
        ),
    ),
    case(
        "pravega-controller/writer/4",
        OBSERVED,
        "A time of a stream that is missing fails with NOT_FOUND.",
        _RUN,
        talk(
            make_scope(),
            no_entry("noteTimestampFromWriter", {"writer": Text("{writer}"), "position": cut({0: 0}), "timestamp": 1}),
        ),
    ),
)
