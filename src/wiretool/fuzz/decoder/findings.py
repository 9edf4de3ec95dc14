"""A finding about the decoder as a folder: its packets, a pytest file, its JSON form, and a page; and its replay."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from wiretool.capture.packets import Packet
from wiretool.fuzz.decoder.capture import FuzzCapture, capture_form, capture_from_form, described, rendered
from wiretool.fuzz.decoder.oracles import judge
from wiretool.fuzz.decoder.run import ConfirmedCapture
from wiretool.fuzz.findings.finding import (
    CAPTURE_FILE,
    TEST_FILE,
    VERSION,
    one_line,
    whole_folder,
    write_texts,
)
from wiretool.fuzz.findings.reported_finding import ReportedFinding
from wiretool.fuzz.findings.standing import RUNS, Replayed, Standing
from wiretool.fuzz.oracles import MEMORY, Bucket, Suspicion
from wiretool.sinks.output import open_output
from wiretool.sinks.pcapng import ETHERNET, interface, packet_block, section

#: The name of the target in reports.
DECODER = "wiretool's decoder"
#: Packets that a page lists.
SHOWN_PACKETS = 60
_NOTE = "The packets are in finding.json, and are read from memory."


@dataclass(frozen=True, slots=True)
class DecoderFinding(ReportedFinding[ConfirmedCapture]):
    """A confirmed finding about the decoder."""

    number: int
    protocol: str
    seed: int
    confirmed: ConfirmedCapture

    unit: ClassVar[str] = "packet"

    @property
    def messages(self) -> int:
        """The number of packets."""
        return len(self.confirmed.capture.packets)


def decoder_finding_form(finding: DecoderFinding) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "version": VERSION,
        "id": finding.id,
        "protocol": finding.protocol,
        "target": DECODER,
        "seed": finding.seed,
        "oracle": finding.bucket.oracle,
        "bucket": list(finding.bucket),
        "why": finding.why,
        "flaky": finding.is_flaky,
        "shown": finding.confirmed.shown,
        "capture": capture_form(finding.confirmed.capture),
    }


def write_decoder_finding(finding: DecoderFinding, folder: Path) -> Path:
    """Write the folder of a finding into `folder` and return it. OSError where a file cannot be written."""
    place = folder / finding.id
    with whole_folder(place) as part:
        write_texts(finding, part, decoder_finding_form(finding), decoder_page(finding, place), _NOTE)
        write_packets(rendered(finding.confirmed.capture), part / CAPTURE_FILE)
    return place


def write_packets(packets: Sequence[Packet], path: Path) -> None:
    """Write packets as a pcapng file."""
    with open_output(path) as output:
        output.write_bytes(section() + interface(ETHERNET))
        for packet in packets:
            output.write_bytes(packet_block(packet.data, packet.time_ns, packet.length))


def decoder_page(finding: DecoderFinding, place: Path) -> str:
    """Return the page of a finding: its packets, and how they are read."""
    capture = finding.confirmed.capture
    lines = [
        f"# {finding.id}",
        "",
        one_line(finding.title),
        "",
        f"- protocol: {finding.protocol}",
        f"- target: {DECODER}",
        f"- bucket: {one_line(str(finding.bucket))}",
        f"- confirmed: {finding.confirmed.shown} of 3 readings"
        + ("; flaky: its time or memory is near the limit" if finding.is_flaky else ""),
        "- expected (docs/fuzzing.md): both paths give the same records, in bounded time and memory",
        f"- read as: `--protocol {capture.protocol}`; tables of {capture.table_bytes:,} bytes on the column path",
        f"- session: {capture.origin or 'none'}",
    ]
    if capture.changes:
        lines.append(f"- mutations: {'; '.join(one_line(f'{name} of {region}') for name, region in capture.changes)}")
    lines += ["", "## The packets", ""]
    lines += [f"{number}. {described(each)}" for number, each in enumerate(capture.packets[:SHOWN_PACKETS], 1)]
    if len(capture.packets) > SHOWN_PACKETS:
        lines.append(f"\n… and {len(capture.packets) - SHOWN_PACKETS} more")
    lines += [
        "",
        f"`wiretool decode --protocol {capture.protocol} {CAPTURE_FILE} -v` explains their bytes.",
        "",
        "## Run it again",
        "",
        "```sh",
        shlex.join(["wiretool", "fuzz", finding.protocol, "--replay", str(place)]),
        f"pytest {shlex.quote(str(place / TEST_FILE))}",
        "```",
        "",
    ]
    return "\n".join(lines)


def replay_decoder_finding(folder: Path, form: Mapping[str, Any]) -> Replayed:
    """Read the packets of a finding again. InputError for a form without packets."""
    capture = capture_from_form(form["capture"], name=str(folder))
    bucket = Bucket.from_form(form["bucket"])
    found = [each for _ in range(RUNS) for each in _judged(capture, bucket)]
    same = next((each for each in found if each.bucket == bucket), None)
    if same is not None:
        return Replayed(folder, Standing.FAILS, f"{bucket.oracle}: {same.why}")
    if found:
        return Replayed(folder, Standing.OTHER, f"{found[0].bucket.oracle} instead of {bucket.oracle}: {found[0].why}")
    return Replayed(folder, Standing.FIXED, f"{RUNS} readings of the packets show nothing")


def _judged(capture: FuzzCapture, bucket: Bucket) -> list[Suspicion]:
    return judge(capture, measures_memory=bucket.oracle == MEMORY).suspicions
