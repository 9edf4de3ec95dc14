"""Defects of refusals: operations that are not served, headers that cannot be read."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.server import codes
from wiretool.protocols.sbp.server.link import WHOLE, Role, SbpLink
from wiretool.protocols.sbp.server.serving import ServerLink


def _refuse_with(flags: int | None) -> Callable[[Patcher], None]:
    """Return a patch that refuses with other flags, or not at all."""

    def refuse(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
        if flags is not None:
            header = tables.SystemError(status=tables.Status(code=code, message=message))
            self.reply(frame, header, flags=flags)

    return lambda patcher: patcher.set(ServerLink, "refuse", refuse)


def _unserved_closes(patcher: Patcher) -> None:
    def wrap(unserved: Callable[..., None]) -> Callable[..., None]:
        def close(self: ServerLink, reading: Any, role: Role) -> None:
            unserved(self, reading, role)
            self.close("unknown operation")

        return close

    patcher.wrap(ServerLink, "_unserved", wrap)


def _refusal_of_operation_0(patcher: Patcher) -> None:
    def wrap(refuse: Callable[..., None]) -> Callable[..., None]:
        def name_none(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
            refuse(self, msgspec.structs.replace(frame, opcode=0), code, message)

        return name_none

    patcher.wrap(ServerLink, "refuse", wrap)


def _refusal_15_bits(patcher: Patcher) -> None:
    def wrap(refuse: Callable[..., None]) -> Callable[..., None]:
        def cut(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
            refuse(self, msgspec.structs.replace(frame, opcode=frame.opcode & 0x7FFF), code, message)

        return cut

    patcher.wrap(ServerLink, "refuse", wrap)


def _all_unknown(patcher: Patcher) -> None:
    def unserved(self: ServerLink, reading: Any, role: Role) -> None:
        self.refuse(reading.frame, codes.UNKNOWN_OPERATION, "unknown operation")

    patcher.set(ServerLink, "_unserved", unserved)


def _format_unchecked(patcher: Patcher) -> None:
    patcher.set(SbpLink, "is_foreign", lambda self, frame: False)


def _format_0_refused(patcher: Patcher) -> None:
    patcher.set(SbpLink, "is_foreign", lambda self, frame: frame.header_format != 1)


def _bad_header_ignored(patcher: Patcher) -> None:
    def wrap(request: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: ServerLink, reading: Any, role: Role, now_ns: int) -> Any:
            is_readable = isinstance(reading.frame.header, Table) or reading.frame.header is None
            return request(self, reading, role, now_ns) if is_readable else None

        return read

    patcher.wrap(ServerLink, "_request", wrap)


def _bad_header_closes(patcher: Patcher) -> None:
    def wrap(refuse: Callable[..., None]) -> Callable[..., None]:
        def close(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
            refuse(self, frame, code, message)
            if code == codes.BAD_REQUEST:
                self.close("a bad request")

        return close

    patcher.wrap(ServerLink, "refuse", wrap)


def _payload_refused(patcher: Patcher) -> None:
    def wrap(answer: Callable[..., None]) -> Callable[..., None]:
        def strict(self: ServerLink, frame: Any, role: Role, request: Any, now_ns: int) -> None:
            if frame.payload:
                self.refuse(frame, codes.BAD_REQUEST)
            else:
                answer(self, frame, role, request, now_ns)

        return strict

    patcher.wrap(ServerLink, "_answer", wrap)


def _negative_timeout_passed(patcher: Patcher) -> None:
    def wrap(answer: Callable[..., None]) -> Callable[..., None]:
        def expire(self: ServerLink, frame: Any, role: Role, request: Any, now_ns: int) -> None:
            if getattr(request, "timeout_ms", 0) >= 0:
                answer(self, frame, role, request, now_ns)

        return expire

    patcher.wrap(ServerLink, "_answer", wrap)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("unserved-dropped", "Operations that are not served are dropped.", _refuse_with(None)),
    Mutant("unserved-closes", "An operation that is not served closes the connection.", _unserved_closes),
    Mutant("unserved-unknown", "Every operation that is not served is called unknown.", _all_unknown),
    Mutant("refusal-without-flag", "A refusal lacks the flag SYSTEM_ERROR.", _refuse_with(WHOLE)),
    Mutant("refusal-of-none", "A refusal names operation 0.", _refusal_of_operation_0),
    Mutant("refusal-15-bits", "A refusal loses the highest bit of the operation.", _refusal_15_bits),
    Mutant("format-unchecked", "A header in another format is read as a FlatBuffer.", _format_unchecked),
    Mutant("format-0-refused", "A header format of 0 is refused, without a header too.", _format_0_refused),
    Mutant("bad-header-ignored", "A header that cannot be read is not answered.", _bad_header_ignored),
    Mutant("bad-request-closes", "A bad request closes the connection.", _bad_header_closes),
    Mutant("payload-refused", "A payload where none belongs is refused.", _payload_refused),
    Mutant("negative-timeout", "A timeout below 0 has passed at once.", _negative_timeout_passed),
)
