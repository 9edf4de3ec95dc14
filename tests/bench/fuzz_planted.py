"""Planted defects that the fuzzer finds, with the time and the messages of the shortest sequence.

    python -m tests.bench.fuzz_planted [--quick] [--protocol NAME] [--seconds 60] [--half built|held-out] [--write]
    python -m tests.bench.fuzz_planted --marks [--protocol NAME] [--write]

Each defect gets a run with default options: in memory, seed 0, until the first finding that the defect causes: it shows
in each of three runs, and the clean mock does not show it. Findings that the clean mock shows as well are false alarms;
they are printed and counted apart. Seconds are those of one core, so that other work of the machine does not matter.
Defects at even places are the half that the fuzzer is built with, those at odd places are held out. `--write` puts the
table into docs/fuzzing.md. Exit code 1 where less than 95 % is found, the median sequence has more than 5 messages, or
there are false alarms.

`--marks` keeps the rows of that table, and only checks again which defects show without any mutation: in a conformance
case, or in one of the seeds that a run begins with. Exit code 1 where the marks of the table are others.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from tests.fuzz.planted import PLANTED
from tests.fuzz.planted.defects import Defect
from wiretool.conformance.levels import Verdict
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.findings.replaying import suspicions_on
from wiretool.fuzz.oracles import SILENT, UNHEALTHY, WRONG_ANSWER, Bucket
from wiretool.fuzz.session import FuzzSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fuzzing.md"
BEGIN, END = "<!-- planted: begin -->", "<!-- planted: end -->"
WORKERS = 2
#: The issue's marks.
SHARE_MIN, MESSAGES_MAX = 0.95, 5
#: Defects of each protocol and half with `--quick`, and their time.
QUICK, QUICK_S = 1, 20.0
HALVES = ("built", "held-out")
#: Marks of defects that show without any mutation.
CASE, SEED = "case", "seed"


@dataclass(frozen=True, slots=True)
class Job:
    """A defect to look for."""

    protocol: str
    name: str
    half: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a job; `oracle` is empty for a defect that was not found."""

    job: Job
    defect: str
    is_conform: bool
    oracle: str
    seconds: float
    messages: int
    #: What shows the defect without any mutation: CASE or SEED; empty for nothing.
    unmutated: str = ""
    #: Buckets of findings that the clean mock shows as well, or that do not show in each run.
    false_alarms: tuple[str, ...] = ()


def jobs(protocols: Sequence[str], halves: Sequence[str], seconds: float, most: int | None) -> Iterator[Job]:
    """Yield the jobs; `most` of each protocol and half."""
    for protocol in protocols:
        for parity, half in enumerate(HALVES):
            if half in halves:
                chosen = PLANTED[protocol][parity::2][:most]
                yield from (Job(protocol, defect.name, half, seconds) for defect in chosen)


def run_job(job: Job) -> Row:
    """Fuzz one defect until the first finding that it causes."""
    defect = next(each for each in PLANTED[job.protocol] if each.name == job.name)
    session = FuzzSession(job.protocol)
    session.add_built_in_seeds()
    with session.noting_branches():
        began_s = time.process_time()
        return search(session, job, defect, lambda: time.process_time() - began_s)


def run_unmutated(job: Job) -> tuple[Job, str]:
    """Return what shows a defect without any mutation, as in Row."""
    defect = next(each for each in PLANTED[job.protocol] if each.name == job.name)
    session = FuzzSession(job.protocol)
    session.add_cases()
    return job, search(session, job, defect, lambda: 0.0, most=len(session.seeds)).unmutated


def search(
    session: FuzzSession, job: Job, defect: Defect, seconds: Callable[[], float], *, most: int | None = None
) -> Row:
    """Fuzz a defect, with at most so many sequences; `seconds` returns those that have passed."""
    target = session.mock_target(defect)
    proven: list[Finding] = []
    false_alarms: list[str] = []

    def note(finding: Finding) -> None:
        if is_caused_by_defect(session, finding):
            proven.append(finding)
        else:
            false_alarms.append(str(finding.bucket))

    campaign = session.campaign(
        target,
        session.investigation(target, is_reference=False),
        Limits(runs=most),
        on_finding=note,
        is_stopped=lambda: bool(proven) or seconds() >= job.seconds,
    )
    counts = campaign.run()
    unmutated = ""
    if proven and counts.runs <= len(session.seeds):  # all of those, and the cases before them, are unchanged
        is_case = proven[0].confirmed.case is not None and proven[0].bucket.oracle == WRONG_ANSWER
        unmutated = CASE if is_case else SEED
    oracle = proven[0].bucket.oracle if proven else ""
    messages = proven[0].messages if proven else 0
    return Row(job, defect.defect, defect.is_conform, oracle, seconds(), messages, unmutated, tuple(false_alarms))


def is_caused_by_defect(session: FuzzSession, finding: Finding) -> bool:
    """Return whether a finding shows in each run on the defect, and nothing of the kind on the clean mock.

    By design the clean mock leaves some requests without a reply: alone that is not a finding on it either.
    """
    confirmed, bucket, clean = finding.confirmed, finding.bucket, session.reference()
    if confirmed.is_flaky:
        return False
    if confirmed.case is not None:
        before = (confirmed.sequence,) if bucket.oracle == UNHEALTHY else ()
        return all(result.verdict is not Verdict.FAIL for result in clean.run_cases([confirmed.case], before))
    found = [each.bucket for each in suspicions_on(session, clean, confirmed.sequence, bucket)]
    return bucket not in found and all(_is_by_design(each) for each in found)


