"""`python -m tests.interop.conformance_page TITLE PAGE [NAME=]A.json...`: a page from reports of `wiretool conform`.

The page of the real Pravega server 0.13.0; its known failures and their reasons are in real_pravega/expected.toml:

    python -m tests.interop.real_pravega wiretool conform pravega --target 127.0.0.1:12345 \\
        --expect tests/interop/real_pravega/expected.toml --json store.json
    python -m tests.interop.conformance_page 'Pravega 0.13.0' docs/conformance-pravega.md store.json

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
from pathlib import Path
from typing import Any

from wiretool.conformance.report.json import read_report

_VERDICTS = ("pass", "fail", "lenient", "unsupported", "not-exercised", "error")


def page(title: str, reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the page: figures of each report by level, then every case that did not pass, with the reason."""
    return "\n".join(_lines(title, reports)) + "\n"


def _lines(title: str, reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from (f"# Conformance of {title}", "", "[Contents of the documentation](../README.md#documentation)", "")
    yield "This page is generated from reports of `wiretool conform` by `python -m tests.interop.conformance_page`."
    for report in reports:
        yield from ("", f"## {report['protocol']} on {report['target']}", "")
        yield from _figures(report["cases"])
        others = [case for case in report["cases"] if case["verdict"] not in ("pass", "not-exercised")]
        if others:
            yield from (
                "",
                "| case | level | verdict | requirement | difference and reason |",
                "|---|---|---|---|---|",
            )
            yield from map(_row, others)
        unseen = [f"`{case['id']}`" for case in report["cases"] if case["verdict"] == "not-exercised"]
        if unseen:
            yield from ("", f"Not exercised: {', '.join(unseen)}.")


def _figures(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"| level | {' | '.join(_VERDICTS)} |"
    yield "|---|" + "---|" * len(_VERDICTS)
    for level in dict.fromkeys(case["level"] for case in cases):
        counts = Counter(case["verdict"] for case in cases if case["level"] == level)
        yield f"| {level} | {' | '.join(str(counts[verdict]) for verdict in _VERDICTS)} |"


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
    report = read_report(Path(path))
    return {**report, "target": name or report["target"]}


if __name__ == "__main__":
    main()
