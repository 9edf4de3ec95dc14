"""The start-up time of commands, against a Python that imports the same libraries and nothing of wiretool.

    python -m tests.bench.startup [--quick]

Each reads an empty capture as a whole process; seconds are those of the processor, the least of all rounds. The exit
code is 1 if one takes more than its mark.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.captures import pcap_bytes

TYPER = "import typer.main"
#: Words of a command, the statement of its peer, and the mark in seconds of the processor.
COMMANDS = (
    (("stats",), f"{TYPER}; import msgspec", 0.3),
    (("decode", "--format", "parquet", "-o", "tables"), f"{TYPER}; import msgspec, numpy, pyarrow.parquet", 0.5),
)
ROUNDS, ROUNDS_QUICK = 15, 5


def processor_s(words: tuple[str, ...], folder: Path, status: int) -> float:
    """Return what Python takes for that, in seconds of the processor; AssertionError for another exit code."""
    environment = os.environ.copy()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as it is used: from the second start on modules are compiled
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.returncode == status, ended.stderr.decode()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{ROUNDS_QUICK} rounds instead of {ROUNDS}")
    rounds = ROUNDS_QUICK if parser.parse_args().quick else ROUNDS
    is_good = True
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as name:
        folder = Path(name)
        (folder / "empty.pcap").write_bytes(pcap_bytes([]))
        for words, peer, mark_s in COMMANDS:
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(processor_s(("-m", "wiretool", *words, "empty.pcap"), folder, 1))
                theirs.append(processor_s(("-c", peer), folder, 0))
            took_s, peer_s = min(ours), min(theirs)
            is_good &= took_s <= mark_s
            verdict = "reached" if took_s <= mark_s else "missed"
            print(
                f"{' '.join(words)}: {took_s:.2f} s | its libraries {peer_s:.2f} s | ratio {took_s / peer_s:.2f}",
                end="",
            )
            print(f" | mark {mark_s} s {verdict}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
