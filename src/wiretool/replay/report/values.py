"""Two values beside each other, for people: long ones cut where they are alike."""

import json
from itertools import takewhile
from typing import Any

from wiretool.replay.judging.judge import ABSENT
from wiretool.sinks.printable import printable

#: Characters of a value that are shown before it is cut, and how many on each side of a cut.
SHOWN_MAX = 96
HALF = 40
EDGE = 12


def value_text(value: Any) -> str:
    """All of a value, printable."""
    if value is ABSENT:
        return str(ABSENT)
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def beside(recorded: Any, live: Any) -> tuple[str, str]:
    """Both values, cut so that the first place where they differ is seen."""
    one, other = value_text(recorded), value_text(live)
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shortened(one, at), shortened(other, at)


def shortened(text: str, at: int = 0) -> str:
    """`text`, or of a long one beginning, end, and what is around `at`, with its length."""
    if len(text) <= SHOWN_MAX:
        return text
    length = f" ({len(text):,} characters)"
    if at < HALF - EDGE or at > len(text) - HALF:
        return f"{text[:HALF]}…{text[-HALF:]}{length}"
    return f"{text[:EDGE]}…{text[at - EDGE : at + HALF]}…{text[-EDGE:]}{length}"
