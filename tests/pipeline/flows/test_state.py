"""What is serialized of an open flow: protocols without a schema of their own, and classes that nobody declared."""

from collections.abc import Iterator
from typing import Any

import pytest

from wiretool.codec.states import NotInSchemaError
from wiretool.errors import UsageError
from wiretool.pipeline.flows import state
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


def test_another_class_is_a_mistake_of_ours() -> None:
    flow: Any = object()
    with pytest.raises(NotInSchemaError, match="the schema has no <class 'object'>"):
        state.serialize(flow, flow, ())
