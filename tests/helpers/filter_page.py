"""Write docs/filters.md from the filter language: `python -m tests.helpers.filter_page`."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from wiretool import limits
from wiretool.filter.judge import DURATIONS
from wiretool.filter.names import RECORD_NAMES, Names
from wiretool.filter.syntax import CONSTANTS, OPERATORS

PAGE = Path(__file__).parents[2] / "docs" / "filters.md"
#: What each operator is true of.
_OPERATORS = {
    "==": "both are equal; `== null`: the record has no such value",
    "!=": "the record has both, and they differ; `!= null`: it has the value",
    "<": "the first is less; for numbers and text",
    "<=": "the first is less, or both are equal",
    ">": "the first is greater",
    ">=": "the first is greater, or both are equal",
    "in": 'the first is an element of a list, or a part of a text: `message in ["REQUEST", "COMMIT"]`',
    "contains": 'the second is an element or a part of the first: `fields.segment contains "#epoch"`',
    "~": 'a regular expression matches a part of the first: `client ~ "^10[.]"`',
}
_BEGINNING = """\
# Filters

[Contents of the documentation](../README.md#documentation)

`--where EXPRESSION` selects records in `decode`, `slice`, `tap` and `replay`; fault rules take the same expressions.
The expression is checked before anything is read. An unknown name, message or choice is an error with the nearest known
one. `--fields` of `decode --format csv` and `ndjson` takes the names of this page.

```sh
wiretool decode captures/pravega/write.pcap --where 'latency > 150us' --format csv --fields n,message,latency
wiretool decode captures/pravega/write.pcap --where 'request.fields.last_event_number == 5'
wiretool decode captures/sbp/rs_errors.pcap --where 'kind == "problem" or server.port != 10911' --format ndjson
```
"""
_REQUEST = """\
On a reply, `request.` leads to the request: `request.message`, `request.fields.offset` and all other names above but
`reply_to` and `latency`. A request that lies more than %s records back is forgotten.

Fields of a message are `fields.NAME`. Structures have members (`fields.info.length`), lists have indices
(`fields.entries[0].key`), and other names are quoted (`fields["a b"]`). `wiretool explain MESSAGE` lists the fields of
a message; [messages](messages.md) lists the messages.
"""


def page_text() -> str:
    """Return the page: names, operators, values."""
    parts = [_BEGINNING, "## Names", "", "| name | value | meaning |", "|---|---|---|", *_names(RECORD_NAMES, "")]
    parts += ["| `fields` | a structure | the decoded message |"]
    parts += [
        "| `request` | a structure | the record of the request that this answers |",
        "",
        _REQUEST % f"{limits.REQUESTS_OPEN_MAX:,}",
    ]
    parts += ["## Operators", "", "| operator | true if |", "|---|---|"]
    parts += [f"| `{operator}` | {_OPERATORS[operator]} |" for operator in OPERATORS]
    parts += ["", "`and`, `or`, `not` and parentheses combine comparisons. A value that is true or false needs none."]
    parts += ["", "## Values", "", *_values()]
    return "\n".join(parts) + "\n"


def _names(names: Mapping[str, Names], prefix: str) -> Iterator[str]:
    for name, each in names.items():
        choices = f": {', '.join(f'`{choice}`' for choice in sorted(each.choices))}" if each.choices else ""
        yield f"| `{prefix}{name}` | {each.kind.words} | {each.meaning}{choices} |"
        if each.members:
            yield from _names(each.members, f"{prefix}{name}.")


def _values() -> Iterator[str]:
    durations = " and ".join(f"`{name}`" for name in DURATIONS)
    yield "| value | examples |"
    yield "|---|---|"
    yield "| number | `12`, `-1`, `0x1f`, `1.5`, `1e6` |"
    yield f"| duration, for {durations} | `100us`, `5ms`, `1.5s`, `2m` |"
    yield "| text | `\"a\"`, `'a'`, with `\\n`, `\\xNN`, `\\uNNNN` |"
    yield f"| constant | {', '.join(f'`{word}`' for word in CONSTANTS)} |"
    yield '| list | `["a", "b"]`, `[1, 2]` |'


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
