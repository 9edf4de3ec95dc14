"""The files that the results of `wiretool conform` are about, for services that show results at a file."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from wiretool.commands.conform.options import ConformOptions

if TYPE_CHECKING:
    from wiretool.conformance.report.sarif import ReportFiles

STDIN = "-"


def report_files(options: ConformOptions) -> "ReportFiles":
    """Return what was judged: captures, or the program of the command; else the known failures, else the report."""
    from wiretool.conformance.report.sarif import ReportFiles

    root = Path.cwd()
    found = judged_files(options, root) or [path for path in (options.expect, options.reports.sarif) if path][:1]
    return ReportFiles([uri_of(path, root) for path in found], uri_of(options.expect, root) if options.expect else "")


def judged_files(options: ConformOptions, root: Path) -> list[Path]:
    """Return the captures, or the program below `root` that the command of a server or client names; or nothing."""
    if options.is_capture:
        return [Path(name) for name in options.arguments if name != STDIN]
    words = options.arguments if options.is_client else shlex.split(options.command or "")
    return program_of(words, root)[:1]


def program_of(words: Sequence[str], root: Path) -> list[Path]:
    """Return the words of a command that are files below `root`."""
    paths = [root / word for word in words]
    return [path for path in paths if is_below(path, root) and os.path.isfile(path)]


def is_below(path: Path, root: Path) -> bool:
    """Return whether a path is in a folder, or below it, as it is written."""
    return Path(os.path.normpath(path)).is_relative_to(root)


def uri_of(path: Path, root: Path) -> str:
    """Return the URI of a file: relative below `root`, absolute elsewhere."""
    whole = Path(os.path.normpath(root / path))
    return quote(whole.relative_to(root).as_posix()) if whole.is_relative_to(root) else whole.as_uri()
