"""The command line of the census."""

import argparse
import json
import sys
from pathlib import Path

from tests.bench.census import __doc__ as about
from tests.bench.census.captures import OWN, SIZE_MAX, SIZE_QUICK_MAX, captures_in, every_folder, halves
from tests.bench.census.lie import KINDS
from tests.bench.census.report import is_enough, lines, row_of
from tests.bench.census.run import Plan, run
from wiretool.protocols.base.registry import PROTOCOLS


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default 0)")
    parser.add_argument("--protocol", action="append", choices=sorted(PROTOCOLS), help="only this; repeatable")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this; repeatable")
    parser.add_argument("--capture", type=Path, action="append", help="only this; repeatable")
    parser.add_argument("--count", type=int, help="lies for each protocol of a capture (default 8, quick 4)")
    parser.add_argument("--quick", action="store_true", help="small captures of the project only")
    parser.add_argument("--size-max", type=int, help="bytes of the largest capture that is taken")
    parser.add_argument("--unprepared", action="store_true", help="servers are not prepared for a recording")
    parser.add_argument("--torn", action="store_true", help="a packet of a client was not captured; lie before it")
    parser.add_argument("--half", type=int, choices=(1, 2), help="one half of the captures")
    parser.add_argument("--json", type=Path, help="write every lie that was told to this file, one a line")
    options = parser.parse_args()
    size_max = options.size_max or (SIZE_QUICK_MAX if options.quick else SIZE_MAX)
    captures = options.capture or captures_in([OWN] if options.quick else every_folder(), size_max)
    if options.half:
        captures = halves(captures)[options.half - 1]
    count = options.count or (4 if options.quick else 8)
    plan = Plan(
        captures,
        options.seed,
        count,
        options.protocol or (),
        options.kind or KINDS,
        not options.unprepared,
        options.torn,
    )
    census = run(plan, tell=lambda text: print(text, file=sys.stderr, flush=True))
    print("\n".join(lines(census)))
    if options.json:
        options.json.write_text("".join(f"{json.dumps(row_of(each))}\n" for each in census.results))
    return 0 if is_enough(census) else 1


if __name__ == "__main__":
    sys.exit(main())
