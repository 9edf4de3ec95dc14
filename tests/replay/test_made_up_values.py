"""A store that makes up one table version for several entries, or one of another form, is found in replay and diff."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.replay.liars import Liar
from tests.replay.stage import replay
from wiretool.codec.message import Message
from wiretool.replay.adapter import Verdict

READ = Path(__file__).parents[2] / "captures" / "pravega" / "read.pcap"


def versions(make: Callable[[list[int]], list[int]]) -> Callable[[Message], Message]:
    def lie(message: Message) -> Message:
        made = make(list(message.updated_versions))  # type: ignore[attr-defined]
        return msgspec.structs.replace(message, updated_versions=tuple(made))

    return lie


@pytest.mark.parametrize(
    "make",
    [lambda told: [told[0]] * len(told), lambda told: [-7, *told[1:]], lambda told: [-1, *told[1:]]],
    ids=["one for all", "negative", "that of nothing"],
)
def test_versions_that_no_table_gives_out_are_found(make: Callable[[list[int]], list[int]]) -> None:
    honest = replay(READ)
    assert not honest.findings
    several = [each for each in honest.outcomes if each.recorded and each.recorded[0].message == "TableEntriesUpdated"]
    assert any(len(each.recorded[0].fields.updated_versions) > 1 for each in several)  # type: ignore[union-attr]
    lying = replay(READ, mocks={"pravega": Liar("TableEntriesUpdated", versions(make), wire_version=17)})
    first = lying.findings[0]
    assert first.verdict is Verdict.DIFFERENT
    assert {each.steps[0] for each in first.differences} == {"updated_versions"}
    assert any("table version" in why for why in first.reasons)
