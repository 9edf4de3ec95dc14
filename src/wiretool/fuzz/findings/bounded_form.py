"""The JSON form of a sequence that is only to be read, within a bound."""

import json
from collections.abc import Mapping
from typing import Any

#: Characters of the form of a sequence; the traffic of a finding has all bytes in a tenth of that.
FORM_MAX = 1_000_000
#: Hexadecimal digits of a message that are kept where the form is cut; shorter messages stay whole.
DATA_MAX = 512


def bounded_sequence(form: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the form of a sequence with at most FORM_MAX characters, and what was cut, in words; empty for nothing.

    Long messages keep their first bytes and the number of all, as `cut_from`. Steps that do not fit even then are
    omitted, the last ones first.
    """
    if _size(form) <= FORM_MAX:
        return dict(form), ""
    steps = [_cut_step(step) for step in form["steps"]]
    kept, left = 0, FORM_MAX - _size({**form, "steps": []})
    for step in steps:
        left -= _size(step)
        if left < 0:
            break
        kept += 1
    shortened = sum("cut_from" in step for step in steps[:kept])
    parts = [
        f"{count:,} of {len(steps):,} steps {change}"
        for count, change in ((shortened, f"cut to the first {DATA_MAX // 2} bytes"), (len(steps) - kept, "omitted"))
        if count
    ]
    return {**form, "steps": steps[:kept]}, f"{' and '.join(parts)}; a replay runs the conformance case itself"


def _cut_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step; a long message without its fields, and with its first bytes."""
    data = step.get("data", "")
    if len(data) <= DATA_MAX:
        return dict(step)
    kept = {key: value for key, value in step.items() if key not in ("recorded", "fields", "edits", "issued")}
    return {**kept, "data": data[:DATA_MAX], "cut_from": len(data) // 2}


def _size(form: Mapping[str, Any]) -> int:
    """Return the characters of a form as a finding has it at most, with the indent of its place."""
    return sum(len(line) + 8 for line in json.dumps(form, indent=2).splitlines())
