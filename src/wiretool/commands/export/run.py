"""The implementation of `wiretool export`."""

import os
import sys
from pathlib import Path

from wiretool import __version__
from wiretool.commands.options import tell
from wiretool.errors import UsageError, system_reason, write_error
from wiretool.export.wireshark import is_exportable, make_dissector
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.output import open_whole_output

#: The name of the dissector among the plugins of Wireshark.
PLUGIN = "wiretool.lua"


def export_wireshark(output: Path | None, *, is_installed: bool) -> None:
    """Write the dissector to a file, or to the plugins of Wireshark."""
    if is_installed and output is not None:
        raise UsageError("-o and --install: expected one of them")
    if is_installed:
        output = plugin_folder() / PLUGIN
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise write_error(f"cannot make {output.parent}: {system_reason(err)}", err) from err
    exported = [each for each in PROTOCOLS.values() if is_exportable(each)]
    with open_whole_output(output) as out:
        out.write(make_dissector(exported, __version__))
    skipped = [name for name, each in PROTOCOLS.items() if each not in exported]
    if skipped:
        tell(f"skipped {', '.join(skipped)}: declarations alone do not describe their messages")
    if is_installed:
        tell(f"installed {output}; Wireshark loads it at the next start")


def plugin_folder() -> Path:
    """Return the folder where Wireshark looks for the plugins of a user."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "Wireshark" / "plugins"
    if not os.environ.get("HOME", "unset"):
        raise UsageError("--install: HOME is empty; expected the folder of a user")
    return Path.home() / ".local" / "lib" / "wireshark" / "plugins"
