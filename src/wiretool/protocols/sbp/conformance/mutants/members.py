"""Defects of heartbeats, metrics, leadership and the choice of range servers."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.conformance.mutants.handlers import Handler, answer_otherwise, wrap_handler
from wiretool.protocols.sbp.server import codes, placement
from wiretool.protocols.sbp.server.placement import PlacementDriver, Refusal


def _follower_leads(patcher: Patcher) -> None:
    patcher.set(placement, "_EVERY_NODE", frozenset(placement.HANDLERS))


def _follower_serves_nothing(patcher: Patcher) -> None:
    patcher.set(placement, "_EVERY_NODE", frozenset())


def _leader_unnamed(patcher: Patcher) -> None:
    def wrap(not_leading: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self: msgspec.structs.replace(not_leading(self), detail=None)

    patcher.wrap(PlacementDriver, "not_leading", wrap)


def _nobody_leads(patcher: Patcher) -> None:
    def wrap(cluster: Callable[..., Any]) -> Callable[..., Any]:
        def name(self: PlacementDriver) -> Any:
            nodes = tuple(msgspec.structs.replace(node, is_leader=False) for node in cluster(self).nodes)
            return tables.PlacementDriverCluster(nodes=nodes)

        return name

    patcher.wrap(PlacementDriver, "cluster", wrap)


def _dead_chosen(patcher: Patcher) -> None:
    patcher.set(PlacementDriver, "_lives", lambda self, server, now_ns: not server.is_full)


def _full_chosen(patcher: Patcher) -> None:
    def lives(self: PlacementDriver, server: Any, now_ns: int) -> bool:
        return server.heard_ns is None or now_ns - server.heard_ns < self.silence_ns

    patcher.set(PlacementDriver, "_lives", lives)


def _fewer_servers(patcher: Patcher) -> None:
    def wrap(chosen: Callable[..., tuple[int, ...]]) -> Callable[..., tuple[int, ...]]:
        def choose(self: PlacementDriver, count: int, now_ns: int) -> tuple[int, ...]:
            try:
                return chosen(self, count, now_ns)
            except Refusal:
                return ()

        return choose

    patcher.wrap(PlacementDriver, "_chosen", wrap)


def _one_server_more(patcher: Patcher) -> None:
    def wrap(told: Callable[..., Any]) -> Callable[..., Any]:
        def tell(self: PlacementDriver, placed: Any) -> Any:
            out = told(self, placed)
            return msgspec.structs.replace(out, servers=(*out.servers, *out.servers[:1]))

        return tell

    patcher.wrap(PlacementDriver, "told", wrap)


def _any_role_counts(serve: Handler) -> Handler:
    def beat(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        if request.range_server is not None:
            self._heard(request.range_server, now_ns)
        return serve(self, request, now_ns)

    return beat


def _reports_not_counted(patcher: Patcher) -> None:
    patcher.set(PlacementDriver, "_heard", lambda self, told, now_ns, is_full=False: placement._OK)


def _same_server_number(serve: Handler) -> Handler:
    def allocate(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        self.next_server = 0
        return serve(self, request, now_ns)

    return allocate


MUTANTS: tuple[Mutant, ...] = (
    Mutant("follower-leads", "A follower serves the operations of the leader.", _follower_leads),
    Mutant("follower-idle", "A follower refuses every request.", _follower_serves_nothing),
    Mutant("leader-unnamed", "A follower does not name the leader.", _leader_unnamed),
    Mutant("nobody-leads", "No node is named as the leader.", _nobody_leads),
    Mutant(
        "same-server-number",
        "Two range servers get the same number.",
        wrap_handler(codes.ALLOCATE_ID, _same_server_number),
    ),
    Mutant(
        "heartbeat-not-echoed",
        "The answer to a heartbeat lacks the client.",
        answer_otherwise(codes.HEARTBEAT, lambda answer: msgspec.structs.replace(answer, client_id=None)),
    ),
    Mutant(
        "metrics-not-echoed",
        "The answer to metrics lacks the range server.",
        answer_otherwise(codes.REPORT_METRICS, lambda answer: msgspec.structs.replace(answer, range_server=None)),
    ),
    Mutant(
        "metrics-unchecked",
        "Metrics without metrics or range server are accepted.",
        answer_otherwise(codes.REPORT_METRICS, lambda answer: msgspec.structs.replace(answer, status=placement._OK)),
    ),
    Mutant(
        "any-role-counts",
        "A heartbeat in any role registers a range server.",
        wrap_handler(codes.HEARTBEAT, _any_role_counts),
    ),
    Mutant("reports-not-counted", "No range server is ever registered.", _reports_not_counted),
    Mutant("dead-server-chosen", "A range server that fell silent gets new ranges.", _dead_chosen),
    Mutant("full-server-chosen", "A range server with a full disk gets new ranges.", _full_chosen),
    Mutant("too-few-servers", "A range is created without enough range servers.", _fewer_servers),
    Mutant("one-server-twice", "A range names its first range server twice.", _one_server_more),
)
