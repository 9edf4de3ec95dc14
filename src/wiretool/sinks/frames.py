"""Frames as hex, as they are, or as a capture."""

from collections.abc import Iterable

from wiretool.analysis.script import Sent
from wiretool.errors import UsageError
from wiretool.sinks.output import Output
from wiretool.sinks.pcap import FILE_HEADER, Conversations


def write_frames(frames: Iterable[Sent], output: Output, form: str = "") -> int:
    """Write frames as `hex` (one a line), `raw` or `pcap` and return how many; unless said hex on a terminal, else raw.

    UsageError where bytes would go to a terminal.
    """
    form = form or ("hex" if output.is_terminal else "raw")
    if form != "hex" and output.is_terminal:
        raise UsageError(f"{form} refusing to write binary data to a terminal; use -o FILE or --format hex")
    if form == "pcap":
        return _write_pcap(frames, output)
    count = 0
    for count, frame in enumerate(frames, 1):  # noqa: B007  (how many there were)
        if form == "hex":
            output.write(frame.data.hex() + "\n" if frame.data else "")
        else:
            output.write_bytes(frame.data)
    return count


def _write_pcap(frames: Iterable[Sent], output: Output) -> int:
    conversations, count = Conversations(), 0
    for count, frame in enumerate(frames, 1):
        if count == 1:
            output.write_bytes(FILE_HEADER)
        output.write_bytes(b"".join(conversations.write(frame)))
    output.write_bytes(b"".join(conversations.end()))
    return count
