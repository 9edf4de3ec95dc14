"""Find words that the glossary rules out; `python -m tests.helpers.words` lowers the counts of words_allowed.json."""

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

from wiretool import cli
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.text.explain import meaning

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wiretool"
ALLOWED = ROOT / "tests" / "words_allowed.json"

#: Idioms that no user-visible text may have, each with its replacement.
IDIOMS = {
    r"t(?:old|ells?|elling)": "report, show, name",
    r"want(?:s|ed)?": "expected, requires",
    r"h(?:angs?|ung) on": "depends on",
    r"(?<!there )(?:is|are|was|were) no(?:ne)?(?! (?:longer|more)\b)": "is not a",
    r"behind": "after",
    r"(?:no|some|every)body|whoever|whom?": "name the program",
    r"sp(?:eaks?|eaking|oken?)": "use, send, replay",
    r"sa(?:y|ys|id|ying)|hears?|heard": "send, receive, report",
    r"what": "a noun",
    r"holes?": "gap",
    r"wish(?:es)?": "options",
    r"manners?|dialects?": "adapter",
    r"excus(?:e|es|ed|ing)": "explanation",
    r"(?:mis)?deeds?": "fault action",
    r"stencils?": "template",
    r"hops?": "boundary",
    r"lanes?": "flow",
    r"dialogues?": "connection",
    r"strays?": "unsolicited",
    r"likeness": "request key",
    r"defects?": "bug, problem",
    r"(?:left|leaves?|leaving) out": "skip",
    r"(?:made|makes?|making) up": "generate",
    r"anew": "again",
    r"held against": "compared with",
    r"ours": "wiretool's",
    r"so (?:many|long|often)": "a number, a duration",
    r"by lot": "random",
    r"goes with": "requires",
    r"signs? of life": "keep-alive",
}
#: Words that identifiers, comments and docstrings should not have: the rename table of the glossary.
NAMES = {
    r"(?:un)?told": "emitted, reported",
    r"wish(?:es)?": "options",
    r"manners?": "adapter",
    r"excus(?:e|es|ed|ing)": "explanation",
    r"holes?": "gap",
    r"behind": "after",
    r"(?:mis)?deeds?": "fault action",
    r"lanes?": "flow, exchange loop",
    r"stencils?": "template",
    r"hops?": "boundary",
    r"said|say|says|saying|heard|hear|hears|spoken|speaks?|spoke|speaking": "send, receive, replay",
    r"dialogues?": "recorded connection",
    r"strays?": "unsolicited",
    r"likeness": "request keys",
    r"freeze|frozen_state|thaw(?:ed)?": "serialize, deserialize",
    r"historian": "state inference",
    r"joints?": "split point",
    r"chorus": "player group",
    r"remnants?": "dropped calls",
    r"stretches": "record packet index",
    r"strangers?": "unknown traffic",
    r"whoever|somebody|nobody|everybody": "name the program",
    r"hangs|anew": "depends on; again",
    r"thereby|whereupon|wherewith": "one idea a sentence",
}
#: First words that no docstring may have.
OPENINGS = r"(?:What|How|Which|Them|Whether|Where|Who|Whose|Why|When)\b"
#: Packages whose texts are those of real servers, and generated code.
WIRE_TEXTS = ("protocols/sbp/server/", "protocols/sbp_0_1/server/", "protocols/pravega_controller/controller_pb2.py")


class Hit(NamedTuple):
    """A text with an idiom that is ruled out."""

    place: str
    word: str
    instead: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.word!r} in {self.text!r}; use the glossary's word ({self.instead})"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w`])(?:{pattern})(?![\w`])", re.IGNORECASE)


def idioms_in(place: str, text: str) -> list[Hit]:
    """Return the idioms in a text that a user sees; quoted code does not count."""
    prose = re.sub(r"`[^`\n]*`", "``", text)
    if not _compiled("|".join(IDIOMS)).search(prose):
        return []
    return [
        Hit(place, found.group(), instead, text.strip())
        for pattern, instead in IDIOMS.items()
        for found in _compiled(pattern).finditer(prose)
    ]


