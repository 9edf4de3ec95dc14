"""The options of `wiretool conform`, and what is wrong with combinations of them."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS

if TYPE_CHECKING:
    from wiretool.net.addresses import Address

#: The word that stands in the place of the protocol where two reports are compared.
COMPARE = "compare"
FORMS = ("text", "json")
#: What the command of a client may contain, in braces.
PLACEHOLDERS = ("address", "controller")


@dataclass(frozen=True, slots=True)
class Reports:
    """The report on stdout and those in files."""

    form: str = "text"
    junit: Path | None = None
    json: Path | None = None
    sarif: Path | None = None
    html: Path | None = None
    badge: Path | None = None
    write_expect: Path | None = None
    is_verbose: bool = False

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each option that names a file to write, with the file."""
        for name in ("junit", "json", "sarif", "html", "badge", "write_expect"):
            path = getattr(self, name)
            if path is not None:
                yield f"--{name.replace('_', '-')}", path


@dataclass(frozen=True, slots=True)
class ConformOptions:
    """Parsed options, as the command line gives them."""

    protocol: str
    arguments: Sequence[str] = ()
    targets: Sequence[str] = ()
    controller: str | None = None
    command: str | None = None
    setup: str = ""
    is_client: bool = False
    is_capture: bool = False
    allowed_hosts: Sequence[str] = ()
    case_globs: Sequence[str] = ()
    levels: Sequence[str] = ()
    only_lists: bool = False
    jobs: int = 1
    timeout_s: float | None = None
    deadline_s: float | None = None
    expect: Path | None = None
    allows_lenient: bool = False
    reports: Reports = Reports()
    record: Path | None = None
    tests_mutants: bool = False
    mutant: str | None = None
    ports: Sequence[str] = ()
    #: The file of TLS secrets of captures.
    keylog: Path | None = None
    seed: int = 0


def check_options(options: ConformOptions) -> None:
    """UsageError where options contradict each other, or a file is written twice."""
    modes = {
        "--client": options.is_client,
        "--capture": options.is_capture,
        "--target": bool(options.targets),
        "--mutants": options.tests_mutants,
    }
    chosen = [name for name, is_chosen in modes.items() if is_chosen]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)}: expected one of them")
    if options.arguments and not (options.is_client or options.is_capture):
        raise UsageError(f"{options.arguments[0]}: expected --capture before captures, --client -- before a command")
    if options.is_client and not options.arguments and not options.only_lists:
        raise UsageError("--client: expected a command after --, as --client -- python client.py {address}")
    if options.is_client:
        if options.arguments and not options.arguments[0].strip():
            raise UsageError("--client: expected a program after --, got an empty text")
        check_placeholders(options.arguments)
    if options.is_capture and not options.arguments and not options.only_lists:
        if options.protocol not in PROTOCOLS:  # the capture is in its place
            raise UsageError(
                f"PROTOCOL is missing before {options.protocol}; expected it first, as in "
                f"`conform sbp --capture {options.protocol}`"
            )
        raise UsageError("--capture: expected capture files")
    needs_target = {"--command": options.command, "--controller": options.controller}
    for name, value in needs_target.items():
        if value and not options.targets:
            raise UsageError(f"{name}: requires --target, the address of the server")
    if options.deadline_s and (options.is_capture or options.tests_mutants):
        raise UsageError(f"--deadline and {chosen[0]}: only a run against a server or client has a deadline")
    if options.keylog is not None and not options.is_capture:
        raise UsageError("--keylog: requires --capture")
    if options.setup and not (options.targets or options.is_capture):
        raise UsageError("--setup: requires --target or --capture, a server in that setup")
    if options.command and options.jobs > 1:
        raise UsageError("--command and --jobs: a server that ends would not show in which case; expected one of them")
    if options.only_lists and options.tests_mutants:
        raise UsageError("--list and --mutants: expected one of them")
    if options.record is not None and (options.is_client or options.is_capture or options.tests_mutants):
        raise UsageError(f"--record and {chosen[0]}: only the traffic of cases that wiretool sends is recorded")
    if options.mutant and chosen:
        raise UsageError(f"--mutant and {chosen[0]}: mutants exist only of the built-in mock")
    if options.reports.form not in FORMS:
        raise UsageError(f"--format {options.reports.form}: expected text or json")
    check_files(options)


def words_again(options: ConformOptions) -> tuple[str, str]:
    """Return the words of a command that judges the same peer again, before and after those that name a case."""
    words: list[str] = []
    for name, values in {
        "--target": options.targets,
        "--controller": [options.controller or ""],
        "--command": [options.command or ""],
        "--allow-remote": options.allowed_hosts,
        "--setup": [options.setup],
        "--port": options.ports,
        "--keylog": [str(options.keylog or "")],
        "--mutant": [options.mutant or ""],
        "--seed": [str(options.seed)] if options.seed else [],
        "--timeout": [f"{options.timeout_s:g}s"] if options.timeout_s else [],
    }.items():
        words += [word for value in values if value for word in (name, value)]
    if options.is_client:
        return shlex.join([*words, "--client"]), shlex.join(["--", *options.arguments])
    if options.is_capture:
        words += ["--capture", *options.arguments]
    return shlex.join(words), ""


def check_placeholders(words: Sequence[str]) -> None:
    """UsageError where the command of a client has a misspelt placeholder; other braces are the client's own."""
    from wiretool.codec.jsonform import nearest

    for word in words:
        for name in re.findall(r"\{([a-z]+)\}", word):
            if name not in PLACEHOLDERS and (hint := nearest(name, PLACEHOLDERS)):
                known = " and ".join(f"{{{each}}}" for each in PLACEHOLDERS)
                raise UsageError(f"--client {word}: no placeholder {{{name}}}{hint}; expected {known}")


def check_files(options: ConformOptions) -> None:
    """UsageError where an output cannot be a file, or is the same file as an input or another output."""
    from wiretool.sinks.output import check_not_read

    read = [path for path in (options.expect,) if path is not None]
    read += [Path(name) for name in options.arguments] if options.is_capture else []
    read += [options.keylog] if options.keylog is not None else []
    written = dict(options.reports.files()) | ({"--record": options.record} if options.record else {})
    seen: dict[Path, str] = {}
    for option, path in written.items():
        check_not_read(path, read)
        if path.is_dir():
            raise UsageError(f"{option} {path}: a folder; expected a file")
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: no such folder: {path.parent}")
        other = seen.setdefault(path.absolute(), option)
        if other != option:
            raise UsageError(f"{other} and {option} would both be written to {path}; give each its own file")


def addresses_from(options: ConformOptions, endpoints_of: Callable[[], Sequence[str]]) -> "dict[str, Address]":
    """Return the addresses by endpoint, the target itself under the empty name. UsageError for a remote one.

    `endpoints_of` is called only where an endpoint is named: it takes a while.
    """
    from wiretool.codec.jsonform import nearest
    from wiretool.net.addresses import named_address

    found: dict[str, Address] = {}
    pairs = [(text, "--target") for text in options.targets]
    pairs += [(f"controller={options.controller}", "--controller")] if options.controller else []
    for text, option in pairs:
        name, address = named_address(text, options.allowed_hosts, option=option)
        if name and name not in (endpoints := endpoints_of()):
            raise UsageError(
                f"{option} {text}: unknown endpoint {name!r}{nearest(name, endpoints)}; "
                f"expected {' or '.join(endpoints)}"
            )
        found[name] = address
    if "" not in found:
        raise UsageError("--target: expected the address of the server itself, as --target HOST:PORT")
    return found
