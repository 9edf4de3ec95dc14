"""A rule that is in force: how often it fitted, and how often it acted."""

import random
from collections.abc import Callable

from wiretool.faults.rule import Rule
from wiretool.filter.history import History
from wiretool.records import Record


class Standing:
    """A rule with its count and its own chance, which other rules do not change."""

    def __init__(self, number: int, rule: Rule, history: History, seed: int) -> None:
        self.id = number
        self.rule = rule
        #: Frames that its condition was true of, of those on which it may act.
        self.matches = 0
        #: How often it acted, and when last; 0 for never.
        self.hits = 0
        self.last_hit_ns = 0
        #: How often it should have and could not, and why last.
        self.failures = 0
        self.why = ""
        self._judge: Callable[[Record], bool] = rule.judge(history)
        self._rng = random.Random(f"{seed}/{number}")

    def wants(self, record: Record) -> bool:
        """Whether it acts on this frame; every frame of its sides is to be shown to it, in order."""
        kinds = self.rule.kinds
        if kinds is not None and (record.protocol, (record.side, record.message)) not in kinds:
            return False
        if not self._judge(record):
            return False
        self.matches += 1
        return self.rule.when.fits(self.matches, self._rng)

    def hit(self, now_ns: int) -> None:
        """It has acted."""
        self.hits += 1
        self.last_hit_ns = now_ns

    def failed(self, why: str) -> bool:
        """It could not act; whether that is for another reason than the last time."""
        self.failures += 1
        is_new, self.why = why != self.why, why
        return is_new
