"""The keys that one side uses one after the other, and the numbers of its records."""

from collections.abc import Iterator
from typing import NamedTuple

from wiretool.capture.tls.protection import Opened, Protection, protection_1_3
from wiretool.capture.tls.schedule import next_secret, traffic_keys
from wiretool.capture.tls.suites import Suite


class Epoch(NamedTuple):
    """One set of keys; `protection` is None where the key log lacks its secret."""

    name: str
    protection: Protection | None
    #: The traffic secret, from which the next one follows; empty where none does.
    secret: bytes = b""


def epoch_1_3(name: str, secret: bytes, suite: Suite) -> Epoch:
    """Return the epoch of a traffic secret; without protection if that is empty."""
    protection = protection_1_3(suite, traffic_keys(secret, suite)) if secret else None
    return Epoch(name, protection, secret if name == "TRAFFIC" else b"")


class Epochs:
    """The epochs of one side from the one in use on."""

    def __init__(self, suite: Suite, epochs: list[Epoch]) -> None:
        self._suite = suite
        self._epochs = epochs
        self._number = 0
        #: Whether any record was opened.
        self.has_opened = False

    @property
    def current(self) -> Epoch:
        """Return the epoch in use."""
        return self._epochs[0]

    def open(self, record: bytes) -> Opened | None:
        """Return the content of the next record, which may be the first of a later epoch; None if it is neither."""
        return self._open(record, 0)

    def open_later(self, record: bytes, lost: int) -> Opened | None:
        """Return the content of a record after up to so many lost ones; None if it cannot be."""
        return self._open(record, lost)

    def step_back(self) -> None:
        """Expect the last record once more."""
        self._number -= 1

    def advance(self) -> None:
        """Use the next keys: those of the next epoch, or after a KeyUpdate."""
        following = list(self._following())
        if following:
            self._epochs, self._number = following, 0

    def refuse_early(self) -> None:
        """Do not open early data, which the server has not taken: the client sends it again."""
        self._epochs = [Epoch("EARLY", None), *self._epochs[1:]]

    def _following(self) -> Iterator[Epoch]:
        """Yield the epochs after this one."""
        yield from self._epochs[1:]
        last = self._epochs[-1]
        if last.secret and len(self._epochs) == 1:
            yield epoch_1_3(last.name, next_secret(last.secret, self._suite), self._suite)

    def _open(self, record: bytes, lost: int) -> Opened | None:
        opened = self._open_in(self.current, record, self._number, lost)
        if opened is not None or not self._may_be_later(lost):
            return opened
        following = list(self._following())
        for at, epoch in enumerate(following):
            opened = self._open_in(epoch, record, 0, lost)
            if opened is not None:
                self._epochs = following[at:]
                return opened
        return None

    def _may_be_later(self, lost: int) -> bool:
        """Return whether a later epoch may begin without notice: that was lost, or its keys are not known."""
        return bool(lost) or self.current.protection is None or self.current.name == "EARLY"

    def _open_in(self, epoch: Epoch, record: bytes, number: int, lost: int) -> Opened | None:
        if epoch.protection is None:
            return None
        for each in range(number, number + lost + 1):
            opened = epoch.protection.open(record, each)
            if opened is not None:
                self._number = each + 1
                self.has_opened = True
                return opened
        return None
