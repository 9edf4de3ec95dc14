"""Known findings: a file of buckets that do not fail a run."""

import json
from collections.abc import Iterable
from pathlib import Path

from wiretool.errors import InputError, UsageError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.fuzz.oracles import Bucket

VERSION = 1


def baseline_form(protocol: str, buckets: Iterable[Bucket]) -> str:
    """Return the text of a baseline file."""
    form = {"version": VERSION, "protocol": protocol, "buckets": sorted(list(bucket) for bucket in buckets)}
    return json.dumps(form, indent=2) + "\n"


def read_baseline(path: Path, protocol: str) -> frozenset[Bucket]:
    """Return the buckets of a file.

    UsageError for a file that cannot be read, InputError for one that is not a baseline of the protocol.
    """
    try:
        form = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as err:
        raise UsageError(f"{path}: no such file; --write-baseline writes it") from err
    except IsADirectoryError as err:
        raise UsageError(f"{path}: a folder; expected a file that --write-baseline wrote") from err
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}; expected a file that --write-baseline wrote") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: {json_problem(err)}; expected a file that --write-baseline wrote") from err
    if not isinstance(form, dict) or form.get("version") != VERSION or not isinstance(form.get("buckets"), list):
        raise InputError(f"{path}: not a baseline; expected a file that --write-baseline wrote")
    if form.get("protocol") != protocol:
        raise InputError(f"{path}: a baseline of {form.get('protocol')}; expected one of {protocol}")
    buckets = form["buckets"]
    if not all(isinstance(each, list) and len(each) == len(Bucket._fields) for each in buckets):
        raise InputError(f"{path}: buckets: expected lists of {len(Bucket._fields)} texts")
    return frozenset(Bucket.from_form(each) for each in buckets)
