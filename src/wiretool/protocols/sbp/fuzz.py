"""Fuzzing of the Streaming Batch Protocol."""

from wiretool.fuzz.mutations import flatbuffers
from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.protocols.sbp.messages import GOAWAY, Schema, operations_of
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import TABLE, Phase, What

#: A placement driver repeats a range server in its replies; a request without an address makes those invalid
#: (sbp.md §3, the Go server).
_NO_ADDRESS = "missing_required_field at byte # ({}.advertise_addr)"


def session_table(*schemas: Schema) -> SessionTable:
    """Return the requests of clients by the phase of the connection."""
    kinds = {
        operation.name: What.GOAWAY if code == GOAWAY else What.REQUEST
        for schema in schemas
        for code, operation in operations_of(schema).items()
    }
    following = {
        (phase.value, name): after.value
        for (phase, side, what), after in TABLE.items()
        if side == "client"
        for name, kind in kinds.items()
        if kind is what
    }
    return SessionTable(Phase.OPEN.value, following)


FUZZ = FuzzPart(
    table=session_table(LATEST),
    mutations=flatbuffers.MUTATIONS,
    allowed={
        "HEARTBEAT": (_NO_ADDRESS.format("HeartbeatResponse.range_server"),),
        "REPORT_METRICS": (_NO_ADDRESS.format("ReportMetricsResponse.range_server"),),
        "CREATE_RANGE": (_NO_ADDRESS.format("CreateRangeResponse.range.servers[#]"),),
        "LIST_RANGE": (_NO_ADDRESS.format("ListRangeResponse.ranges[#].servers[#]"),),
        "SEAL_RANGE": (_NO_ADDRESS.format("SealRangeResponse.range.servers[#]"),),
    },
)
