"""A plain Locust User that appends to a Pravega store: an event, its acknowledgement, an event of Locust's.

    python -m tests.bench.plain_locust HOST:PORT USERS SECONDS

The peer of tests/bench/load.py, as somebody would write it in an afternoon. It prints its appends a second as JSON.
"""

import json
import socket
import sys
from struct import pack_into
from time import perf_counter
from uuid import uuid4

import gevent
from locust import User, task
from locust.env import Environment

from wiretool.protocols.pravega.framing import encode
from wiretool.protocols.pravega.messages import AppendBlock, AppendBlockEnd, Hello, SetupAppend
from wiretool.protocols.pravega.segments import CreateSegment

SEGMENT = "plain/load/0.#epoch.0"
EVENT = b"\0\0\0\0\0\0\0\x64" + b"x" * 100
WARM_UP_S = 1.0


class Appender(User):
    """One writer, one event, one in flight."""

    abstract = False

    def on_start(self) -> None:
        host, _, port = str(self.host).rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        writer = str(uuid4())
        for message in (
            Hello(high_version=17, low_version=5),
            CreateSegment(request_id=1, segment=SEGMENT, target_rate=0, scale_type=0),
            SetupAppend(request_id=1, writer_id=writer, segment=SEGMENT),
        ):
            self.socket.sendall(encode(message, "client"))
            self.socket.recv(65_536)
        block = encode(AppendBlock(writer_id=writer, data=EVENT), "client")
        end = AppendBlockEnd(
            writer_id=writer, size_of_whole_events=len(EVENT), data=b"", num_events=1, last_event_number=0, request_id=0
        )
        self.frames = bytearray(block + encode(end, "client"))
        self.count = 0

    @task
    def append(self) -> None:
        self.count += 1
        pack_into(">qq", self.frames, len(self.frames) - 16, self.count, self.count)
        began = perf_counter()
        self.socket.sendall(self.frames)
        reply = self.socket.recv(4_096)
        self.environment.events.request.fire(
            request_type="wire",
            name="append",
            response_time=(perf_counter() - began) * 1000,
            response_length=len(reply),
            exception=None,
            context={},
        )


def main() -> None:
    """Load, and print how many appends were acknowledged in a second."""
    host, users, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    environment = Environment(user_classes=[Appender], host=host)
    runner = environment.create_local_runner()
    runner.start(users, spawn_rate=users)
    gevent.sleep(WARM_UP_S)
    before, began = environment.stats.total.num_requests, perf_counter()
    gevent.sleep(seconds)
    count, passed_s = environment.stats.total.num_requests - before, perf_counter() - began
    print(json.dumps({"per_s": count / passed_s, "failures": environment.stats.total.num_failures}))
    runner.quit()


if __name__ == "__main__":
    main()
