"""The plan and the orders of `wiretool bench`, made from its options."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from wiretool.commands.bench.controller import on_stream
from wiretool.commands.bench.options import BenchOptions
from wiretool.commands.options import tell

if TYPE_CHECKING:
    from wiretool.load.measure.intervals import Orders
    from wiretool.load.part import RunStream
    from wiretool.load.planning.plan import Plan

#: Where Locust's page is.
PAGE_PORT = 8089
#: Fields of a plan that reports leave out: they are not options, or are secret.
OWN = ("host", "port", "run", "places", "token")


class Aim(NamedTuple):
    """The target of a load: the plan, the process of the server where it is known, and the stream made for the load."""

    plan: "Plan"
    pid: int | None
    stream: "RunStream | None" = None


def planned(options: BenchOptions, stack: ExitStack) -> Aim:
    """The plan and its target; a mock is started where none is named."""
    from wiretool.load.link import Link
    from wiretool.load.planning.validate import check_workers, plan_from
    from wiretool.load.run.children import mock_server

    plan = plan_from(options.load, is_verified=options.is_verified, run=uuid4().hex[:8])
    option = "--expect-workers" if options.spread.is_master else "--processes"
    check_workers(plan, options.spread.workers, option=option)
    if options.controller:
        plan, stream = on_stream(options, plan, stack)
        return Aim(plan, options.sample_pid, stream)
    if options.target:
        plan = plan.on(*address_for(options))
        Link(plan.host, plan.port).close()
        return Aim(plan, options.sample_pid)
    mock = stack.enter_context(
        mock_server(
            plan.protocol,
            seed=plan.seed,
            faults=options.faults,
            run_s=plan.whole_s,
            feed_per_s=plan.feed_per_s,
            tell=tell,
        )
    )
    return Aim(plan.on(*mock.address), mock.pid)


def address_for(options: BenchOptions) -> tuple[str, int]:
    """Where the target is; UsageError where it is on another machine that was not allowed."""
    from wiretool.net.addresses import address_from, check_allowed

    address = address_from(options.target, option="--target")
    check_allowed(address, options.allowed, f"--target {address}")
    return address.host, address.port


def options_of(options: BenchOptions, plan: "Plan") -> dict[str, object]:
    """All options with what they came to, for the report."""
    import msgspec

    from wiretool.load.measure.figures import MOCK

    target = options.target or (plan.target if options.controller else MOCK)
    values = {"target": target, "controller": options.controller, "fault": list(options.faults)}
    values |= msgspec.to_builtins(plan)
    if options.from_capture is not None:
        values |= {"from_capture": str(options.from_capture), "fitted": options.fitted}
    return {name: value for name, value in values.items() if name not in OWN}


def orders_for(options: BenchOptions, plan: "Plan") -> "Orders":
    """Return the orders of the load process: to do it all, or to be the master of others."""
    from wiretool.load.measure.intervals import Orders

    spread = options.spread
    page_host, page_port = page_for(options)
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


def page_for(options: BenchOptions) -> tuple[str, int]:
    """Where Locust's page is to be; port 0 for nowhere. UsageError where nothing can be served there."""
    from wiretool.load.link import check_free
    from wiretool.net.addresses import address_from

    if not options.web:
        return "", 0
    address = address_from(options.web, option="--web", port=PAGE_PORT)
    check_free(*address, option="--web")
    return address
