"""Which conversations of two recordings are one: each has one counterpart at most, in whatever order they came."""

import random
from collections.abc import Hashable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.talks import Says, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.capture.files.reading import read_packets
from wiretool.records import Record
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import manners
from wiretool.replay.diff import matching
from wiretool.replay.diff.comparing import compare
from wiretool.replay.diff.likeness import subjects_of
from wiretool.replay.diff.matching import Matched, asked, match
from wiretool.replay.recording import recording_of

#: Of these conversations are made; all but the last two of them are like no other.
TALKS: Sequence[Says] = (
    talk(reading(segment="s/a/0")),
    talk(setting_up(segment="s/b/0"), *(appending(n, request_id=n) for n in range(5))),
    talk(*(reading(segment="s/c/0", offset=n) for n in range(6))),
    talk(setting_up(segment="s/d/0"), reading(segment="s/d/0")),
    talk(reading(segment="s/d/0"), reading(segment="s/d/0", offset=4)),
)
_some = st.lists(st.integers(0, len(TALKS) - 1), max_size=6)


def matched(one: Recording, other: Recording, protocol: str = "pravega") -> Matched:
    subjects, others = subjects_of(one), subjects_of(other)

    def subject(record: Record) -> Hashable:
        return subjects.get(record.n, ())

    def other_subject(record: Record) -> Hashable:
        return others.get(record.n, ())

    return match(one.of(protocol), other.of(protocol), subject, other_subject)


def words(dialogue: Dialogue, *sides: str) -> list[bytes]:
    return [record.raw for record in dialogue.records if record.side in (sides or ("client", "server"))]


def numbers(dialogues: Sequence[Dialogue]) -> list[int]:
    return [dialogue.number for dialogue in dialogues]


@given(_some, _some)
def test_each_has_one_counterpart_at_most(ones: list[int], others: list[int]) -> None:
    one, other = recorded(*(TALKS[at] for at in ones)), recorded(*(TALKS[at] for at in others))
    found = matched(one, other)
    assert sorted(numbers([each for each, _ in found.pairs] + found.one)) == numbers(one.dialogues)
    assert sorted(numbers([each for _, each in found.pairs] + found.other)) == numbers(other.dialogues)
    # What both say in the same bytes is one, as often as both say it.
    same = sum(words(each, "client") == words(counterpart, "client") for each, counterpart in found.pairs)
    assert same == sum(min(ones.count(at), others.count(at)) for at in range(len(TALKS)))


@given(st.permutations(range(len(TALKS))))
def test_in_whatever_order_each_finds_itself(order: list[int]) -> None:
    found = matched(recorded(*TALKS), recorded(*(TALKS[at] for at in order)))
    assert (found.one, found.other) == ([], [])
    assert all(order[other.number] == one.number for one, other in found.pairs)


@given(st.permutations(range(len(TALKS))), st.integers(0, len(TALKS) - 2))
def test_the_one_that_was_removed_is_the_one_without_a_counterpart(order: list[int], removed: int) -> None:
    less = [at for at in order if at not in (removed, len(TALKS) - 1)]
    found = matched(recorded(*TALKS[:-1]), recorded(*(TALKS[at] for at in less)))
    assert (numbers(found.one), found.other) == ([removed], [])
    back = matched(recorded(*(TALKS[at] for at in less)), recorded(*TALKS[:-1]))
    assert (back.one, numbers(back.other)) == ([], [removed])


def test_every_capture_is_matched_with_itself_shuffled(own_capture: tuple[Path, object]) -> None:
    one = recording_of(read_packets([own_capture[0]]))
    for protocol in {dialogue.protocol for dialogue in one.dialogues} - {""}:
        mine = one.of(protocol)
        shuffled = Recording(random.Random(7).sample(mine, len(mine)))
        found = matched(one, shuffled, protocol)
        assert len(found.pairs) == len(mine)
        assert all(words(each) == words(other) for each, other in found.pairs)


