"""Text as Lua has it."""

import re


def quoted(text: str) -> str:
    """Return a text as a literal."""
    escaped = re.sub(r"[^ -~]|[\\\"]", lambda found: "".join(f"\\{byte:03}" for byte in found[0].encode()), text)
    return f'"{escaped}"'


def raw_literal(data: bytes | bytearray) -> str:
    """Return bytes as a literal."""
    return '"' + "".join(f"\\{byte:03}" for byte in data) + '"'
