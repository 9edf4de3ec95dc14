"""Cases of messages that are no event of a client (protocols/offramp.md §2.1, §2.4, §6 rows 5, 8 and 25)."""

from typing import NamedTuple

from wiretool.conformance.case import MUST, SHOULD, Case, case
from wiretool.protocols.offramp.conformance.steps import (
    MEANWHILE,
    commit_text,
    first_message,
    frame,
    open_stream,
    raw,
    request,
    taken_leniently,
    text,
    undecodable,
)

_RULE = "protocols/offramp.md §2.1; vectors/offramp.json, json"
_LAX = "protocols/offramp.md §2.1, §6 row 25"
_IGNORED = (*MEANWHILE, "Close")


class _Text(NamedTuple):
    """A message that is refused, and in words what it is."""

    words: str
    text: str | bytes


#: What the original server refuses as well.
_REFUSED = (
    _Text("Text that is not JSON", "hello"),
    _Text("A JSON text that is cut", '{"type":"REQUEST","count":1'),
    _Text("An object that ends after the name of a member", '{"type":'),
    _Text("A comma after the last member", '{"type":"REQUEST","count":1,}'),
    _Text("Single quotes", "{'type':'CANCEL'}"),
    _Text("A name without quotes", '{type:"CANCEL"}'),
    _Text("White space only", "   "),
    _Text("A byte order mark", '\ufeff{"type":"CANCEL"}'),
    _Text("NaN for a count", '{"type":"REQUEST","count":NaN}'),
    _Text("A count that begins with 0", '{"type":"REQUEST","count":01}'),
    _Text("null", "null"),
    _Text("true", "true"),
    _Text("A number", "5"),
    _Text("A string", '"CANCEL"'),
    _Text("An array", '["REQUEST",1]'),
    _Text("An array of an event", '[{"type":"CANCEL"}]'),
    _Text("An empty object", "{}"),
    _Text("A type that is null", '{"type":null,"count":1}'),
    _Text("A type that is a boolean", '{"type":true}'),
    _Text("A type that is an object", '{"type":{"a":1},"count":1}'),
    _Text("A type that is an array", '{"type":["REQUEST"],"count":1}'),
    _Text("An empty type", '{"type":""}'),
    _Text("A type in small letters", '{"type":"request","count":1}'),
    _Text("A type with a space", '{"type":" REQUEST","count":1}'),
    _Text("An unknown type", '{"type":"HEARTBEAT"}'),
    _Text("A count that is true", '{"type":"REQUEST","count":true}'),
    _Text("A count that is an array", '{"type":"REQUEST","count":[1]}'),
    _Text("A count that is an object", '{"type":"REQUEST","count":{}}'),
    _Text("A count beyond a long", '{"type":"REQUEST","count":9223372036854775808}'),
    _Text("A count below a long", '{"type":"REQUEST","count":-9223372036854775809}'),
    _Text("A COMMIT without offsets", '{"type":"COMMIT","correlationId":"c"}'),
    _Text("Offsets that are null", '{"type":"COMMIT","correlationId":"c","offsets":null}'),
    _Text("Offsets that are an array", '{"type":"COMMIT","correlationId":"c","offsets":[]}'),
    _Text("Offsets that are a string", '{"type":"COMMIT","correlationId":"c","offsets":"x"}'),
    _Text("An id that is an array", '{"type":"COMMIT","correlationId":["x"],"offsets":{"0":1}}'),
    _Text("An id that is an object", '{"type":"COMMIT","correlationId":{},"offsets":{"0":1}}'),
    _Text("A partition that is not a number", '{"type":"COMMIT","correlationId":"c","offsets":{"a":1}}'),
    _Text("A partition with a fraction", '{"type":"COMMIT","correlationId":"c","offsets":{"1.0":1}}'),
    _Text("A partition with a space", '{"type":"COMMIT","correlationId":"c","offsets":{" 1":1}}'),
    _Text("A partition beyond an int", '{"type":"COMMIT","correlationId":"c","offsets":{"2147483648":1}}'),
    _Text("An offset that is null", '{"type":"COMMIT","correlationId":"c","offsets":{"0":null}}'),
    _Text("An offset beyond a long", '{"type":"COMMIT","correlationId":"c","offsets":{"0":9223372036854775808}}'),
    _Text("An offset that is an object", '{"type":"COMMIT","correlationId":"c","offsets":{"0":{}}}'),
)
#: Events of servers.
_WRONG_DIRECTION = (
    _Text("CONNECTION", '{"type":"CONNECTION","agentName":"x"}'),
    _Text("REBALANCE", '{"type":"REBALANCE","assignment":[0]}'),
    _Text("MESSAGE", '{"type":"MESSAGE","partition":0,"offset":0,"schema":1,"timestampMs":1,"payload":{}}'),
    _Text("COMMIT_RESPONSE", '{"type":"COMMIT_RESPONSE","correlationId":"c","success":true}'),
    _Text("ERROR", '{"type":"ERROR","reason":"x"}'),
)
#: What the decoder of the original server takes, and no honest client sends.
_LAX_TEXTS = (
    _Text("A REQUEST without a count", '{"type":"REQUEST"}'),
    _Text("A count that is null", '{"type":"REQUEST","count":null}'),
    _Text("A count in quotes", '{"type":"REQUEST","count":"1"}'),
    _Text("A count with a fraction", '{"type":"REQUEST","count":1.9}'),
    _Text("A count with an exponent", '{"type":"REQUEST","count":1e0}'),
    _Text("A count twice", '{"type":"REQUEST","count":1,"count":2}'),
    _Text("An event whose first member is not named type", '{"kind":"REQUEST","count":1}'),
    _Text("Something after the event", '{"type":"CANCEL"} trailing'),
    _Text("An id that is a number", '{"type":"COMMIT","correlationId":17,"offsets":{}}'),
    _Text("An id that is a boolean", '{"type":"COMMIT","correlationId":true,"offsets":{}}'),
    _Text("A negative partition", '{"type":"COMMIT","correlationId":"c","offsets":{"-1":1}}'),
    _Text("A partition that begins with 0", '{"type":"COMMIT","correlationId":"c","offsets":{"01":1}}'),
    _Text("An offset in quotes", '{"type":"COMMIT","correlationId":"c","offsets":{"0":"5"}}'),
    _Text("An offset with a fraction", '{"type":"COMMIT","correlationId":"c","offsets":{"0":5.7}}'),
)

