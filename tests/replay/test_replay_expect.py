"""Differences that the user accepts."""

import pytest

from tests.replay.talks import PLAIN, appending, reading, recorded, setting_up, talk
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.replay.adapter import Difference, Steps, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.accept import ignore
from wiretool.replay.judging.expect import Expectations, expectations_from
from wiretool.replay.judging.field_selector import Spot, spot_of
from wiretool.replay.judging.outcomes import Outcome

PRAVEGA = [PROTOCOLS["pravega"]]
SBP = [PROTOCOLS["sbp"]]
BOTH_DIFFER = '[[accept]]\nmessage = "SegmentRead"\nreason = "because"\nfield = '


def differing() -> list[Outcome]:
    """One reply with two wrong fields, and one that does not come."""
    one = recorded(talk(setting_up(), appending(), reading()))
    other = recorded(talk(setting_up(), appending()[:1], reading(at_tail=False, data=b"other")))
    return compare(one, other, PLAIN)


def expected(text: str) -> Expectations:
    return expectations_from(text, PRAVEGA)


def findings(outcomes: list[Outcome]) -> list[str]:
    return [outcome.request.message for outcome in outcomes if outcome.verdict.is_finding and outcome.request]


def test_a_finding_of_which_all_is_accepted_is_explained() -> None:
    outcomes = differing()
    assert findings(outcomes) == ["AppendBlockEnd", "ReadSegment"]
    assert expected(f'{BOTH_DIFFER}"at_tail"\n{BOTH_DIFFER}"data"').apply(outcomes) == []
    assert findings(outcomes) == ["AppendBlockEnd"]
    (explained,) = [outcome for outcome in outcomes if outcome.verdict is Verdict.EXPLAINED]
    assert (explained.reasons, explained.differences) == (["because"], [])


def test_what_is_left_of_a_finding_is_one() -> None:
    outcomes = differing()
    expected(f'{BOTH_DIFFER}"at_tail"').apply(outcomes)
    assert findings(outcomes) == ["AppendBlockEnd", "ReadSegment"]
    assert [difference.steps for outcome in outcomes for difference in outcome.differences] == [(), ("data",)]


@pytest.mark.parametrize(
    "narrow",
    [
        "value = false",
        'request = "ReadSegment"',
        "connection = 0",
        'verdict = "different"',
        'verdict = "different"\nvalue = false\nrequest = "ReadSegment"\nconnection = 0',
    ],
)
def test_an_entry_may_be_narrower(narrow: str) -> None:
    outcomes = differing()
    assert expected(f'{BOTH_DIFFER}"at_tail"\n{narrow}').apply(outcomes) == []


@pytest.mark.parametrize(
    "narrow", ["value = true", "value = 0", 'request = "SetupAppend"', "connection = 1", 'message = "ReadSegment"']
)
def test_an_entry_that_fits_nothing_is_told(narrow: str) -> None:
    outcomes = differing()
    text = '[[accept]]\nfield = "at_tail"\nreason = "because"\nmessage = "SegmentRead"\n' + narrow
    if narrow.startswith("message"):
        text = '[[accept]]\nreason = "because"\n' + narrow
    told = expected(text).apply(outcomes)
    assert len(told) == 1
    assert "of the expected differences matches nothing" in told[0]
    assert findings(outcomes) == ["AppendBlockEnd", "ReadSegment"]


def test_a_message_that_does_not_come_may_be_expected() -> None:
    for verdict in ("", 'verdict = "missing"'):
        outcomes = differing()
        expected(f'[[accept]]\nmessage = "DataAppended"\nreason = "slow"\n{verdict}').apply(outcomes)
        assert findings(outcomes) == ["ReadSegment"]
    outcomes = differing()
    told = expected('[[accept]]\nmessage = "DataAppended"\nreason = "slow"\nverdict = "extra"').apply(outcomes)
    assert told == ["accept[1] (DataAppended) of the expected differences matches nothing"]


