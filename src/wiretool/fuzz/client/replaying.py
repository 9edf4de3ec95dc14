"""Runs a finding about a client again: does it still happen?"""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wiretool.errors import InputError, Stopped
from wiretool.fuzz.client.clean_runs import CleanRuns, learn, setup_for
from wiretool.fuzz.client.client_run import run_plan
from wiretool.fuzz.client.crash_kinds import fatal_signal
from wiretool.fuzz.client.findings import CLIENT_VARIABLE
from wiretool.fuzz.client.oracles import ClientOracles
from wiretool.fuzz.client.reply_fault import plan_from_form
from wiretool.fuzz.findings.standing import RUNS, Replayed, Standing
from wiretool.fuzz.oracles import CRASH, Bucket, Suspicion


def replay_client_finding(folder: Path, form: Mapping[str, Any], command: Sequence[str] = ()) -> Replayed:
    """Run the client of a finding again, or another one that `command` or WIRETOOL_CLIENT names.

    InputError for a finding without a command, PeerError for a client that does not connect.
    """
    words = command or shlex.split(os.environ.get(CLIENT_VARIABLE, "")) or form["client"]
    if not words or not isinstance(words, Sequence) or not all(isinstance(each, str) for each in words):
        raise InputError(f"{folder}: client: expected a list of texts")
    if not isinstance(form["timeout"], int | float) or not isinstance(form["seed"], int):
        raise InputError(f"{folder}: timeout and seed: expected numbers")
    plan = plan_from_form(form["faults"], name=str(folder))
    setup = setup_for(str(form["protocol"]), words, timeout_s=float(form["timeout"]), seed=form["seed"])
    clean = learn(setup)
    oracles, bucket = ClientOracles(clean), Bucket.from_form(form["bucket"])
    found: list[Suspicion] = []
    acted = 0
    for _ in range(RUNS):
        outcome = run_plan(clean.setup, plan)
        if outcome.stopped_by is not None:
            raise Stopped(outcome.stopped_by)
        acted += bool(outcome.acted)
        found += oracles.judge(outcome)
        if any(each.bucket == bucket for each in found):
            break
    replayed = _replayed(folder, bucket, found, acted)
    if replayed.is_fixed and bucket.oracle == CRASH and is_usual_crash(bucket.reply, clean):
        text = "the client ends in this way without any fault, so that its crash cannot be recognized"
        return Replayed(folder, Standing.OTHER, text)
    return replayed


def is_usual_crash(error: str, clean: CleanRuns) -> bool:
    """Return whether a client crashes so without any fault, too; `error` is that of its bucket."""
    return error in clean.crashes or error in {fatal_signal(code) for code in clean.exit_codes}


def _replayed(folder: Path, bucket: Bucket, found: Sequence[Suspicion], acted: int) -> Replayed:
    same = next((each for each in found if each.bucket == bucket), None)
    if same is not None:
        return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {same.why}")
    if found:
        return Replayed(folder, Standing.OTHER, f"{found[0].bucket.oracle} instead of {bucket.oracle}: {found[0].why}")
    if not acted:
        text = f"the server never sent the messages of the finding in {RUNS} runs"
        return Replayed(folder, Standing.OTHER, text)
    return Replayed(folder, Standing.FIXED, f"{RUNS} runs of the client show nothing")