CASES: tuple[Case, ...] = (
    *(
        case(
            f"offramp/malformed/{number}",
            MUST,
            f"{each.words} closes the connection with 1011, or ends it.",
            _RULE,
            open_stream(),
            text(each.text),
            undecodable(),
            ignore=_IGNORED,
        )
        for number, each in enumerate(_REFUSED, 1)
    ),
    *(
        case(
            f"offramp/direction/{number}",
            MUST,
            f"{each.words} from a client closes the connection with 1011, or ends it.",
            "protocols/offramp.md §2.4",
            open_stream(),
            text(each.text),
            undecodable(),
            ignore=_IGNORED,
        )
        for number, each in enumerate(_WRONG_DIRECTION, 1)
    ),
    *(
        case(
            f"offramp/lax/{number}",
            SHOULD,
            f"{each.words} is refused.",
            _LAX,
            open_stream(),
            text(each.text),
            undecodable(*taken_leniently("the decoder of the original server takes it")),
            ignore=_IGNORED,
        )
        for number, each in enumerate(_LAX_TEXTS, 1)
    ),
    case(
        "offramp/malformed/50",
        MUST,
        "A message that cannot be decoded ends the connection while messages flow, too.",
        "captures/offramp err_malformed, connection 18",
        open_stream(),
        request(2**63 - 1),
        text("{bad"),
        undecodable(),
        ignore=_IGNORED,
    ),
    case(
        "offramp/malformed/51",
        MUST,
        "Events after a message that cannot be decoded are not served.",
        "protocols/offramp.md §1.4",
        open_stream(),
        first_message(),
        raw(frame(b"hello"), frame(commit_text("late")), words="text that is not JSON, and a commit"),
        undecodable(),
        ignore=("ERROR", "Close"),
    ),
)
