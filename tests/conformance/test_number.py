"""Numbers that a case makes up: unique to the run, the same in one case, bound from recordings."""

import pytest

from wiretool.conformance.values import ABSENT, Bindings, Number, Subset, first_difference, resolved


def test_a_number_is_the_same_in_one_run_and_another_in_the_next() -> None:
    one, other = Bindings("c01"), Bindings("c02")
    assert Number("stream").resolve(one) == Number("stream").resolve(one)
    assert Number("stream").resolve(one) != Number("stream").resolve(other)
    assert Number("stream").resolve(one) != Number("range").resolve(one)


@pytest.mark.parametrize("bits", [8, 30, 40])
def test_a_number_has_its_size(bits: int) -> None:
    assert Number("n", bits=bits).resolve(Bindings("c")).bit_length() == bits


def test_a_difference_is_added_and_taken_off_again() -> None:
    bindings = Bindings("c")
    assert Number("n", plus=3).resolve(bindings) == Number("n").resolve(bindings) + 3
    recorded = Bindings(None)
    assert Number("n", bits=3, plus=3).matches(10, recorded)
    assert recorded.values == {"n": 7}
    assert Number("n", bits=3).matches(7, recorded)
    assert not Number("n", bits=3).matches(6, recorded)


def test_a_recorded_number_has_the_size_and_is_no_other_one_of_the_case() -> None:
    recorded = Bindings(None)
    assert not Number("n", bits=3).matches(3, recorded)
    assert not Number("n", bits=3).matches(8, recorded)
    assert Number("n", bits=3).matches(5, recorded)
    assert not Number("m", bits=3).matches(5, recorded)


def test_a_field_that_must_be_absent_is_not_sent_and_not_accepted() -> None:
    pattern = Subset(first=1, second=ABSENT)
    assert resolved(pattern, Bindings("c")) == {"first": 1}
    assert first_difference(pattern, {"first": 1, "third": 3}, Bindings("c")) is None
    difference = first_difference(pattern, {"first": 1, "second": 2}, Bindings("c"))
    assert str(difference) == "second: expected nothing, found 2"


@pytest.mark.parametrize("value", [True, "7", None])
def test_what_is_not_a_number_does_not_match(value: object) -> None:
    assert not Number("n").matches(value, Bindings(None))


def test_a_number_without_token_has_to_be_bound() -> None:
    with pytest.raises(AssertionError, match="n is not bound"):
        Number("n").resolve(Bindings(None))


def test_a_number_in_an_object_is_sent_and_matched() -> None:
    bindings, pattern = Bindings("c"), Subset(range=Subset(stream_id=Number("stream")))
    sent = resolved(pattern, bindings)
    assert first_difference(pattern, {**sent, "other": 1}, bindings) is None
    difference = first_difference(pattern, {"range": {"stream_id": 1}}, bindings)
    assert difference is not None
    assert difference.path == "range.stream_id"
