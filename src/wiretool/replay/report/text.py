"""A report for a terminal: the numbers, then what was found, then why the rest is none."""

from collections.abc import Iterator, Sequence

from wiretool.records import Record
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import Group, Report, differing, packets_of, record_of
from wiretool.replay.report.values import beside, shortened
from wiretool.sinks.printable import printable
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.tables import Head, table_text
from wiretool.sinks.text.values import pairs_of
from wiretool.sinks.text.wrapping import wrap_line, wrap_lines
from wiretool.units import counted

#: Findings, differences of one, connections and reasons that a person is shown; JSON has all.
FINDINGS_SHOWN = 50
DIFFERENCES_SHOWN = 20
ROWS_SHOWN = 30
#: Reasons of noise beside its number.
NOISES_SHOWN = 3
_MEANING = {
    Verdict.SAME: "{recorded} and {live} alike",
    Verdict.MAPPED: "the same, except for server-generated values",
    Verdict.EXPLAINED: "the protocol allows the differences listed below",
    Verdict.UNKNOWN: "could not be judged, see below",
    Verdict.EXTRA: "{live} only",
    Verdict.MISSING: "{recorded} only",
    Verdict.DIFFERENT: "{recorded} and {live} not alike",
}
_COLOURS = {Verdict.EXPLAINED: "33", Verdict.UNKNOWN: "33"}
_RED, _GREEN = "31", "32"


def report_text(report: Report, *, colour: bool = False, width: int = 0) -> str:
    """The whole report."""
    return "\n".join(_parts(report, Colour(colour), width))


def _parts(report: Report, paint: Colour, width: int) -> Iterator[str]:
    yield _summary(report, paint, width)
    if len(report.by_dialogue) > 1 and report.findings:
        yield _connections(report, paint, width)
    found = report.findings
    for outcome in found[:FINDINGS_SHOWN]:
        yield wrap_lines(_finding(report, outcome, paint), width)
    if len(found) > FINDINGS_SHOWN:
        yield f"and {counted(len(found) - FINDINGS_SHOWN, 'finding')} more; --format ndjson has all\n"
    if report.reasons:
        yield _groups("Explained and unknown", ("verdict", "why"), report.reasons, paint, width)
    if report.left_out:
        yield _groups("Skipped", ("part", "reason"), report.left_out, paint, width)


def _summary(report: Report, paint: Colour, width: int) -> str:
    lines = wrap_line(f"{report.headline}: {paint.paint(_GREEN if report.is_success else _RED, report.result)}", width)
    numbers = {verdict: f"{count:,}" for verdict, count in sorted(report.counts.items())}
    widest = max(map(len, numbers.values()), default=0)
    longest = max((len(verdict.name) for verdict in numbers), default=0)
    for verdict, number in numbers.items():
        meaning = _meaning(report, verdict)
        name = _painted(verdict, f"{verdict.name.lower():<{longest}}", paint)
        line = f"  {name}  {number:>{widest}}  {paint.dim(meaning)}"
        lines += wrap_line(line, width, indent=2 + longest + 2 + widest + 2)
    return "".join(f"{line}\n" for line in lines) + wrap_lines(map(printable, report.remarks), width)


def _meaning(report: Report, verdict: Verdict) -> str:
    """Return what a verdict means; noise is what its differences are: declared, seen or chosen to vary."""
    if verdict is not Verdict.NOISE:
        return _MEANING[verdict].format(recorded=report.wording.recorded, live=report.wording.live)
    noisy = [outcome for outcome in report.outcomes if outcome.verdict is Verdict.NOISE]
    whys = dict.fromkeys(each.why for outcome in noisy for each in outcome.accounted if each.verdict is Verdict.NOISE)
    whys |= dict.fromkeys(why for outcome in noisy if not outcome.accounted for why in outcome.reasons)
    shown = [printable(why) for why in [*whys][:NOISES_SHOWN]]
    return "; ".join(shown) + ("; ..." if len(whys) > NOISES_SHOWN else "")


def _painted(verdict: Verdict, text: str, paint: Colour) -> str:
    code = _RED if verdict.is_finding else _COLOURS.get(verdict, "")
    return paint.paint(code, text) if code else text


