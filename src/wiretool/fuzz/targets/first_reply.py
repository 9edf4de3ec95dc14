"""The first reply of a target: whether it came, how long it took, and notes while it is awaited."""

import time
from collections.abc import Callable

from wiretool.conformance.active.endings import OUTCOME_WORDS
from wiretool.conformance.case import NOTHING
from wiretool.conformance.evidence import is_answer
from wiretool.conformance.results import CaseResult

#: Seconds for the reply to the greeting of another protocol, where the target has not answered its own.
OTHER_GREETING_S = 0.5


class FirstReply:
    """Watches results until one has a message of the target."""

    def __init__(self, name: str, on_wait: Callable[[str], None]) -> None:
        """`name` is the target; `on_wait` takes a sentence each time something else is tried without a reply."""
        self._name = name
        self._on_wait = on_wait
        self._started_s = time.monotonic()
        self._is_noted = False
        self.has_come = False

    @property
    def seconds(self) -> float:
        """The seconds since the target was opened."""
        return time.monotonic() - self._started_s

    def note(self, result: CaseResult) -> None:
        """Note a result; a message of the target in it is a reply."""
        self.has_come = self.has_come or has_answer(result)

    def note_greeting(self, result: CaseResult, message: str) -> None:
        """Note the result of a greeting, whose last message has this name; write a note if no reply came in time."""
        self.note(result)
        if not self.has_come and not self._is_noted and result.difference == OUTCOME_WORDS[NOTHING]:
            self._is_noted = True
            self._wait(f"no reply to {message or 'the greeting'} yet; sending conformance cases")

    def note_others(self) -> None:
        """Write a note that other protocols are tried, if there was a first one."""
        if not self.has_come and self._is_noted:
            self._wait(f"no reply in {self.seconds:.1f} s; sending the greetings of other protocols")

    def _wait(self, text: str) -> None:
        self._on_wait(f"{self._name}: {text}")


def has_answer(result: CaseResult) -> bool:
    """Return whether the target has sent a valid message in a case."""
    return any(is_answer(event) for event in result.events)
