"""Which rules of a run have acted: one that never did is reported at the end, as it tested nothing."""

from collections.abc import Iterable, Iterator

from wiretool.faults.rule import Rule
from wiretool.faults.standing import Standing

#: The words of such a report, by which it is found in the log of another process.
NEVER_APPLIED = "never applied"


class AppliedRules:
    """The rules of a run in the order in which they were given, and what each did in all interceptors together."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._hits: dict[str, int] = {}
        self._failures: dict[str, str] = {}
        self.expect(rules)

    def expect(self, rules: Iterable[Rule]) -> None:
        """Add rules; one that is there already stays one."""
        for rule in rules:
            self._hits.setdefault(rule.text, 0)

    def note(self, standings: Iterable[Standing]) -> None:
        """Add what rules in force have done."""
        for standing in standings:
            text = standing.rule.text
            self._hits[text] = self._hits.get(text, 0) + standing.hits
            if standing.failures:
                self._failures[text] = standing.why

    def reports(self) -> Iterator[str]:
        """Yield a line for each rule that never acted."""
        for number, (text, hits) in enumerate(self._hits.items(), 1):
            if not hits:
                why = f"; it could not act: {self._failures[text]}" if text in self._failures else ""
                yield f"rule {number} {NEVER_APPLIED}: {text}{why}"
