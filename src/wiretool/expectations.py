"""Our words for what libraries find wrong with a command line, an option, a request, JSON or TOML."""

import re
from json import JSONDecodeError

#: What pydantic or Typer says, and what we say in its place; the first that matches counts.
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
    (r"\S+ is not in the range (\S+ to \S+?)\.?$", r"expected \1"),
    (r"\S+ is not in the range at least (\S+?)\.?$", r"expected \1 or more"),
    (r"\S+ is not in the range at most (\S+?)\.?$", r"expected \1 or less"),
    (r"\S+ is not in the range x>(\S+?)\.?$", r"expected more than \1"),
    (r"(?:'[^']*'|\"[^\"]*\") is not a valid int(?:eger)?(?: range)?\.?$", "expected a whole number"),
    (r"(?:'[^']*'|\"[^\"]*\") is not a valid float(?: range)?\.?$", "expected a number"),
    (r"'([^']*)' is not one of (.+)", r"no such choice: \1; expected one of \2"),
    (r"(?:[Ff]ile|[Dd]irectory|[Pp]ath) '([^']*)' is not readable", r"\1: permission denied"),
    (r"(?:[Ff]ile|[Dd]irectory|[Pp]ath) '([^']*)' is not writable", r"\1: permission denied"),
    (r"(?:[Ff]ile|[Dd]irectory|[Pp]ath) '([^']*)' does not exist", r"\1: no such file"),
    (r"[Ff]ile '([^']*)' is a directory", r"\1: a folder; expected a file"),
    (r"[Dd]irectory '([^']*)' is a file", r"\1: a file; expected a folder"),
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


# -- JSON and TOML -----------------------------------------------------------------------------------------------------

#: Messages of msgspec on a text that is not JSON or not MessagePack.
_ENDS_EARLY = "Input data was truncated"
_MALFORMED = re.compile(r"(?:JSON|MessagePack data) is malformed: .* \(byte (\d+)\)$")
#: The types of values by their names in msgspec.
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
    "bytes": "bytes",
}
_VALUE = re.compile(
    r"Expected `(?P<wanted>[^`]+)`(?P<bound> [<>]=? \S+| of (?:at (?:least|most) )?length [^`,]+)?"
    r"(?:, got (?P<got>[^`]+|`[^`]+`))?$"
)
_FIELD = re.compile(r"Object (?P<kind>missing required|contains unknown) field `(?P<name>[^`]*)`$")
_PLACE = re.compile(r"(?P<why>.*?) - at (?:`key` in )?`\$?\.?(?P<path>[^`]*)`$")
#: How messages of the standard library on TOML begin, and our words.
_TOML_WORDS: tuple[tuple[str, str], ...] = (
    ("Cannot overwrite a value", "a key that has a value already"),
    ("Cannot declare", "a table that is declared already"),
    ("Cannot mutate", "a key of a table that is complete"),
    ("Cannot redefine", "a table that is declared already"),
    ("Duplicate inline table key", "a key that has a value already"),
    ("Invalid value", "expected a value"),
    ("Invalid statement", "expected a key or a table"),
    ("Invalid initial character for a key", "expected a key"),
    ("Expected '=' after a key", "expected = after the key"),
    ("Expected newline or end of document", "expected the end of the line"),
    ("Expected ']", "expected the closing bracket of a table"),
    ("Unclosed array", "a list without its closing bracket"),
    ("Unclosed inline table", "a table without its closing brace"),
    ("Unterminated string", "a text without its closing quote"),
    ("Expected \"'", "a text without its closing quotes"),
    ("Expected '\"", "a text without its closing quotes"),
    ("Unescaped '\\'", "an unknown escape"),
    ("Illegal character", "a character that is not allowed here"),
    ("Invalid hex value", "an incomplete \\u escape"),
    ("Escaped character is not a Unicode", "an escape that is not a character"),
    ("Invalid date or datetime", "a date that does not exist"),
)
#: How messages of the standard library on JSON begin, and our words.
_JSON_WORDS: tuple[tuple[str, str], ...] = (
    ("Expecting value", "expected a value"),
    ("Expecting property name", "expected a name in quotes"),
    ("Expecting ',' delimiter", "expected a comma"),
    ("Expecting ':' delimiter", "expected a colon"),
    ("Unterminated string", "a text without its closing quote"),
    ("Invalid control character", "a control character in a text"),
    ("Invalid \\uXXXX escape", "an incomplete \\u escape"),
    ("Invalid \\escape", "an unknown escape"),
    ("Illegal trailing comma", "a comma before the end"),
    ("Extra data", "more text after the value"),
)


