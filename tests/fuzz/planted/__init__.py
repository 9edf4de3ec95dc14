"""Planted defects by protocol, to measure what the fuzzer finds."""

from collections.abc import Mapping, Sequence

from tests.fuzz.planted import offramp, pravega, pravega_controller, pravega_draft, sbp, sbp_0_1
from tests.fuzz.planted.defects import Defect

PLANTED: Mapping[str, Sequence[Defect]] = {
    "pravega": pravega.DEFECTS,
    "pravega-controller": pravega_controller.DEFECTS,
    "pravega-draft": pravega_draft.DEFECTS,
    "sbp": sbp.DEFECTS,
    "sbp-0.1": sbp_0_1.DEFECTS,
    "offramp": offramp.DEFECTS,
}
