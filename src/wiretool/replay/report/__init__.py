"""Reports on a replay or a comparison, for people and for programs."""

from collections.abc import Callable, Mapping, Sequence

from wiretool.analysis.dialogues import Recording
from wiretool.replay.judging.coverage import MIN_JUDGED
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import REPLAY, Report, Wording, report_of
from wiretool.replay.report.html import html_text
from wiretool.replay.report.json import json_report, ndjson_text
from wiretool.replay.report.junit import junit_text
from wiretool.replay.report.text import report_text
from wiretool.replay.script import Script
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output

#: What needs no terminal, by the name of the form.
_WRITERS: Mapping[str, Callable[[Report], str]] = {
    "ndjson": ndjson_text,
    "json": json_report,
    "junit": junit_text,
    "html": html_text,
}


def write_report(
    recording: Recording,
    script: Script,
    outcomes: Sequence[Outcome],
    output: Output,
    form: str = "text",
    *,
    wording: Wording = REPLAY,
    remarks: Sequence[str] = (),
    min_judged: float = MIN_JUDGED,
    is_prepared: bool = True,
) -> Report:
    """Write what came of a replay as `text`, `ndjson`, `json`, `junit` or `html`; `remarks` stand below the summary."""
    report = report_of(
        recording, script, outcomes, wording=wording, remarks=remarks, min_judged=min_judged, is_prepared=is_prepared
    )
    if form == "text":
        output.write(report_text(report, colour=is_coloured(output), width=width_of(output)))
    else:
        output.write(_WRITERS[form](report))
    return report