@given(st.permutations(range(4)))
def test_of_those_that_ask_the_same_those_are_one_that_are_answered_the_same(order: list[int]) -> None:
    answers = [talk(reading(data=b"%d" % number)) for number in range(4)]
    found = matched(recorded(*answers), recorded(*(answers[at] for at in order)))
    assert sorted((each.number, order[other.number]) for each, other in found.pairs) == [(at, at) for at in range(4)]


# -- what is only alike ----------------------------------------------------------------------------------------------


def test_the_same_said_of_the_same_comes_before_what_is_alike() -> None:
    """Ids are others, and so are bytes: the segment says which is which."""
    one = recorded(talk(reading(segment="s/a/0")), talk(reading(segment="s/b/0")))
    other = recorded(talk(reading(segment="s/b/0", request_id=9)), talk(reading(segment="s/a/0", request_id=8)))
    found = matched(one, other)
    assert [(each.number, counterpart.number) for each, counterpart in found.pairs] == [(0, 1), (1, 0)]


def test_the_most_alike_are_taken_first() -> None:
    long = [reading(segment="s/a/0", offset=n, request_id=n) for n in range(8)]
    one = recorded(talk(*long), talk(*long[:2], setting_up()))
    other = recorded(talk(*long[:2], setting_up(), alive_again()), talk(*long[:7]))
    found = matched(one, other)
    assert sorted((each.number, counterpart.number) for each, counterpart in found.pairs) == [(0, 1), (1, 0)]


def alive_again() -> Says:
    return appending(7)[:1]


def test_what_has_nothing_in_common_is_two_things() -> None:
    """At least where they are not at the same two ends, which is a hint."""
    read = recorded(talk(reading())[2:])
    write = recorded(talk(reading())[:2], talk(setting_up(), *(appending(n, request_id=n) for n in range(9)))[2:])
    found = matched(read, Recording(write.dialogues[1:]))
    assert (len(found.pairs), len(found.one), len(found.other)) == (0, 1, 1)


def test_very_many_belong_together_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "PAIRS_MAX", 3)
    reads = [reading(segment="s/a/0", offset=n, request_id=n) for n in range(6)]
    writes = [setting_up(), *(appending(n, request_id=n) for n in range(6))]
    one = recorded(talk(*reads), talk(*writes), talk(reading()))
    other = recorded(talk(*writes[:-1]), talk(*reads[:-1]))
    found = matched(one, other)
    assert [(each.number, counterpart.number) for each, counterpart in found.pairs] == [(0, 0), (1, 1)]
    assert numbers(found.one) == [2]


def test_what_was_asked_is_all_that_answers_nothing() -> None:
    dialogue = recorded(talk(setting_up(), appending())).dialogues[0]
    assert [record.message for record in asked(dialogue)] == ["Hello", "SetupAppend", "AppendBlockEnd"]


def test_what_servers_made_up_in_names_does_not_hide_who_asks() -> None:
    """Two writers in two parts of a transaction, whose connections come in another order."""
    names = [f"s/a/{part}.#epoch.0#transaction.{{}}{'0' * 31}" for part in (0, 1)]
    talks = [
        [talk(setting_up(segment=name.format(made)), appending(event=name.encode())) for name in names]
        for made in ("3", "a")
    ]
    one, other = recorded(*talks[0]), recorded(*reversed(talks[1]))
    outcomes = compare(one, other, dict(manners()))
    assert [outcome for outcome in outcomes if outcome.verdict.is_finding] == []
    assert sum(outcome.verdict is Verdict.MAPPED for outcome in outcomes) == 2
    wrong = talk(setting_up(segment=names[0].format("b")), appending(event=names[1].encode()))
    found = compare(one, recorded(talks[1][0], wrong), dict(manners()))
    assert [each.request.message for each in found if each.verdict.is_finding and each.request] == ["SetupAppend"]
