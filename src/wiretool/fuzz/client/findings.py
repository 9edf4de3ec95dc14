"""A finding about a client as a folder: the traffic that shows it, a pytest file, its JSON form, and a page."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wiretool.conformance.registry import conformance_of
from wiretool.fuzz.client.client_run import ClientSetup, run_plan
from wiretool.fuzz.client.investigation import ConfirmedFault
from wiretool.fuzz.client.reply_fault import FaultKind, ReplyFault, fault_form
from wiretool.fuzz.findings.finding import (
    CAPTURE_FILE,
    TEST_FILE,
    VERSION,
    described_edit,
    one_line,
    whole_folder,
    write_texts,
)
from wiretool.fuzz.findings.folder import expected_line
from wiretool.fuzz.findings.reported_finding import ReportedFinding
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import Recording

#: Lines of the client's output that a page shows.
OUTPUT_LINES = 40
#: The environment variable that names another command for the replay of a finding.
CLIENT_VARIABLE = "WIRETOOL_CLIENT"
_NOTE = f"{CLIENT_VARIABLE}='COMMAND ARGS...' tests another client than that of the finding."


@dataclass(frozen=True, slots=True)
class ClientFinding(ReportedFinding[ConfirmedFault]):
    """A confirmed finding about a client."""

    number: int
    setup: ClientSetup
    confirmed: ConfirmedFault

    @property
    def messages(self) -> int:
        """The number of messages with a fault."""
        return len(self.confirmed.plan)


def client_finding_form(finding: ClientFinding) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "version": VERSION,
        "id": finding.id,
        "protocol": finding.setup.protocol,
        "target": shlex.join(finding.setup.command),
        "client": list(finding.setup.command),
        "timeout": finding.setup.timeout_s,
        "seed": finding.setup.seed,
        "oracle": finding.bucket.oracle,
        "bucket": list(finding.bucket),
        "why": finding.why,
        "exit_code": finding.confirmed.outcome.exit_code,
        "messages": finding.messages,
        "flaky": finding.is_flaky,
        "shown": finding.confirmed.shown,
        "faults": [fault_form(fault) for fault in finding.confirmed.plan],
    }


def write_client_finding(finding: ClientFinding, folder: Path) -> Path:
    """Write the folder of a finding into `folder` and return it; the client runs once more for the recording.

    OSError where a file cannot be written.
    """
    place = folder / finding.id
    with whole_folder(place) as part:
        write_texts(finding, part, client_finding_form(finding), client_page(finding, place), _NOTE)
        with open_output(part / CAPTURE_FILE) as output:
            run_plan(finding.setup, finding.confirmed.plan, recording=Recording(output))
    return place


def client_page(finding: ClientFinding, place: Path) -> str:
    """Return the page of a finding: the faults, and the end of the client."""
    outcome = finding.confirmed.outcome
    how = "stopped by wiretool" if outcome.exit_code is None else f"exit code {outcome.exit_code}"
    lines = [
        f"# {finding.id}",
        "",
        one_line(finding.title),
        "",
        f"- protocol: {finding.setup.protocol}",
        f"- client: `{shlex.join(finding.setup.command)}`",
        f"- bucket: {one_line(str(finding.bucket))}",
        f"- confirmed: {finding.confirmed.shown} of 3 runs"
        + ("; flaky: its timing matters" if finding.is_flaky else ""),
        expected_line(finding.bucket, conformance_of(finding.setup.protocol).protocol_in(""), "client"),
        f"- its end: {how} after {outcome.seconds:.1f} s, {outcome.peak_bytes / 1e6:,.0f} MB",
        "",
        "## Messages of the server with a fault",
        "",
        *(f"{number}. {_described(fault)}" for number, fault in enumerate(finding.confirmed.plan, 1)),
        "",
        f"`{CAPTURE_FILE}` has the bytes of both sides as the client saw them; `wiretool decode {CAPTURE_FILE} -v`"
        " explains them.",
        "",
        "## The end of the client's output",
        "",
        *(f"    {one_line(line)}" for line in outcome.output.splitlines()[-OUTPUT_LINES:]),
        "",
        "## Run it again",
        "",
        "```sh",
        shlex.join(["wiretool", "fuzz", finding.setup.protocol, "--replay", str(place)]),
        f"pytest {shlex.quote(str(place / TEST_FILE))}",
        "```",
        "",
    ]
    return "\n".join(lines)


def _described(fault: ReplyFault) -> str:
    """Return the fault of a message in words."""
    text = f"{fault.message} {fault.nth} "
    if fault.kind is FaultKind.EDIT:
        text += "arrives " + "; ".join(described_edit(edit) for edit in fault.edits)
    elif fault.kind in (FaultKind.CLOSE, FaultKind.RESET):
        verb = "closes" if fault.kind is FaultKind.CLOSE else "resets"
        text += f"is the last one: the server {verb} the connection after {fault.cut} bytes of it"
    else:
        text += {
            FaultKind.DROP: "does not arrive",
            FaultKind.DOUBLE: f"arrives {1 + fault.times} times",
            FaultKind.SWAP: "arrives after the next message",
            FaultKind.DELAY: f"arrives {fault.seconds:g} s late, and all after it",
            FaultKind.BYTEWISE: "arrives one byte at a time",
        }[fault.kind]
    return f"{text} ({fault.change.mutation} of {one_line(fault.change.region)})"
