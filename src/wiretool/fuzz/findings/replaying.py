"""Runs a finding again: does it still happen?"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from wiretool.capture.files.reading import read_packets
from wiretool.capture.tls.keylog import KeyLog
from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import mutant_named
from wiretool.conformance.results import CaseResult
from wiretool.errors import InputError, Stopped, UsageError
from wiretool.fuzz.client.replaying import replay_client_finding
from wiretool.fuzz.decoder.findings import replay_decoder_finding
from wiretool.fuzz.findings.finding import KEYLOG_VARIABLE, SEEDS_VARIABLE, read_finding
from wiretool.fuzz.findings.investigation import COMPARED
from wiretool.fuzz.findings.standing import RUNS, Replayed, Standing
from wiretool.fuzz.oracles import DIED, DIFFERS, MEMORY, UNHEALTHY, Bucket, Suspicion
from wiretool.fuzz.sequences.json import sequence_from_form
from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.sequences.sequence import CAPTURE_SETUP, FuzzSequence
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets.addresses import addresses_by_endpoint
from wiretool.fuzz.targets.base import InMemoryTarget, Target
from wiretool.fuzz.targets.pacing import Pacer
from wiretool.fuzz.targets.socket import open_target
from wiretool.net.addresses import Address
from wiretool.units import counted

#: Seconds for one reply.
PATIENCE_S = 2.0
#: Verdicts of a case that did not get to its requirement.
_UNJUDGED = frozenset({Verdict.UNSUPPORTED, Verdict.NOT_EXERCISED, Verdict.ERROR})
#: Options of a finding that name its target, each with a value.
VALUE_OPTIONS = ("--target", "--command", "--allow-remote", "--mutant")
#: The option for the mock in a process of its own.
SOCKETS = "--sockets"
#: Opens the target of a session.
TargetMaker = Callable[[FuzzSession], AbstractContextManager[Target]]


def replay_finding(
    folder: Path,
    target_of: TargetMaker | None = None,
    client: Sequence[str] = (),
    *,
    add_seed_files: Callable[[FuzzSession], None] = lambda session: None,
    pacer: Pacer | None = None,
) -> Replayed:
    """Run a finding again on the target that it names.

    `target_of` opens another one for the session, `client` is the command of another client. `add_seed_files` adds the
    seeds of files: the mock in memory has the data of the capture from which a sequence comes. Without it,
    WIRETOOL_SEEDS names the capture, or the finding does. `pacer` delays what another machine gets. A finding is fixed
    only where each run sent it and was judged. InputError for a folder that is not a finding, PeerError where the
    target cannot be reached.
    """
    form = read_finding(folder)
    if "client" in form:
        return replay_client_finding(folder, form, client)
    if "capture" in form:
        return replay_decoder_finding(folder, form)
    session = FuzzSession(str(form["protocol"]), seed=_seed(folder, form))
    session.add_cases()
    add_seed_files(session)
    _add_capture(folder, form, session)
    sequence = _sequence(folder, form, session)
    cases = _cases(folder, form, session)
    bucket = Bucket.from_form(form["bucket"])
    with (target_of or target_from(folder, form, pacer))(session) as target:
        if not target.fits(sequence):
            return Replayed(folder, Standing.OTHER, "the sequence needs endpoints that the target does not have")
        if cases:
            return _replay_cases(folder, bucket, target, cases, sequence)
        return _replay_sequence(folder, bucket, session, target, sequence)


def _add_capture(folder: Path, form: Mapping[str, Any], session: FuzzSession) -> None:
    """Give the mock the data of the capture from which a sequence comes, if its file is there and was not read yet.

    UsageError where WIRETOOL_SEEDS names no file.
    """
    setup = form["sequence"].get("setup") if isinstance(form["sequence"], Mapping) else None
    if not isinstance(setup, str) or not setup.startswith(CAPTURE_SETUP):
        return
    if session.has_setup(session.setup_of_capture(setup)):
        return
    named = os.environ.get(SEEDS_VARIABLE, "")
    path = Path(named or setup.removeprefix(CAPTURE_SETUP))
    if path.is_file():
        # The name of the capture in the finding stays that of its setup, wherever the file is now.
        name, keys = setup.removeprefix(CAPTURE_SETUP), _secrets(form)
        session.add_capture(name, read_packets([path], keys), ports={}, notes=_ignore, keys=keys)
    elif named:
        raise UsageError(f"{SEEDS_VARIABLE} {named}: no such file; expected the capture of {folder}")


def _secrets(form: Mapping[str, Any]) -> KeyLog:
    """Return the TLS secrets of the file that WIRETOOL_KEYLOG or the finding names, if it is there.

    UsageError where WIRETOOL_KEYLOG names no file.
    """
    named = os.environ.get(KEYLOG_VARIABLE, "")
    keys, path = KeyLog(_ignore), Path(named or str(form.get("keylog", "")))
    if named and not path.is_file():
        raise UsageError(f"{KEYLOG_VARIABLE} {named}: no such file; expected the key log of the capture")
    if path.is_file():
        keys.add_reporting(path.read_bytes(), str(path))
    return keys


def _ignore(note: str) -> None:
    """Report nothing: the run that wrote the finding has reported it."""


def _seed(folder: Path, form: Mapping[str, Any]) -> int:
    seed = form.get("seed", 0)
    if not isinstance(seed, int):
        raise InputError(f"{folder}: seed: expected a whole number")
    return seed


def _sequence(folder: Path, form: Mapping[str, Any], session: FuzzSession) -> FuzzSequence:
    """Return the sequence of a finding. InputError for one that sends nothing, an unknown setup or endpoint."""
    setup = str(form["sequence"].get("setup", "")) if isinstance(form["sequence"], Mapping) else ""
    setup = session.setup_of_capture(setup)
    if not session.has_setup(setup) and not setup.startswith(CAPTURE_SETUP):
        raise InputError(f"{folder}: no setup {setup!r} of {session.protocol}; run the fuzzer again")
    sequence = sequence_from_form(form["sequence"], session.protocol_in(setup), name=str(folder))
    sequence = replace(sequence, setup=setup)
    session.check_endpoints(sequence, str(folder))
    if not sequence.sendings and not form["case"]:
        raise InputError(f"{folder}: steps: none sends a message; run the fuzzer again")
    return sequence


def _cases(folder: Path, form: Mapping[str, Any], session: FuzzSession) -> list[Case]:
    """Return the conformance cases of a finding, its own first; none for a finding without one."""
    if not form["case"]:
        return []
    others = form.get("cases", [])
    if not isinstance(others, list):
        raise InputError(f"{folder}: cases: expected a list of conformance cases")
    known = {case.id: case for case in session.cases}
    names = list(dict.fromkeys(map(str, [form["case"], *others])))
    for name in names:
        if name not in known:
            key = "case" if name == form["case"] else "cases"
            raise InputError(f"{folder}: {key}: no conformance case {name} of {session.protocol}; run the fuzzer again")
    return [known[name] for name in names]


def target_from(folder: Path, form: Mapping[str, Any], pacer: Pacer | None = None) -> TargetMaker:
    """Return a function that opens the target which a finding names; WIRETOOL_TARGET names another address."""
    options = _target_options(folder, form)

    def open_named(session: FuzzSession) -> AbstractContextManager[Target]:
        mutant = next(iter(options.get("--mutant", ())), "")
        addresses = _addresses(options)
        if addresses is None and SOCKETS not in options:
            return nullcontext(session.mock_target(mutant_named(session.part, mutant) if mutant else None))
        command = next(iter(options.get("--command", ())), None)
        return open_target(
            session, addresses, command=command, mutant=mutant, patience_s=PATIENCE_S, jobs=1, pacer=pacer
        )

    return open_named


def _target_options(folder: Path, form: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return the values of the options that name the target of a finding. InputError for an option that names none.

    An option that has no effect would replay the finding on another target, which may not have its bug.
    """
    options = form["options"]
    if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
        raise InputError(f"{folder}: options: expected a list of texts")
    values: dict[str, list[str]] = {}
    words = iter(options)
    for word in words:
        if word not in (SOCKETS, *VALUE_OPTIONS):
            expected = ", ".join((*VALUE_OPTIONS, SOCKETS))
            raise InputError(f"{folder}: options: {word!r} names no target; expected {expected}; run the fuzzer again")
        value = "" if word == SOCKETS else next(words, None)
        if value is None:
            raise InputError(f"{folder}: options: {word} has no value; run the fuzzer again")
        values.setdefault(word, []).append(value)
    return values


