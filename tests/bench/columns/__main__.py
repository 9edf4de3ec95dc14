"""Measure how fast captures become numbers and tables, by number of connections, against dpkt, tshark and rows.

    python -m tests.bench.columns [--quick] [--only PARTS] [--connections 64,1000] [--captures FOLDER]

Every tool reads the same capture as a whole process, start-up included, by turns. The median of three runs counts, of
a slow tool one run. Seconds are those of the processor, which depend little on the load of the machine; `--clock wall`
is for an idle one. `--quick` takes smaller captures, subtracts the start-up of each tool, and lowers the marks to 60 %.
Tools that count frames must find those that were written. The exit code is 1 if a mark is missed, 2 if a tool is
missing or fails.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.bench.columns.bounds import BOUNDS
from tests.bench.columns.captures import Captures
from tests.bench.columns.marks import Report
from tests.bench.columns.parts import DPKT, LUA_FIELDS, PARTS, ROWS, TSHARK, TSHARK_JSON
from tests.bench.columns.timing import ROUNDS, Bench
from tests.bench.decode import ToolFailed

ALL = {**PARTS, **BOUNDS}
PEERS = (DPKT, LUA_FIELDS, TSHARK, TSHARK_JSON, ROWS)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-columns-")))
        bench = Bench(
            captures=Captures(options.captures or folder / "captures"),
            folder=folder,
            is_quick=options.quick,
            is_net=options.quick or options.net,
            packets=options.packets,
            clock=options.clock,
            engine=options.engine,
            rounds=options.rounds,
            connections=options.connections,
            without=frozenset(options.without),
            report=Report(options.quick),
        )
        try:
            for name in options.only:
                print(f"== {name}", flush=True)
                ALL[name](bench)
        except ToolFailed as failure:
            print(f"\n{failure}", file=sys.stderr)
            return 2
    print(f"\n{bench.report.summary()}")
    return 0 if bench.report.is_good else 1


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller captures, lower marks")
    parser.add_argument("--only", type=_words, default=[*ALL], metavar="PARTS", help=f"of {','.join(ALL)}")
    parser.add_argument("--connections", type=_numbers, default=(), metavar="N,N", help="only these numbers of them")
    parser.add_argument("--captures", type=Path, metavar="FOLDER", help="keep the captures there for the next run")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu", help="seconds that count")
    parser.add_argument("--engine", choices=("auto", "columns"), default="columns", help="engine that is measured")
    parser.add_argument("--net", action="store_true", help="subtract the start-up of each tool, as --quick does")
    parser.add_argument("--packets", type=int, default=0, metavar="N", help="size of the captures of appends")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="runs of each tool")
    parser.add_argument("--without", type=_words, default=[], metavar="PEERS", help=f"leave out, of {','.join(PEERS)}")
    options = parser.parse_args(arguments)
    for given, known in ((options.only, ALL), (options.without, PEERS)):
        unknown = [word for word in given if word not in known]
        if unknown:
            parser.error(f"{unknown[0]}: no such part or peer; expected of {', '.join(known)}")
    return options


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word.replace("_", "")) for word in text.split(","))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
