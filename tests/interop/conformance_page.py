"""`python -m tests.interop.conformance_page TITLE PAGE [NAME=]A.json...`: a page from reports of `wiretool conform`.

The page of the real Pravega server 0.13.0 in several setups; its known failures and their reasons are in
real_pravega/expected.toml:

    python -m tests.interop.real_pravega.conformance docs/conformance-pravega.md

The page of the two clients of Pravega, each with a program that writes and reads 20 events:

    wiretool conform pravega --timeout 40s --expect tests/interop/expected_python.toml --json python.json --client -- \\
        python -m tests.interop.pravega_python events 'tcp://{controller}' '{"scope":"demo","count":20,"keys":3}'
    wiretool conform pravega --timeout 60s --expect tests/interop/expected_java.toml --json java.json --client -- \\
        java -cp CLASSPATH wiretool.interop.Driver events 'tcp://{controller}' \\
        scope=demo count=20 keys=3 segments=1 size_bytes=20
    python -m tests.interop.conformance_page "Pravega's clients" docs/conformance-clients.md \\
        'the PyPI client 0.3.8=python.json' 'the Java client 0.13.0=java.json'
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wiretool.conformance.levels import Level
from wiretool.conformance.report.json import report_from

_VERDICTS = ("pass", "fail", "lenient", "unsupported", "not-exercised", "error")


@dataclass(frozen=True, slots=True)
class SetupReport:
    """The report of a run against a server in one setup."""

    #: As `--setup` gives it; empty for the usual one.
    setup: str
    version: str
    description: str
    report: Mapping[str, Any]

    @property
    def cases(self) -> Sequence[Mapping[str, Any]]:
        """The cases that require this setup."""
        return [case for case in self.report["cases"] if case.get("setup", "") == self.setup]


def page(title: str, reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the page: figures of each report by level, then every case that did not pass, with the reason."""
    return "\n".join(_lines(title, reports)) + "\n"


def setups_page(title: str, reports: Sequence[SetupReport], unavailable: Mapping[str, str]) -> str:
    """Return the page of a server in several setups: each case stands where its setup does.

    `unavailable` has the reason for each setup that was not run.
    """
    return "\n".join(_setup_lines(title, reports, unavailable)) + "\n"


def _lines(title: str, reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from _head(title, "tests.interop.conformance_page")
    for report in reports:
        yield from ("", f"## {report['protocol']} on {report['target']}", "")
        yield from _section(report["cases"])


def _setup_lines(title: str, reports: Sequence[SetupReport], unavailable: Mapping[str, str]) -> Iterator[str]:
    yield from _head(title, "tests.interop.real_pravega.conformance")
    yield from ("", "Cases that require another setup of the server were run against a server in that setup:", "")
    yield from _overview(reports, unavailable)
    for each in reports:
        yield from ("", f"## {_name(each.setup)}: server {each.version}", "", each.description, "")
        yield from _section(each.cases)
    for setup, reason in unavailable.items():
        yield from ("", f"## {_name(setup)}: not run", "", f"Reason: {reason}.")
        yield from ("", f"Not exercised: {_ids(_requiring(setup, reports))}.")


def _head(title: str, module: str) -> Iterator[str]:
    yield from (f"# Conformance of {title}", "", "[Contents of the documentation](../README.md#documentation)", "")
    yield f"This page is generated from reports of `wiretool conform` by `python -m {module}`."


def _overview(reports: Sequence[SetupReport], unavailable: Mapping[str, str]) -> Iterator[str]:
    yield f"| setup | server | cases | {' | '.join(_VERDICTS)} |"
    yield "|---|---|---|" + "---|" * len(_VERDICTS)
    for each in reports:
        yield f"| {each.setup or 'default'} | {each.version} | {len(each.cases)} | {_counts(each.cases)} |"
    for setup in unavailable:
        cases = _requiring(setup, reports)
        yield f"| {setup} | none | {len(cases)} | {_counts(cases)} |"


def _requiring(setup: str, reports: Sequence[SetupReport]) -> Sequence[Mapping[str, Any]]:
    return [case for case in reports[0].report["cases"] if case.get("setup", "") == setup]


def _name(setup: str) -> str:
    return f"Setup {setup}" if setup else "Default setup"


def _section(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from _figures(cases)
    others = [case for case in cases if case["verdict"] not in ("pass", "not-exercised")]
    if others:
        yield from ("", "| case | level | verdict | requirement | difference and reason |", "|---|---|---|---|---|")
        yield from map(_row, others)
    unseen = [case for case in cases if case["verdict"] == "not-exercised"]
    if unseen:
        yield from ("", f"Not exercised: {_ids(unseen)}.")


def _ids(cases: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"`{case['id']}`" for case in cases)


def _figures(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"| level | {' | '.join(_VERDICTS)} |"
    yield "|---|" + "---|" * len(_VERDICTS)
    levels = {case["level"] for case in cases}
    for level in (level.value for level in Level if level.value in levels):
        yield f"| {level} | {_counts([case for case in cases if case['level'] == level])} |"


def _counts(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return the cells with the number of cases by verdict."""
    counts = Counter(case["verdict"] for case in cases)
    return " | ".join(str(counts[verdict]) for verdict in _VERDICTS)


def _row(case: Mapping[str, Any]) -> str:
    why = f"{case['expected']}. {case['why']}" if case.get("expected") else str(case["why"])
    cells = (f"`{case['id']}`", case["level"], case["verdict"], case["requirement"], why)
    return f"| {' | '.join(str(cell).replace('|', '/').replace(chr(10), ' ') for cell in cells)} |"


def main() -> None:
    """Write the page."""
    title, path, *reports = sys.argv[1:]
    Path(path).write_text(page(title, [_read(each) for each in reports]))


def _read(text: str) -> Mapping[str, Any]:
    """Return a report; a name before it stands for the command or the address that was judged."""
    name, _, path = text.rpartition("=")
    report = report_from(Path(path).read_bytes(), name=path)
    return {**report, "target": name or report["target"]}


if __name__ == "__main__":
    main()
