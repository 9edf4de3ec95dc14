"""Planted defects by protocol, to measure what the fuzzer finds; they are in `tests/protocols/NAME/planted.py`."""

from collections.abc import Mapping, Sequence

from tests.fuzz.planted.defects import Defect
from tests.helpers.examples import parts

PLANTED: Mapping[str, Sequence[Defect]] = parts("planted", "DEFECTS")
