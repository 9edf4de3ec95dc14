"""What `wiretool bench --controller` does before a load and after it: a stream of its own is made, and taken away."""

from collections.abc import Sequence
from contextlib import ExitStack
from math import ceil
from typing import TYPE_CHECKING

from wiretool.commands.options import tell
from wiretool.commands.replay.options import headers_from
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.commands.bench.options import BenchOptions
    from wiretool.load.part import RunStream
    from wiretool.load.planning.plan import Place, Plan
    from wiretool.net.addresses import Address


def on_stream(options: "BenchOptions", plan: "Plan", stack: ExitStack) -> "tuple[Plan, RunStream]":
    """The load on a stream that is made for it, and that stream; the end of the stack takes away what is still there.

    UsageError where the controller or a store is on a machine that was not allowed, PeerError where one is not there.
    """
    from wiretool.load.link import Link
    from wiretool.load.part import describe_owners, load_part
    from wiretool.net.addresses import address_from, check_allowed
    from wiretool.protocols.base.protocol import imported

    part = load_part(plan.protocol)
    if not part.run_stream:
        owners = describe_owners("a controller", lambda other: bool(other.run_stream))
        raise UsageError(f"--controller: {owners}, --protocol is {plan.protocol}")
    address = address_from(options.controller, option="--controller")
    check_allowed(address, options.allowed, f"--controller {address}")
    target = address_from(options.target, option="--target") if options.target else None
    if target is not None:
        check_allowed(target, options.allowed, f"--target {target}")
    stream: RunStream = imported(part.run_stream)(address, plan.run, headers_from((), options.user))
    stack.callback(_tell_left, stream)
    made = stream.make(plan.segments)
    check_lifetime(plan, made.token_s)
    plan = plan.at(_reached(made.places, target, options.allowed), made.token)
    for host, port in {(place.host, place.port) for place in plan.places}:
        Link(host, port).close()
    return plan, stream


def check_lifetime(plan: "Plan", token_s: float | None) -> None:
    """UsageError where a run would go on for longer than its token is good: stores close the connection then."""
    if token_s is not None and plan.whole_s > token_s:
        why = f"a run of {ceil(plan.whole_s):,} s, and the controller's permission expires after {token_s:,.0f} s"
        raise UsageError(f"--duration {plan.duration_s:g}: {why}")


def _reached(places: "Sequence[Place]", target: "Address | None", allowed: Sequence[str]) -> "tuple[Place, ...]":
    """The same segments where they can be reached: at a target that is named, else where the controller says."""
    import msgspec

    from wiretool.net.addresses import Address, check_allowed

    if target is not None:
        return tuple(msgspec.structs.replace(place, host=target.host, port=target.port) for place in places)
    for place in places:
        where = Address(place.host, place.port)
        check_allowed(where, allowed, f"--controller: {place.segment} at {where}")
    return tuple(places)


def _tell_left(stream: "RunStream") -> None:
    """Take away what a run has left that did not come to its end; told where that is not to be waited for either."""
    why = ""
    try:
        why = stream.remove()
    except KeyboardInterrupt:
        why = stream.left("stopped during the deletion of the stream")
        raise
    finally:
        if why:
            tell(why)
