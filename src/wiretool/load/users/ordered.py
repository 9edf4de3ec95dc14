"""The user classes that a plan asks for."""

from collections.abc import Mapping
from types import new_class

from wiretool.load.plan import Plan
from wiretool.load.users.user import LoadUser
from wiretool.protocols.offramp.load.users import OfframpConsumer
from wiretool.protocols.pravega.load.users import PravegaAppender, PravegaFetcher
from wiretool.protocols.pravega_draft.load.users import PravegaDraftAppender, PravegaDraftFetcher
from wiretool.protocols.sbp.load.users import SbpAppender, SbpFetcher
from wiretool.protocols.sbp_0_1.load.users import SbpBatchAppender, SbpBatchFetcher

#: Who appends, by protocol.
APPENDERS: Mapping[str, type[LoadUser]] = {
    "pravega": PravegaAppender,
    "pravega-draft": PravegaDraftAppender,
    "sbp": SbpAppender,
    "sbp-0.1": SbpBatchAppender,
}

#: Who reads meanwhile.
FETCHERS: Mapping[str, type[LoadUser]] = {
    "pravega": PravegaFetcher,
    "pravega-draft": PravegaDraftFetcher,
    "sbp": SbpFetcher,
    "sbp-0.1": SbpBatchFetcher,
    "offramp": OfframpConsumer,
}


def user_classes(plan: Plan) -> dict[type[LoadUser], int]:
    """Each class, made to the plan, and how many users of it there are to be."""
    wishes: dict[str, object] = {
        "abstract": False,
        "event_size": plan.event_size,
        "batch": plan.batch,
        "pipeline": plan.pipeline,
        "segments": plan.segments,
        "verify": plan.is_verified,
        "seed": plan.seed,
        "ramp": plan.ramp_s,
    }
    if plan.places:
        wishes |= {"places": plan.places, "token": plan.token}
    classes: dict[type[LoadUser], int] = {}
    if plan.appenders:
        rate = None if plan.rate_per_s is None else plan.rate_per_s / plan.appenders
        appending = {**wishes, "rate": rate, "conditional": plan.is_conditional}
        classes[made(APPENDERS[plan.protocol], plan.appenders, appending)] = plan.appenders
    if plan.fetchers:
        classes[made(FETCHERS[plan.protocol], plan.fetchers, {**wishes, "road": plan.road})] = plan.fetchers
    return classes


def made(base: type[LoadUser], users: int, wishes: Mapping[str, object]) -> type[LoadUser]:
    """A class that does the same as another, as it is wished for, of which Locust makes so many users."""
    body = {**wishes, "of_users": users, "fixed_count": users}
    return new_class(base.__name__, (base,), exec_body=lambda namespace: namespace.update(body))