def sources() -> list[Path]:
    """Return the source files of the package, generated ones aside."""
    return sorted(path for path in SOURCE.rglob("*.py") if not path.name.endswith("_pb2.py"))


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and _text(first.value):
                assert isinstance(first.value, ast.Constant)
                yield first.value


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield each string literal of two words or more, with its line: errors, logs, headings, help texts and reasons."""
    tree = ast.parse(source)
    skipped = {id(each) for each in _docstrings(tree)}
    skipped |= {
        id(part)
        for each in ast.walk(tree)
        if isinstance(each, ast.JoinedStr)
        for part in ast.walk(each)
        if part is not each and isinstance(part, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped.add(id(node.returns))
        if id(node) not in skipped and re.search(r"[A-Za-z]{2,}[,:;]? [a-z{(]", text := _text(node)):
            yield getattr(node, "lineno", 0), text


def literal_hits() -> list[Hit]:
    """Return the idioms in string literals of the package, except for the texts of real servers."""
    return [
        hit
        for path in sources()
        if not (name := str(path.relative_to(SOURCE))).startswith(WIRE_TEXTS)
        for line, text in prose(path.read_text())
        for hit in idioms_in(f"{name}:{line}", text)
    ]


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield the help text of every command, argument and option."""
    commands: list[tuple[str, Any]] = [("wiretool", typer.main.get_command(cli.app))]
    while commands:
        name, command = commands.pop()
        yield name, command.help or ""
        for parameter in command.params:
            yield f"{name} {parameter.opts[0]}", getattr(parameter, "help", None) or ""
        commands += [(f"{name} {each}", sub) for each, sub in getattr(command, "commands", {}).items()]


def message_texts() -> Iterator[tuple[str, str]]:
    """Yield the meaning of every message, as `wiretool explain` prints it."""
    for protocol in PROTOCOLS.values():
        for cls in protocol.messages:
            yield f"{protocol.name} {cls.__name__}", " ".join(meaning(cls))


def pages() -> list[Path]:
    """Return the pages that users read; the glossary itself lists the words that are ruled out."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("[!G]*.md"))]


def page_hits(page: Path) -> list[Hit]:
    """Return the idioms in the prose of a page: code blocks aside."""
    text = re.sub(r"^```.*?^```", lambda found: "\n" * found.group().count("\n"), page.read_text(), flags=re.M | re.S)
    return [
        hit
        for number, line in enumerate(text.splitlines(), 1)
        if not line.startswith("    ")
        for hit in idioms_in(f"{page.name}:{number}", line)
    ]


def _package(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "(top)"


def _words(text: str) -> list[str]:
    """Split a text or identifier into its words: `take_in`, `EndedWatch`."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)


def _ruled_out(tokens: Counter[str]) -> int:
    named = re.compile("|".join(NAMES), re.IGNORECASE)
    return sum(count for word, count in tokens.items() if named.fullmatch(word))


def words_in(source: str) -> int:
    """Return how many words of identifiers, comments and docstrings are ruled out."""
    documented = {each.lineno for each in _docstrings(ast.parse(source))}
    words: Counter[str] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_text = token.type == tokenize.STRING and token.start[0] in documented
        if is_text or token.type in (tokenize.NAME, tokenize.COMMENT):
            words.update(_words(token.string))
    return _ruled_out(words)


def openings_in(source: str) -> int:
    """Return how many docstrings open with a word that is ruled out."""
    return sum(
        re.match(OPENINGS, each.value.strip()) is not None
        for each in _docstrings(ast.parse(source))
        if isinstance(each.value, str)
    )


@cache
def counts() -> dict[str, dict[str, int]]:
    """Return the counts by package: words, and openings of docstrings."""
    found: dict[str, dict[str, int]] = {}
    for path in sources():
        entry = found.setdefault(_package(path), {"words": 0, "openings": 0})
        source = path.read_text()
        entry["words"] += words_in(source) + _ruled_out(Counter(_words(path.stem)))
        entry["openings"] += openings_in(source)
    return dict(sorted(found.items()))


def allowed() -> dict[str, dict[str, int]]:
    """Return the counts that the data file allows."""
    read: dict[str, dict[str, int]] = json.loads(ALLOWED.read_text())
    return read


def lower() -> list[str]:
    """Write the counts of today where they are lower, and return a line for each that is higher."""
    old, new = allowed(), counts()
    zero = {"words": 0, "openings": 0}
    higher = [
        f"{package}: {count} {kind}, {old.get(package, zero)[kind]} are allowed; use the glossary's words"
        for package, entry in new.items()
        for kind, count in entry.items()
        if count > old.get(package, zero)[kind]
    ]
    lowest = {
        package: {kind: min(count, old.get(package, zero)[kind]) for kind, count in entry.items()}
        for package, entry in new.items()
    }
    ALLOWED.write_text(json.dumps(lowest, indent=2) + "\n")
    return higher


if __name__ == "__main__":
    problems = lower()
    print(*problems, sep="\n")
    sys.exit(bool(problems))
