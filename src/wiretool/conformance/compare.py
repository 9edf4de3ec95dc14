"""Two reports compared: which cases changed their verdict, came or went."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

#: Verdicts of a case that failed, or that has no verdict on the peer.
_FAILURES = ("fail", "error")


class Change(NamedTuple):
    """One case that differs between two reports; an empty verdict means that a report lacks it."""

    id: str
    before: str
    after: str
    why: str

    @property
    def is_worse(self) -> bool:
        """Return whether a case does not pass any more, or fails now and did not before."""
        is_lost = self.before == "pass" and self.after != "pass"
        return is_lost or (self.after in _FAILURES and self.before not in _FAILURES)

    def __str__(self) -> str:
        why = f"  {self.why}" if self.why else ""
        return f"{self.id}: {self.before or 'not in the first report'} -> {self.after or 'not in the second'}{why}"


def changes_between(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what changed from the first report to the second, in the order of the cases."""
    before = {case["id"]: case for case in one["cases"]}
    after = {case["id"]: case for case in other["cases"]}
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        verdicts = [str(case["verdict"]) if case is not None else "" for case in (old, new)]
        if verdicts[0] != verdicts[1] or (old and new and old["why"] != new["why"] and verdicts[1] != "pass"):
            yield Change(name, verdicts[0], verdicts[1], str(new["why"]) if new else "")
