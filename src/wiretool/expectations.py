"""Our words for what libraries find wrong with a command line, an option or a request."""

import re

#: What pydantic says, and what we say in its place; the first that matches counts.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"Input should be greater than or equal to (\S+)", r"expected \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"expected \1 or less"),
    (r"Input should be greater than (\S+)", r"expected more than \1"),
    (r"Input should be less than (\S+)", r"expected less than \1"),
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be a valid boolean.*", "expected true or false"),
    (r"Input should be a valid string.*", "expected text"),
    (r"Input should be a valid (?:dictionary|object|model|mapping).*", "expected an object"),
    (r"Input should be (.+)", r"expected \1"),
    (r"Field required", "missing; expected a value"),
    (r"JSON decode error", "not JSON; expected an object"),
    (r"'([^']*)' is not one of (.+)", r"no such choice: \1; expected one of \2"),
    (r"(?:File|Directory|Path) '([^']*)' is not readable", r"\1: permission denied"),
    (r"(?:File|Directory|Path) '([^']*)' is not writable", r"\1: permission denied"),
    (r"(?:File|Directory|Path) '([^']*)' does not exist", r"\1: no such file"),
    (r"File '([^']*)' is a directory", r"\1: a folder; expected a file"),
    (r"Directory '([^']*)' is a file", r"\1: a file; expected a folder"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"too many arguments: \1"),
    (r"Option '([^']*)' requires an argument", r"option \1 requires a value"),
    (r"Option '([^']*)' does not take a value", r"option \1 takes no value"),
)


def expectation(text: str) -> str:
    """Return the text of a library with what it says of an input in our words; any other text as it is."""
    for pattern, words in _WORDS:
        changed, count = re.subn(pattern, words, text)
        if count:
            return changed
    return text
