"""Numbers that a case makes up: unique to the run, the same in one case, bound from recordings."""

import pytest

from wiretool.conformance.values import Bindings, Number, Subset, first_difference, resolved


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
    assert Number("n", plus=3).matches(10, recorded)
    assert recorded.values == {"n": 7}
    assert not Number("n").matches(8, recorded)


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
