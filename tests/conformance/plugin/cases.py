"""One case and one rule of the protocol from outside."""

from tests.conformance.plugin import NAME
from wiretool.conformance.case import MUST, Conformance, case, expect, send
from wiretool.conformance.recorded.rules import decodable, rule_maker

_rule = rule_maker(NAME, "plugin.md")

CONFORMANCE = Conformance(
    protocol=NAME,
    server="pravega-draft",
    cases=(
        case(
            f"{NAME}/alive/1",
            MUST,
            "A KeepAlive is answered.",
            "plugin.md §1",
            send("KeepAlive", data=""),
            expect("KeepAlive", data=""),
        ),
    ),
    rules=(_rule("server/1", MUST, "Every message of the server can be decoded.", "§2", decodable("server")),),
)
