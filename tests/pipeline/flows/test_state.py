"""What is serialized of an open flow: protocols without a schema of their own, and classes that nobody declared."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from wiretool.codec.states import NotInSchemaError
from wiretool.errors import UsageError
from wiretool.pipeline.flows import state
from wiretool.protocols.base import registry
from wiretool.protocols.base.registry import PROTOCOLS


@pytest.fixture
def draft_without_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The schema without the draft's part, as of a plugin that declares none."""
    monkeypatch.setattr(state, "protocols_with", lambda part: ["pravega", "sbp"])
    state.schema.cache_clear()
    yield
    state.schema.cache_clear()


@pytest.mark.usefixtures("draft_without_state")
def test_a_protocol_without_a_schema_is_refused_in_one_line() -> None:
    flow: Any = PROTOCOLS["pravega-draft"].open(True)
    words = r"^pravega-draft: it has no schema by which open connections are saved .*; expected one of pravega, sbp; "
    with pytest.raises(UsageError, match=words):
        state.serialize(flow, flow, ())


def test_a_state_part_that_does_not_load_is_refused_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, sound checkpoints would be refused as those of another version."""
    broken = replace(PROTOCOLS["pravega-draft"], state="no_such_module:STATE")
    found = registry.registered()
    monkeypatch.setattr(state, "registered", lambda: found._replace(protocols={**found.protocols, broken.name: broken}))
    words = r"^protocol 'pravega-draft': its part 'state' \(no_such_module:STATE\) does not load: ModuleNotFoundError"
    with pytest.raises(UsageError, match=words):
        state.schema.__wrapped__()


def test_another_class_is_a_mistake_of_ours() -> None:
    flow: Any = object()
    with pytest.raises(NotInSchemaError, match="the schema has no <class 'object'>"):
        state.serialize(flow, flow, ())
