"""Colours as ANSI sequences, or none at all."""

from dataclasses import dataclass

_RESET = "\x1b[0m"
#: Foregrounds that can be told apart on a dark and on a light background, for fields beside each other.
CYCLE = ("36", "33", "35", "32", "34", "31")


@dataclass(frozen=True, slots=True)
class Colour:
    """Paints text, if it `is_on`."""

    is_on: bool

    def paint(self, code: str, text: str) -> str:
        """`text` in the colour with this SGR code."""
        return f"\x1b[{code}m{text}{_RESET}" if self.is_on and text else text

    def dim(self, text: str) -> str:
        """What matters less."""
        return self.paint("2", text)

    def bold(self, text: str) -> str:
        """What matters more."""
        return self.paint("1", text)


def cycle(index: int) -> str:
    """The code of the `index`-th of things beside each other."""
    return CYCLE[index % len(CYCLE)]
