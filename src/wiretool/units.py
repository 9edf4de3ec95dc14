"""Durations, sizes, rates, counts and shares as users write them: one grammar for options, fault rules and thresholds.

A quantity is a number and its unit: `200ms`, `64KiB`, `10/s`, `1.5k`, `5%`. Digits may be grouped by `_` or `,`.
Without a unit a duration is in seconds and a size in bytes, except where a unit is required.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from wiretool.errors import UsageError

_NUMBER = r"(?:\d+(?:[_,]\d+)*(?:\.\d*)?|\.\d+)"
_FORM = re.compile(rf"\s*(?P<number>{_NUMBER})\s*(?P<unit>[A-Za-zµμ%]*(?:/[a-z]+)?)\s*", re.ASCII)
#: Characters of a number: more than any quantity needs.
CHARACTERS_MAX = 40

_SECONDS: Mapping[str, float] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
}
_THOUSANDS: Mapping[str, float] = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_BYTES: Mapping[str, float] = {
    **_THOUSANDS,
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
}
#: The time that a rate is of.
_PERIODS: Mapping[str, float] = {"": 1.0, "/s": 1.0, "/m": 60.0, "/min": 60.0, "/h": 3_600.0}


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be written: its name, its units with their values, and examples for error messages."""

    noun: str
    units: Mapping[str, float]
    examples: str

    def parse(self, text: str, name: str, *, least: float = 0.0, most: float = inf, needs_unit: bool = False) -> float:
        """Return the value in seconds, bytes, or the like; UsageError, which begins with `name`, for anything else."""
        found = _FORM.fullmatch(text) if len(text) <= CHARACTERS_MAX else None
        unit = None if found is None else self.units.get(found["unit"])
        if found is None or unit is None or (needs_unit and not found["unit"]):
            raise UsageError(f"{name} {text!r}: not {self.noun}; expected {self.examples}")
        value = float(found["number"].replace("_", "").replace(",", "")) * unit
        if not least <= value <= most:
            raise UsageError(f"{name} {text!r}: out of range; expected {self._range(least, most, found['unit'])}")
        return value

    def _range(self, least: float, most: float, unit: str) -> str:
        if most == inf:
            return f"{self._text(least, unit)} or more"
        return f"{self._text(least, unit)} to {self._text(most, unit)}"

    def _text(self, value: float, unit: str) -> str:
        """Return a value in the largest unit of which it is a whole number, as far as there is one.

        A percentage stays one, as its unit is that of the whole range.
        """
        if unit == "%":
            return f"{value / self.units[unit]:,g}%"
        whole = [
            (worth, unit)
            for unit, worth in self.units.items()
            if "/" not in unit and value >= worth and (value / worth).is_integer()
        ]
        worth, unit = max(whole, key=lambda each: each[0], default=(1.0, ""))
        return f"{value / worth:,g}{unit}"


DURATION = Kind(
    "a duration", {"": 1.0, **_SECONDS}, "a number with ns, us, ms, s, m (or min), h or d, such as 200ms or 5s"
)
SIZE = Kind(
    "a size", _BYTES, "bytes, or a number with k, M or G (kB, MB, GB), KiB, MiB or GiB, such as 100, 512M or 64KiB"
)
RATE = Kind(
    "a rate",
    {thousands + period: worth / _PERIODS[period] for thousands, worth in _THOUSANDS.items() for period in _PERIODS},
    "a number per second, with k or M, /m or /h if need be, such as 500, 1.5k, 10/s or 300/m",
)
COUNT = Kind("a count", _THOUSANDS, "a number, with k or M if need be, such as 500 or 1.5k")
SPEED = Kind("a speed", {"": 1.0, "x": 1.0}, "a factor, such as 1, 0.5 or 10x, or max")
SHARE = Kind("a share", {"": 1.0, "%": 0.01}, "a percentage such as 5%, or a share such as 0.05")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as `1 gap` or `2 gaps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_text(size: int) -> str:
    """Return a size as the documentation writes it: `256 MiB`, or bytes where it is not whole."""
    for unit, width in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size and not size % width:
            return f"{size // width:,} {unit}"
    return f"{size:,} bytes"