def _addresses(options: Mapping[str, Sequence[str]]) -> Mapping[str, Address] | None:
    """Return the addresses of the target by endpoint; None for the built-in mock."""
    address = os.environ.get("WIRETOOL_TARGET", "")
    texts = [address] if address else options.get("--target", ())
    if not texts:
        return None
    source = "WIRETOOL_TARGET" if address else "--target"
    return addresses_by_endpoint(texts, options.get("--allow-remote", ()), option=source)


def _replay_cases(
    folder: Path, bucket: Bucket, target: Target, cases: Sequence[Case], sequence: FuzzSequence
) -> Replayed:
    """Run a conformance case several times, each time after the sequence if that breaks the server.

    Other cases that failed in the same way run once, as they show the same bug; each one after the sequence, too.
    """
    before = (sequence,) if sequence.steps and bucket.oracle == UNHEALTHY else ()
    unclear = ""
    for case in (*[cases[0]] * RUNS, *cases[1:]):
        if unclear and case is cases[0]:
            continue
        results = target.run_cases([case], before)
        _check_running(target)
        failed = next((result for result in results if result.verdict is Verdict.FAIL), None)
        if failed is not None:
            return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {failed.why}{_other_name(case, cases)}")
        unclear = unclear or _unclear(case, results)
    if unclear:
        return Replayed(folder, Standing.OTHER, unclear)
    others = f"; {counted(len(cases) - 1, 'other case')} that failed with it, too" if cases[1:] else ""
    return Replayed(folder, Standing.FIXED, f"conformance case {cases[0].id} passes in {RUNS} runs{others}")


