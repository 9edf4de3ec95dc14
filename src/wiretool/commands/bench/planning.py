"""The plan and the orders of `wiretool bench`, made from its options."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from wiretool.commands.bench.controller import on_stream
from wiretool.commands.bench.options import Wishes
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


def planned(wishes: Wishes, stack: ExitStack) -> Aim:
    """The plan and its target; a mock is started where none is named."""
    from wiretool.load.link import Link
    from wiretool.load.planning.validate import check_workers, plan_from
    from wiretool.load.run.children import mock_server

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

    from wiretool.load.measure.figures import MOCK

    target = wishes.target or (plan.target if wishes.controller else MOCK)
    options = {"target": target, "controller": wishes.controller, "fault": list(wishes.faults)}
    options |= msgspec.to_builtins(plan)
    if wishes.from_capture is not None:
        options |= {"from_capture": str(wishes.from_capture), "fitted": wishes.fitted}
    return {name: value for name, value in options.items() if name not in OWN}


def orders_for(wishes: Wishes, plan: "Plan") -> "Orders":
    """Return the orders of the load process: to do it all, or to be the master of others."""
    from wiretool.load.measure.intervals import Orders

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
