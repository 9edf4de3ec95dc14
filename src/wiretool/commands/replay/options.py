"""The options of `wiretool replay`, checked."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.capture.tls.keylog import KeyLog
from wiretool.commands.options import ReportFormat
from wiretool.errors import UsageError
from wiretool.units import SPEED

if TYPE_CHECKING:
    from wiretool.faults import AppliedRules
    from wiretool.net.addresses import Address

#: The name under which `--controller` is a target.
CONTROLLER = "pravega-controller"
#: The least `--speed`: a thousand times as slow as recorded.
SPEED_MIN = 0.001


def no_rules() -> "AppliedRules":
    """Return what fault rules did in a run that has not begun."""
    from wiretool.faults import AppliedRules

    return AppliedRules()


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and which of it is said."""

    captures: Sequence[Path] | None
    protocol: str
    ports: Sequence[str] | None
    where: str = ""
    from_s: float = 0.0
    to_s: float | None = None
    #: The file of TLS secrets, and what is in it.
    keylog: Path | None = None
    keys: KeyLog = field(default_factory=KeyLog)


@dataclass(frozen=True, slots=True)
class Playing:
    """Whom it is said to, and how."""

    #: By protocol or door, empty for the only one there is; none for mocks of our own.
    targets: "Mapping[str, Address]"
    prepare: bool | None
    speed: float
    timeout_s: float
    record: Path | None
    rules: Sequence[str]
    rules_file: Path | None
    seed: int
    #: Whether it is played twice, to learn what is another in each run; and whom else it is played to.
    learns: bool = False
    against: "Mapping[str, Address]" = field(default_factory=dict)
    #: How many copies of it play at once, and how often that is done.
    connections: int = 1
    repeats: int = 1
    #: Under which names: those of the copy of that number, 0 for the recorded ones.
    copy: int = 0
    #: As whom clients speak.
    token: str | None = None
    headers: Sequence[tuple[str, str]] = ()
    #: What the fault rules did in all runs.
    applied: "AppliedRules" = field(default_factory=no_rules)


@dataclass(frozen=True, slots=True)
class Judging:
    """What is made of the answers."""

    form: ReportFormat
    output: Path | None
    junit: Path | None
    html: Path | None
    expect: Path | None
    min_judged: float


def speed_from(text: str) -> float:
    """Return how many times as fast as recorded; infinity for `max`, UsageError for anything else."""
    return inf if text == "max" else SPEED.parse(text, "--speed", least=SPEED_MIN)


def targets_from(
    texts: Sequence[str] | None, allowed: Sequence[str], *, option: str = "--target"
) -> "dict[str, Address]":
    """The addresses by protocol or door. UsageError for a bad one, or one on another machine that is not allowed."""
    from wiretool.net.addresses import named_address

    return dict(named_address(text, allowed, option=option) for text in texts or ())


def controller_from(text: str, allowed: Sequence[str]) -> "dict[str, Address]":
    """The address of Pravega's controller as that of a target, if one is given; errors as of `targets_from`."""
    if not text:
        return {}
    (address,) = targets_from([text], allowed, option="--controller").values()
    return {CONTROLLER: address}


def headers_from(texts: Sequence[str] | None, user: str) -> list[tuple[str, str]]:
    """Headers in `NAME: VALUE`, and Authorization for `USER:PASSWORD`; UsageError for what is neither."""
    found = []
    for text in texts or ():
        name, colon, value = text.partition(":")
        if not (colon and name and name.isascii() and all(each.isalnum() or each in "-_" for each in name)):
            raise UsageError(f"--header {text!r}: not a header; expected NAME: VALUE")
        if not value.isprintable() or not value.isascii():
            raise UsageError(f"--header {text!r}: not printable ASCII; expected a value in printable ASCII")
        found.append((name, value.strip()))
    if user:
        if ":" not in user or not is_utf8(user):
            raise UsageError("--user: not credentials; expected USER:PASSWORD in UTF-8")
        found.append(("Authorization", "Basic " + base64.b64encode(user.encode()).decode()))
    return found


def token_from(text: str | None) -> str | None:
    """A token as it goes into a header; UsageError for what cannot stand there."""
    if text is not None and not (text.isprintable() and text.isascii()):
        raise UsageError("--token: not printable ASCII; expected printable ASCII")
    return text


def is_utf8(text: str) -> bool:
    """Whether what was typed had no other bytes, which Python keeps as surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def check_span(reading: Reading) -> None:
    """UsageError where the part asked for of a recording is none."""
    if not isfinite(reading.from_s) or not isfinite(reading.to_s or 0):
        raise UsageError("--from and --to: not a duration; expected seconds")
    if reading.to_s is not None and reading.to_s <= reading.from_s:
        raise UsageError(f"--to {reading.to_s:g}s is not after --from {reading.from_s:g}s; expected a later time")


def check_servers(playing: Playing, judging: Judging) -> None:
    """UsageError where an option means nothing with the servers that it is said to."""
    if (playing.targets or playing.against) and (playing.rules or playing.rules_file is not None):
        raise UsageError("--fault and --faults: not allowed with --target; use wiretool tap in front of the server")
    if playing.against:
        files = {"--junit": judging.junit, "--html": judging.html, "--expect": judging.expect}
        unused = [name for name, path in files.items() if path is not None]
        unused += ["--format"] if judging.form is not ReportFormat.TEXT else []
        if unused:
            raise UsageError(f"{unused[0]} is not allowed with --against, which writes text only")


def check_files(reading: Reading, playing: Playing, judging: Judging, *, is_dry: bool) -> None:
    """UsageError where something is read and written at once, or two things are written to one place."""
    from wiretool.sinks.output import check_not_read

    written = dict(_written(playing, judging))
    if is_dry and (unused := [name for name in written if name not in ("-o", "the report")]):
        raise UsageError(f"{unused[0]} is not allowed with --dry-run, which sends nothing")
    read = [path for path in (*(reading.captures or ()), judging.expect, playing.rules_file) if path is not None]
    for path in written.values():
        check_not_read(path, read)
    for (one, path), (other, other_path) in combinations(written.items(), 2):
        if path.absolute() == other_path.absolute():
            where = "stdout" if str(path) == "-" else str(path)
            raise UsageError(f"{one} and {other} would both be written to {where}: give one a file of its own")


def _written(playing: Playing, judging: Judging) -> Iterator[tuple[str, Path]]:
    """What is written, and where: `-` is stdout."""
    yield ("the report", Path("-")) if judging.output is None else ("-o", judging.output)
    for name, path in (("--junit", judging.junit), ("--html", judging.html), ("--record", playing.record)):
        if path is not None:
            yield name, path
