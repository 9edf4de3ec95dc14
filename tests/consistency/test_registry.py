"""Consistency models by protocol."""

import pytest

from tests.helpers.examples import needs_protocol
from wiretool.codec.message import Side
from wiretool.consistency.model import Consistency
from wiretool.consistency.registry import consistency_of
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS

MODELS = [name for name, protocol in PROTOCOLS.items() if protocol.consistency]


@needs_protocol("sbp-0.1")
@needs_protocol("offramp")
def test_these_protocols_have_a_model() -> None:
    assert set(MODELS) == {"pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"}


@pytest.mark.parametrize("protocol", MODELS)
def test_a_new_model_has_judged_nothing_and_asks_nothing(protocol: str) -> None:
    model = consistency_of(protocol, is_new=True)
    assert isinstance(model, Consistency)
    assert (model.is_new, model.judged, list(model.questions())) == (True, 0, [])
    sides: tuple[Side, ...] = ("client", "server")
    for side in sides:
        model.forget(7, side)
    assert consistency_of(protocol) is not model


def test_a_protocol_without_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match="pravega-controller: no consistency model; expected one of pravega, "):
        consistency_of("pravega-controller")
    with pytest.raises(UsageError, match="no protocol is called 'pravga'"):
        consistency_of("pravga")