def test_the_end_of_a_connection_may_be_expected() -> None:
    outcome = Outcome(recorded(talk(reading())).dialogues[0], None)
    outcome.note(Verdict.DIFFERENT, "the server ended the connection")
    assert expected('[[accept]]\nmessage = "end"\nreason = "it is that old"').apply([outcome]) == []
    assert (outcome.verdict, outcome.reasons) == (Verdict.EXPLAINED, ["it is that old"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[accept", "expected differences: "),
        ("[accepted]", r"accepted: no such table; entries are \[\[accept\]\]"),
        ("accept = 1", r"accept: not entries; expected \[\[accept\]\]"),
        ('[[accept]]\nmessage = "SegmentRead"', r"accept\[1\]: reason is missing"),
        ('[[accept]]\nreason = "x"', r"accept\[1\]: message is missing"),
        ('[[accept]]\nmesage = "SegmentRead"', r"mesage: no key of an entry \(did you mean message\?\)"),
        ("[[accept]]\nmessage = 1", "message: expected text, got 1"),
        ("[[accept]]\nconnection = true", "connection: expected a whole number, got True"),
        (
            '[[accept]]\nmessage = "SegmentReed"\nreason = "x"',
            r"no message is called 'SegmentReed' \(did you mean SegmentRead\?\)",
        ),
        (f'{BOTH_DIFFER}"at_tial"', r"SegmentRead has no field 'at_tial' \(did you mean at_tail\?\)"),
        (f'{BOTH_DIFFER}"at_tail.inside"', "SegmentRead has no field 'at_tail.inside'"),
        (f'{BOTH_DIFFER}"at tail"', "'at tail' is not a field"),
        (f'{BOTH_DIFFER}"at_tail"\nverdict = "diferent"', r"not 'diferent' \(did you mean different\?\)"),
        (f'{BOTH_DIFFER}"at_tail"\nverdict = "missing"', "a field is different"),
        (f'{BOTH_DIFFER}"at_tail"\nrequest = "Nothing"', "no message is called 'Nothing'"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        expected(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("APPEND.header.fields.status.code", ("header", "fields", "status", "code")),
        ("APPEND.header.fields.entries.status.code", ("header", "fields", "entries", "status", "code")),
        ("APPEND.header.fields.entries[0].status", ("header", "fields", "entries", 0, "status")),
        ("APPEND.stream_id", ("stream_id",)),
        ("APPEND", ()),
    ],
)
def test_fields_of_tables_are_named_as_expressions_do(text: str, steps: tuple[str | int, ...]) -> None:
    assert spot_of(text, SBP) == Spot("APPEND", steps)


@pytest.mark.parametrize("text", ["APPEND.header.fields.stutus", "APPEND.status", "FETCHED", "FETCH.[", ""])
def test_fields_that_no_message_has_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        spot_of(text, SBP)


def test_every_message_of_every_protocol_can_be_named() -> None:
    for protocol in PROTOCOLS.values():
        for cls in protocol.messages:
            if cls.declaration.type_id >= 0 and not any("Table" in base.__name__ for base in cls.__mro__):
                assert spot_of(cls.declaration.name, [protocol]).message == cls.declaration.name


def test_a_field_stands_for_that_of_every_element() -> None:
    outcome = next(outcome for outcome in differing() if len(outcome.differences) == 2)
    inside = Difference(("list", 3, "name", 0), 1, 2)
    around: list[Steps] = [("list",), ("list", "name"), ("list", 3), ("list", 3, "name")]
    beside: list[Steps] = [("list", 4), ("name",), ("list", "other"), ()]
    assert all(Spot("SegmentRead", steps).holds(outcome, inside) for steps in around)
    assert not any(Spot("SegmentRead", steps).holds(outcome, inside) for steps in beside)
    assert not Spot("ReadSegment", ("list",)).holds(outcome, inside)


def test_what_is_ignored_needs_no_reason() -> None:
    outcomes = differing()
    ignore(outcomes, [Spot("SegmentRead", ("data",)), Spot("SegmentRead", ("at_tail",))])
    assert findings(outcomes) == ["AppendBlockEnd"]
