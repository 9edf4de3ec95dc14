"""Patches of the handlers of the placement driver."""

from collections.abc import Callable
from typing import Any

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.sbp.server import placement
from wiretool.protocols.sbp.server.placement import PlacementDriver

#: Serves one operation.
Handler = Callable[[PlacementDriver, Any, int], Table]


def wrap_handler(opcode: int, wrap: Callable[[Handler], Handler]) -> Callable[[Patcher], None]:
    """Return a patch of the handler of an operation."""

    def apply(patcher: Patcher) -> None:
        handlers = placement.HANDLERS
        patcher.set(placement, "HANDLERS", {**handlers, opcode: wrap(handlers[opcode])})

    return apply


def ask_otherwise(opcode: int, change: Callable[[PlacementDriver, Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that serves another request than the one that was sent."""
    return wrap_handler(opcode, lambda serve: lambda self, request, now_ns: serve(self, change(self, request), now_ns))


def answer_otherwise(opcode: int, change: Callable[[Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that answers something else than what was done."""
    return wrap_handler(opcode, lambda serve: lambda self, request, now_ns: change(serve(self, request, now_ns)))
