"""Nested blocks of Pravega and its draft: the bytes on the wire, and stores that survive them."""

import pytest

from tests.fuzz.mutation_runs import findings_with, mutated, reaching

BEGINS = {"pravega": "AppendBlock", "pravega-draft": "BeginAppendBlock"}


@pytest.mark.parametrize("protocol", BEGINS)
def test_blocks_begin_inside_blocks(protocol: str) -> None:
    found = mutated(protocol, "block/nested")
    assert len(found) >= 20
    assert all(each.before.message == BEGINS[protocol] for each in found)
    assert all(each.after.data.startswith(each.before.data) for each in found)
    depths = {len(each.after.data) // len(each.before.data) for each in found}
    assert {2, 3, 51} <= depths
    own = [each for each in found if each.after.data == each.before.data * 2]
    assert 0 < len(own) < len(found)
    assert reaching(protocol, found) >= 10


@pytest.mark.parametrize("protocol", BEGINS)
def test_clean_mocks_survive(protocol: str) -> None:
    assert findings_with(protocol, "block/nested") == []
