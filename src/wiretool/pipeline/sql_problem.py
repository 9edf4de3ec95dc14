"""Our words for the errors of DuckDB about a question in SQL; names that it suggests are kept."""

import re
from collections.abc import Callable

#: The match of one of the patterns below.
Found = re.Match[str]


def sql_problem(err: Exception) -> str:
    """Return the problem of a question in one line, without DuckDB's picture of the place.

    An error that has no words of ours is in those of DuckDB, as it depends on the question.
    """
    text = " ".join(str(err).split("\n\n")[0].split())
    for pattern, words in _WORDS:
        found = pattern.match(text)
        if found:
            return words(found)
    why = re.sub(r"^(?:[A-Z][A-Za-z]* )+Error: ", "", text).rstrip("!.")
    return f"the question has no answer: {_lower_first(why)}; expected a question in the SQL of DuckDB"


def _lower_first(text: str) -> str:
    """Return a sentence without its capital; a word of capitals, as LIMIT, keeps them."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _expand(template: str) -> Callable[[Found], str]:
    return lambda found: found.expand(template)


def _missing_column(found: Found) -> str:
    near = re.findall(r'"([^"]+)"', found["candidates"] or "")
    hint = f"; similar columns: {', '.join(near)}" if near else ""
    return f"no column is called {found['name']}{hint}; DESCRIBE TABLE names all columns of a table"


def _missing_table(found: Found) -> str:
    near = re.findall(r'"([^"]+)"', found["candidates"] or "")
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"FROM has no table {found['name']}{hint}; expected one of those after FROM and JOIN"


def _missing_function(found: Found) -> str:
    hint = f" (did you mean {found['near']}?)" if found["near"] else ""
    return f"no function is called {found['name']}{hint}; expected a function of DuckDB"


def _wrong_arguments(found: Found) -> str:
    name, _, types = found["call"].partition("(")
    return f"{name} does not take ({types}; expected arguments of other types, as with CAST(... AS BIGINT)"


_WORDS: tuple[tuple[re.Pattern[str], Callable[[Found], str]], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r'Binder Error: Referenced column "(?P<name>.*?)" (?:was )?not found.*?'
            r"(?:Candidate bindings: (?P<candidates>.*))?$",
            _missing_column,
        ),
        (
            r'Binder Error: Referenced table "(?P<name>.*?)" not found!?(?: Candidate tables: (?P<candidates>.*))?$',
            _missing_table,
        ),
        (
            r"Catalog Error: (?:[A-Z][a-z]+ )+with name (?P<name>.+?) does not exist!?"
            r'(?: Did you mean "(?P<near>.*?)".*)?$',
            _missing_function,
        ),
        (
            r"Permission Error: (?:Cannot access (?:file|directory) )?(?P<name>\".*?\")?.*$",
            lambda found: (
                f"{found['name'] or 'a file'}: files other than the tables cannot be read; "
                "expected the name of a table (SHOW ALL TABLES names all)"
            ),
        ),
        (
            r'Parser Error: syntax error at or near (?P<near>".*")$',
            _expand(r"not SQL: unexpected \g<near>; expected one statement, such as SELECT count(*) FROM frames"),
        ),
        (
            r"Parser Error: syntax error at end of input$",
            _expand(r"not SQL: it ends early; expected one statement, such as SELECT count(*) FROM frames"),
        ),
        (
            r"Parser Error: unterminated (?P<noun>string literal|quoted identifier|.*)$",
            _expand(r"not SQL: \g<noun> without its end; expected a closing quote"),
        ),
        (
            r'Binder Error: Ambiguous reference to column name "(?P<name>.*?)" \(use: (?P<use>.*)\)$',
            _expand(r"several tables have a column \g<name>; expected \g<use>"),
        ),
        (r"Binder Error: No function matches .*? types '(?P<call>.*?)'", _wrong_arguments),
        (
            r'Binder Error: column "(?P<name>.*?)" must appear in the GROUP BY',
            _expand(r"\g<name> is neither grouped nor aggregated; expected it after GROUP BY, or ANY_VALUE(\g<name>)"),
        ),
        (
            r"Conversion Error: Could not convert string '(?P<text>.*?)' to (?P<type>\S+)",
            _expand(r"'\g<text>' is not a value of type \g<type>; TRY_CAST gives NULL for such values"),
        ),
        (
            r"Invalid Input Error: Values were not provided for the following parameters",
            _expand(r"a question cannot have parameters; expected values in their place"),
        ),
        (
            r"Invalid Input Error: More than one row returned by a subquery",
            _expand(r"a subquery in place of a value has several rows; expected one, as with LIMIT 1"),
        ),
        (
            r"Out of Range Error: Overflow in (?P<noun>\w+)",
            _expand(r"\g<noun> of numbers that are too large; expected numbers of their type, or CAST(... AS DOUBLE)"),
        ),
    )
)