def _connections(report: Report, paint: Colour, width: int) -> str:
    worst = sorted(
        report.by_dialogue.items(),
        key=lambda item: -sum(count for verdict, count in item[1].items() if verdict.is_finding),
    )
    heads = [Head("", True, style="dim"), Head("client", is_key=True), Head("server", is_key=True)]
    heads.append(Head("protocol", is_spare=True, style="dim"))
    heads += [Head(verdict.name.lower(), True) for verdict in Verdict]
    rows = [
        (
            f"{dialogue.number} of {report.wording.live}" if dialogue not in report.recorded else str(dialogue.number),
            dialogue.client,
            dialogue.server,
            dialogue.protocol,
            *(f"{counts[verdict]:,}" if verdict in counts else "" for verdict in Verdict),
        )
        for dialogue, counts in worst[:ROWS_SHOWN]
    ]
    title = "Connections"
    if len(worst) > ROWS_SHOWN:
        title += f" ({ROWS_SHOWN} of {len(worst):,}, those with most findings first)"
    return table_text(title, heads, rows, colour=paint.is_on, width=width)


def _groups(title: str, names: tuple[str, str], groups: Sequence[Group], paint: Colour, width: int) -> str:
    heads = (Head("", True), Head(names[0]), Head(names[1], folds=True))
    rows = [(f"{group.many:,}", group.what, group.why) for group in groups[:ROWS_SHOWN]]
    if len(groups) > ROWS_SHOWN:
        left = groups[ROWS_SHOWN:]
        rows.append((f"{sum(group.many for group in left):,}", "", f"for {counted(len(left), 'reason')} more"))
    return table_text(title, heads, rows, colour=paint.is_on, width=width)


# -- one finding -------------------------------------------------------------------------------------------------------


def _finding(report: Report, outcome: Outcome, paint: Colour) -> Iterator[str]:
    verdict = _painted(outcome.verdict, outcome.verdict.name.lower(), paint)
    yield f"{verdict}  {place_text(report, outcome)}"
    if outcome.request is not None:
        yield f"  {said(outcome.request, paint)}"
    for difference in outcome.differences[:DIFFERENCES_SHOWN]:
        yield from _difference(report, outcome, difference, paint)
    if len(outcome.differences) > DIFFERENCES_SHOWN:
        yield f"  and {counted(len(outcome.differences) - DIFFERENCES_SHOWN, 'difference')} more"
    for why in outcome.reasons:
        yield f"  {printable(why)}"


def place_text(report: Report, outcome: Outcome) -> str:
    """Where in the recording it is, or where in the live side."""
    record = record_of(outcome)
    where = printable(outcome.dialogue.name)
    if report.is_live(outcome):
        where += f" of {report.wording.live}"
    if record is None:
        return where
    first, last = packets_of(outcome) or record.packets
    packets = f"packet {first}" if first == last else f"packets {first}-{last}"
    return f"record {record.n}, {packets}, {where}"


def said(record: Record, paint: Colour) -> str:
    """A message and its fields, on one line."""
    shown = " ".join(f"{paint.dim(f'{name}=')}{value}" for name, value in pairs_of(record.fields))
    return f"{paint.bold(printable(record.message))} {shown}".rstrip()


def _difference(report: Report, outcome: Outcome, difference: Difference, paint: Colour) -> Iterator[str]:
    if not difference.steps and difference.at < 0:
        return  # the request itself, which is told above
    if difference.steps:
        values = beside(difference.expected, difference.live)
        name = printable(shortened(differing(outcome, difference).name))
    else:
        values = _whole(outcome, difference, paint)
        name = ""
    labels = report.wording.recorded, report.wording.live
    widest = max(map(len, labels))
    pad = " " * len(name)
    for before, label, value in zip((name, pad), labels, values, strict=True):
        yield f"  {before}{'  ' * bool(name)}{paint.dim(f'{label:<{widest}}')}  {value}"


def _whole(outcome: Outcome, difference: Difference, paint: Colour) -> tuple[str, str]:
    """The replies that should be the same and are not."""
    at = difference.at
    recorded, live = outcome.recorded[at : at + 1], outcome.live[at : at + 1]
    return (
        said(recorded[0], paint) if recorded and difference.expected is not ABSENT else ABSENT,
        said(live[0], paint) if live and difference.live is not ABSENT else ABSENT,
    )
