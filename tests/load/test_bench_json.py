import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.bench_results import EVIL, closed, flat, nothing, result_of, stopped
from wiretool.errors import CaptureError, UsageError
from wiretool.load.report.json import json_report, read_result, result_from
from wiretool.load.result import FORM, Operation, Quantiles, Result

COUNTS = st.integers(0, 2**53)
RATES = st.floats(0, 1e12)
QUANTILES = st.builds(Quantiles, p50=COUNTS, p90=COUNTS, p99=COUNTS, p99_9=COUNTS, max=COUNTS)
REPORT = json_report(closed(1)).strip()
TEXTS = st.text(st.characters(codec="utf-8"))
OPERATIONS = st.builds(
    Operation,
    count=COUNTS,
    errors=COUNTS,
    per_s=RATES,
    events_per_s=RATES,
    bytes_per_s=RATES,
    service_us=QUANTILES,
    response_us=QUANTILES,
    error_kinds=st.dictionaries(TEXTS, COUNTS, max_size=3),
)


@pytest.mark.parametrize("result", [closed(2), stopped(20, warm=2), nothing(valid=False, reasons=[EVIL])])
def test_it_comes_back_as_it_was(result: Result) -> None:
    text = json_report(result)
    assert text.isascii()
    assert text.endswith("}\n")
    assert result_from(text, "x.json") == result


@given(st.dictionaries(TEXTS, OPERATIONS, max_size=3), st.lists(TEXTS, max_size=3), st.booleans())
def test_any_figures_and_words_come_back(operations: dict[str, Operation], reasons: list[str], valid: bool) -> None:
    result = nothing(operations=operations, reasons=reasons, valid=valid)
    assert result_from(json_report(result).encode(), "x.json") == result


def test_programs_find_what_is_promised() -> None:
    told = json.loads(json_report(result_of([], operations={"append": flat()})))
    assert told["wiretool_bench"] == FORM
    assert told["valid"] is True
    assert told["reasons"] == []
    append = told["operations"]["append"]
    assert {"count", "errors", "per_s", "events_per_s", "bytes_per_s"} < set(append)
    assert append["service_us"] == {"p50": 400, "p90": 800, "p99": 2_000, "p99_9": 4_000, "max": 9_000}
    assert append["response_us"]["p99_9"] == 8_000


def test_a_word_that_no_text_can_hold_does_not_stop_it() -> None:
    text = json_report(nothing(reasons=["a lone \ud800 surrogate"]))
    assert json.loads(text)["reasons"] == ["a lone \ud800 surrogate"]


def broken(**changes: Any) -> str:
    told = json.loads(REPORT)
    return json.dumps({name: value for name, value in (told | changes).items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "x.json: byte 0: not JSON"),
        ("{", "x.json: byte 1: not JSON: it ends early; expected a report"),
        ('{"a": nope}', "x.json: byte 7: not JSON"),
        ("\xff", "not JSON"),
        ("[]", "not a report of wiretool bench --json, or a damaged one: expected an object, got a list"),
        ('{"wiretool_bench": "1"}', "field wiretool_bench: expected a whole number or null, got text"),
        ('{"stats": []}', "x.json: not a report of wiretool bench --json: no key wiretool_bench"),
        (broken(wiretool_bench=...), "no key wiretool_bench"),
        (broken(wiretool_bench=FORM + 1), f"a report of format {FORM + 1}; expected format {FORM}"),
        (broken(wiretool_bench=0), "a report of format 0"),
        (broken(operations=...), "field operations is missing"),
        (
            broken(operations={"append": {"count": "many"}}),
            r"field operations\[\.\.\.\]\.count: expected a whole number, got text",
        ),
        (broken(valid=1), "field valid: expected true or false, got a whole number"),
        ('{"a":' * 100_000, "x.json: byte .*not JSON"),
    ],
)
def test_what_is_no_report_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(CaptureError, match=why) as caught:
        result_from(text.encode("latin-1"), "x.json")
    assert str(caught.value).startswith("x.json: ")


@given(st.integers(0, 3_000), st.binary(max_size=4))
def test_a_damaged_report_is_read_or_refused(at: int, junk: bytes) -> None:
    text = REPORT.encode()
    with suppress(CaptureError):
        result_from(text[:at] + junk + text[at + len(junk) :], "x.json")


@given(st.integers(0, 2_000))
def test_a_report_that_is_cut_is_refused(at: int) -> None:
    with pytest.raises(CaptureError):
        result_from(REPORT[: at % len(REPORT)], "x.json")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json_report(closed(1)))
    assert read_result(path) == closed(1)
    with pytest.raises(UsageError, match=r"none.json: no such file$"):
        read_result(tmp_path / "none.json")
    with pytest.raises(UsageError, match=r"a folder; expected a file$"):
        read_result(tmp_path)


def test_fields_of_a_later_wiretool_are_passed_over() -> None:
    assert result_from(broken(weather="fine"), "x.json") == closed(1)
    assert msgspec.json.decode(broken())["wiretool_bench"] == FORM
