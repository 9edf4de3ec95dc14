"""Makes the pictures of a load in the README: `python -m tests.helpers.bench_picture docs`.

A real run against a mock: its live table as a terminal shows it (bench.svg), and its report as Chromium does
(bench-report.png). On a machine that is busy the result says INVALID: then run it again.
"""

import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console, RenderableType

from tests.helpers.picture import FONT_FACE
from wiretool.load.measure.intervals import Orders
from wiretool.load.measure.sampling import Sampler
from wiretool.load.measure.thresholds import check_thresholds, threshold_from
from wiretool.load.measure.totals import Totals
from wiretool.load.planning.validate import Load, plan_from
from wiretool.load.report.html import html_text
from wiretool.load.report.live import live_table
from wiretool.load.run.children import load_process, mock_server
from wiretool.load.run.whole_run import Bench

LOAD = Load(appenders=64, fetchers=2, rate="4k", batch=5, duration="20s", warmup="2s", segments=4)
TITLE = "wiretool bench --fetchers 2 --rate 4k --batch 5 --segments 4 --duration 20"
#: The second that is shown.
SHOWN = 14
WIDTH = 100
BROWSER = ("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,1500")


def main(folder: Path) -> int:
    """Run, and write both; 1 where the run was not valid."""
    tables: dict[int, RenderableType] = {}
    with mock_server("pravega", seed=0, faults=(), run_s=60.0) as mock, load_process() as load:
        plan = plan_from(LOAD, is_verified=True, run="picture").on(*mock.address)

        def look(totals: Totals) -> None:
            last = totals.seconds[-1]
            tables[last.second] = live_table(
                last, elapsed_s=last.second + 1, duration_s=plan.duration_s, users=plan.users, errors={}
            )

        bench = Bench(plan, sampler=Sampler(mock.pid), on_second=look)
        bench.run(load, Orders(plan=plan))
        result = bench.result({"target": "a mock", "rate": LOAD.rate, "batch": plan.batch}, bench.verify())
    (folder / "bench.svg").write_text(svg_of(tables[SHOWN]), encoding="utf-8")
    with TemporaryDirectory() as scratch:
        page = Path(scratch) / "report.html"
        page.write_text(html_text(result, check_thresholds([threshold_from("append.p99 < 50ms")], result)))
        shot = f"--screenshot={(folder / 'bench-report.png').resolve()}"
        subprocess.run([*BROWSER, shot, page.as_uri()], check=True, capture_output=True, timeout=120)
    print("\n".join(result.reasons) or "valid")
    return 0 if result.valid else 1


def svg_of(table: RenderableType) -> str:
    """The table as a terminal of WIDTH columns shows it."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(table)
    picture = FONT_FACE.sub("", console.export_svg(title=TITLE, unique_id="bench"))
    return picture.replace("Fira Code", "ui-monospace, Menlo, Consolas, monospace")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
