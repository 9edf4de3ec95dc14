"""`wiretool bench` in each protocol, against a mock of its own that changes an event and resets a connection."""

import json
from pathlib import Path

import pytest

from tests.helpers.servers import wiretool

OTHER = "61" * 100
RESET = 'message == "{}" and side == "server" nth=40: reset'
CHANGED_BATCH = 'message == "APPEND" and side == "client" nth=20: set payload.entries[0].payload="abc"'
# What has no mark is taken for somebody else's event.
CHANGED_EVENT = f'message == "Event" nth=20: set data="{OTHER}"'
TWICE = 'message == "APPEND" and side == "client" nth=20: duplicate'


@pytest.mark.parametrize(
    ("protocol", "rules", "findings"),
    [
        ("sbp", (CHANGED_BATCH, RESET.format("APPEND")), ("broken: ", "lost: ")),
        # Its error is that there is an answer too many.
        ("sbp-0.1", (TWICE,), ("doubled: ",)),
        ("pravega-draft", (CHANGED_EVENT, RESET.format("DataAppended")), ("lost: ",)),
    ],
)
def test_what_was_changed_is_found_and_a_lost_connection_does_no_harm(
    tmp_path: Path, protocol: str, rules: tuple[str, ...], findings: tuple[str, ...]
) -> None:
    path = tmp_path / "report.json"
    words = ("--appenders", "3", "--pipeline", "2", "--duration", "0.7", "--warmup", "0", "--json", str(path))
    wiretool("bench", "--protocol", protocol, *words, *(word for rule in rules for word in ("--fault", rule)))
    report = json.loads(path.read_text())
    append, verification = report["operations"]["append"], report["verification"]
    assert append["errors"] == 1, append["error_kinds"]
    assert append["count"] > 40
    assert len(verification["findings"]) == len(findings), verification["findings"]
    assert all(map(str.startswith, verification["findings"], findings))
    assert verification["acknowledged_events"] >= append["count"]
