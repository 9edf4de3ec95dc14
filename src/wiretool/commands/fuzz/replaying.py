"""The implementation of `wiretool fuzz --replay`."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import typer

from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.setup import add_seed_files, target_for
from wiretool.errors import CaptureError, PeerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wiretool.fuzz.session import FuzzSession
    from wiretool.fuzz.targets.base import Target
    from wiretool.fuzz.targets.pacing import Pacer


def replay_findings(options: FuzzOptions) -> None:
    """Run findings again and report each one. `typer.Exit` of 1 where one still fails, or fails otherwise.

    PeerError, after all of them, where the target of one could not be reached.
    """
    from wiretool.commands.conform.reports import write_text
    from wiretool.fuzz.findings.folder import finding_folders
    from wiretool.fuzz.findings.replaying import replay_finding
    from wiretool.fuzz.targets.pacing import Pacer
    from wiretool.sinks.printable import printable

    pacer = Pacer()
    is_fine, not_run = True, 0
    damages: list[CaptureError] = []
    folders = [each for folder in options.replay for each in finding_folders(folder)]
    check_protocols(folders, options.protocol)
    for folder in folders:
        try:
            replayed = replay_finding(
                folder,
                target_maker(options, pacer),
                options.arguments,
                add_seed_files=lambda session: damages.extend(add_seed_files(session, options)),
                pacer=pacer,
            )
        except PeerError as err:
            write_text(f"{folder}: not run: {printable(str(err))}\n")
            not_run += 1
            continue
        write_text(f"{folder}: {replayed.standing}: {printable(replayed.text)}\n")
        is_fine = is_fine and replayed.is_fixed
    if not_run:
        count = len(folders)
        raise PeerError(f"{not_run} of {count} finding{'' if count == 1 else 's'} not run; see above")
    if damages:
        raise typer.Exit(damages[0].exit_code)
    if not is_fine:
        raise typer.Exit(1)


def check_protocols(folders: "Sequence[Path]", protocol: str) -> None:
    """UsageError for a finding of another protocol, InputError for a folder that is not a finding."""
    from wiretool.fuzz.findings.finding import read_finding

    for folder in folders:
        other = read_finding(folder)["protocol"]
        if other != protocol:
            raise UsageError(f"--replay {folder}: a finding of {other}; expected one of {protocol}")


def target_maker(
    options: FuzzOptions, pacer: "Pacer"
) -> "Callable[[FuzzSession], AbstractContextManager[Target]] | None":
    """Return a function that opens the target of the options; None for the one that the finding names."""
    if not options.target_words:
        return None
    return lambda session: target_for(session, options, pacer)
