"""A corpus: a folder of sequences that showed something new, one JSON file each, named by a digest of its steps.

Runs only add files, each of which appears whole under its name; so several runs can share a folder. Only `minimise`
removes files, never two processes at once, and only those whose features the files that stay have as well.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from wiretool import folder_locks
from wiretool.errors import InputError, UsageError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.novelty import Feature, Novelty
from wiretool.fuzz.sequences.json import sequence_form, sequence_from_form
from wiretool.fuzz.sequences.sequence import CAPTURE_SETUP, FuzzSequence
from wiretool.fuzz.session import FuzzSession
from wiretool.protocols.base.registry import PROTOCOLS

VERSION = 1
SUFFIX = ".json"
#: Characters of a digest.
DIGEST_LENGTH = 20
_KEYS = ("version", "protocol", "sequence")
_EXPECTED = "expected a file that `fuzz --corpus` wrote; remove it"


class CorpusEntry(NamedTuple):
    """A sequence with its file."""

    path: Path
    sequence: FuzzSequence


# -- files -------------------------------------------------------------------------------------------------------------


def read_corpus(folder: Path, session: FuzzSession) -> list[CorpusEntry]:
    """Return the sequences of a folder, ordered by name; none for a folder that does not exist yet.

    InputError for a damaged file, and for one of another protocol.
    """
    return [CorpusEntry(path, _sequence(path, form, session)) for path, form in _forms(folder, session.protocol)]


def _forms(folder: Path, protocol: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        form = _read_form(path)
        if form is None:
            continue
        if form["protocol"] != protocol:
            raise InputError(f"{path}: a sequence of {form['protocol']}; expected one of {protocol}")
        yield path, form


def _read_form(path: Path) -> Mapping[str, Any] | None:
    """Return the JSON form of a file; None where `minimise` has just removed it."""
    try:
        form = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except OSError as err:
        raise InputError(f"{path}: {why_unreadable(err)}; {_EXPECTED}") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: {json_problem(err)}; {_EXPECTED}") from err
    if not isinstance(form, dict) or any(key not in form for key in _KEYS):
        raise InputError(f"{path}: not a sequence of a corpus; {_EXPECTED}")
    if form["version"] != VERSION:
        raise InputError(f"{path}: version {form['version']}; expected {VERSION}; remove it")
    if not isinstance(form["protocol"], str) or not isinstance(form["sequence"], dict):
        raise InputError(f"{path}: not a sequence of a corpus; {_EXPECTED}")
    if _digest(form["sequence"]) + SUFFIX != path.name:
        raise InputError(f"{path}: its content does not fit its name; {_EXPECTED}")
    return form


def _sequence(path: Path, form: Mapping[str, Any], session: FuzzSession) -> FuzzSequence:
    """Return the sequence of a file. It runs on the usual server if its capture is not a seed of this run."""
    setup = str(form["sequence"].get("setup", ""))
    if setup.startswith(CAPTURE_SETUP) and not session.has_setup(setup):
        setup = ""
    elif not session.has_setup(setup):
        raise InputError(f"{path}: no setup {setup!r} of {session.protocol}; {_EXPECTED}")
    sequence = sequence_from_form(form["sequence"], session.protocol_in(setup), name=str(path))
    session.check_endpoints(sequence, str(path))
    return replace(sequence, setup=setup)


def save_sequence(folder: Path, sequence: FuzzSequence, session: FuzzSession) -> bool:
    """Write the file of a sequence; return whether it is a new one. OSError where that fails."""
    form = sequence_form(sequence, fault_adapter_of(session.protocol_in(sequence.setup)))
    return _save_form(folder, {"version": VERSION, "protocol": session.protocol, "sequence": form})


def _save_form(folder: Path, form: Mapping[str, Any]) -> bool:
    """Write a file under the digest of its sequence: whole under another name first, so no reader sees a part of it."""
    path = folder / f"{_digest(form['sequence'])}{SUFFIX}"
    if path.exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(json.dumps(form, indent=1) + "\n", "utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return True


def _digest(form: Mapping[str, Any]) -> str:
    """Return the digest of what a sequence sends, in which setup: its origin and its mutations do not matter."""
    sent = {"setup": form.get("setup"), "steps": form.get("steps")}
    text = json.dumps(sent, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def protocol_of(folder: Path) -> str:
    """Return the protocol of a corpus; empty for a folder without sequences.

    InputError as in `read_corpus`, UsageError for a folder that does not exist, and for a file.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file; expected a folder that `fuzz --corpus` wrote")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; expected one that `fuzz --corpus` wrote")
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        form = _read_form(path)
        if form is not None:
            protocol = str(form["protocol"])
            if protocol not in PROTOCOLS:
                raise InputError(f"{path}: a sequence of {protocol}, which cannot be fuzzed; {_EXPECTED}")
            return protocol
    return ""


