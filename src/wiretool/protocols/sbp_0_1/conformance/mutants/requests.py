"""Defects of what is unknown or cannot be read, and of heartbeats and metrics."""

from collections.abc import Callable
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp.messages import SYSTEM_ERROR
from wiretool.protocols.sbp.server.link import WHOLE, SbpLink
from wiretool.protocols.sbp_0_1 import tables_s2
from wiretool.protocols.sbp_0_1.conformance.mutants.handlers import answer_otherwise, with_fields, wrap_handler
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.server import codes as op
from wiretool.protocols.sbp_0_1.server import dialect_s2
from wiretool.protocols.sbp_0_1.server.asking import Ask, Reply
from wiretool.protocols.sbp_0_1.server.serving import BatchLink


def _refuse_in_s1(patcher: Patcher) -> None:
    def refuse(self: BatchLink, frame: Any, code: int, message: str | None = None) -> None:
        status = tables_s2.Status(code=code, message=message)
        self.reply(frame, tables_s2.SystemErrorResponse(status=status), flags=WHOLE | SYSTEM_ERROR)

    patcher.set(BatchLink, "refuse", refuse)


def _refuse_with(flags: int | None) -> Callable[[Patcher], None]:
    def refuse(self: BatchLink, frame: Any, code: int, message: str | None = None) -> None:
        if self.schema is not S1 and flags is not None:
            status = tables_s2.Status(code=code, message=message)
            self.reply(frame, tables_s2.SystemErrorResponse(status=status), flags=flags)

    return lambda patcher: patcher.set(BatchLink, "refuse", refuse)


def _close_unknown(patcher: Patcher) -> None:
    def wrap(refuse: Callable[..., None]) -> Callable[..., None]:
        def close(self: BatchLink, frame: Any, code: int, message: str | None = None) -> None:
            refuse(self, frame, code, message)
            self.close("an unknown operation")

        return close

    patcher.wrap(BatchLink, "refuse", wrap)


def _format_unchecked(patcher: Patcher) -> None:
    patcher.set(SbpLink, "is_foreign", lambda self, frame: False)


def _format_0_dropped(patcher: Patcher) -> None:
    patcher.set(SbpLink, "is_foreign", lambda self, frame: frame.header_format != 1)


def _unreadable(act: Callable[[BatchLink, Any], None]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(BatchLink, "_unreadable", lambda self, reading, now_ns: act(self, reading))


def _empty_is_unreadable(patcher: Patcher) -> None:
    patcher.set(BatchLink, "_empty", lambda self, reading: None)


def _empty_in_s2(patcher: Patcher) -> None:
    def empty(self: BatchLink, reading: Any) -> Any:
        return reading.operation.request() if reading.operation and reading.operation.request else None

    patcher.set(BatchLink, "_empty", empty)


def _manager_serves_all(patcher: Patcher) -> None:
    patcher.set(dialect_s2, "MANAGER", {**dialect_s2.DATA_NODE, **dialect_s2.MANAGER})


def _same_number(serve: Callable[[Ask], Reply]) -> Callable[[Ask], Reply]:
    def allocate(ask: Ask) -> Reply:
        ask.store.next_node = 0
        return serve(ask)

    return allocate


def _nobody_leads(header: Any) -> Any:
    nodes = tuple(with_fields(node, is_leader=False) for node in header.cluster.nodes)
    return with_fields(header, cluster=with_fields(header.cluster, nodes=nodes))


MUTANTS: tuple[Mutant, ...] = (
    Mutant("s1-unknown-refused", "S1 refuses an unknown operation with a system error.", _refuse_in_s1),
    Mutant("s2-unknown-dropped", "S2 drops a frame with an unknown operation.", _refuse_with(None)),
    Mutant("s2-refusal-without-flag", "A system error of S2 lacks its flag.", _refuse_with(WHOLE)),
    Mutant("unknown-closes", "An unknown operation closes the connection.", _close_unknown),
    Mutant("format-unchecked", "A header in another format is read as a FlatBuffer.", _format_unchecked),
    Mutant("format-0-dropped", "A header format of 0 is dropped, without a header too.", _format_0_dropped),
    Mutant("bad-header-dropped", "A header that cannot be read is dropped.", _unreadable(lambda link, reading: None)),
    Mutant(
        "bad-header-closes",
        "A header that cannot be read closes the connection.",
        _unreadable(lambda link, reading: link.close("a header that cannot be read")),
    ),
    Mutant("s1-empty-refused", "S1 refuses a request without a header.", _empty_is_unreadable),
    Mutant("s2-empty-served", "S2 serves a request without a header.", _empty_in_s2),
    Mutant("manager-serves-all", "A placement manager serves the operations of data nodes.", _manager_serves_all),
    Mutant(
        "heartbeat-without-node",
        "The answer to a heartbeat lacks the data node.",
        answer_otherwise(op.HEARTBEAT, lambda header: with_fields(header, data_node=None)),
    ),
    Mutant(
        "heartbeat-own-role",
        "The answer to a heartbeat has the role of the server.",
        answer_otherwise(op.HEARTBEAT, lambda header: with_fields(header, client_role=3)),
    ),
    Mutant(
        "metrics-without-node",
        "The answer to metrics lacks the data node.",
        answer_otherwise(op.REPORT_METRICS, lambda header: with_fields(header, data_node=None)),
    ),
    Mutant("same-node-number", "Two data nodes get the same number.", wrap_handler(op.ALLOCATE_ID, _same_number)),
    Mutant("nobody-leads", "No node is named as the leader.", answer_otherwise(op.DESCRIBE_PM_CLUSTER, _nobody_leads)),
)
