"""The options of `wiretool fuzz`, and combinations of them that make no sense."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.commands.options import ports_from
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.net.addresses import Address

#: The word in the place of the protocol that begins the commands on corpora.
CORPUS = "corpus"
#: The duration of a run by default.
TIME_S = 60.0
#: Time for one reply of a server over sockets.
TIMEOUT_S = 2.0
#: Time for one run of a client, and runs of it at the same time; sequences at the same time on a server.
CLIENT_TIMEOUT_S, CLIENT_JOBS, JOBS = 30.0, 1, 32


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports in files."""

    junit: Path | None = None
    json: Path | None = None
    sarif: Path | None = None
    write_baseline: Path | None = None

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each option that names a file to write, with the file."""
        for name in ("junit", "json", "sarif", "write_baseline"):
            path = getattr(self, name)
            if path is not None:
                yield f"--{name.replace('_', '-')}", path


@dataclass(frozen=True, slots=True)
class FuzzOptions:
    """Parsed options, as the command line gives them."""

    protocol: str
    #: The command of a client.
    arguments: Sequence[str] = ()
    is_client: bool = False
    #: Whether wiretool's own decoder is the target.
    is_self: bool = False
    seeds: Sequence[Path] = ()
    corpus: Path | None = None
    targets: Sequence[str] = ()
    command: str | None = None
    uses_sockets: bool = False
    mutant: str | None = None
    #: Whether answers are compared with those of the built-in mock.
    compares_answers: bool = False
    allowed_hosts: Sequence[str] = ()
    case_globs: Sequence[str] = ()
    only_lists: bool = False
    time_s: float | None = None
    runs: int | None = None
    #: As given; `timeout_s` and `jobs` have the defaults.
    given_timeout_s: float | None = None
    given_jobs: int | None = None
    replay: Sequence[Path] = ()
    output: Path = Path("wiretool-findings")
    baseline: Path | None = None
    reports: Reports = Reports()
    ports: Sequence[str] = ()
    keylog: Path | None = None
    seed: int = 0

    @property
    def timeout_s(self) -> float:
        """Time for one reply of a server, or for one run of a client."""
        return self.given_timeout_s or (CLIENT_TIMEOUT_S if self.is_client else TIMEOUT_S)

    @property
    def jobs(self) -> int:
        """Sequences, or runs of a client, at the same time."""
        return self.given_jobs or (CLIENT_JOBS if self.is_client else JOBS)

    @property
    def target_words(self) -> list[str]:
        """The options that name the target, for a command that runs a finding again."""
        words: list[str] = []
        for name, values in {
            "--target": self.targets,
            "--command": [self.command or ""],
            "--allow-remote": self.allowed_hosts,
            "--mutant": [self.mutant or ""],
        }.items():
            words += [word for value in values if value for word in (name, value)]
        return [*words, "--sockets"] if self.uses_sockets else words


def check_options(options: FuzzOptions) -> None:
    """UsageError where options contradict each other, have no effect, or a file is written twice."""
    check_self(options)
    check_client(options)
    check_in_memory(options)
    ports_from(options.ports)
    if options.ports and not options.seeds:
        raise UsageError("--port: names the protocol of a port in captures; requires --seeds")
    if options.keylog is not None and not options.seeds:
        raise UsageError("--keylog: has the secrets of captures; requires --seeds")
    if options.targets:
        addresses_from(options)
    if options.command and not options.targets:
        raise UsageError("--command: requires --target, the address of the server")
    if options.uses_sockets and options.targets:
        raise UsageError("--sockets and --target: expected one of them")
    if options.mutant and options.targets:
        raise UsageError("--mutant and --target: mutants exist only of the built-in mock")
    if options.compares_answers and not (options.targets or options.mutant or options.uses_sockets):
        raise UsageError("--differs: the target is the built-in mock itself; expected --target, --mutant or --sockets")
    check_replay(options)
    if options.corpus is not None and options.corpus.exists() and not options.corpus.is_dir():
        raise UsageError(f"--corpus {options.corpus}: a file; expected a folder")
    if options.output.exists() and not options.output.is_dir():
        raise UsageError(f"--output {options.output}: a file; expected a folder")
    seen: dict[Path, str] = {path.absolute(): "--seeds" for path in options.seeds}
    if options.keylog is not None:
        seen[options.keylog.absolute()] = "--keylog"
    if options.baseline is not None:
        seen[options.baseline.absolute()] = "--baseline"
    for option, path in options.reports.files():
        if path.is_dir():
            raise UsageError(f"{option} {path}: a folder; expected a file")
        if not path.parent.is_dir():
            raise UsageError(f"{option} {path}: no such folder: {path.parent}")
        other = seen.setdefault(path.absolute(), option)
        if other != option and not (other == "--baseline" and option == "--write-baseline"):
            raise UsageError(f"{other} and {option} are both {path}; give each its own file")


def check_replay(options: FuzzOptions) -> None:
    """UsageError where --replay is given with options of a run, or names no folder."""
    if not options.replay:
        return
    of_runs = {
        "--corpus": options.corpus,
        "--baseline": options.baseline,
        "--list": options.only_lists,
        "--runs": options.runs,
        "--time": options.time_s,
        "--case": options.case_globs,
        "--differs": options.compares_answers,
        **dict(options.reports.files()),
    }
    for name, value in of_runs.items():
        if value:
            raise UsageError(f"--replay and {name}: a finding has its own sequence; expected no {name}")
    for folder in options.replay:
        if not folder.exists():
            raise UsageError(f"--replay {folder}: no such folder")
        if not folder.is_dir():
            raise UsageError(f"--replay {folder}: a file; expected the folder of a finding")


def check_self(options: FuzzOptions) -> None:
    """UsageError where --self is given with another target, or with options that have no effect on it."""
    if not options.is_self:
        return
    others = {
        "--target": options.targets,
        "--command": options.command,
        "--sockets": options.uses_sockets,
        "--mutant": options.mutant,
        "--client": options.is_client,
        "--allow-remote": options.allowed_hosts,
        "--differs": options.compares_answers,
    }
    for name, value in others.items():
        if value:
            raise UsageError(f"--self and {name}: the target is wiretool's own decoder; expected one of them")
    of_sessions = {
        "--corpus": options.corpus is not None,
        "--jobs": options.given_jobs is not None,
        "--timeout": options.given_timeout_s is not None,
    }
    for name, is_given in of_sessions.items():
        if is_given:
            raise UsageError(f"--self and {name}: captures are read one by one, without a server; expected one of them")


def check_in_memory(options: FuzzOptions) -> None:
    """UsageError where the mock in memory is given options of sockets; findings of --replay name their own target."""
    uses_others = options.is_client or options.is_self or options.targets or options.uses_sockets
    if uses_others or options.replay or options.only_lists:
        return
    reasons = {
        "--jobs": (options.given_jobs, "sequences in memory run one after the other"),
        "--timeout": (options.given_timeout_s, "in memory no time passes while a reply is awaited"),
    }
    for name, (value, why) in reasons.items():
        if value is not None:
            raise UsageError(f"{name}: {why}; expected --sockets, --target or --client with it")


def check_client(options: FuzzOptions) -> None:
    """UsageError where a client is named wrongly, or with options of servers."""
    from wiretool.commands.conform.options import check_placeholders

    if not options.is_client:
        if options.arguments:
            raise UsageError(f"{options.arguments[0]}: expected --client -- before the command of a client")
        return
    of_servers = {
        "--target": options.targets,
        "--command": options.command,
        "--sockets": options.uses_sockets,
        "--mutant": options.mutant,
        "--seeds": options.seeds,
        "--corpus": options.corpus,
        "--port": options.ports,
        "--keylog": options.keylog,
        "--differs": options.compares_answers,
    }
    for name, value in of_servers.items():
        if value:
            raise UsageError(f"--client and {name}: a client runs against the built-in mock; expected one of them")
    if not options.arguments and not (options.only_lists or options.replay):
        raise UsageError("--client: expected a command after --, as --client -- python client.py {address}")
    if options.arguments and not options.arguments[0].strip():
        raise UsageError("--client: expected a program after --, got an empty text")
    check_placeholders(options.arguments)


def addresses_from(options: FuzzOptions) -> "dict[str, Address]":
    """Return the addresses by endpoint, the main one under the empty name. UsageError for a remote one."""
    from wiretool.fuzz.targets.addresses import addresses_by_endpoint

    return addresses_by_endpoint(options.targets, options.allowed_hosts, option="--target")


def is_remote(options: FuzzOptions) -> bool:
    """Return whether a target is another machine."""
    from wiretool.net.addresses import is_loopback

    return bool(options.targets) and any(not is_loopback(each.host) for each in addresses_from(options).values())
