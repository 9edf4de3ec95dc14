"""Fuzzing of the batch style."""

from wiretool.fuzz.mutations import flatbuffers
from wiretool.fuzz.part import FuzzPart
from wiretool.protocols.sbp.fuzz import session_table
from wiretool.protocols.sbp_0_1.messages import S1, S2

#: A placement manager repeats in S2 the address of a data node. One that reported none makes the reply invalid in S2,
#: so that it is read as one of S1, where the place of the status is that of an error message.
_READ_AS_S1 = "bad_flatbuffer_header at byte # ({}[#].error_message)"

FUZZ = FuzzPart(
    table=session_table(S1, S2),
    mutations=flatbuffers.MUTATIONS,
    allowed={
        "CREATE_STREAMS": (_READ_AS_S1.format("CreateStreamsResponse.create_responses"),),
        "LIST_RANGES": (_READ_AS_S1.format("ListRangesResponse.list_responses"),),
        "SEAL_RANGES": (_READ_AS_S1.format("SealRangesResponse.seal_responses"),),
        "DESCRIBE_RANGES": (_READ_AS_S1.format("DescribeRangesResponse.describe_responses"),),
    },
)
