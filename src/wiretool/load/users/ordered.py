"""The user classes that a plan asks for."""

from collections.abc import Mapping
from types import new_class

from wiretool.load.part import load_part
from wiretool.load.planning.plan import Plan
from wiretool.load.users.user import LoadUser
from wiretool.protocols.base.protocol import imported


def user_classes(plan: Plan) -> dict[type[LoadUser], int]:
    """Each class, made to the plan, and how many users of it there are to be."""
    attributes: dict[str, object] = {
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
        attributes |= {"places": plan.places, "token": plan.token}
    if plan.message:
        attributes |= {"protocol": plan.protocol, "message": plan.message}
    part = load_part(plan.protocol)
    classes: dict[type[LoadUser], int] = {}
    if plan.appenders:
        rate = None if plan.rate_per_s is None else plan.rate_per_s / plan.appenders
        appending = {**attributes, "rate": rate, "conditional": plan.is_conditional}
        classes[made(imported(part.appender), plan.appenders, appending)] = plan.appenders
    if plan.fetchers:
        classes[made(imported(part.fetcher), plan.fetchers, {**attributes, "road": plan.road})] = plan.fetchers
    return classes


def made(base: type[LoadUser], users: int, attributes: Mapping[str, object]) -> type[LoadUser]:
    """A class that does the same as another, with these attributes, of which Locust makes so many users."""
    body = {**attributes, "of_users": users, "fixed_count": users}
    return new_class(base.__name__, (base,), exec_body=lambda namespace: namespace.update(body))