def _unclear(case: Case, results: Sequence[CaseResult]) -> str:
    """Return why the results of a case show neither that it fails nor that it passes, in words; empty if they do."""
    if not results:
        return f"conformance case {case.id} cannot run on this target"
    unjudged = next((result for result in results if result.verdict in _UNJUDGED), None)
    return f"conformance case {case.id} is {unjudged.verdict}: {unjudged.why}" if unjudged is not None else ""


def _other_name(case: Case, cases: Sequence[Case]) -> str:
    """Return the name of a case that is not the first one of its finding, in words."""
    return f" (conformance case {case.id})" if case is not cases[0] else ""


def _is_same(found: Bucket, bucket: Bucket) -> bool:
    """Return whether the same bug shows.

    The message at which a server is found to be gone depends on the clock, and so does the reason of the system.
    """
    kinds = [each.reply.partition(":")[0] for each in (found, bucket)]
    return found == bucket or (found.oracle == bucket.oracle == DIED and kinds[0] == kinds[1])


def _replay_sequence(
    folder: Path, bucket: Bucket, session: FuzzSession, target: Target, sequence: FuzzSequence
) -> Replayed:
    if bucket.oracle == DIFFERS:
        session.compare_answers()
    outcomes = _outcomes_on(target, sequence, bucket)
    found = [each for outcome in outcomes for each in session.oracles.judge(outcome)]
    same = next((each for each in found if _is_same(each.bucket, bucket)), None)
    if same is not None:
        return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {same.why}")
    other = next((each for each in found if not _is_expected(session, sequence, each)), None)
    if other is not None:
        return Replayed(folder, Standing.OTHER, f"{other.bucket.oracle} instead of {bucket.oracle}: {other.why}")
    if not all(outcome.sent_messages for outcome in outcomes):
        return Replayed(folder, Standing.OTHER, "the target takes no message of the sequence")
    if isinstance(target, InMemoryTarget) and not session.has_setup(sequence.setup):
        text = f"the mock without the data of {sequence.setup} shows nothing; expected --seeds or {SEEDS_VARIABLE}"
        return Replayed(folder, Standing.OTHER, text)
    return Replayed(folder, Standing.FIXED, f"{RUNS} runs of the sequence show nothing")


def suspicions_on(session: FuzzSession, target: Target, sequence: FuzzSequence, bucket: Bucket) -> list[Suspicion]:
    """Run the sequence of a finding in a bucket on a fresh server several times; return all signs of bugs."""
    return [each for outcome in _outcomes_on(target, sequence, bucket) for each in session.oracles.judge(outcome)]


def _outcomes_on(target: Target, sequence: FuzzSequence, bucket: Bucket) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for _ in range(RUNS):
        outcomes += target.run_fresh([sequence], is_measured=bucket.oracle == MEMORY)
        _check_running(target)
    return outcomes


def _check_running(target: Target) -> None:
    """Raise Stopped where a signal ended a run: its outcome is not a verdict."""
    if target.stopped_by is not None:
        raise Stopped(target.stopped_by)


def _is_expected(session: FuzzSession, sequence: FuzzSequence, suspicion: Suspicion) -> bool:
    """Return whether the mock shows the same, where that explains a suspicion."""
    bucket = suspicion.bucket
    if bucket.oracle not in COMPARED:
        return False
    return any(each.bucket == bucket for each in suspicions_on(session, session.mock_target(), sequence, bucket))
