"""The options of `wiretool bench`, and checks of one against another."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wiretool.errors import CaptureError, UsageError

if TYPE_CHECKING:
    import typer

    from wiretool.load.planning.validate import Load

HDR_LOG = "--hdr-log"
KEEP_SLOW = "--keep-slow"
MASTER, WORKER = "--master", "--worker"
MASTER_ADDRESS = "--master-address"
#: What a worker heeds; all else it has from its master.
HEEDED_BY_WORKERS = (WORKER, MASTER_ADDRESS, HDR_LOG)
#: Where a master of Locust listens.
LOCUST_PORT = 5557
#: Where an option comes from that somebody has said.
SAID = "COMMANDLINE"


@dataclass(frozen=True, slots=True)
class Spread:
    """How the load is spread: over processes here, or over workers that come to a master."""

    processes: int = 1
    is_master: bool = False
    expected: int = 1
    master: str = ""

    @property
    def workers(self) -> int:
        """How many load processes there are."""
        return self.expected if self.is_master else self.processes

    def address(self) -> tuple[str, int]:
        """Where the master listens."""
        from wiretool.net.addresses import address_from

        return address_from(self.master, option=MASTER_ADDRESS, port=LOCUST_PORT)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What was asked for, as it was written."""

    load: "Load"
    target: str
    allowed: Sequence[str]
    verify: bool | None
    faults: Sequence[str]
    sample_pid: int | None
    spread: Spread
    #: Where Locust's page is to be; empty for nowhere.
    web: str
    #: Pravega: who is asked for a stream, and who asks, `USER:PASSWORD`; empty for nobody.
    controller: str = ""
    user: str = ""
    #: What the load is fitted to, and the options that came of it.
    from_capture: Path | None = None
    keylog: Path | None = None
    fitted: str = ""
    #: Where that capture is damaged: the load is that of the part before.
    damage: CaptureError | None = None

    @property
    def has_target(self) -> bool:
        """Whether a server is named, by itself or by its controller."""
        return bool(self.target or self.controller)

    @property
    def is_verified(self) -> bool:
        """Whether what is written is read back; where nothing is said of it, it is of a mock."""
        return not self.has_target if self.verify is None else self.verify


@dataclass(frozen=True, slots=True)
class Reports:
    """Where what came of it is written, and what it is held against."""

    json: Path | None = None
    csv: Path | None = None
    html: Path | None = None
    junit: Path | None = None
    hdr_log: Path | None = None
    thresholds: Sequence[str] = ()
    keep_slow: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """Where, by option; the reports are called as their options are."""
        named = {
            "--json": self.json,
            "--csv": self.csv,
            "--html": self.html,
            "--junit": self.junit,
            HDR_LOG: self.hdr_log,
            KEEP_SLOW: self.keep_slow,
        }
        return {option: path for option, path in named.items() if path is not None}


def said_in(context: "typer.Context") -> list[str]:
    """The options that were said on the command line, in the order of the help."""
    named = (name for name in context.params if (source := context.get_parameter_source(name)) and source.name == SAID)
    return [f"--{name.replace('_', '-')}" for name in named]


def check_spread(said: Sequence[str]) -> None:
    """UsageError where options were said that who says them, a master, a worker or neither, does not heed."""
    if WORKER in said:
        _check_worker(said)
    elif MASTER in said and "--processes" in said:
        raise UsageError(
            "--processes: not allowed with --master, whose workers generate the load; use --expect-workers N"
        )
    elif MASTER not in said:
        _check_alone(said)


def _check_worker(said: Sequence[str]) -> None:
    if MASTER in said:
        raise UsageError("--worker: not allowed with --master; start two processes")
    unheeded = [option for option in said if option not in HEEDED_BY_WORKERS]
    if unheeded:
        raise UsageError(
            f"{', '.join(unheeded)}: not allowed with --worker; give it to the master; "
            f"expected only {MASTER_ADDRESS} and {HDR_LOG}"
        )


def _check_alone(said: Container[str]) -> None:
    if "--expect-workers" in said:
        raise UsageError("--expect-workers: requires --master")
    if MASTER_ADDRESS in said:
        raise UsageError(f"{MASTER_ADDRESS}: requires --master or --worker")


def check_options(options: BenchOptions) -> None:
    """UsageError where options contradict each other, or the protocol has no mock for them."""
    load = options.load
    if not options.has_target:
        check_mock(load)
    if options.has_target and options.faults:
        raise UsageError("--fault: not allowed with --target; use wiretool tap in front of the server")
    if options.faults:
        check_faults(options)
    if load.is_conditional and (options.spread.processes > 1 or options.spread.is_master):
        raise UsageError("--conditional: requires one load process; expected --processes 1")
    if options.sample_pid is not None and not options.has_target:
        raise UsageError("--sample-pid: requires --target; the mock is always sampled")
    if options.verify and load.message:
        raise UsageError("--verify: not allowed with --message, which appends nothing")
    if options.user and not options.controller:
        raise UsageError("--user: requires --controller")
    if options.target and load.protocol is not None:
        check_road(load, load.protocol)


def check_mock(load: "Load") -> None:
    """UsageError where a protocol that can be loaded has no mock to load."""
    from wiretool.load.part import load_part
    from wiretool.load.planning.validate import protocol_of
    from wiretool.server.part import required_part

    protocol = protocol_of(load)
    if load.message or not load_part(protocol).has_message:  # else there is nothing to send
        required_part(protocol)


def check_road(load: "Load", protocol: str) -> None:
    """UsageError where a target whose clients only read needs a road, or has no rate."""
    from wiretool.load.part import load_part

    if not load_part(protocol).is_read_only:
        return
    if not load.road:
        raise UsageError(f"--target: missing road; expected --road NAME with {protocol}")
    if load.rate:
        raise UsageError(f"--rate {load.rate}: not allowed with --target; only the mock's roads have a rate")


def check_faults(options: BenchOptions) -> None:
    """UsageError for a fault rule that the mock would not take."""
    from wiretool.faults import parse_rule
    from wiretool.load.planning.validate import protocol_of
    from wiretool.server.options import MockOptions
    from wiretool.server.part import mock_for

    mock = mock_for(protocol_of(options.load), MockOptions())
    for rule in options.faults:
        parse_rule(rule, protocols=[door.protocol for door in mock.doors], origin="--fault")
