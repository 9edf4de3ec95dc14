"""Corpora: runs add to them, damaged files are refused, minimising keeps all features, and folders can be shared."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.helpers import session_of
from wiretool import folder_locks
from wiretool.errors import InputError, UsageError
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.seeds import corpus
from wiretool.fuzz.seeds.corpus import (
    features_of,
    merge,
    minimise,
    protocol_of,
    read_corpus,
    save_sequence,
    smallest_cover,
)
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.session import FuzzSession

PROTOCOL = "pravega-draft"


def wiretool_fuzz(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "wiretool", "fuzz", *map(str, words)], capture_output=True, text=True, timeout=120
    )


def fuzzed(folder: Path, runs: int, seed: int = 0) -> list[FuzzSequence]:
    """Run the fuzzer with a corpus; return the sequences that showed something new."""
    session = FuzzSession(PROTOCOL, seed=seed)
    session.add_cases()
    session.add_sequences([entry.sequence for entry in read_corpus(folder, session)])
    target = session.mock_target()
    novel: list[FuzzSequence] = []

    def keep(sequence: FuzzSequence) -> None:
        novel.append(sequence)
        save_sequence(folder, sequence, session)

    investigation = session.investigation(target, is_reference=True)
    session.campaign(target, investigation, Limits(runs=runs), on_novel=keep).run()
    return novel


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus that one run has written."""
    folder = tmp_path_factory.mktemp("corpus")
    fuzzed(folder, 1_000)
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """Return a copy of that corpus."""
    return Path(shutil.copytree(recorded, tmp_path / "corpus"))


def names(folder: Path) -> set[str]:
    """Return the names of all files."""
    return {path.name for path in folder.iterdir()}


def all_features(folder: Path) -> set[Any]:
    """Return the features that a corpus shows."""
    session = FuzzSession(PROTOCOL)
    return set().union(*features_of([entry.sequence for entry in read_corpus(folder, session)], session))


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_run_saves_what_shows_something_new(tmp_path: Path) -> None:
    novel = fuzzed(tmp_path / "new" / "corpus", 1_000)
    entries = read_corpus(tmp_path / "new" / "corpus", session_of(PROTOCOL))
    assert len(novel) >= len(entries) > 50
    sent = {tuple(step.data for step in each.sendings) for each in novel}
    assert {tuple(step.data for step in each.sequence.sendings) for each in entries} == sent
    assert all(entry.sequence.all_changes() for entry in entries)


def test_the_next_run_starts_from_it(folder: Path) -> None:
    """It runs the sequences of the folder first and saves none of them again; then it adds new ones."""
    before = names(folder)
    sequences = [entry.sequence for entry in read_corpus(folder, session_of(PROTOCOL))]
    seeds = len(session_of(PROTOCOL).seeds) + len(sequences)
    assert all(each in sequences for each in fuzzed(folder, seeds))
    assert names(folder) == before
    fuzzed(folder, seeds + 400)
    assert before < names(folder)


def test_a_sequence_is_saved_once(tmp_path: Path) -> None:
    session = session_of(PROTOCOL)
    sequence = session.seeds[3]
    assert save_sequence(tmp_path, sequence, session)
    assert not save_sequence(tmp_path, sequence.with_steps(sequence.steps), session)
    assert len(names(tmp_path)) == 1
    (entry,) = read_corpus(tmp_path, session)
    assert entry.path.stem == corpus._digest(json.loads(entry.path.read_text())["sequence"])


def test_a_sequence_of_a_capture_needs_no_capture(tmp_path: Path) -> None:
    session = session_of(PROTOCOL)
    seed = session.seeds[0]
    recorded = FuzzSequence(seed.steps, "x.pcap", setup="capture x.pcap")
    save_sequence(tmp_path, recorded, session)
    (entry,) = read_corpus(tmp_path, session)
    assert entry.sequence.setup == ""


def test_a_folder_without_sequences(tmp_path: Path) -> None:
    assert read_corpus(tmp_path, session_of(PROTOCOL)) == []
    assert read_corpus(tmp_path / "none", session_of(PROTOCOL)) == []
    with pytest.raises(InputError, match="no sequence in it; expected a folder that `fuzz --corpus` wrote"):
        minimise(tmp_path)
    assert merge(tmp_path / "made", [tmp_path]) == (0, 0)
    with pytest.raises(UsageError, match="none: no such folder; expected one that `fuzz --corpus` wrote"):
        protocol_of(tmp_path / "none")


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    for reads in (protocol_of, minimise):
        with pytest.raises(UsageError, match="notes: a file; expected a folder that `fuzz --corpus` wrote"):
            reads(tmp_path / "notes")


# -- damage ------------------------------------------------------------------------------------------------------------


