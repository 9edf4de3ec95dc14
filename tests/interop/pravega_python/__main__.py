"""`python -m tests.interop.pravega_python SCENARIO CONTROLLER OPTIONS`: run one scenario, print what it has seen.

The client holds the interpreter in every call that waits, and may take its process down with it: so no test calls it in
its own. The report is one line of JSON on stdout; judging it is the test's business. OPTIONS is JSON too: the
scenario's arguments, and `auth` and `tls` for the connection.
"""

import json
import os
import sys

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.pravega_python import bytestreams, events, readers, streams, tails, transactions

SCENARIOS = {
    **bytestreams.SCENARIOS,
    **events.SCENARIOS,
    **readers.SCENARIOS,
    **streams.SCENARIOS,
    **tails.SCENARIOS,
    **transactions.SCENARIOS,
}


def main() -> None:
    """Run the scenario that the command line names."""
    name, controller, text = sys.argv[1:]
    options = json.loads(text)
    manager = pravega_client.StreamManager(controller, options.pop("auth", False), options.pop("tls", False))
    print(json.dumps(SCENARIOS[name](manager, **options)), flush=True)
    # Threads of the client outlive main, and one that takes the lock of an ending interpreter aborts the process.
    os._exit(0)


if __name__ == "__main__":
    main()
