"""Steps that were made of other steps, kept while the same ones are asked for again and again."""

from collections.abc import Hashable

from wiretool.fuzz.sequences.sequence import Sending

#: Steps that are kept.
KEPT_MAX = 8_192


class StepCache:
    """Steps by the step that they were made of, the very object, and how."""

    def __init__(self) -> None:
        #: The first of both is kept so that nothing else gets its identity.
        self._made: dict[tuple[int, Hashable], tuple[Sending, Sending]] = {}

    def get(self, step: Sending, how: Hashable) -> Sending | None:
        """Return the step that was made of another one; None where it is not kept."""
        found = self._made.get((id(step), how))
        return None if found is None else found[1]

    def put(self, step: Sending, how: Hashable, made: Sending) -> Sending:
        """Keep and return a step that was made of another one."""
        if len(self._made) >= KEPT_MAX:
            self._made.clear()
        self._made[id(step), how] = step, made
        return made
