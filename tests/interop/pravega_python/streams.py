"""The stream manager: scopes, streams and tags."""

from collections.abc import Callable
from typing import Any

import pravega_client  # type: ignore[import-not-found,import-untyped,unused-ignore]

from tests.interop.pravega_python.client import Scenario, outcome


def manage(manager: Any, scope: str) -> dict[str, Any]:
    """Everything that the stream manager can do, and be refused."""
    fixed = pravega_client.StreamScalingPolicy.fixed_scaling_policy(2)
    by_rate = pravega_client.StreamScalingPolicy.auto_scaling_policy_by_event_rate(10, 2, 3)
    retain = pravega_client.StreamRetentionPolicy
    report: dict[str, Any] = {}

    def note(name: str, call: Callable[..., Any], *args: Any) -> None:
        report[name] = outcome(call, *args)

    note("create_scope", manager.create_scope, scope)
    note("create_scope_again", manager.create_scope, scope)
    note("create_scope_ill_named", manager.create_scope, "no good!")
    note("create_tagged", manager.create_stream_with_policy, scope, "tagged", fixed, retain.by_size(10**9), ["a", "b"])
    note("create_again", manager.create_stream, scope, "tagged", 1)
    note("create_plain", manager.create_stream, scope, "plain", 1)
    note("create_by_rate", manager.create_stream_with_policy, scope, "rate", by_rate, retain.by_time(10**9))
    note("create_without_scope", manager.create_stream, f"{scope}-none", "stream", 1)
    note("tags", manager.get_stream_tags, scope, "tagged")
    note("tags_of_plain", manager.get_stream_tags, scope, "plain")
    note("tags_of_none", manager.get_stream_tags, scope, "none")
    note("update", manager.update_stream_with_policy, scope, "tagged", fixed, retain.none(), ["c"])
    note("tags_updated", manager.get_stream_tags, scope, "tagged")
    note("update_none", manager.update_stream_with_policy, scope, "none", fixed, retain.none(), [])
    note("scopes", manager.list_scope)
    note("streams", manager.list_stream, scope)
    note("delete_scope_in_use", manager.delete_scope, scope)
    note("delete_unsealed", manager.delete_stream, scope, "tagged")
    note("seal_none", manager.seal_stream, scope, "none")
    for name in ("tagged", "plain", "rate"):
        note(f"seal_{name}", manager.seal_stream, scope, name)
    note("seal_again", manager.seal_stream, scope, "tagged")
    for name in ("tagged", "plain", "rate"):
        note(f"delete_{name}", manager.delete_stream, scope, name)
    note("streams_left", manager.list_stream, scope)
    note("delete_scope", manager.delete_scope, scope)
    note("delete_scope_again", manager.delete_scope, scope)
    note("scopes_left", manager.list_scope)
    return report


def many(manager: Any, scope: str, count: int) -> dict[str, Any]:
    """Many streams, listed page by page."""
    manager.create_scope(scope)
    for index in range(count):
        manager.create_stream(scope, f"stream{index}", 1)
    return {"streams": manager.list_stream(scope)}


def scope_twice(manager: Any, scope: str) -> dict[str, Any]:
    """A scope made two times."""
    return {"first": manager.create_scope(scope), "second": manager.create_scope(scope)}


SCENARIOS: dict[str, Scenario] = {"manage": manage, "many_streams": many, "scope_twice": scope_twice}
