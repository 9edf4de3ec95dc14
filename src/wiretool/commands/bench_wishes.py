"""What `wiretool bench` is asked for: options, held against each other, become a plan and orders."""

from collections.abc import Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from wiretool.commands.bench_controller import on_stream
from wiretool.commands.options import tell
from wiretool.errors import CaptureError, UsageError

if TYPE_CHECKING:
    import typer

    from wiretool.load.intervals import Orders
    from wiretool.load.plan import Plan
    from wiretool.load.planning import Load
    from wiretool.load.streams import RunStream

HDR_LOG = "--hdr-log"
KEEP_SLOW = "--keep-slow"
MASTER, WORKER = "--master", "--worker"
MASTER_ADDRESS = "--master-address"
#: What a worker heeds; all else it has from its master.
HEEDED_BY_WORKERS = (WORKER, MASTER_ADDRESS, HDR_LOG)
#: Where a master of Locust listens.
LOCUST_PORT = 5557
#: And where its page is.
PAGE_PORT = 8089
#: Where an option comes from that somebody has said.
SAID = "COMMANDLINE"
#: What is in a plan and in no report: it is no option, or a secret.
OWN = ("host", "port", "run", "places", "token")


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
class Wishes:
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


def check_wishes(wishes: Wishes) -> None:
    """UsageError where wishes contradict each other."""
    if wishes.has_target and wishes.faults:
        raise UsageError("--fault: not allowed with --target; use wiretool tap in front of the server")
    if wishes.faults:
        check_faults(wishes)
    if wishes.load.is_conditional and (wishes.spread.processes > 1 or wishes.spread.is_master):
        raise UsageError("--conditional: requires one load process; expected --processes 1")
    if wishes.sample_pid is not None and not wishes.has_target:
        raise UsageError("--sample-pid: requires --target; the mock is always sampled")
    if wishes.user and not wishes.controller:
        raise UsageError("--user: requires --controller")
    if wishes.target and wishes.load.protocol == "offramp":
        if not wishes.load.road:
            raise UsageError("--target: missing road; expected --road NAME with offramp")
        if wishes.load.rate:
            raise UsageError(f"--rate {wishes.load.rate}: not allowed with --target; only the mock's roads have a rate")


def check_faults(wishes: Wishes) -> None:
    """UsageError for a fault rule that the mock would not take."""
    from wiretool.faults import parse_rule
    from wiretool.load.planning import PROTOCOL, PROTOCOLS

    protocol = wishes.load.protocol or PROTOCOL
    spoken = ("pravega", "pravega-controller") if protocol == "pravega" else (protocol,)
    for rule in wishes.faults if protocol in PROTOCOLS else ():
        parse_rule(rule, protocols=spoken, origin="--fault")


class Aim(NamedTuple):
    """What is loaded: the plan, the process behind it where that is known, the stream that was made for it if any."""

    plan: "Plan"
    pid: int | None
    stream: "RunStream | None" = None


def planned(wishes: Wishes, stack: ExitStack) -> Aim:
    """The plan and what it is about: a mock is started where there is no target."""
    from wiretool.load.children import mock_server
    from wiretool.load.link import Link
    from wiretool.load.planning import check_workers, plan_from

    plan = plan_from(wishes.load, is_verified=wishes.is_verified, run=uuid4().hex[:8])
    option = "--expect-workers" if wishes.spread.is_master else "--processes"
    check_workers(plan, wishes.spread.workers, option=option)
    if wishes.controller:
        plan, stream = on_stream(wishes, plan, stack)
        return Aim(plan, wishes.sample_pid, stream)
    if wishes.target:
        plan = plan.on(*address_for(wishes))
        Link(plan.host, plan.port).close()
        return Aim(plan, wishes.sample_pid)
    mock = stack.enter_context(
        mock_server(
            plan.protocol,
            seed=plan.seed,
            faults=wishes.faults,
            run_s=plan.whole_s,
            feed_per_s=plan.feed_per_s,
            tell=tell,
        )
    )
    return Aim(plan.on(*mock.address), mock.pid)


def address_for(wishes: Wishes) -> tuple[str, int]:
    """Where the target is; UsageError where it is on another machine that was not allowed."""
    from wiretool.net.addresses import address_from, check_allowed

    address = address_from(wishes.target, option="--target")
    check_allowed(address, wishes.allowed, f"--target {address}")
    return address.host, address.port


def options_of(wishes: Wishes, plan: "Plan") -> dict[str, object]:
    """All options with what they came to, for the report."""
    import msgspec

    from wiretool.load.figures import MOCK

    target = wishes.target or (plan.target if wishes.controller else MOCK)
    told = {"target": target, "controller": wishes.controller, "fault": list(wishes.faults)}
    told |= msgspec.to_builtins(plan)
    if wishes.from_capture is not None:
        told |= {"from_capture": str(wishes.from_capture), "fitted": wishes.fitted}
    return {name: value for name, value in told.items() if name not in OWN}


def orders_for(wishes: Wishes, plan: "Plan") -> "Orders":
    """What the load process is told: to do it all, or to be the master of others."""
    from wiretool.load.intervals import Orders

    spread = wishes.spread
    page_host, page_port = page_for(wishes)
    orders = Orders(plan=plan, page_host=page_host, page_port=page_port)
    if spread.is_master:
        orders.host, orders.port = spread.address()
        orders.role, orders.workers = "master", spread.expected
    elif spread.processes > 1:
        orders.role, orders.workers = "master", spread.processes
    return orders


def page_of(orders: "Orders") -> str:
    """Return the address of Locust's page, as users write it."""
    from wiretool.net.addresses import Address

    return str(Address(orders.page_host, orders.page_port))


def page_for(wishes: Wishes) -> tuple[str, int]:
    """Where Locust's page is to be; port 0 for nowhere. UsageError where nothing can be served there."""
    from wiretool.load.link import check_free
    from wiretool.net.addresses import address_from

    if not wishes.web:
        return "", 0
    address = address_from(wishes.web, option="--web", port=PAGE_PORT)
    check_free(*address, option="--web")
    return address
