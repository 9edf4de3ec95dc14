"""The way of `wiretool diff`: from captures to outcomes, and to a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.options import (
    ReportFormat,
    check_any_read,
    foreign_connections,
    lines_of,
    ports_from,
    protocols_like,
    sources_from,
    tell,
)
from wiretool.commands.replay.result import check_success, damage_remarks
from wiretool.commands.step_progress import StepProgress, with_progress
from wiretool.errors import CaptureError

if TYPE_CHECKING:
    from wiretool.analysis.dialogues import Recording
    from wiretool.replay.judging.expect import Expectations
    from wiretool.replay.judging.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What is let differ, and what is made of the rest."""

    ignore: Sequence[str]
    noise: Path | None
    expect: Path | None
    protocol: str
    ports: Sequence[str] | None
    form: ReportFormat
    output: Path | None
    min_judged: float
    keys: KeyLog


def compared(one: Path, other: Path, options: DiffOptions) -> None:
    """Read, compare, report. `typer.Exit` of 1 where they differ; CaptureError where one is damaged."""
    from wiretool.replay.judging.accept import ignore
    from wiretool.replay.judging.field_selector import spot_of
    from wiretool.replay.report import write_report
    from wiretool.replay.report.data import Wording
    from wiretool.replay.script import Script
    from wiretool.sinks.output import open_output

    protocols = protocols_like(options.protocol)
    spots = [spot_of(text, protocols) for text in options.ignore]
    expected = expectations(options.expect, options)
    paths = [path for path in (one, other, options.noise) if path is not None]
    sources = sources_from(paths, tells_empty=False)
    recordings = [recorded(path, source, options) for path, source in zip(paths, sources, strict=True)]
    outcomes = outcomes_of(*recordings)
    ignore(outcomes, spots)
    remarks = [f"A is {one}, B is {other}", *damage_remarks(recordings), *expected.apply(outcomes)]
    wording = Wording("wiretool diff", "A", "B")
    with open_output(options.output, inputs=[*paths, *([options.expect] if options.expect else [])]) as out:
        report = write_report(
            recordings[0],
            Script(),
            outcomes,
            out,
            options.form.value,
            wording=wording,
            remarks=remarks,
            min_judged=options.min_judged,
        )
    check_success(recordings, is_success=report.is_success)


def outcomes_of(one: "Recording", other: "Recording", like_one: "Recording | None" = None) -> "list[Outcome]":
    """What the two have in common and what not, without what a capture like the first shows to vary."""
    from wiretool.protocols.base.registry import PROTOCOLS
    from wiretool.replay.adapter import ReplayAdapter
    from wiretool.replay.adapters import manners
    from wiretool.replay.diff.comparing import compare
    from wiretool.replay.diff.varying import without_varying

    def is_met(name: str) -> bool:
        return any(each.of(name) for each in (one, other, like_one) if each is not None)

    every = {name: ReplayAdapter(protocol) for name, protocol in PROTOCOLS.items()}
    with StepProgress("comparing", "frames") as progress:
        outcomes = compare(one, other, every | dict(manners(is_met)), report=progress.update)
        if like_one is not None:
            like = compare(one, like_one, every | dict(manners(is_met)), ("A", "C"), progress.update)
            without_varying(outcomes, like)
    return outcomes


def recorded(path: Path, source: Path | BinaryIO, options: DiffOptions) -> "Recording":
    """What a capture recorded; CaptureError where that is nothing of our protocols."""
    from wiretool.capture.files.reading import read_packets
    from wiretool.ledger import Ledger
    from wiretool.replay.recording import recording_of

    packets = with_progress(read_packets([source], options.keys), f"reading {path}", "packets")
    book, ports = Ledger(), ports_from(options.ports)
    recording = recording_of(
        packets, protocol=options.protocol, ports=ports, ledger=book, notes=tell, keys=options.keys
    )
    check_any_read(book, [path])
    if summary := book.packets.summarize():
        tell(f"{path}: {summary}")
    if not any(dialogue.protocol for dialogue in recording.dialogues):
        raise CaptureError(str(path), f"no traffic of a known protocol: {foreign_connections(book)}")
    return recording


def expectations(path: Path | None, options: DiffOptions) -> "Expectations":
    """What the file accepts; UsageError where it cannot be read or makes no sense."""
    from wiretool.replay.judging.expect import expectations_from

    if path is None:
        return expectations_from("", [])
    return expectations_from("".join(lines_of(str(path))), protocols_like(options.protocol), name=f"--expect {path}")
