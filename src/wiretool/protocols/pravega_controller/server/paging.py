"""Lists that are given out page by page."""

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

from wiretool import limits
from wiretool.protocols.pravega_controller.server.refused import Refused, Why

Item = TypeVar("Item")


class Page(NamedTuple):
    """Some names of a list, and the token that asks for those behind them. A page without names is the last."""

    names: list[str]
    token: str


class Catalogue(Generic[Item]):
    """Things by name, in the order in which they came.

    A token is the number of the last thing that was given out, so what is added or removed between two pages makes
    no other thing appear twice or not at all.
    """

    def __init__(self) -> None:
        self._items: dict[str, tuple[int, Item]] = {}
        self._serial = 0

    def add(self, name: str, item: Item) -> None:
        """Put a thing behind all others; the name is free."""
        self._serial += 1
        self._items[name] = (self._serial, item)

    def remove(self, name: str) -> None:
        """Take out a thing that is there."""
        del self._items[name]

    def get(self, name: str) -> Item | None:
        """The thing of that name, if there is one."""
        entry = self._items.get(name)
        return None if entry is None else entry[1]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter([item for _, item in self._items.values()])

    def page(
        self,
        token: str,
        is_listed: Callable[[Item], bool] = lambda item: True,
        page_size: int = limits.CONTROLLER_PAGE_ITEMS_MAX,
    ) -> Page:
        """The names behind a token, `""` for the first. Refused where the token was not given out by us."""
        if token and not (token.isascii() and token.isdecimal() and len(token) < 20):
            raise Refused(Why.INVALID_ARGUMENT, f"continuation token {token!r}")
        last = int(token) if token else 0
        names: list[str] = []
        for name, (serial, item) in self._items.items():
            if serial <= last or not is_listed(item):
                continue
            if len(names) == page_size:
                break
            names.append(name)
            last = serial
        return Page(names, str(last) if last else "")
