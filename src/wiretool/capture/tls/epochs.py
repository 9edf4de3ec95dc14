"""The keys that one side uses one after the other, and the numbers of its records."""

from collections.abc import Callable, Iterator

from wiretool.capture.tls.keylog import MASTER_SECRET
from wiretool.capture.tls.protection import Opened, Protection, protection_1_3
from wiretool.capture.tls.schedule import next_secret, traffic_keys
from wiretool.capture.tls.suites import Suite

#: Returns the secret of a label; empty as long as the key log lacks it.
FindSecret = Callable[[str], bytes]


class Epoch:
    """One set of keys, made as soon as the key log has their secret."""

    def __init__(
        self,
        name: str,
        label: str,
        make: Callable[[], Protection | None],
        update: "Callable[[], Epoch] | None" = None,
    ) -> None:
        """`make` returns the protection; `update` returns the epoch after a KeyUpdate, if there may be one."""
        self.name = name
        #: The label of its secret.
        self.label = label
        self.update = update
        self._make = make
        self._protection: Protection | None = None

    @property
    def protection(self) -> Protection | None:
        """Return the protection of its records; None as long as the key log lacks the secret."""
        if self._protection is None:
            self._protection = self._make()
        return self._protection


def epoch_1_3(name: str, label: str, find: FindSecret, suite: Suite) -> Epoch:
    """Return the epoch of a traffic secret; `name` is EARLY, HANDSHAKE or TRAFFIC."""

    def make() -> Protection | None:
        secret = find(label)
        return protection_1_3(suite, traffic_keys(secret, suite)) if secret else None

    def update() -> Epoch:
        secret = find(label)
        following = next_secret(secret, suite) if secret else b""
        return epoch_1_3(name, label, lambda _: following, suite)

    return Epoch(name, label, make, update if name == "TRAFFIC" else None)


def epoch_1_2(find: FindSecret, protect: Callable[[bytes], Protection]) -> Epoch:
    """Return the epoch of a session of TLS 1.2; `protect` makes the protection of its master secret."""

    def make() -> Protection | None:
        master = find(MASTER_SECRET)
        return protect(master) if master else None

    return Epoch("SESSION", MASTER_SECRET, make)


class Epochs:
    """The epochs of one side from the one in use on."""

    def __init__(self, epochs: list[Epoch]) -> None:
        self._epochs = epochs
        self._number = 0
        #: Whether any record was opened.
        self.has_opened = False

    def __len__(self) -> int:
        return len(self._epochs)

    @property
    def current(self) -> Epoch:
        """Return the epoch in use."""
        return self._epochs[0]

    @property
    def missing_secret(self) -> str:
        """Return the label of the secret without which no later record can be read; empty if that is not so."""
        return "" if any(epoch.protection for epoch in self._epochs) else self._epochs[-1].label

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
        early = self.current
        self._epochs = [Epoch(early.name, early.label, lambda: None), *self._epochs[1:]]

    def _following(self) -> Iterator[Epoch]:
        """Yield the epochs after this one."""
        yield from self._epochs[1:]
        update = self.current.update
        if update is not None:
            yield update()

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
