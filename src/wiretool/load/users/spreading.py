"""How users are spread over load processes: those of each class evenly, whatever others there are."""

from collections.abc import Iterator
from itertools import repeat

from locust.dispatch import UsersDispatcher


class EvenDispatcher(UsersDispatcher):
    """Deals out one class after the other, as all our classes have a fixed number of users.

    Locust's own takes turns in the classes and in the workers at the same time: of two classes that are alike in number
    it gives one to the first of two workers and the other to the second, who would fetch what nobody there appends.
    """

    def _user_gen(self) -> Iterator[str | None]:
        for each in self._user_classes:
            yield from repeat(each.__name__, each.fixed_count)
        yield from repeat(None)
