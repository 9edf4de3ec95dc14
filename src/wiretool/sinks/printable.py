"""Text from the wire, made fit for a terminal."""

import unicodedata


def printable(text: str) -> str:
    """`text` with everything that does not print as itself written as an escape: \\x1b, \\u202e.

    Control characters, marks that turn the direction of writing, lone surrogates, line separators and characters
    nobody has assigned. A backslash stays as it is: the escapes are for eyes, not for programs.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def width_of(text: str) -> int:
    """Columns that printable text takes on a terminal."""
    return len(text) if _is_plain(text) else sum(map(_columns, text))


def cut_to(text: str, columns: int) -> str:
    """`text`, or as much of its beginning as leaves room for an ellipsis in `columns`."""
    if _is_plain(text):
        return text if len(text) <= columns else text[: max(columns - 1, 0)] + "…"
    if width_of(text) <= columns:
        return text
    taken = at = 0
    while at < len(text) and taken + _columns(text[at]) < columns:
        taken += _columns(text[at])
        at += 1
    return text[:at] + "…"


def wrap_text(text: str, columns: int, *, first: int = 0) -> list[str]:
    """Return `text` in lines of at most `columns`, the first of at most `first`; longer words are cut in two.

    The first line is empty where its first word has no room there.
    """
    lines: list[str] = []
    line, room = "", first or columns
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width_of(joined) <= room:
            line = joined
            continue
        if line or (not lines and room < columns):
            lines.append(line)
            room = columns
        while width_of(word) > room:
            taken = _fitting(word, room)
            lines.append(word[:taken])
            word = word[taken:]
        line = word
    return [*lines, line]


def _fitting(word: str, columns: int) -> int:
    """Return how many characters of `word` fit, at least one."""
    taken = at = 0
    while at < len(word) and taken + _columns(word[at]) <= columns:
        taken += _columns(word[at])
        at += 1
    return max(at, 1)


def _is_plain(text: str) -> bool:
    """Whether every character takes one column, as all of ASCII and our ellipsis do."""
    return text.isascii() or text.replace("…", "").isascii()


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
