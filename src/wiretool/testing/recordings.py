"""The recordings of tests: where they are, and the protocol at each of their ports."""

import re
from itertools import count
from pathlib import Path

from wiretool.errors import UsageError, system_reason, write_error

#: Characters of the name of a test in that of a file.
NAME_MAX = 100
#: The protocol at each port of the recordings that servers of this process made: content alone may not show it.
_PORTS: dict[Path, dict[int, str]] = {}


def note_ports(recording: Path, ports: dict[int, str]) -> None:
    """Remember the protocol at each port of a recording."""
    _PORTS[recording] = ports


def ports_of(recording: Path) -> dict[int, str]:
    """Return the protocol at each port of a recording, as far as it is known."""
    return _PORTS.get(recording, {})


def check_folder(folder: Path) -> None:
    """Make a folder for recordings. UsageError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise UsageError(f"--wiretool-recordings {folder}: {system_reason(err)}; expected a folder") from err


def file_words(test: str) -> str:
    """Return the id of a test without folders and `.py`."""
    file, separator, name = test.partition("::")
    return f"{Path(file).stem}{separator}{name}"


def new_recording(folder: Path, test: str, protocol: str) -> Path:
    """Make an empty file for a recording, named after the test; no file that is there already is used."""
    stem = re.sub(r"[^\w.-]+", "-", file_words(test))[-NAME_MAX:].strip("-")
    for number in count(1):
        path = folder / f"{stem}-{protocol}{f'-{number}' if number > 1 else ''}.pcapng"
        try:
            path.open("xb").close()
            return path
        except FileExistsError:
            continue
        except OSError as err:
            raise write_error(f"cannot write {path}: {system_reason(err)}", err) from err
    raise AssertionError("count() has no end")


def decode_command(recording: Path, ports: dict[int, str]) -> str:
    """Return the command that prints a recording."""
    options = "".join(f"--port {port}={protocol} " for port, protocol in ports.items())
    return f"wiretool decode {options}{recording}"