def _is_by_design(bucket: Bucket) -> bool:
    return bucket.oracle in (SILENT, WRONG_ANSWER) and bucket.reply != "stall"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table, with the summary below it."""
    lines = ["| protocol | planted bug | found by | seconds | messages |", "|---|---|---|---|---|"]
    for row in rows:
        name = label(row.job.name, is_conform=row.is_conform)
        by = f"{row.oracle} ({row.unmutated})" if row.unmutated else row.oracle
        found = (by, f"{row.seconds:.1f}", str(row.messages)) if row.oracle else ("not found", "-", "-")
        lines.append(f"| {row.job.protocol} | {name}: {row.defect} | {' | '.join(found)} |")
    return "\n".join([*lines, "", *summary(rows), ""])


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a sentence for all rows and for each half, and one for those that need no mutation."""
    for name, chosen in (("All", rows), *((half, [row for row in rows if row.job.half == half]) for half in HALVES)):
        found = [row for row in chosen if row.oracle]
        if chosen:
            middle = median(row.messages for row in found) if found else 0
            yield (
                f"- {name.capitalize()}: {len(found)} of {len(chosen)} found ({len(found) / len(chosen):.1%}), "
                f"median of {middle:g} messages."
            )
    for mark, text in ((CASE, "a conformance case"), (SEED, "an unchanged seed")):
        marked = [row for row in rows if row.unmutated == mark]
        yield f"- Shown by {text} alone: {len(marked)}, of which {sum(row.is_conform for row in marked)} (conform)."
    mutated = [row for row in rows if row.oracle and not row.unmutated]
    yield f"- Found by mutated sequences only: {len(mutated)}."


def write_table(rows: Sequence[Row]) -> None:
    """Put the table between the markers of the page, which is made where it is missing; rows of other defects stay."""
    page = PAGE.read_text("utf-8") if PAGE.exists() else f"# Fuzzing\n\n## Planted bugs\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    earlier, _, after = rest.partition(END)
    known = {(row.job.protocol, row.job.name): row for row in (*rows_in(earlier), *rows)}
    every = [known[key] for job in jobs(list(PLANTED), HALVES, 0, None) if (key := (job.protocol, job.name)) in known]
    every.sort(key=lambda row: list(PLANTED).index(row.job.protocol))
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(every)}\n{END}{after}", "utf-8")


def check_marks(wanted: Sequence[Job], *, writes: bool) -> int:
    """Check again which defects of the table show without any mutation; 1 where a row lacks its mark, or has none."""
    marks: dict[tuple[str, str], str] = {}
    with get_context("spawn").Pool(WORKERS, maxtasksperchild=1) as pool:
        for job, mark in pool.imap_unordered(run_unmutated, wanted):
            marks[job.protocol, job.name] = mark
            print(f"{job.protocol:20} {job.half:9} {job.name:28} {mark or 'mutated sequences only'}", flush=True)
    rows = [row for row in rows_in(PAGE.read_text("utf-8")) if (row.job.protocol, row.job.name) in marks]
    marked = [replace(row, unmutated=marks[row.job.protocol, row.job.name]) for row in rows]
    if writes:
        write_table(marked)
    return 0 if writes or marked == rows else 1


def rows_in(text: str) -> Iterator[Row]:
    """Yield the rows of a table that `table` made."""
    for job in jobs(list(PLANTED), HALVES, 0, None):
        defect = next(each for each in PLANTED[job.protocol] if each.name == job.name)
        begin = f"| {job.protocol} | {label(job.name, is_conform=defect.is_conform)}: {defect.defect} |"
        for line in text.splitlines():
            if line.startswith(begin):
                oracle, seconds, messages = (cell.strip() for cell in line[len(begin) :].strip("| ").split("|"))
                if oracle == "not found":
                    yield Row(job, defect.defect, defect.is_conform, "", 0.0, 0)
                else:
                    name, _, mark = oracle.rstrip(")").partition(" (")
                    yield Row(job, defect.defect, defect.is_conform, name, float(seconds), int(messages), mark)


def label(name: str, *, is_conform: bool) -> str:
    """Return the name of a defect as the table shows it."""
    return f"{name} (conform)" if is_conform else name


def main(arguments: Sequence[str]) -> int:
    """Run the bench; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--protocol", action="append", choices=list(PLANTED))
    parser.add_argument("--defect", action="append", help="only defects of this name")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--marks", action="store_true", help="only check which defects show without any mutation")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    halves = HALVES if options.half is None else (options.half,)
    seconds, most = (QUICK_S, QUICK) if options.quick else (options.seconds, None)
    every = list(jobs(options.protocol or list(PLANTED), halves, seconds, most))
    wanted = [job for job in every if not options.defect or job.name in options.defect]
    if options.marks:
        return check_marks(wanted, writes=options.write)
    rows: list[Row] = []
    with get_context("spawn").Pool(WORKERS, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(run_job, wanted):
            rows.append(row)
            how = f"{row.oracle}, {row.seconds:.1f} s, {row.messages} messages" if row.oracle else "not found"
            print(f"{row.job.protocol:20} {row.job.half:9} {row.job.name:28} {how}", flush=True)
            for bucket in row.false_alarms:
                print(f"{'':20} false alarm, the clean mock shows it as well: {bucket}", flush=True)
    rows.sort(key=lambda row: wanted.index(row.job))
    print(table(rows))
    if options.write:
        write_table(rows)
    found = [row for row in rows if row.oracle]
    false_alarms = {(row.job.protocol, bucket) for row in rows for bucket in row.false_alarms}
    print(f"- False alarms: {len(false_alarms)} in {sum(bool(row.false_alarms) for row in rows)} of {len(rows)} runs.")
    is_met = (
        not false_alarms
        and len(found) >= SHARE_MIN * len(rows)
        and median(row.messages for row in found) <= MESSAGES_MAX
    )
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
