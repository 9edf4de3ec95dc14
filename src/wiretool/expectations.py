"""Our words for what validation libraries find wrong with an option or a request."""

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
)


def expectation(text: str) -> str:
    """Return the text of a library with what it says of an input in our words; any other text as it is."""
    for pattern, words in _WORDS:
        changed, count = re.subn(pattern, words, text)
        if count:
            return changed
    return text
