"""The program among Wireshark's capture interfaces that starts `wiretool extcap`."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from wiretool.errors import UsageError, system_reason, write_error
from wiretool.sinks.output import open_whole_output

#: The name of the program in each folder.
LAUNCHER = "wiretool"
#: The text near its beginning, and how far it is looked for.
MARK, FIRST_BYTES = "Written by `wiretool export wireshark --install`", 1024
#: Who may run it: its owner writes it, and others may read it.
MODE = 0o755


def check_own(path: Path, mark: str) -> None:
    """UsageError for a file that `--install` has not written: one that has no such text near its beginning."""
    try:
        with path.open("rb") as file:
            is_own = mark.encode() in file.read(FIRST_BYTES)
    except (FileNotFoundError, NotADirectoryError):  # there is nothing to lose
        return
    except OSError as err:
        raise UsageError(f"{path}: cannot be read: {system_reason(err)}") from err
    if not is_own:
        raise UsageError(f"{path}: not written by `wiretool export wireshark`; move it away, and install again")


def launcher_text(python: str) -> str:
    """Return a program for a POSIX shell; `python` is the interpreter that has wiretool."""
    return (
        "#!/bin/sh\n"
        f"# {MARK}; remove this file to uninstall it.\n"
        f'exec {shlex.quote(python)} -P -m wiretool extcap "$@"\n'
    )


def extcap_folders(home: Path) -> list[Path]:
    """Return the folders where Wireshark looks for capture programs of a user: since version 4.2, and before."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [home / ".local" / "lib" / "wireshark" / "extcap", config / "wireshark" / "extcap"]


def install_launcher(folders: Sequence[Path]) -> list[Path]:
    """Write the program into each folder, and return its paths. UsageError where one cannot be written."""
    paths = [folder / LAUNCHER for folder in folders]
    for path in paths:
        with open_whole_output(path) as out:
            out.write(launcher_text(sys.executable))
        path.chmod(MODE)
    return paths


def make_folder(folder: Path) -> None:
    """Make a folder with those that it lies in. UsageError where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise write_error(f"cannot make {folder}: {system_reason(err)}", err) from err
