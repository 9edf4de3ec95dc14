"""Every exception raised on purpose, each with the exit code that cli.py gives it."""

import errno
import re
from typing import Any


class WiretoolError(Exception):
    """Something wiretool can say in one line; `exit_code` is what the shell gets."""

    exit_code = 70

    def __reduce__(self) -> tuple[Any, ...]:
        """How it crosses from one process to another."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[WiretoolError], args: tuple[Any, ...], state: dict[str, Any]) -> WiretoolError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class DecodeError(WiretoolError):
    """The bytes are wrong: `kind` names the defect, `path` the field, `offset` the byte in the decoded buffer."""

    exit_code = 3

    def __init__(self, kind: str, why: str, *, path: str = "", offset: int = 0) -> None:
        super().__init__(kind, why)
        self.kind = kind
        self.why = why
        self.path = path
        self.offset = offset

    @property
    def reason(self) -> str:
        """Where and why, without the kind."""
        where = f" ({self.path})" if self.path else ""
        return f"at byte {self.offset}{where}: {self.why}"

    def __str__(self) -> str:
        return f"{self.kind} {self.reason}"


class Truncated(DecodeError):
    """A read past the end of what is there."""


class OverLimit(DecodeError):
    """A length or count above its bound in limits.py."""


class ProtocolViolation(WiretoolError):
    """A good message at a bad time: `kind` names the rule, `phase` where the session was, `side` who sent `message`."""

    exit_code = 3

    def __init__(self, kind: str, why: str, *, phase: str, side: str, message: str) -> None:
        super().__init__(kind, why)
        self.kind = kind
        self.why = why
        self.phase = phase
        self.side = side
        self.message = message

    @property
    def reason(self) -> str:
        """What was said by whom when, and why that is wrong, without the kind."""
        return f"{self.message} from the {self.side} in phase {self.phase}: {self.why}"

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


class OtherProtocol(WiretoolError):
    """A peer that speaks another protocol than it was expected to."""

    exit_code = 3


class CaptureError(WiretoolError):
    """An input file that is damaged or has another form; `offset` is the byte of the (unpacked) file, where known."""

    exit_code = 3

    def __init__(self, name: str, why: str, *, offset: int | None = None) -> None:
        super().__init__(name, why, offset)
        self.name = name
        self.why = why
        self.offset = offset
        #: What is wrong with further captures that are read together with this one.
        self.others: list[CaptureError] = []

    @classmethod
    def from_reason(cls, name: str, reason: str) -> "CaptureError":
        """Return the error of which `reason` was noted."""
        found = _REASON.fullmatch(reason)
        return cls(name, found[2], offset=int(found[1])) if found else cls(name, reason)

    @property
    def reason(self) -> str:
        """The byte, if there is one, and the problem; without the name."""
        return self.why if self.offset is None else f"byte {self.offset}: {self.why}"

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


#: A reason that names a byte.
_REASON = re.compile(r"byte (\d+): (.*)", re.DOTALL)


class NothingReadError(CaptureError):
    """A capture without a single packet that could be read."""


class UnopenedError(CaptureError):
    """A capture that the system does not open: the name or its permissions are wrong, not the bytes."""

    exit_code = 2


class RemoteError(CaptureError):
    """An object that its server does not give or take as a whole: unreachable, failing, cut short, or changed."""

    exit_code = 4


class EncodeError(WiretoolError):
    """The caller asks for a message that cannot be put on the wire; `path` names the field."""

    exit_code = 2

    def __init__(self, why: str, *, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.why}" if self.path else self.why


class UsageError(WiretoolError):
    """An option or argument that makes no sense."""

    exit_code = 2


class InputError(UsageError):
    """An input file, other than a capture, with content of another form; one that cannot be read is a UsageError."""

    exit_code = 3


class OutputError(UsageError):
    """Output that the system refuses to take any more, as a full disk does: no option would mend that."""

    exit_code = 74


#: Reasons why a file cannot be read, in the words of all commands; of other reasons the system's.
_UNREADABLE = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "a folder; expected a file",
}


def why_unreadable(err: OSError) -> str:
    """Return why the system does not let a file be read, to be put after its name and a colon."""
    return _UNREADABLE.get(err.errno or 0) or f"cannot be read: {err.strerror or err}"


def system_reason(err: OSError) -> str:
    """Return the system's reason without the path, with one spelling for a missing permission."""
    is_denied = err.errno in (errno.EACCES, errno.EPERM)
    return _UNREADABLE[errno.EACCES] if is_denied else err.strerror or str(err)


#: What the system says where a disk or a quota is full, or the device fails.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def write_error(text: str, err: OSError) -> UsageError:
    """Return the error for output that the system refused: OutputError where another path would not have helped."""
    return OutputError(text) if err.errno in _FULL else UsageError(text)


class Unmet(WiretoolError):
    """What was waited for has not happened: a finding, nobody's mistake."""

    exit_code = 1


class PeerError(WiretoolError):
    """The network: refused, reset, too slow. Wraps the OSError."""

    exit_code = 4


class Killed(WiretoolError):
    """A process of ours was ended by a signal from outside, as where memory runs out; `number` is the signal's."""

    def __init__(self, what: str, number: int, advice: str = "") -> None:
        super().__init__(what, number)
        self.what = what
        self.number = number
        self.advice = advice or (
            "the output covers the input before that; run it again, with --workers 1 if memory is short"
        )
        self.exit_code = 128 + number  # what shells say of it

    def __str__(self) -> str:
        return f"{self.what} was killed (signal {self.number}); {self.advice}"


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM: `number` is the signal's; `is_told` where a line has said how far it came.

    `so_far` is how far the work came, where the place that was stopped knows that better than the command.
    """

    def __init__(self, number: int, *, is_told: bool = False, so_far: str = "") -> None:
        super().__init__(number)
        self.number = number
        self.is_told = is_told
        self.so_far = so_far

    @property
    def exit_code(self) -> int:
        """What shells say of whoever ends by that signal."""
        return 128 + self.number
