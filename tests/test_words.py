"""Hold the language of docs/GLOSSARY.md: no ruled-out idiom in texts that users see, fewer ruled-out words in src."""

from pathlib import Path

import pytest

from tests.helpers import words
from tests.helpers.words import Hit, idioms_in


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("--port x: wants PORT=NAME", "wants"),
        ("what is odd", "what"),
        ("x is no JSON", "is no"),
        ("a connection is told by its side", "told"),
        ("no frame comes behind it", "behind"),
        ("nobody reads", "nobody"),
        ("The server speaks TLS", "speaks"),
        ("it is left out here", "left out"),
        ("in a hole of the recording", "hole"),
    ],
)
def test_an_idiom_is_found(text: str, word: str) -> None:
    assert [hit.word for hit in idioms_in("here", text)] == [word]
    assert "use the glossary's word" in str(idioms_in("here", text)[0])


@pytest.mark.parametrize(
    "text", ["there is no table x", "it is no longer open", "use `keep what`", "a whatever, unwanted"]
)
def test_other_words_are_not_found(text: str) -> None:
    assert idioms_in("here", text) == []


def test_literals_of_code_are_read_and_docstrings_and_annotations_are_not() -> None:
    source = (
        '"""What a module is."""\n\n\ndef read(x: int) -> "tuple[ReplayAdapter, what]":\n    """What it says."""\n'
        '    raise ValueError(f"{x} is no number")\n'
    )
    assert list(words.prose(source)) == [(6, "{} is no number")]


def test_words_of_names_comments_and_docstrings_are_counted() -> None:
    source = '"""What was told."""\n# behind it\nHeldExcuse = let_hole = told = 1\nTEXT = "a hole that is a value"\n'
    assert words.words_in(source) == 5
    assert words.openings_in(source) == 1


def test_docstrings_that_open_with_whether_are_counted_unless_they_return_it() -> None:
    source = 'def is_a():\n    """Return whether it is."""\n\n\ndef is_b():\n    """Whether it is."""\n'
    assert words.openings_in(source) == 1


def _listed(hits: list[Hit]) -> str:
    return "\n".join(map(str, hits))


def test_help_texts_have_no_idiom_that_the_glossary_rules_out() -> None:
    texts = list(words.help_texts())
    assert len(texts) > 100
    assert _listed([hit for place, text in texts for hit in idioms_in(place, text)]) == ""


def test_errors_logs_and_headings_have_no_idiom_that_the_glossary_rules_out() -> None:
    assert _listed(words.literal_hits()) == ""


def test_the_meanings_of_messages_have_no_idiom_that_the_glossary_rules_out() -> None:
    texts = list(words.message_texts())
    assert len(texts) > 100
    assert _listed([hit for place, text in texts for hit in idioms_in(place, text)]) == ""


@pytest.mark.parametrize("page", words.pages(), ids=lambda page: page.name)
def test_pages_have_no_idiom_that_the_glossary_rules_out(page: Path) -> None:
    assert _listed(words.page_hits(page)) == ""


@pytest.mark.parametrize("kind", ["words", "openings"])
def test_words_in_source_only_become_fewer(kind: str) -> None:
    counts = {package: entry[kind] for package, entry in words.counts().items()}
    allowed = {package: entry[kind] for package, entry in words.allowed().items()}
    found = []
    for package in sorted({*counts, *allowed}):
        count, limit = counts.get(package, 0), allowed.get(package, 0)
        if count > limit:
            found.append(f"{package}: {count} {kind}, {limit} allowed; use the glossary's word")
        if count < limit:
            found.append(f"{package}: {count} {kind}, {limit} allowed; lower it: python -m tests.helpers.words")
    assert found == []