def changed(text: str, name: str) -> str:
    """Return the text of a file with one kind of damage."""
    form = json.loads(text)
    if name == "version":
        form["version"] = 2
    elif name == "protocol":
        form["protocol"] = "sbp"
    elif name == "no protocol":
        form["protocol"] = 3
    elif name == "key":
        del form["sequence"]
    elif name == "bytes":
        next(step for step in form["sequence"]["steps"] if "send" in step)["data"] = "00"
    else:
        return {"empty": "", "cut": text[: len(text) // 2], "list": "[]", "deep": "[" * 100_000}[name]
    return json.dumps(form)


DAMAGES = {
    "version": "version 2; expected 1",
    "protocol": "a sequence of sbp; expected one of pravega-draft",
    "no protocol": "not a sequence of a corpus",
    "key": "not a sequence of a corpus",
    "bytes": "its content does not fit its name",
    "empty": "expected a file that `fuzz --corpus` wrote",
    "cut": "expected a file that `fuzz --corpus` wrote",
    "list": "not a sequence of a corpus",
    "deep": "expected a file that `fuzz --corpus` wrote",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused(folder: Path, damage: str) -> None:
    path = sorted(folder.glob("*.json"))[4]
    path.write_text(changed(path.read_text(), damage))
    with pytest.raises(InputError) as caught:
        read_corpus(folder, session_of(PROTOCOL))
    assert str(caught.value).startswith(f"{path}: ")
    assert DAMAGES[damage] in str(caught.value)
    before = names(folder)
    with pytest.raises(InputError):
        minimise(folder)
    assert names(folder) - {folder_locks.HELD} == before - {folder_locks.HELD}


@pytest.mark.parametrize("steps", [3, [{"send": 1}], [{"send": "x", "message": "", "data": ""}]])
def test_steps_that_are_none_are_refused(tmp_path: Path, steps: object) -> None:
    form = {"origin": "", "setup": "", "changes": [], "steps": steps}
    path = tmp_path / f"{corpus._digest(form)}.json"
    path.write_text(json.dumps({"version": 1, "protocol": PROTOCOL, "sequence": form}))
    with pytest.raises(InputError, match="not a sequence of steps"):
        read_corpus(tmp_path, session_of(PROTOCOL))


def test_an_unknown_endpoint_is_refused(tmp_path: Path) -> None:
    form = {"origin": "", "setup": "", "changes": [], "steps": [{"connect": 1, "endpoint": "moon"}]}
    path = tmp_path / f"{corpus._digest(form)}.json"
    path.write_text(json.dumps({"version": 1, "protocol": PROTOCOL, "sequence": form}))
    with pytest.raises(InputError, match=r"json: no endpoint 'moon' of pravega-draft; expected store"):
        read_corpus(tmp_path, session_of(PROTOCOL))


def test_an_unknown_setup_is_refused(tmp_path: Path) -> None:
    form = {"origin": "", "setup": "on the moon", "changes": [], "steps": []}
    path = tmp_path / f"{corpus._digest(form)}.json"
    path.write_text(json.dumps({"version": 1, "protocol": PROTOCOL, "sequence": form}))
    with pytest.raises(InputError, match="no setup 'on the moon' of pravega-draft"):
        read_corpus(tmp_path, session_of(PROTOCOL))


def test_other_files_are_left_alone(folder: Path) -> None:
    count = len(read_corpus(folder, session_of(PROTOCOL)))
    (folder / "notes.txt").write_text("x")
    (folder / ".0123.json.77").write_text("{")  # of a run that was killed while it wrote
    assert len(read_corpus(folder, session_of(PROTOCOL))) == count
    minimise(folder)
    assert (folder / "notes.txt").exists()


# -- minimise and merge ------------------------------------------------------------------------------------------------


def test_minimising_keeps_all_features(folder: Path) -> None:
    before = all_features(folder)
    done = minimise(folder)
    assert done.features == len(before)
    assert done.before > done.after == len(read_corpus(folder, session_of(PROTOCOL)))
    assert all_features(folder) == before
    assert minimise(folder) == (done.after, done.after, done.features)


def test_minimising_that_is_stopped_keeps_all_features(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, removed = all_features(folder), 0
    unlink = Path.unlink

    def stopping(path: Path, missing_ok: bool = False) -> None:
        nonlocal removed
        removed += 1
        if removed > 2:
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", stopping)
    with pytest.raises(KeyboardInterrupt):
        minimise(folder)
    monkeypatch.undo()
    assert all_features(folder) == before
    assert minimise(folder).features == len(before)


@given(st.lists(st.sets(st.integers(0, 12)), max_size=9), st.data())
def test_a_cover_has_all_features_and_nothing_needless(sets: list[set[int]], data: st.DataObject) -> None:
    features: list[set[Any]] = [{(str(each), "", "", "") for each in one} for one in sets]
    sizes = data.draw(st.lists(st.integers(1, 99), min_size=len(sets), max_size=len(sets)))
    kept = smallest_cover(features, sizes)
    assert set().union(*(features[at] for at in kept)) == set().union(*features)
    for index in kept:
        assert not features[index] <= set().union(*(features[at] for at in kept if at != index))


def test_merging_adds_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    half, other = tmp_path / "half", tmp_path / "other"
    shutil.copytree(folder, other)
    half.mkdir()
    paths = sorted(folder.glob("*.json"))
    for path in paths[::2]:
        shutil.copy(path, half)
    done = merge(half, [other, folder])
    assert done == (len(paths) - len(paths[::2]), 2 * len(paths) - (len(paths) - len(paths[::2])))
    assert names(half) == names(folder)
    assert read_corpus(half, session_of(PROTOCOL)) != []


def test_merging_a_damaged_folder_adds_nothing(folder: Path, tmp_path: Path) -> None:
    last = sorted(folder.glob("*.json"))[-1]
    last.write_text(last.read_text()[:-40])
    with pytest.raises(InputError):
        merge(tmp_path / "made", [folder])
    assert not (tmp_path / "made").exists()


def test_merging_two_protocols_is_refused(folder: Path, tmp_path: Path) -> None:
    session = session_of("sbp")
    save_sequence(tmp_path / "sbp", session.seeds[0], session)
    before = names(folder)
    with pytest.raises(InputError, match="a sequence of sbp; expected one of pravega-draft"):
        merge(folder, [tmp_path / "sbp"])
    assert names(folder) == before


# -- several processes -------------------------------------------------------------------------------------------------


def test_one_process_minimises_at_a_time(folder: Path) -> None:
    held = folder_locks.take(folder)
    assert held is not None
    before = names(folder)
    try:
        with pytest.raises(UsageError, match="another process minimises it; try again when it is done"):
            minimise(folder)
    finally:
        folder_locks.release(held)
    assert names(folder) == before
    assert minimise(folder).after < len(before)


def test_a_file_that_is_removed_meanwhile_is_not_missed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sorted(folder.glob("*.json"))[0]
    read_text = Path.read_text

    def removing(path: Path, *args: Any) -> str:
        first.unlink(missing_ok=True)
        return read_text(path, *args)

    monkeypatch.setattr(Path, "read_text", removing)
    entries = read_corpus(folder, session_of(PROTOCOL))
    assert len(entries) == len(list(folder.glob("*.json")))


def test_two_runs_and_minimising_at_once(tmp_path: Path) -> None:
    """All files are whole afterwards, and no part of a file is left."""
    folder = tmp_path / "shared"
    words = [sys.executable, "-m", "wiretool", "fuzz"]
    runs = [
        subprocess.Popen(
            [*words, PROTOCOL, "--runs", "700", "--seed", str(seed), "--corpus", str(folder), "-o", str(tmp_path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for seed in (1, 2)
    ]
    minimised = 0
    while any(run.poll() is None for run in runs):
        minimised += wiretool_fuzz("corpus", "minimise", folder).returncode == 0
    for run in runs:
        problems = run.communicate(timeout=60)[1]
        assert run.returncode == 0, problems
    assert minimised > 0
    assert len(read_corpus(folder, session_of(PROTOCOL))) > 50
    assert all(path.suffix == ".json" or path.name == folder_locks.HELD for path in folder.iterdir())


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_commands_report_figures(folder: Path, tmp_path: Path) -> None:
    run = wiretool_fuzz("corpus", "merge", tmp_path / "made", folder)
    assert (run.returncode, run.stderr) == (0, "")
    count = len(names(folder))
    assert run.stdout == f"{tmp_path / 'made'}: {count} sequences added, 0 were there\n"
    run = wiretool_fuzz("corpus", "minimise", tmp_path / "made")
    assert (run.returncode, run.stderr) == (0, "")
    kept = len(list((tmp_path / "made").glob("*.json")))
    assert f"{kept} of {count} sequences kept, with all " in run.stdout


def test_a_damaged_file_ends_with_3(folder: Path) -> None:
    path = sorted(folder.glob("*.json"))[0]
    path.write_text("{")
    commands: list[list[str | Path]] = [[PROTOCOL, "--runs", "5", "--corpus", folder], ["corpus", "minimise", folder]]
    for words in commands:
        run = wiretool_fuzz(*words)
        assert (run.returncode, run.stdout) == (3, "")
        (line,) = run.stderr.splitlines()
        assert line.startswith(f"wiretool: {path}: ")


def test_corpus_and_protocols_stand_in_one_place(tmp_path: Path) -> None:
    assert "minimise" in wiretool_fuzz("corpus", "--help").stdout
    assert "FOLDER" in wiretool_fuzz("corpus", "minimise", "--help").stdout
    assert wiretool_fuzz("corpus", "shrink").returncode == 2
    run = wiretool_fuzz("--runs", "3", "corpus")
    assert (run.returncode, run.stderr) == (
        2,
        "wiretool: corpus: expected right after fuzz; put options after the command\n",
    )
    file = tmp_path / "file"
    file.write_text("")
    run = wiretool_fuzz("sbp", "--corpus", file)
    assert (run.returncode, run.stderr) == (2, f"wiretool: --corpus {file}: a file; expected a folder\n")
    for words in (["--client", "--", "true"], ["--replay", tmp_path]):
        assert wiretool_fuzz("sbp", "--corpus", tmp_path, *words).returncode == 2
