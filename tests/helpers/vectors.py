"""Finds vectors, and knows which check each one takes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.examples import parts

Record = Mapping[str, Any]
Check = Callable[[Record], None]

#: File name and, where a file holds several lists, the list -> the check of one record.
CHECKS: Mapping[tuple[str, str], Check] = {
    (protocol, group): check
    for protocol, checks in parts("vectors", "CHECKS").items()
    for group, check in checks.items()
}


@dataclass(frozen=True)
class Vector:
    """One record of a vector file."""

    file: Path
    group: str
    record: Record

    def __str__(self) -> str:
        return f"{self.file.parent.name}/{self.file.stem}{'.' + self.group if self.group else ''}-{self.record['name']}"

    @property
    def protocol(self) -> str:
        """The protocol of its bytes."""
        name: str = parts("vectors", "protocol_of")[self.file.stem](self.record)
        return name

    def check(self) -> None:
        """AssertionError where wiretool reads or writes it otherwise."""
        CHECKS[self.file.stem, self.group](self.record)


def vectors_below(folders: Sequence[Path]) -> list[Vector]:
    """The records of every vector file in the folders; an empty folder or a file of no known form is an error."""
    found: list[Vector] = []
    for folder in folders:
        files = sorted(folder.rglob("*.json"))
        assert files, f"no vectors in {folder}"
        for file in files:
            found += vectors_in(file)
    return found


def vectors_in(file: Path) -> list[Vector]:
    """The records of one file."""
    content = json.loads(file.read_text())
    groups = {"": content} if isinstance(content, list) else content
    lists = {group: records for group, records in groups.items() if isinstance(records, list)}
    unknown = [group for group in lists if (file.stem, group) not in CHECKS]
    assert lists, f"{file}: no list of vectors"
    assert not unknown, f"{file}: no check for {unknown}"
    return [Vector(file, group, record) for group, records in lists.items() for record in records]
