"""Patches of the handlers of operations, in one schema or in both."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from wiretool.conformance.mutation.mutants import Patcher
from wiretool.protocols.sbp_0_1.server import dialect_s1, dialect_s2
from wiretool.protocols.sbp_0_1.server.asking import Ask, Reply

Handler = Callable[[Ask], Reply]
#: The tables of handlers, and where each is.
_S1, _S2 = ((dialect_s1, "HANDLERS"),), ((dialect_s2, "MANAGER"), (dialect_s2, "DATA_NODE"))


def wrap_handler(opcode: int, wrap: Callable[[Handler], Handler], *, schema: str = "") -> Callable[[Patcher], None]:
    """Return a patch of the handler of an operation, in a schema, or in both."""
    tables = {"S1": _S1, "S2": _S2, "": (*_S1, *_S2)}[schema]

    def apply(patcher: Patcher) -> None:
        for module, name in tables:
            handlers: Mapping[int, Handler] = getattr(module, name)
            if opcode in handlers:
                patcher.set(module, name, {**handlers, opcode: wrap(handlers[opcode])})

    return apply


def answer_otherwise(opcode: int, change: Callable[[Any], Any], *, schema: str = "") -> Callable[[Patcher], None]:
    """Return a patch that changes the header of the answer to an operation."""

    def wrap(serve: Handler) -> Handler:
        def answer(ask: Ask) -> Reply:
            reply = serve(ask)
            return reply._replace(header=change(reply.header))

        return answer

    return wrap_handler(opcode, wrap, schema=schema)


def ask_otherwise(opcode: int, change: Callable[[Any], Any], *, schema: str = "") -> Callable[[Patcher], None]:
    """Return a patch that serves another request than the one that was sent."""
    return wrap_handler(
        opcode, lambda serve: lambda ask: serve(replace(ask, request=change(ask.request))), schema=schema
    )


def results_otherwise(
    opcode: int, name: str, change: Callable[[Any], Any], *, schema: str = ""
) -> Callable[[Patcher], None]:
    """Return a patch that changes each result of an operation."""

    def change_all(header: Any) -> Any:
        results = getattr(header, name)
        return header if results is None else with_fields(header, **{name: tuple(map(change, results))})

    return answer_otherwise(opcode, change_all, schema=schema)


def with_fields(table: Any, **fields: Any) -> Any:
    """Return a table with other fields."""
    return msgspec.structs.replace(table, **fields)