# -- minimise ----------------------------------------------------------------------------------------------------------


class Minimised(NamedTuple):
    """The result: sequences before and after, and the features that both have."""

    before: int
    after: int
    features: int


def minimise(folder: Path) -> Minimised:
    """Remove the sequences without which the corpus shows the same features on the built-in mock.

    Files are removed one by one: a run that is stopped leaves more of them, not fewer. InputError for damaged files and
    for a folder without sequences, UsageError while another process minimises the folder.
    """
    protocol = protocol_of(folder)
    if not protocol:
        raise InputError(f"{folder}: no sequence in it; expected a folder that `fuzz --corpus` wrote")
    with _sole(folder):
        session = FuzzSession(protocol)
        entries = read_corpus(folder, session)
        features = features_of([entry.sequence for entry in entries], session)
        kept = smallest_cover(features, [entry.sequence.size_bytes for entry in entries])
        for index, entry in enumerate(entries):
            if index not in kept:
                entry.path.unlink(missing_ok=True)
    return Minimised(len(entries), len(kept), len(set().union(*features)))


@contextmanager
def _sole(folder: Path) -> Iterator[None]:
    held = folder_locks.take(folder)
    if held is None:
        raise UsageError(f"{folder}: another process minimises it; try again when it is done")
    try:
        yield
    finally:
        folder_locks.release(held)


def features_of(sequences: Sequence[FuzzSequence], session: FuzzSession) -> list[set[Feature]]:
    """Return the features that each sequence shows, each on a fresh mock in memory."""
    target = session.reference()
    found = []
    for sequence in sequences:
        novelty = Novelty(session.protocol_in(sequence.setup).exchanges)
        for outcome in target.run_fresh([sequence]):
            novelty.note(outcome)
            if outcome.error is not None:
                novelty.features.add(("", "", "", type(outcome.error).__name__))
        found.append(novelty.features)
    return found


def smallest_cover(features: Sequence[set[Feature]], sizes: Sequence[int]) -> set[int]:
    """Return the indexes of few small sets that together have all features: greedy, then without the needless ones."""
    missing: set[Feature] = set().union(*features)
    kept: list[int] = []
    while missing:
        best = max(range(len(features)), key=lambda at: (len(features[at] & missing), -sizes[at], -at))
        kept.append(best)
        missing -= features[best]
    for index in sorted(kept, key=lambda at: -sizes[at]):
        others = set().union(*(features[at] for at in kept if at != index))
        if features[index] <= others:
            kept.remove(index)
    return set(kept)


# -- merge -------------------------------------------------------------------------------------------------------------


class Merged(NamedTuple):
    """The result: sequences that were added, and those that were there already."""

    added: int
    known: int


def merge(folder: Path, others: Sequence[Path]) -> Merged:
    """Add the sequences of other folders; all files are read before the first one is written.

    InputError for a damaged file or two protocols, OSError where a file cannot be written.
    """
    protocol = protocol_of(folder) if folder.exists() else ""
    forms: list[Mapping[str, Any]] = []
    for other in others:
        own = protocol_of(other)
        protocol = protocol or own
        if own:
            session = FuzzSession(protocol)
            for path, form in _forms(other, protocol):
                _sequence(path, form, session)
                forms.append(form)
    added = sum(_save_form(folder, form) for form in forms)
    return Merged(added, len(forms) - added)
