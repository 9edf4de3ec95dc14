"""Write docs/messages.md from the declarations: `python -m tests.helpers.message_table`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.text.explain import SENDERS, declaration_of, meaning

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
_INTRODUCTION = """\
# Messages

[Contents of the documentation](../README.md#documentation)

Every message of every protocol, in the order of its declarations. `wiretool explain NAME` prints the fields of a
message, their types and meaning, and the clause that defines it.
"""


def page_text() -> str:
    """Return the page: one table of messages per protocol."""
    return "\n".join([_INTRODUCTION, *("\n".join(_section(protocol)) for protocol in PROTOCOLS.values())])


def _section(protocol: Protocol) -> Iterator[str]:
    yield f"## {protocol.name}\n\n{protocol.title}\n\n| type | message | sender | meaning |\n|---:|---|---|---|"
    for cls in protocol.messages:
        declared = declaration_of(cls)
        if declared is not None:
            number = declared.type_id if declared.type_id > -(2**31) else ""
            text = meaning(cls)[0].replace("|", "\\|")
            yield f"| {number} | `{declared.name}` | {SENDERS[declared.sender]} | {text} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    print(f"{PAGE}: {sum(line.startswith('| ') for line in page_text().splitlines())} lines of tables")
    sys.exit(0)
