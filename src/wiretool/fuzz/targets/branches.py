"""Branch coverage of the built-in mock in memory, by `sys.monitoring` (Python 3.12 and later).

A sequence that takes a branch for the first time is worth keeping, even where its replies show nothing new. Only the
code of the servers counts: that of the decoders runs for the oracles as well.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

from wiretool.fuzz.novelty import Novelty
from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.targets.base import InMemoryTarget
from wiretool.protocols.base.registry import PROTOCOLS

#: The folder, in that of a protocol, in which branches of the code count.
SERVER = f"{os.sep}server{os.sep}"
#: Numbers of tools that no debugger, profiler or coverage tool uses by convention.
_TOOLS = (3, 4)


def has_monitoring() -> bool:
    """Return whether this Python can report branches."""
    return hasattr(sys, "monitoring")


@cache
def protocol_folders() -> tuple[str, ...]:
    """Return the folders of the protocols, those of plugins as well, by where their messages are."""
    modules = (each.wire.partition(":")[0] for each in PROTOCOLS.values() if isinstance(each.wire, str))
    specs = (find_spec(module) for module in modules)
    return tuple(f"{Path(spec.origin).parent}{os.sep}" for spec in specs if spec is not None and spec.origin)


class BranchCoverage:
    """The branches that were taken so far."""

    def __init__(self) -> None:
        self.taken: set[tuple[CodeType, int, int]] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the branches of the servers that the block takes. Where all tools are in use, none is noted."""
        monitoring: Any = getattr(sys, "monitoring", None)
        tool = None if monitoring is None else next((each for each in _TOOLS if not monitoring.get_tool(each)), None)
        if tool is None:
            yield
            return
        event, folders = monitoring.events.BRANCH, protocol_folders()
        add, disable = self.taken.add, monitoring.DISABLE
        seen: dict[tuple[CodeType, int], int] = {}

        def note(code: CodeType, source: int, destination: int) -> Any:
            if not (code.co_filename.startswith(folders) and SERVER in code.co_filename):
                return disable  # this branch is not reported again
            known = seen.setdefault((code, source), destination)
            add((code, source, destination))
            return disable if known != destination else None  # both ways are taken: nothing new comes of it

        monitoring.use_tool_id(tool, "wiretool fuzz")
        monitoring.register_callback(tool, event, note)
        monitoring.set_events(tool, event)
        try:
            yield
        finally:
            monitoring.set_events(tool, monitoring.events.NO_EVENTS)
            monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)


class CoveredTarget(InMemoryTarget):
    """The built-in mock in memory; each outcome has the number of branches that no run before it took."""

    def __init__(self, coverage: BranchCoverage, *arguments: Any) -> None:
        """Take the arguments of the target without coverage, after the coverage."""
        super().__init__(*arguments)
        self._coverage = coverage

    def run(self, sequences: Sequence[FuzzSequence]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for sequence in sequences:
            before = len(self._coverage.taken)
            for outcome in super().run([sequence]):
                outcome.new_branches = len(self._coverage.taken) - before
                outcomes.append(outcome)
        return outcomes


class BranchNovelty(Novelty):
    """Novelty by exchanges, and by branches that the mock takes for the first time."""

    def note(self, outcome: Outcome) -> int:
        """Add the features of a run; return how many of them and of its branches are new."""
        return super().note(outcome) + outcome.new_branches
