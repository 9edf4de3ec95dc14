"""What fields of the controller's messages are to a conversation that is spoken again.

controller.proto says names, numbers and types; this stands beside it as the annotations of other protocols do beside
their fields. A field that is not there fails an assert when the declarations are made.
"""

from collections.abc import Mapping

from wiretool.codec.message import Credential, Issued, Named, Position, Role, Varies

#: A segment's 64-bit id: the epoch that made it, and its number in the stream.
SEGMENT_ID = Issued("segment id", "streamInfo")
#: An offset in a segment; of a cut, which is a map, the values are that and the keys are segments' ids.
OFFSET = Position("segment", "streamInfo")
EPOCH = Issued("epoch", "streamInfo")
#: The halves of a transaction's id: each counts beside the other.
HIGH_BITS = Issued("high bits of transaction", "lowBits")
LOW_BITS = Issued("low bits of transaction", "highBits")
#: With which a list is gone on with.
CONTINUATION = Issued("continuation token", "scope", besides=("",), is_unique=False)
GROUP_ID = Issued("reader group id", besides=("", "00000000-0000-0000-0000-000000000000"))
#: Of scopes, also in front of a slash: two clients that make the same have one each.
SCOPE = Named("scope")

#: Message type, field -> its role.
ROLES: Mapping[tuple[str, str], Role] = {
    ("ScopeInfo", "scope"): SCOPE,
    ("StreamInfo", "scope"): SCOPE,
    ("ReaderGroupConfiguration", "scope"): SCOPE,
    ("ReaderGroupInfo", "scope"): SCOPE,
    ("KeyValueTableConfig", "scope"): SCOPE,
    ("KeyValueTableInfo", "scope"): SCOPE,
    ("ScopesResponse", "scopes"): SCOPE,
    ("SubscriberStreamCut", "subscriber"): SCOPE,
    ("SubscribersResponse", "subscribers"): SCOPE,
    ("NodeUri", "endpoint"): Varies(),
    ("NodeUri", "port"): Varies(),
    ("ControllerToBucketMappingResponse", "mapping"): Varies(),
    ("SegmentId", "segmentId"): SEGMENT_ID,
    ("SegmentEntry", "value"): SEGMENT_ID,
    ("ScaleRequest", "sealedSegments"): SEGMENT_ID,
    ("StreamCut", "cut"): OFFSET,
    ("StreamCutRange", "from"): OFFSET,
    ("StreamCutRange", "to"): OFFSET,
    ("SegmentLocation", "offset"): OFFSET,
    ("GetEpochSegmentsRequest", "epoch"): EPOCH,
    ("ScaleResponse", "epoch"): EPOCH,
    ("ScaleStatusRequest", "epoch"): EPOCH,
    ("TxnId", "highBits"): HIGH_BITS,
    ("TxnId", "lowBits"): LOW_BITS,
    ("ContinuationToken", "token"): CONTINUATION,
    ("ReaderGroupConfiguration", "readerGroupId"): GROUP_ID,
    ("ReaderGroupInfo", "readerGroupId"): GROUP_ID,
    ("SubscriberStreamCut", "readerGroupId"): GROUP_ID,
    ("SegmentsAtTime", "delegationToken"): Credential(),
    ("CreateTxnResponse", "delegationToken"): Credential(),
    ("SuccessorResponse", "delegationToken"): Credential(),
    ("StreamCutRangeResponse", "delegationToken"): Credential(),
    ("SegmentRanges", "delegationToken"): Credential(),
    ("DelegationToken", "delegationToken"): Credential(),
}
