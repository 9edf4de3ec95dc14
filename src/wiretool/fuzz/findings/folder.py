"""The folders of findings: their numbers, and the line about the expected behaviour in their pages."""

import re
from pathlib import Path

from wiretool.fuzz.oracles import (
    CRASH,
    DIED,
    DIFFERS,
    MEMORY,
    SILENT,
    SLOW,
    UNDECODABLE,
    UNHEALTHY,
    WRONG_ANSWER,
    Bucket,
)
from wiretool.protocols.base.protocol import Protocol

JSON_FILE = "finding.json"
_NUMBERED = re.compile(r"([0-9]{3,9})-.+")
#: The expected behaviour by oracle; `{}` is the program under test.
_EXPECTED = {
    CRASH: "the {} reports bytes that it does not accept, and does not crash",
    DIED: "the {} goes on after any bytes",
    DIFFERS: "the {} gives the answer that the built-in mock gives to the same bytes",
    MEMORY: "the {} uses memory in proportion to the bytes that it receives and sends",
    SILENT: "the {} answers, or ends the connection, in time",
    SLOW: "the {} handles a message in less than half a second",
    UNDECODABLE: "the bytes of the {} are of the protocol, as its specification declares them",
    UNHEALTHY: "the {} passes the conformance case after the sequence, too",
    WRONG_ANSWER: "the {} keeps the rules of the session",
}
#: For the oracles that compare events which were read back with acknowledgements.
_EXPECTED_READ = "the {} returns each acknowledged event once, in order and unchanged"


def next_number(folder: Path) -> int:
    """Return the number of the next finding in a folder: one more than the highest there."""
    if not folder.is_dir():
        return 1
    found = (_NUMBERED.fullmatch(each.name) for each in folder.iterdir())
    return max((int(each[1]) for each in found if each), default=0) + 1


def finding_folders(folder: Path) -> list[Path]:
    """Return the folders of the findings in a folder of findings, in order; any other folder is returned itself."""
    if (folder / JSON_FILE).exists():
        return [folder]
    return sorted(each.parent for each in folder.glob(f"*/{JSON_FILE}")) or [folder]


def expected_line(bucket: Bucket, protocol: Protocol, program: str = "server") -> str:
    """Return the line of a page with the expected behaviour and its source: the clause of the message, if declared."""
    text = _EXPECTED.get(bucket.oracle, _EXPECTED_READ).format(program)
    names = (bucket.reply.partition(":")[0], bucket.message)
    specs = {cls.declaration.name: cls.declaration.spec for cls in protocol.messages}
    clause = next((specs[name] for name in names if name in specs), "")
    source = f"{clause}; " if clause else ""
    return f"- expected ({source}oracle `{bucket.oracle}` in docs/fuzzing.md): {text}"
