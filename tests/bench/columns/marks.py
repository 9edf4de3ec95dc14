"""Figures held against their marks, printed as they come and together at the end."""

from dataclasses import dataclass, field
from typing import NamedTuple

#: Of a mark in small captures: less is left of a ratio where start-up counts, and runs differ more.
QUICK_SHARE = 0.6


class Verdict(NamedTuple):
    """A figure, its mark, and whether it is reached; `aim` is what is hoped for beyond the mark."""

    name: str
    figure: float
    mark: float
    unit: str
    is_reached: bool
    aim: float | None

    def __str__(self) -> str:
        said = "reached" if self.is_reached else "missed"
        more = "" if self.aim is None else f", aim {self.aim:g}"
        return f"{self.name}: {self.figure:.2f}{self.unit}, mark {self.mark:g}{self.unit}{more}: {said}"


@dataclass
class Report:
    """All verdicts of a run. With `is_quick` marks of ratios are lower."""

    is_quick: bool = False
    verdicts: list[Verdict] = field(default_factory=list)

    def at_least(self, name: str, figure: float, mark: float, *, aim: float | None = None, unit: str = "") -> None:
        """Print a figure that must not be below its mark."""
        least = mark * QUICK_SHARE if self.is_quick else mark
        self._add(Verdict(name, figure, least, unit, figure >= least, aim))

    def at_most(
        self,
        name: str,
        figure: float,
        mark: float,
        *,
        aim: float | None = None,
        unit: str = "",
        quick_share: float = QUICK_SHARE,
    ) -> None:
        """Print a figure that must not be above its mark, which `quick_share` divides in small captures."""
        most = mark / quick_share if self.is_quick else mark
        self._add(Verdict(name, figure, most, unit, figure <= most, aim))

    def exactly(self, name: str, figure: int, mark: int) -> None:
        """Note a count that is not as it must be; one that is, is not worth a line."""
        if figure != mark:
            self._add(Verdict(name, figure, mark, "", False, None))

    def _add(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)
        print(f"    {verdict}", flush=True)

    @property
    def is_good(self) -> bool:
        """Return whether something was measured, and every mark is reached."""
        return bool(self.verdicts) and all(verdict.is_reached for verdict in self.verdicts)

    def summary(self) -> str:
        """Return the table of all marks."""
        width = max((len(verdict.name) for verdict in self.verdicts), default=0)
        lines = [f"{'mark':{width}} {'figure':>10} {'mark':>9} {'aim':>7}"]
        for name, figure, mark, unit, is_reached, aim in self.verdicts:
            hoped = "" if aim is None else f"{aim:g}"
            said = "reached" if is_reached else "missed"
            row = f"{name:{width}} {figure:>10.2f} {mark:>9.4g} {hoped:>7}  {said}"
            lines.append(row + (f" ({unit.strip()})" if unit else ""))
        reached = sum(verdict.is_reached for verdict in self.verdicts)
        return "\n".join([*lines, f"{reached} of {len(self.verdicts)} marks reached"])
