"""Every capture decodes: each message is that of its truth file, and each byte is accounted for."""

from itertools import islice
from pathlib import Path

from tests.helpers.truth import check_capture
from wiretool.dissect.dissector import read
from wiretool.errors import CaptureError


def test_capture(capture: tuple[Path, Path | None]) -> None:
    check_capture(*capture)


def test_no_reply_comes_before_its_request(capture: tuple[Path, Path | None]) -> None:
    packets: dict[int, int] = {}
    try:
        for record in read(capture[0]):
            packets[record.n] = record.packets[0]
            if record.reply_to is not None:
                assert packets[record.reply_to] <= record.packets[1], record.n
    except CaptureError:
        return


def test_what_was_told_late_is_still_tied() -> None:
    """The server's answers wait while the client's first frame is looked for; they keep their requests."""
    every = read(Path(__file__).parent.parent / "captures/pravega/java_mtu1500.pcap.gz")
    records = list(islice((record for record in every if record.protocol == "pravega"), 8))
    ties = {record.message: record.reply_to for record in records if record.side == "server"}
    assert ties["DataAppended"] == next(record.n for record in records if record.message == "AppendBlockEnd")
