"""The image definition and the page on containers fit the project."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
JAVA = ROOT / "tests/interop/java/src/main/java/wiretool/interop"


def test_the_image_copies_files_that_exist_and_are_not_ignored() -> None:
    copied = re.findall(r"(?m)^COPY (.*) \S+$", (ROOT / "Containerfile").read_text())
    names = [name for line in copied for name in line.split()]
    assert "pyproject.toml" in names
    assert all((ROOT / name).exists() for name in names)
    kept = re.findall(r"(?m)^!(\S+)$", (ROOT / ".dockerignore").read_text())
    assert set(kept) == set(names)


def test_the_java_of_the_page_is_that_of_the_interop_project() -> None:
    blocks = re.findall(r"(?s)```java\n(.*?)```", (ROOT / "docs/testcontainers.md").read_text())
    sources = [path.read_text() for path in sorted(JAVA.glob("*.java"))]
    assert len(blocks) == 2
    assert all(any(block in source for source in sources) for block in blocks)
