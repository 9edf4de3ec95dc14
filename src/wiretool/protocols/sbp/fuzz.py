"""Fuzzing of the Streaming Batch Protocol."""

from wiretool.fuzz.part import FuzzPart

#: A placement driver repeats a range server in its reply; a request without an address makes that reply invalid
#: (sbp.md §3, the Go server).
_NO_ADDRESS = "missing_required_field at byte # ({}.range_server.advertise_addr)"

FUZZ = FuzzPart(
    allowed={
        "HEARTBEAT": (_NO_ADDRESS.format("HeartbeatResponse"),),
        "REPORT_METRICS": (_NO_ADDRESS.format("ReportMetricsResponse"),),
    }
)