def json_words(err: JSONDecodeError) -> str:
    """Return the problem of a JSON text in our words, without its place."""
    return next((words for start, words in _JSON_WORDS if err.msg.startswith(start)), "unexpected text")


def json_problem(err: Exception, form: str = "JSON") -> str:
    """Return the problem of a JSON text, or of one in another such form, by the error of its library."""
    if isinstance(err, RecursionError):
        return f"not {form}: nested too deeply"
    if isinstance(err, UnicodeError):
        return "not UTF-8"  # the place that msgspec names is that in a single text
    if isinstance(err, JSONDecodeError):
        return f"not {form}: {json_words(err)} at character {err.pos + 1}"
    text = str(err)
    if problem := _value_problem(text):
        return problem
    if text == _ENDS_EARLY:
        return f"not {form}: it ends early"
    found = _MALFORMED.match(text)
    return f"not {form}: unexpected byte {found[1]}" if found else f"not {form}"


def damage_offset(err: Exception, size: int) -> int:
    """Return the byte at which msgspec found JSON of `size` bytes wrong; 0 where it does not name the place."""
    text = str(err)
    if text == _ENDS_EARLY:
        return size
    found = _MALFORMED.match(text)
    return int(found[1]) if found else 0


def _value_problem(text: str) -> str:
    """Return the problem of a value, as `field a.b: expected text, got a list`; empty if it is another one."""
    place = _PLACE.match(text)
    why, path = (place["why"], place["path"]) if place else (text, "")
    if found := _FIELD.match(why):
        name = f"{path}.{found['name']}" if path else found["name"]
        return f"field {name} is {'missing' if found['kind'].startswith('missing') else 'unknown'}"
    where = f"field {path}: " if path else ""
    if found := _VALUE.match(why):
        got = f", got {_type_words(found['got'].strip('`'))}" if found["got"] else ""
        return f"{where}expected {_type_words(found['wanted'])}{found['bound'] or ''}{got}"
    if found := re.match(r"Invalid (?:enum )?value (.+)", why):
        return f"{where}unknown value {found[1]}"
    return f"{where}expected another value" if place else ""


def _type_words(names: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in names.split(" | "))


def toml_problem(err: Exception) -> str:
    """Return the problem of a TOML text, after its place, by the error of the standard library."""
    if isinstance(err, RecursionError):
        return "not TOML: nested too deeply"
    text = str(err)
    words = next((words for start, words in _TOML_WORDS if text.startswith(start)), "unexpected text")
    found = re.search(r"\(at (line \d+, column \d+)\)$", text)
    return f"{found[1] if found else 'end of the file'}: not TOML: {words}"


# -- regular expressions -----------------------------------------------------------------------------------------------

#: How messages of the standard library on regular expressions begin, and our words.
_REGEX_WORDS: tuple[tuple[str, str], ...] = (
    ("missing ), unterminated subpattern", "a group without its closing parenthesis"),
    ("missing ), unterminated", "a group without its closing parenthesis"),
    ("unbalanced parenthesis", "a closing parenthesis without its group"),
    ("unterminated character set", "a character set without its closing bracket"),
    ("bad character range", "a range of characters that ends before it begins"),
    ("nothing to repeat", "nothing before it that can be repeated"),
    ("multiple repeat", "a repetition of a repetition"),
    ("min repeat greater than max repeat", "a repetition whose minimum is above its maximum"),
    ("bad escape (end of pattern)", "a backslash at the end"),
    ("bad escape", "an unknown escape"),
    ("incomplete escape", "an incomplete escape"),
    ("look-", "a lookbehind without a fixed length"),
    ("unknown extension", "an unknown kind of group"),
    ("unexpected end of pattern", "a group that ends early"),
    ("invalid group reference", "a reference to a group that does not exist"),
    ("unknown group name", "a reference to a group that does not exist"),
    ("cannot refer to an open group", "a reference to a group from within it"),
    ("redefinition of group name", "two groups of one name"),
    ("global flags not at the start", "flags that are not at its start"),
    ("the repetition number is too large", "a repetition that is too large"),
)


def regex_problem(err: Exception) -> str:
    """Return the problem of a regular expression, with the place in it if there is one."""
    if isinstance(err, RecursionError):
        return "nested too deeply"
    if not isinstance(err, re.error):
        return "a repetition that is too large"
    words = next((words for start, words in _REGEX_WORDS if err.msg.startswith(start)), "unexpected text")
    return words if err.pos is None else f"{words} at character {err.pos + 1}"
