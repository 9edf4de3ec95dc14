"""The implementation of `wiretool export`."""

import os
import sys
from pathlib import Path

from wiretool import __version__
from wiretool.commands.export.extcap_launcher import (
    LAUNCHER,
    MARK,
    check_own,
    extcap_folders,
    install_launcher,
    make_folder,
)
from wiretool.commands.options import tell
from wiretool.errors import UsageError
from wiretool.export.wireshark import is_exportable, is_read_by_wireshark, make_dissector
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.output import open_whole_output

#: The name of the dissector among the plugins of Wireshark.
PLUGIN = "wiretool.lua"
#: The text near its beginning.
PLUGIN_MARK = "by `wiretool export wireshark`"


def export_wireshark(output: Path | None, *, is_installed: bool) -> None:
    """Write the dissector to a file, or to the plugins of Wireshark, and then install the capture interface, too."""
    if is_installed and output is not None:
        raise UsageError("-o and --install: expected one of them")
    if is_installed:
        output = plugin_folder() / PLUGIN
        check_own(output, PLUGIN_MARK)  # all before anything is written
        for folder in interface_folders():
            check_own(folder / LAUNCHER, MARK)
        for folder in (output.parent, *interface_folders()):
            make_folder(folder)
    exported = [each for each in PROTOCOLS.values() if is_exportable(each)]
    with open_whole_output(output) as out:
        out.write(make_dissector(exported, __version__))
    skipped = [name for name, each in PROTOCOLS.items() if each not in exported]
    by_itself = [name for name in skipped if is_read_by_wireshark(PROTOCOLS[name])]
    skipped = [name for name in skipped if name not in by_itself]
    if by_itself:
        tell(f"skipped {', '.join(by_itself)}: Wireshark reads gRPC, with the file of `wiretool export protobuf`")
    if skipped:
        tell(f"skipped {', '.join(skipped)}: declarations alone do not describe their messages")
    if is_installed:
        install_interface()
        tell(f"installed {output}; Wireshark loads it at the next start")


def interface_folders() -> list[Path]:
    """Return the folders of capture programs; none on Windows, which has no shell to start one."""
    return [] if sys.platform == "win32" else extcap_folders(Path.home())


def install_interface() -> None:
    """Install the capture interface of Wireshark, where a shell can start it."""
    paths = install_launcher(interface_folders())
    if not paths:
        tell("skipped the interface 'wiretool tap': Wireshark on Windows requires another program to start it")
        return
    tell(f"installed {' and '.join(map(str, paths))}; Wireshark then has the interface 'wiretool tap'")


def plugin_folder() -> Path:
    """Return the folder where Wireshark looks for the plugins of a user."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "Wireshark" / "plugins"
    if not os.environ.get("HOME", "unset"):
        raise UsageError("--install: HOME is empty; expected the folder of a user")
    return Path.home() / ".local" / "lib" / "wireshark" / "plugins"
