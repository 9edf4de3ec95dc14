"""`python -m tests.interop.real_pravega [COMMAND...]`: run a real Pravega server, and a command beside it."""

import os
import signal
import subprocess
import sys

from tests.interop.real_pravega import missing, real_pravega


def main() -> int:
    """Run the command, or wait for Ctrl-C; return the exit code."""
    lacking = missing()
    if lacking:
        print(f"a real Pravega server cannot run here; missing: {lacking}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with real_pravega() as server:
        if sys.argv[1:]:
            env = {**os.environ, "PRAVEGA_CONTROLLER": server.controller}
            return subprocess.run([*server.enter, *sys.argv[1:]], env=env, check=False).returncode
        print(f"controller at {server.controller}; reach it with: {' '.join(server.enter)} COMMAND", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
