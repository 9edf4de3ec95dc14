"""What an interceptor holds of unfinished frames of all connections has one bound; beyond it bytes pass undecoded."""

from struct import pack

import pytest

from wiretool import limits
from wiretool.dissect.connection import NOT_HELD
from wiretool.faults import Deliver, Interceptor, parse_rule
from wiretool.faults.effects import Effect
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

BEGIN = pack(">ii", 12, 60_000) + bytes(20_000)


@pytest.mark.parametrize("has_rule", [False, True])
def test_beyond_the_bound_bytes_pass_and_are_problems(monkeypatch: pytest.MonkeyPatch, *, has_rule: bool) -> None:
    monkeypatch.setattr(limits, "UNFINISHED_BYTES_MAX", 150_000)
    records: list[Record] = []
    notes: list[str] = []
    rules = [parse_rule(": delay 20ms", protocols=["pravega"])] if has_rule else []
    passing = Interceptor(rules, seed=1, on_record=records.append, on_note=notes.append)
    effects: list[Effect] = []
    for number in range(1, 21):
        passing.opened(number, PROTOCOLS["pravega"], "c", "s", 0)
        effects += passing.feed(number, "client", BEGIN, 0)
    lost = [record for record in records if record.error == NOT_HELD]
    assert lost
    assert all(record.length == len(BEGIN) for record in lost)
    passed = [effect for effect in effects if isinstance(effect, Deliver)]
    if has_rule:
        assert [effect.connection for effect in passed] == [record.connection for record in lost]
        assert all(effect.data == BEGIN for effect in passed)
        assert notes[0].startswith("connection 1: bytes of the client from 0 on: discarded: unfinished frames")
    else:
        assert len(passed) == 20
