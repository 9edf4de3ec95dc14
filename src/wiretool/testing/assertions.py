"""Assertions on recordings: they conform to the specification, and a server replies as recorded."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from wiretool.errors import Unmet, UsageError
from wiretool.net.addresses import Address
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.testing.mock_server import MockServer
from wiretool.testing.recordings import ports_of

if TYPE_CHECKING:
    from wiretool.conformance.case import Case
    from wiretool.conformance.judged import JudgedRun
    from wiretool.conformance.recorded.rules import Rule

#: A recording: its path, or the server that makes it.
RecordingSource = str | PathLike[str] | MockServer


def assert_conforms(recording: RecordingSource, *, protocol: str = "", cases: Sequence[str] = ()) -> None:
    """Assert that both sides of recorded traffic obey the specification, as `wiretool conform --capture` judges.

    Without `protocol`, each protocol in the recording is judged. `cases` are patterns of ids, as of `conform --case`:
    `("*/client/*",)` judges the client alone. AssertionError with the report of the command for a finding, and where
    nothing could be judged. UsageError for a file that cannot be read, CaptureError for one that is not a capture.
    """
    __tracebackhide__ = True
    path = _path_of(recording)
    runs = _judge(path, protocol, cases)
    if not runs:
        raise AssertionError(f"{path}: no message of {protocol or 'a known protocol'}; expected traffic to judge")
    failed = [run for run in runs if not run.is_success]
    if failed:
        from wiretool.conformance.report.text import report_lines

        raise AssertionError("\n".join(line for run in failed for line in report_lines(run)))


def assert_replays(
    recording: RecordingSource,
    target: object,
    *,
    controller: object = "",
    speed: str = "max",
    timeout_s: float = 5.0,
    min_judged: float = 0.5,
) -> None:
    """Assert that a server replies as recorded, as `wiretool replay --target` judges.

    `target` and `controller` are addresses of loopback, `HOST:PORT`, or mock servers. AssertionError with the report of
    the command for a difference, and where less than `min_judged` of the exchanges could be judged. UsageError and
    CaptureError as of `assert_conforms`, PeerError where the server cannot be reached.
    """
    __tracebackhide__ = True
    from wiretool.commands.options import ReportFormat
    from wiretool.commands.replay.options import (
        Judging,
        Playing,
        Reading,
        controller_from,
        speed_from,
        targets_from,
    )
    from wiretool.commands.replay.run import is_replayed

    path = _path_of(recording)
    addresses = targets_from(_target_texts(target, path), ())
    addresses |= controller_from(_address_text(controller), ()) if controller else {}
    ports = [f"{port}={name}" for port, name in ports_of(path).items()]
    playing = Playing(
        targets=addresses,
        prepare=None,
        speed=speed_from(speed),
        timeout_s=timeout_s,
        record=None,
        rules=(),
        rules_file=None,
        seed=0,
    )
    with TemporaryDirectory(prefix="wiretool-") as folder, _usual_collector():
        report = Path(folder) / "report.txt"
        judging = Judging(ReportFormat.TEXT, output=report, junit=None, html=None, expect=None, min_judged=min_judged)
        try:
            is_alike = is_replayed(Reading([path], "auto", ports), playing, judging)
        except Unmet as err:  # nothing to replay, or to judge
            raise AssertionError(str(err)) from err
        if not is_alike:
            raise AssertionError(report.read_text())


def _path_of(recording: RecordingSource) -> Path:
    """Return the path of a recording. UsageError if the file does not exist."""
    path = recording.recording if isinstance(recording, MockServer) else Path(recording)
    if not path.is_file():
        raise UsageError(f"{path}: {'not a file' if path.exists() else 'no such file'}; expected a recording")
    return path


def _target_texts(target: object, recording: Path) -> list[str]:
    """Return addresses as `--target` has them: of a server those of its endpoints with recorded protocols."""
    if not isinstance(target, MockServer):
        return [_address_text(target)]
    recorded = _protocols_in(recording)
    first: dict[str, Address] = {}
    for address in target.addresses.values():
        first.setdefault(target.ports[address.port], address)
    return [f"{name}={address}" for name, address in first.items() if name in recorded] or [str(target.address)]


def _address_text(address: object) -> str:
    """Return an address as text."""
    return str(Address(*address)) if isinstance(address, tuple) and len(address) == 2 else str(address)


def _judge(path: Path, protocol: str, cases: Sequence[str]) -> "list[JudgedRun]":
    """Judge the connections of one protocol, or of each in a recording. CaptureError for a damaged recording."""
    from wiretool.capture.files.reading import read_packets
    from wiretool.conformance.judged import JudgedRun
    from wiretool.conformance.recorded.judgement import judge_recording
    from wiretool.conformance.recorded.observed import observe
    from wiretool.conformance.registry import conformance_of
    from wiretool.conformance.results import RunResult
    from wiretool.conformance.selection import select_cases
    from wiretool.replay.recording import recording_of

    recorded = recording_of(read_packets([path]), ports=ports_of(path))
    if recorded.damage is not None:
        raise recorded.damage
    observed = {name: observe(recorded, name) for name in ([protocol] if protocol else PROTOCOLS)}
    parts = {name: conformance_of(name) for name, connections in observed.items() if connections}
    every: dict[str, tuple[Case | Rule, ...]] = {name: (*part.cases, *part.rules) for name, part in parts.items()}
    chosen = {each.id for each in select_cases(list(chain.from_iterable(every.values())), cases)} if every else set()
    runs = []
    for name, part in parts.items():
        if own := [each for each in every[name] if each.id in chosen]:
            runs.append(JudgedRun(RunResult(name, str(path), judge_recording(part, observed[name], own, ""))))
    return runs


def _protocols_in(path: Path) -> set[str]:
    """Return the protocols in a recording."""
    from wiretool.dissect.dissector import read

    return {record.protocol for record in read(path, ports=ports_of(path))}


@contextmanager
def _usual_collector() -> Iterator[None]:
    """Restore the pace of the garbage collector, which replay slows down."""
    before = gc.get_threshold()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
