"""A finding as a folder: the traffic that shows it, a pytest file, its JSON form, and a page that explains it."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wiretool.errors import InputError, PeerError, why_unreadable
from wiretool.expectations import json_problem
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.findings.bounded_form import bounded_sequence
from wiretool.fuzz.findings.folder import JSON_FILE, expected_line
from wiretool.fuzz.findings.investigation import Confirmed
from wiretool.fuzz.findings.reported_finding import ReportedFinding
from wiretool.fuzz.oracles import WRONG_ANSWER, Bucket
from wiretool.fuzz.sequences.json import sequence_form
from wiretool.fuzz.sequences.rewriting import form_of
from wiretool.fuzz.sequences.sequence import (
    CAPTURE_SETUP,
    Change,
    Connect,
    Edit,
    Finish,
    FuzzSequence,
    Pause,
    Sending,
    SetField,
    Step,
)
from wiretool.fuzz.targets.base import Target
from wiretool.protocols.base.protocol import Protocol
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import Recording

VERSION = 1
PAGE_FILE, TEST_FILE, CAPTURE_FILE = "README.md", "test_repro.py", "repro.pcapng"
#: Characters of a value, and bytes of a message, that a page shows.
_SHOWN_TEXT, _SHOWN_BYTES = 120, 64
#: Keys of the JSON form of a finding about a server, about a client, and about wiretool's own decoder.
_KEYS = ("version", "protocol", "bucket", "sequence", "options", "why", "case")
_CLIENT_KEYS = ("version", "protocol", "bucket", "client", "faults", "timeout", "seed", "why")
_DECODER_KEYS = ("version", "protocol", "bucket", "capture", "why")
#: Characters that would end a string of the test.
_NOT_IN_PYTHON = str.maketrans('"\\', "'/")
_NOTE = "WIRETOOL_TARGET=HOST:PORT sends the sequence to another server."
#: The variable that names the capture from which a sequence comes.
SEEDS_VARIABLE = "WIRETOOL_SEEDS"
#: That with the TLS secrets of the capture.
KEYLOG_VARIABLE = "WIRETOOL_KEYLOG"
_TEST = '''"""{title}

