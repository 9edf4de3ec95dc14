"""`python -m tests.interop.real_pravega [--setup NAME] [COMMAND...]`: run a real Pravega, and a command beside it."""

import argparse
import os
import signal
import subprocess
import sys

from tests.interop.real_pravega import SETUPS, missing, real_pravega


def main() -> int:
    """Run the command, or wait for Ctrl-C; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.real_pravega")
    parser.add_argument("--setup", choices=SETUPS, default="", help="setup of `wiretool conform pravega`")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="run it, with PRAVEGA_CONTROLLER set, and end")
    arguments = parser.parse_args()
    lacking = missing()
    if lacking:
        print(f"a real Pravega server cannot run here; missing: {lacking}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with real_pravega(SETUPS[arguments.setup]) as server:
        if arguments.command:
            env = {**os.environ, "PRAVEGA_CONTROLLER": server.controller}
            return subprocess.run([*server.enter, *arguments.command], env=env, check=False).returncode
        print(f"controller at {server.controller}; reach it with: {' '.join(server.enter)} COMMAND", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
