"""Cases of names, passwords and grants (protocols/offramp.md §1.3, §3.8)."""

from wiretool.conformance.case import MUST, SHOULD, Case, case
from wiretool.conformance.values import Subset
from wiretool.protocols.offramp.conformance.steps import (
    PEOPLE,
    PRIVATE,
    PUBLIC_ONLY,
    STORED,
    answered,
    ask,
    connected,
    credentials,
    first_message,
    refused,
    refused_or_served,
)

_RULE = "protocols/offramp.md §1.3"
_FIRST = "protocols/offramp.md §1.2 row 1"
_EARLIEST = "defaultOffset=EARLIEST"
_PII = "defaultOffset=EARLIEST&grants=PII"
#: The payload of the first message of the road with PII, as it is stored.
_PERSON = {"name": "Ada", "age": 36, "mail": {"home": "ada@example.org", "work": None}, "pets": [{"name": "Rex"}]}

CASES: tuple[Case, ...] = (
    case(
        "offramp/access/1",
        MUST,
        "A caller with a known name and its password may read a road that grants PUBLIC to every authenticated caller.",
        f"{_RULE} rule 3",
        ask(STORED, _EARLIEST, credentials()),
        answered(101),
        connected(),
        first_message(),
    ),
    *(
        case(
            f"offramp/access/{number}",
            MUST,
            f"{words} is answered with 401 and the realm.",
            _FIRST,
            ask(STORED, _EARLIEST, header),
            answered(401, ("WWW-Authenticate", 'Basic realm="Data Highway"')),
        )
        for number, words, header in (
            (2, "A wrong password", credentials(password="wrong")),
            (3, "An unknown name", credentials("nobody")),
            (4, "A password without a name before it", credentials("", "pass")),
            (5, "Credentials that are not base64", ("Authorization", "Basic ???")),
        )
    ),
    case(
        "offramp/access/6",
        MUST,
        "An anonymous caller may not have a grant: 401, or the upgrade and Close 1011 without an event.",
        f"{_RULE} rule 2, §6 row 6",
        ask(STORED, _PII),
        refused(401, close=1011),
    ),
    case(
        "offramp/access/7",
        MUST,
        "PUBLIC is a grant, too: an anonymous caller may not ask for it.",
        f"{_RULE} rule 2",
        ask(STORED, "grants=PUBLIC"),
        refused(401, close=1011),
    ),
    case(
        "offramp/access/8",
        MUST,
        "An anonymous caller without grants may read a road whatever authorities it names.",
        f"{_RULE} rule 2",
        ask(PRIVATE),
        answered(101),
        connected(),
        first_message(),
    ),
    case(
        "offramp/access/9",
        MUST,
        "An authenticated caller without PUBLIC from an authority is refused: 403, or the upgrade and Close 1011.",
        f"{_RULE} rule 3, §6 row 6",
        ask(PRIVATE, _EARLIEST, credentials()),
        refused(403, close=1011),
    ),
    case(
        "offramp/access/10",
        MUST,
        "A caller is refused a grant that none of its authorities holds: 403, or the upgrade and Close 1011.",
        f"{_RULE} rule 3, §6 row 6",
        ask(PUBLIC_ONLY, _PII, credentials()),
        refused(403, close=1011),
    ),
    case(
        "offramp/access/11",
        MUST,
        "A caller without grants may read a road of which it holds PUBLIC only.",
        f"{_RULE} rule 3",
        ask(PUBLIC_ONLY, _EARLIEST, credentials()),
        answered(101),
        connected(),
        first_message(),
    ),
    case(
        "offramp/access/12",
        MUST,
        "Grants may be repeated.",
        f"{_RULE}; protocols/offramp.md §1.1",
        ask(PEOPLE, "defaultOffset=EARLIEST&grants=PII&grants=PUBLIC", credentials()),
        answered(101),
        connected(),
        first_message(payload=_PERSON),
    ),
    case(
        "offramp/access/13",
        SHOULD,
        "Grants may be a list with commas; the original server takes one name at a time and answers 500.",
        "protocols/offramp.md §1.1, §6 row 1",
        ask(PEOPLE, "grants=PII,PUBLIC", credentials()),
        refused_or_served(500),
    ),
    case(
        "offramp/access/14",
        MUST,
        "Without the grant PII texts that are marked as PII come empty; numbers, nulls and all else stay.",
        "protocols/offramp.md §3.8",
        ask(PEOPLE, _EARLIEST, credentials()),
        answered(101),
        connected(),
        first_message(
            payload={"name": "", "age": 36, "mail": {"home": "", "work": None}, "pets": [{"name": ""}]},
        ),
    ),
    case(
        "offramp/access/15",
        MUST,
        "An anonymous caller gets payloads without PII.",
        "protocols/offramp.md §3.8",
        ask(PEOPLE),
        answered(101),
        connected(),
        first_message(payload=Subset(name="", age=36)),
    ),
    case(
        "offramp/access/16",
        MUST,
        "With the grant PII payloads come as they are stored.",
        "protocols/offramp.md §1.3, §3.8",
        ask(PEOPLE, _PII, credentials()),
        answered(101),
        connected(),
        first_message(payload=_PERSON),
    ),
)
