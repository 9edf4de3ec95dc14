"""A result as JSON, and back."""

from pathlib import Path

import msgspec

from wiretool.codec.json_text import json_text
from wiretool.errors import CaptureError, UsageError, why_unreadable
from wiretool.expectations import damage_offset, json_problem
from wiretool.load.result import FORM, Result


class _Head(msgspec.Struct):
    """What tells a report from other JSON."""

    wiretool_bench: int | None = None


def json_report(result: Result) -> str:
    """The whole result, in plain ASCII; `result_from` reads it."""
    return json_text(msgspec.to_builtins(result)) + "\n"


def result_from(text: str | bytes, name: str) -> Result:
    """The result that is written in a file called `name`; CaptureError where that is no report, or a damaged one."""
    try:
        form = msgspec.json.decode(text, type=_Head).wiretool_bench
        if form is not None and form != FORM:
            why = f"a report of format {form}; expected format {FORM}; repeat the run with this version"
            raise CaptureError(name, why)
        if form is not None:
            return msgspec.json.decode(text, type=Result)
    except msgspec.ValidationError as err:
        raise CaptureError(
            name, f"not a report of wiretool bench --json, or a damaged one: {json_problem(err)}"
        ) from err
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise CaptureError(
            name,
            f"{json_problem(err)}; expected a report of wiretool bench --json",
            offset=damage_offset(err, len(text)),
        ) from err
    raise CaptureError(name, "not a report of wiretool bench --json: no key wiretool_bench")


def read_result(path: Path) -> Result:
    """The result in a file; UsageError where it cannot be read, CaptureError where it is no report."""
    try:
        content = path.read_bytes()
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}") from err
    return result_from(content, str(path))
