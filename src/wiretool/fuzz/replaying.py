"""Runs a finding again: does it still happen?"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from wiretool.conformance.mutants import mutant_named
from wiretool.errors import InputError
from wiretool.fuzz.client.replaying import replay_client_finding
from wiretool.fuzz.decoder.findings import replay_decoder_finding
from wiretool.fuzz.findings import read_finding
from wiretool.fuzz.investigation import COMPARED
from wiretool.fuzz.oracles import DIFFERS, MEMORY, Bucket, Suspicion
from wiretool.fuzz.sequence import FuzzSequence
from wiretool.fuzz.serial import sequence_from_form
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.socket_target import open_target
from wiretool.fuzz.standing import RUNS, Replayed, Standing
from wiretool.fuzz.target import Target
from wiretool.net.addresses import address_from

#: Seconds for one reply.
PATIENCE_S = 2.0
#: Opens the target of a session.
TargetMaker = Callable[[FuzzSession], AbstractContextManager[Target]]


def replay_finding(folder: Path, target_of: TargetMaker | None = None, client: Sequence[str] = ()) -> Replayed:
    """Run a finding again on the target that it names.

    `target_of` opens another one for the session, `client` is the command of another client. InputError for a folder
    that is not a finding.
    """
    form = read_finding(folder)
    if "client" in form:
        return replay_client_finding(folder, form, client)
    if "capture" in form:
        return replay_decoder_finding(folder, form)
    session = FuzzSession(str(form["protocol"]), seed=int(form.get("seed", 0)))
    session.add_cases()
    setup = str(form["sequence"].get("setup", "")) if isinstance(form["sequence"], Mapping) else ""
    sequence = sequence_from_form(form["sequence"], session.protocol_in(setup), name=str(folder))
    with (target_of or target_from(form))(session) as target:
        return _standing(folder, form, session, target, sequence)


def target_from(form: Mapping[str, Any]) -> TargetMaker:
    """Return a function that opens the target which a finding names; WIRETOOL_TARGET names another address."""
    options = form["options"]
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        raise InputError("options: expected a list of texts")

    @contextmanager
    def opened(session: FuzzSession) -> Iterator[Target]:
        mutant = _option(options, "--mutant")
        address = os.environ.get("WIRETOOL_TARGET", "") or _option(options, "--target")
        if address or "--sockets" in options:
            addresses = {"": address_from(address, option="WIRETOOL_TARGET")} if address else None
            command = _option(options, "--command") or None
            with open_target(
                session, addresses, command=command, mutant=mutant, patience_s=PATIENCE_S, jobs=1
            ) as target:
                yield target
            return
        yield session.mock_target(mutant_named(session.part, mutant) if mutant else None)

    return opened


def _option(options: Sequence[str], name: str) -> str:
    """Return the value of an option; empty where it is not given."""
    return next((value for option, value in pairwise(options) if option == name), "")


def _standing(
    folder: Path, form: Mapping[str, Any], session: FuzzSession, target: Target, sequence: FuzzSequence
) -> Replayed:
    bucket = Bucket(*map(str, form["bucket"]))
    if bucket.oracle == DIFFERS:
        session.compare_answers()
    if form["case"]:
        cases = [case for case in session.cases if case.id == form["case"]]
        if not cases:
            raise InputError(f"{folder}: case: no conformance case {form['case']} of {session.protocol}")
        before = (sequence,) if sequence.steps and bucket.oracle == "unhealthy" else ()
        failed = [result for result in target.run_cases(cases, before) if result.verdict == "fail"]
        if failed:
            return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {failed[0].why}")
        return Replayed(folder, Standing.FIXED, f"conformance case {form['case']} passes")
    found = suspicions_on(session, target, sequence, bucket)
    same = next((each for each in found if each.bucket == bucket), None)
    if same is not None:
        return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {same.why}")
    other = next((each for each in found if not _is_expected(session, sequence, each)), None)
    if other is not None:
        return Replayed(folder, Standing.OTHER, f"{other.bucket.oracle} instead of {bucket.oracle}: {other.why}")
    return Replayed(folder, Standing.FIXED, f"{RUNS} runs of the sequence show nothing")


def _is_expected(session: FuzzSession, sequence: FuzzSequence, suspicion: Suspicion) -> bool:
    """Return whether the mock shows the same, where that explains a suspicion."""
    if suspicion.bucket.oracle not in COMPARED:
        return False
    outcomes = session.mock_target(None).run_fresh([sequence], is_measured=suspicion.bucket.oracle == MEMORY)
    return any(each.bucket == suspicion.bucket for outcome in outcomes for each in session.oracles.judge(outcome))


def suspicions_on(session: FuzzSession, target: Target, sequence: FuzzSequence, bucket: Bucket) -> list[Suspicion]:
    """Run the sequence of a finding in a bucket on a fresh server several times; return all signs of bugs."""
    return [
        suspicion
        for _ in range(RUNS)
        for outcome in target.run_fresh([sequence], is_measured=bucket.oracle == MEMORY)
        for suspicion in session.oracles.judge(outcome)
    ]


def _is_expected(session: FuzzSession, sequence: FuzzSequence, suspicion: Suspicion) -> bool:
    """Return whether the mock shows the same, where that explains a suspicion."""
    if suspicion.bucket.oracle not in COMPARED:
        return False
    outcomes = session.mock_target(None).run_fresh([sequence], is_measured=suspicion.bucket.oracle == MEMORY)
    return any(each.bucket == suspicion.bucket for outcome in outcomes for each in session.oracles.judge(outcome))
