"""Which messages a condition can be true of."""

import pytest

from wiretool.faults.reach import known_of, may_hold
from wiretool.filter.syntax import parse

KNOWN = known_of("pravega", "server", "DataAppended")


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ('message == "DataAppended"', True),
        ('"DataAppended" == message', True),
        ('message == "Hello"', False),
        ('message != "Hello"', True),
        ('message in ["Hello", "DataAppended"]', True),
        ('message in ["Hello"]', False),
        ('not message == "DataAppended"', False),
        ('side == "client" or length > 5', True),
        ('side == "client" and length > 5', False),
        ('side == "client" or message == "Hello"', False),
        ("length > 5", True),
        ("not length > 5", True),
        ('message ~ "Data"', True),
        ('kind == "problem"', False),
        ('protocol == "sbp"', False),
        ("fields.success", True),
    ],
)
def test_three_valued(expression: str, may: bool) -> None:
    assert may_hold(parse(expression), KNOWN) is may


def test_no_condition_may_always_hold() -> None:
    assert may_hold(None, KNOWN)