Runs with pytest wherever wiretool is installed. {note}
"""

import sys
from pathlib import Path
from typing import Any

from wiretool.fuzz.findings.replaying import replay_finding


def pytest_generate_tests(metafunc: Any) -> None:
    sys.modules.pop(__name__, None)  # other findings have a test_repro.py, too: pytest imports it by its name alone


def test_the_finding_is_fixed() -> None:
    result = replay_finding(Path(__file__).parent)
    assert result.is_fixed, result.text
'''


@dataclass(frozen=True, slots=True)
class Finding(ReportedFinding[Confirmed]):
    """A confirmed finding of a run."""

    number: int
    protocol: str
    target: str
    seed: int
    confirmed: Confirmed
    #: Ids of all conformance cases that failed in the same way, the one of `confirmed` first.
    failed_cases: Sequence[str] = ()
    #: The file of TLS secrets with which captures were read; empty if there is none.
    keylog: str = ""

    @property
    def messages(self) -> int:
        """The number of messages that the sequence sends."""
        return len(self.confirmed.sequence.sendings)

    @property
    def name(self) -> str:
        """The conformance case, if one fails: its bucket has only the kind of failure."""
        case = self.confirmed.case
        return super(Finding, self).name if case is None else case.id

    @property
    def cases(self) -> Sequence[str]:
        """Ids of the conformance cases that fail; none for a finding without one."""
        case = self.confirmed.case
        return () if case is None else tuple(dict.fromkeys((case.id, *self.failed_cases)))

    @property
    def is_replayed_by_case(self) -> bool:
        """True where a replay runs the conformance case itself, so that the sequence is only to be read."""
        return self.confirmed.case is not None and self.bucket.oracle == WRONG_ANSWER

    @property
    def is_case_alone(self) -> bool:
        """True for a conformance case whose session was not kept."""
        return self.confirmed.case is not None and not self.confirmed.sequence.steps


def finding_form(finding: Finding, protocol: Protocol, command: Sequence[str]) -> dict[str, Any]:
    """Return the JSON form; `command` are the options that name the target."""
    confirmed = finding.confirmed
    sequence = sequence_form(confirmed.sequence, fault_adapter_of(protocol))
    why_cut = ""
    if finding.is_replayed_by_case:
        sequence, why_cut = bounded_sequence(sequence)
    return {
        "version": VERSION,
        "id": finding.id,
        "protocol": finding.protocol,
        "target": finding.target,
        "seed": finding.seed,
        "oracle": finding.bucket.oracle,
        "bucket": list(finding.bucket),
        "why": confirmed.suspicion.why,
        "case": confirmed.case.id if confirmed.case is not None else "",
        "cases": list(finding.cases),
        "messages": finding.messages,
        "flaky": confirmed.is_flaky,
        "shown": confirmed.shown,
        "options": list(command),
        **({"cut": why_cut} if why_cut else {}),
        **({"keylog": finding.keylog} if finding.keylog else {}),
        "sequence": sequence,
    }


def write_finding(finding: Finding, folder: Path, protocol: Protocol, command: Sequence[str], target: Target) -> Path:
    """Write the folder of a finding into `folder` and return it; `target` runs it once more for the recording.

    The recording is empty where the server is gone; a case whose session was not kept has none. OSError
    where a file cannot be written.
    """
    place = folder / finding.id
    with whole_folder(place) as part:
        _write_texts(finding, part, place, protocol, command)
        if not finding.is_case_alone:
            _write_recording(part / CAPTURE_FILE, finding.confirmed.sequence, target)
    return place


def add_cases(finding: Finding, place: Path, protocol: Protocol, command: Sequence[str]) -> None:
    """Write the texts of a finding again, once the names of all its cases are known. OSError where that fails."""
    with TemporaryDirectory(prefix=".", dir=place.parent) as part:
        _write_texts(finding, Path(part), place, protocol, command)
        for path in Path(part).iterdir():
            path.replace(place / path.name)


def _write_texts(finding: Finding, folder: Path, place: Path, protocol: Protocol, command: Sequence[str]) -> None:
    """Write the files of a finding into a folder that becomes `place`, without the recording."""
    form = finding_form(finding, protocol, command)
    write_texts(finding, folder, form, page(finding, place, protocol), _note(finding))


def write_texts(
    finding: ReportedFinding[Any], folder: Path, form: Mapping[str, Any], page_text: str, note: str
) -> None:
    """Write the JSON form, the page and the pytest file of a finding; `note` is a sentence about its replay."""
    test = _TEST.format(title=one_line(finding.title).translate(_NOT_IN_PYTHON), note=note)
    (folder / JSON_FILE).write_text(json.dumps(form, indent=2) + "\n", "utf-8")
    (folder / PAGE_FILE).write_text(page_text, "utf-8")
    (folder / TEST_FILE).write_text(test, "utf-8")


def _write_recording(path: Path, sequence: FuzzSequence, target: Target) -> None:
    with open_output(path) as output:
        recording = Recording(output)
        recording.begin()
        with suppress(PeerError):  # the next sequence reports it
            target.record(sequence, recording)


@contextmanager
def whole_folder(place: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files go to `place` when the block ends without an error, else nowhere.

    OSError where that fails, or where `place` exists.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".", dir=place.parent) as part:
        yield Path(part)
        place.mkdir()
        for path in Path(part).iterdir():
            path.replace(place / path.name)


def read_finding(folder: Path) -> Mapping[str, Any]:
    """Return the JSON form of a finding. InputError for a folder that is none."""
    path = folder / JSON_FILE
    try:
        form = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as err:
        raise InputError(f"{folder}: no {JSON_FILE} in it; expected the folder of a finding") from err
    except OSError as err:
        raise InputError(f"{path}: {why_unreadable(err)}; expected the JSON file of a finding") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: {json_problem(err)}; expected the JSON file of a finding") from err
    keys = _keys_of(form) if isinstance(form, dict) else _KEYS
    if not isinstance(form, dict) or any(key not in form for key in keys):
        raise InputError(f"{path}: not a finding; expected the keys {', '.join(keys)}")
    if form["version"] != VERSION:
        raise InputError(f"{path}: version {form['version']}; expected {VERSION}; run the fuzzer again")
    if not isinstance(form["bucket"], list) or len(form["bucket"]) != len(Bucket._fields):
        raise InputError(f"{path}: bucket: expected a list of {len(Bucket._fields)} texts")
    return form


def _keys_of(form: Mapping[str, Any]) -> Sequence[str]:
    if "client" in form:
        return _CLIENT_KEYS
    return _DECODER_KEYS if "capture" in form else _KEYS


# -- the page ----------------------------------------------------------------------------------------------------------


def page(finding: Finding, place: Path, protocol: Protocol) -> str:
    """Return the page of a finding: its sequence, and the expected and the actual reply."""
    confirmed = finding.confirmed
    bucket = finding.bucket
    lines = [
        f"# {finding.id}",
        "",
        f"{one_line(finding.title)}",
        "",
        f"- protocol: {finding.protocol}",
        f"- target: {finding.target}",
        f"- bucket: {one_line(str(bucket))}",
        f"- {_confirmation(confirmed)}",
    ]
    if confirmed.case is not None:
        lines.append(f"- expected ({confirmed.case.source}): {confirmed.case.requirement}")
        if len(finding.cases) > 1:
            lines.append(f"- conformance cases that fail in this way: {len(finding.cases)}: {', '.join(finding.cases)}")
    else:
        lines.append(expected_line(bucket, protocol))
    lines += ["", "## The sequence", ""]
    lines += _sequence_lines(finding, fault_adapter_of(protocol))
    lines += [
        "",
        "## Run it again",
        "",
        "```sh",
        shlex.join(["wiretool", "fuzz", finding.protocol, "--replay", str(place), *_seeds(finding)]),
        f"pytest {shlex.quote(str(place / TEST_FILE))}",
        "```",
        "",
    ]
    return "\n".join(lines)


def _sequence_lines(finding: Finding, adapter: Any) -> list[str]:
    """Return the steps of a finding; for a conformance case whose session was not kept, the command that runs it."""
    confirmed = finding.confirmed
    sequence = confirmed.sequence
    if confirmed.case is not None and finding.is_case_alone:
        command = shlex.join(["wiretool", "conform", finding.protocol, "--case", confirmed.case.id])
        return [f"Conformance case {confirmed.case.id} has too many bytes to be kept here; `{command}` runs it."]
    lines = [f"{number}. {_described(step, adapter)}" for number, step in enumerate(sequence.steps, 1)]
    if sequence.stays_open:
        lines.append(f"{len(lines) + 1}. the connections stay open")
    decode = f"wiretool decode {CAPTURE_FILE} -v"
    return [*lines, "", f"`{CAPTURE_FILE}` has the bytes of both sides; `{decode}` explains them."]


def _note(finding: Finding) -> str:
    """Return what the environment changes in a replay; a sequence of a capture needs its data, too."""
    seeds = _seeds(finding)
    if not seeds:
        return _NOTE
    name = one_line(Path(seeds[1]).name).translate(_NOT_IN_PYTHON)
    return f"{_NOTE}\n{SEEDS_VARIABLE}=CAPTURE names the capture {name}, whose data the mock needs, in another folder."


def _seeds(finding: Finding) -> list[str]:
    """Return the options that name the capture whose data the mock needs, and its secrets; none for other sequences."""
    setup = finding.confirmed.sequence.setup
    if not setup.startswith(CAPTURE_SETUP):
        return []
    keylog = ["--keylog", finding.keylog] if finding.keylog else []
    return ["--seeds", setup.removeprefix(CAPTURE_SETUP), *keylog]


def _confirmation(confirmed: Confirmed) -> str:
    """Return how many runs showed the bug, in words."""
    if confirmed.why_unconfirmed:
        return f"not confirmed: {one_line(confirmed.why_unconfirmed)}; the sequence has all sessions of the last batch"
    flaky = "; flaky: its timing or earlier sessions matter" if confirmed.is_flaky else ""
    return f"confirmed: {confirmed.shown} of 3 runs{flaky}"


def _described(step: Step, adapter: Any) -> str:
    if isinstance(step, Connect):
        return f"connection {step.connection} is opened" + (f" to {step.endpoint}" if step.endpoint else "")
    if isinstance(step, Pause):
        return f"nothing is sent for {step.seconds:g} s"
    if not isinstance(step, Sending):
        how = "the client ends its direction" if isinstance(step, Finish) else "the client resets it"
        return f"connection {step.connection}: {how}"
    text = f"connection {step.connection}: {step.message or 'bytes'}"
    if step.record is not None:
        text += f" `{_cut(_fields(step, adapter))}`"
    if step.edits:
        text += ", " + "; ".join(described_edit(edit) for edit in step.edits)
    if step.record is None or step.edits:
        shown = step.data[:_SHOWN_BYTES].hex()
        text += f"; bytes `{shown}{'…' if len(step.data) > _SHOWN_BYTES else ''}` ({len(step.data)})"
    return text + _changes(step.changes)


def _fields(step: Sending, adapter: Any) -> str:
    assert step.record is not None
    return json.dumps(form_of(adapter, step.record), ensure_ascii=True, default=str)


def described_edit(edit: Edit) -> str:
    """Return an edit of a message in words."""
    if isinstance(edit, SetField):
        return f"with {'.'.join(map(str, edit.steps))} = `{_cut(json.dumps(edit.value))}`"
    inserted = edit.inserted[:16].hex() + ("…" if len(edit.inserted) > 16 else "")
    return f"with {edit.removed} bytes at {edit.offset} replaced by `{inserted}` ({len(edit.inserted)} bytes)"


def _changes(changes: Sequence[Change]) -> str:
    return f" ({', '.join(f'{each.mutation} of {one_line(each.region)}' for each in changes)})" if changes else ""


def _cut(text: str) -> str:
    text = one_line(text).replace("`", "'")
    return text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 1] + "…"


def one_line(text: str) -> str:
    """Return text without characters that end a line or control a terminal."""
    return "".join(char if char.isprintable() else "." for char in text)[:400]
