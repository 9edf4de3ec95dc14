"""Makes the picture in the README: `python -m tests.helpers.picture docs/decode.svg`.

It is the real output of the command in its title, in colour, as a terminal of WIDTH columns shows it.
"""

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent.parent
COMMAND = ("wiretool", "decode", "captures/offramp/plain.pcap")
WIDTH = 150
#: How a terminal of that width is given to a program whose output goes to a file.
SCRIPT = (
    "import os, shutil, sys; from wiretool.sinks import choose; from wiretool import cli\n"
    f"choose.width_of = lambda output: {WIDTH}\n"
    "cli.main()"
)
#: Fonts from somewhere else; the picture names its own.
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def output_of(command: tuple[str, ...]) -> str:
    """What the command prints on a terminal with colours."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command[1:]],
        cwd=ROOT,
        env={"FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    return ended.stdout.decode()


def svg_of(text: str, title: str) -> str:
    """The text as a picture that needs nothing from elsewhere."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text), soft_wrap=True)
    picture = FONT_FACE.sub("", console.export_svg(title=title, unique_id="decode"))
    return picture.replace("font-family: Fira Code, monospace", "font-family: monospace").replace(
        "Fira Code", "ui-monospace, Menlo, Consolas, monospace"
    )


def main(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(output_of(COMMAND), " ".join(COMMAND)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
