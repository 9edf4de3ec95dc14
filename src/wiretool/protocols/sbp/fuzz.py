"""Fuzzing of the Streaming Batch Protocol."""

from wiretool.fuzz.mutations import flatbuffers
from wiretool.fuzz.part import FuzzPart

#: A placement driver repeats a range server in its replies; a request without an address makes those invalid
#: (sbp.md §3, the Go server).
_NO_ADDRESS = "missing_required_field at byte # ({}.advertise_addr)"

FUZZ = FuzzPart(
    mutations=flatbuffers.MUTATIONS,
    allowed={
        "HEARTBEAT": (_NO_ADDRESS.format("HeartbeatResponse.range_server"),),
        "REPORT_METRICS": (_NO_ADDRESS.format("ReportMetricsResponse.range_server"),),
        "CREATE_RANGE": (_NO_ADDRESS.format("CreateRangeResponse.range.servers[#]"),),
        "LIST_RANGE": (_NO_ADDRESS.format("ListRangeResponse.ranges[#].servers[#]"),),
        "SEAL_RANGE": (_NO_ADDRESS.format("SealRangeResponse.range.servers[#]"),),
    },
)
