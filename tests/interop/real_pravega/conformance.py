"""`python -m tests.interop.real_pravega.conformance PAGE`: judge a real server in each setup, and write the page.

Each setup has a server of its own, which starts and stops with its run. All of them take about five minutes.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.interop.conformance_page import SetupReport, setups_page
from tests.interop.real_pravega import (
    ADMIN,
    NEWEST,
    PROJECT,
    SETUPS,
    STORE,
    UNAVAILABLE,
    RealPravega,
    missing,
    real_pravega,
)
from wiretool.conformance.report.json import report_from

TITLE = f"Pravega {NEWEST}"
EXPECTED = PROJECT / "expected.toml"


def main() -> int:
    """Write the page; return 1 where a run has findings that `expected.toml` does not explain."""
    lacking = missing()
    if lacking:
        print(f"a real Pravega server cannot run here; missing: {lacking}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        reports = list(_reports(Path(folder)))
    Path(sys.argv[1]).write_text(setups_page(TITLE, reports, UNAVAILABLE))
    return 0 if all(each.report["is_success"] for each in reports) else 1


def _reports(folder: Path) -> Iterator[SetupReport]:
    """Run the cases of each setup and yield their reports."""
    for name, setup in SETUPS.items():
        path = folder / f"{name or 'default'}.json"
        with real_pravega(setup) as server:
            subprocess.run([*server.enter, *_conform(name, server), "--json", str(path)], check=False)
        yield SetupReport(name, setup.version, setup.description, report_from(path.read_bytes(), name=str(path)))


def _conform(name: str, server: RealPravega) -> list[str]:
    words = [sys.executable, "-m", "wiretool", "conform", "pravega", "--target", STORE, "--expect", str(EXPECTED)]
    words += ["--target", f"controller={server.controller}", "--setup", name]
    return [*words, "--target", f"admin={ADMIN}"] if name == "admin" else words


if __name__ == "__main__":
    sys.exit(main())
