"""Messages as JSON, and what is refused on the way back."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.codec.test_reference import ID, SAMPLE, Sample
from tests.helpers.strategies import messages
from wiretool.codec.jsonform import fields_from_json, json_form, nearest
from wiretool.errors import EncodeError

FORM: dict[str, Any] = {
    "id": ID,
    "number": 5,
    "is_on": True,
    "name": "n",
    "data": "64",
    "pairs": [{"name": "p", "number": 1}],
    "late": 9,
    "later": "l",
}


@given(messages(Sample))
def test_a_message_comes_back_from_json_text(sample: Sample) -> None:
    assert fields_from_json(Sample, json.loads(json.dumps(json_form(sample)))) == sample


def test_the_form() -> None:
    assert json_form(SAMPLE) == FORM
    assert fields_from_json(Sample, FORM) == SAMPLE


def test_a_default_may_be_left_out() -> None:
    short = {name: value for name, value in FORM.items() if name != "late"}
    assert fields_from_json(Sample, short).late == -1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"number": "5"}, r"Sample\.number: i32 takes a whole number"),
        ({"numbre": 5}, r"Sample: has no field 'numbre' \(did you mean number\?\)"),
        ({"pairs": [{"name": "p"}]}, r"Sample\.pairs\[0\]\.number: is missing"),
        ({"pairs": [5]}, r"Sample\.pairs\[0\]: expected an object, got 5"),
        ({"pairs": {}}, r"Sample\.pairs: expected a list, got \{\}"),
        ({"data": "6"}, r"Sample\.data: expected hex, got '6'"),
        ({"is_on": 1}, r"Sample\.is_on: expected true or false, got 1"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(EncodeError, match=why):
        fields_from_json(Sample, {**FORM, **change})


@pytest.mark.parametrize(
    ("name", "suggested"), [("zzz", ""), ("spb", "sbp"), ("sbq", "sbp"), ("psb", ""), ("bsp", "sbp"), ("pbs", "")]
)
def test_only_what_is_near_is_suggested(name: str, suggested: str) -> None:
    """One character changed, or two neighbours exchanged."""
    assert nearest(name, ["sbp", "wire"]) == (f" (did you mean {suggested}?)" if suggested else "")
