"""Which frames of the batch style wait for an answer, and the codes of both schemas with which one says it failed."""

from wiretool.protocols.base.exchanges import Exchanges, Fields, value_in
from wiretool.protocols.sbp.exchanges import FAREWELLS, FINE, asked, names_in, told, values_of
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.tables_s1 import AppendResult
from wiretool.protocols.sbp_0_1.tables_s2 import Status

_NONE = frozenset({0})
_CODES_S1 = names_in(AppendResult, "error_code")
_CODES_S2 = names_in(Status, "code")


def failure(name: str, fields: Fields) -> str | None:
    """The name of the first code that is no good one: S2 has them in statuses, S1 in results."""
    header = value_in(fields, "header")
    code = next((code for code in values_of(header, "code") if code not in FINE), None)
    if code is not None:
        return _CODES_S2.get(code, str(code))
    code = next((code for code in values_of(header, "error_code") if code not in _NONE), None)
    return None if code is None else _CODES_S1.get(code, str(code))


EXCHANGES = Exchanges(
    asks=asked(S1) | asked(S2),
    may_ask=told(S1) | told(S2),
    unless="is_response",
    failure=failure,
    fine={"code": FINE, "error_code": _NONE},
    farewells=FAREWELLS,
)
