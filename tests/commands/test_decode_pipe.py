"""A pipe that another program keeps open: each message is shown as its packet comes."""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from tests.helpers.captures import pcap_bytes, pcapng_bytes, tcp_packets

HELLO = bytes.fromhex("ffffff81000000080000001100000005")
KEEP_ALIVE = bytes.fromhex("0000006400000000")
#: That a machine with other work may take; the promise is 0.5 s.
PATIENCE_S = 20.0
PACKETS = tcp_packets(
    [("client", HELLO), ("server", HELLO), ("client", KEEP_ALIVE)], server=("10.0.0.2", 12345), acks=False, end=""
)


def lines_from(stream: IO[bytes]) -> "queue.Queue[bytes]":
    """The lines of a stream, as they come."""
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        with stream:
            for line in stream:
                lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    return lines


def await_line(lines: "queue.Queue[bytes]", said: bytes) -> None:
    """Take lines up to the next that has this in it; text introduces a connection with a line of its own."""
    while said not in lines.get(timeout=PATIENCE_S):
        continue


@pytest.mark.parametrize("form", ["text", "ndjson", "csv"])
@pytest.mark.parametrize("made", [pcap_bytes, pcapng_bytes], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("is_named", [False, True], ids=["stdin", "fifo"])
def test_messages_are_shown_while_the_pipe_is_open(
    form: str, made: Callable[..., bytes], is_named: bool, tmp_path: Path
) -> None:
    name = "-"
    if is_named:
        name = str(tmp_path / "pipe")
        os.mkfifo(name)
    command = [sys.executable, "-m", "wiretool", "decode", name, "--format", form]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines = lines_from(process.stdout)
        with open(name, "wb", buffering=0) if is_named else process.stdin as writer:
            show_each(lines, writer, made)
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def show_each(lines: "queue.Queue[bytes]", writer: IO[bytes], made: Callable[..., bytes]) -> None:
    """Write one packet after another, and see the message of each before the next one is written."""
    written = 0
    for count, said in ((4, b"Hello"), (5, b"Hello"), (6, b"KeepAlive")):
        raw = made(PACKETS[:count])
        writer.write(raw[written:])
        writer.flush()
        since, written = time.monotonic(), len(raw)
        await_line(lines, said)
        if count > 4:  # the program has started
            assert time.monotonic() - since < PATIENCE_S / 4
