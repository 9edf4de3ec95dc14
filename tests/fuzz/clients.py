"""Small clients of Pravega's wire protocol with planted bugs: each sends Hello and reads the server's Hello."""

import sys

_BEGIN = """
import os, socket, sys, time
host, _, port = os.environ["WIRETOOL_ADDRESS"].rpartition(":")
end = socket.create_connection((host, int(port)), timeout=5)
end.sendall(bytes.fromhex("ffffff81 00000008 00000011 00000005"))
"""
#: Takes the version from a reply of any length: IndexError for a short one.
FRAGILE = (
    _BEGIN
    + """
data = end.recv(100)
print("version", data[11], data[15], flush=True)
"""
)
#: Reads until the reply is whole: at the end of the connection it reads for ever.
HANGING = (
    _BEGIN
    + """
data = b""
while len(data) < 16:
    data += end.recv(100)
    time.sleep(0.005)
"""
)
#: Reports whatever is wrong with a reply, and ends.
ROBUST = (
    _BEGIN
    + """
data = b""
try:
    while len(data) < 16:
        part = end.recv(100)
        if not part:
            sys.exit("the connection ended")
        data += part
except OSError as err:
    sys.exit(f"no reply: {err}")
if data != bytes.fromhex("ffffff81 00000008 00000010 00000005"):
    sys.exit("not the reply that was expected")
"""
)
#: After a wrong reply it connects again and again, each time for a moment.
RETRYING = (
    _BEGIN
    + """
if end.recv(100)[:1] != bytes([255]):
    end.close()
    while True:
        time.sleep(0.3)
        socket.create_connection((host, int(port)), timeout=5).close()
"""
)
#: Leaves the exception of a lost connection uncaught, as many scripts do.
UNCAUGHT = (
    _BEGIN
    + """
data = end.recv(100)
if len(data) < 16:
    raise ConnectionResetError("no whole reply")
"""
)
#: Ends itself by SIGSEGV where the reply is short.
SEGFAULT = (
    _BEGIN
    + """
import signal
data = end.recv(100)
if len(data) < 16:
    os.kill(os.getpid(), signal.SIGSEGV)
"""
)
#: Ends as a Java program whose stack overflows: 1,024 frames come after the name of the error.
OVERFLOWING = (
    _BEGIN
    + """
if len(end.recv(100)) < 16:
    frame = "\\tat io.wire.events.segments.SegmentReader.lambda$readNextSegment$7(SegmentReader.java:40)\\n"
    sys.exit('Exception in thread "main" java.lang.StackOverflowError\\n' + 1024 * frame)
"""
)
#: Sends bytes that are no frame where the reply comes late.
GARBAGE = (
    _BEGIN
    + """
started = time.monotonic()
end.recv(100)
if time.monotonic() - started > 0.3:
    end.sendall(bytes.fromhex("7fffffff ffffffff 00000000"))
    time.sleep(0.1)
"""
)
#: Reserves the memory that the length of a reply asks for, 400 MB at most.
GREEDY = (
    _BEGIN
    + """
data = end.recv(100)
room = bytes([1]) * min(int.from_bytes(data[4:8], "big"), 400_000_000)
time.sleep(0.3)
"""
)


def command(program: str) -> list[str]:
    """Return the command that runs a program."""
    return [sys.executable, "-c", program]
