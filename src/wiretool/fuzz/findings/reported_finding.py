"""The attributes that findings about servers, clients and the decoder share in reports."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from wiretool.fuzz.oracles import Bucket, Suspicion

_NOT_NAME = re.compile(r"[^A-Za-z0-9]+")


class ConfirmedRun(Protocol):
    """A suspicion with the runs that confirmed it."""

    @property
    def suspicion(self) -> Suspicion: ...
    @property
    def is_flaky(self) -> bool: ...


ConfirmedT = TypeVar("ConfirmedT", bound=ConfirmedRun)


class ReportedFinding(ABC, Generic[ConfirmedT]):
    """A confirmed finding with its number in the run."""

    #: The name of one part of its input.
    unit: ClassVar[str] = "message"
    number: int
    confirmed: ConfirmedT

    @property
    def bucket(self) -> Bucket:
        """The bucket that makes it different from others."""
        return self.confirmed.suspicion.bucket

    @property
    def id(self) -> str:
        """Its number, oracle and message."""
        name = _NOT_NAME.sub("-", self.name).strip("-").lower()[:40]
        return f"{self.number:03}-{self.bucket.oracle}-{name}".rstrip("-")

    @property
    def name(self) -> str:
        """The message, or what the bucket has in its place."""
        return self.bucket.message or self.bucket.reply

    @property
    def cases(self) -> Sequence[str]:
        """Ids of the conformance cases that fail in the same way; none for a finding without one."""
        return ()

    @property
    @abstractmethod
    def messages(self) -> int:
        """The number of messages, or packets, that show it."""

    @property
    def size(self) -> str:
        """The number of messages or packets, with its unit."""
        return f"{self.messages} {self.unit}{'' if self.messages == 1 else 's'}"

    @property
    def why(self) -> str:
        """One sentence: the behaviour of the program."""
        return self.confirmed.suspicion.why

    @property
    def title(self) -> str:
        """The oracle and the sentence."""
        return f"{self.bucket.oracle}: {self.why}"

    @property
    def is_flaky(self) -> bool:
        """True if some runs did not show it."""
        return self.confirmed.is_flaky
