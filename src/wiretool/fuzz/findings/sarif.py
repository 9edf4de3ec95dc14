"""The result of a run as SARIF 2.1.0, which code scanning services read: a rule for each oracle."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wiretool import __version__
from wiretool.fuzz.findings.finding import PAGE_FILE
from wiretool.fuzz.findings.reported_finding import ReportedFinding
from wiretool.fuzz.findings.reports import FuzzResult
from wiretool.fuzz.oracles import CRASH, DIED, DIFFERS, MEMORY, SILENT, SLOW, UNDECODABLE, UNHEALTHY, WRONG_ANSWER
from wiretool.sinks.printable import printable

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
INFORMATION = "https://github.com/wiretool/wiretool"
PAGE = f"{INFORMATION}/blob/main/docs/fuzzing.md"
#: Hexadecimal digits of an identity.
_HASH_DIGITS = 16
_HELP = (
    f"The {PAGE_FILE} of the finding lists the messages and the command that sends them again; its pytest file passes"
    " once the bug is fixed."
)


@dataclass(frozen=True, slots=True)
class RuleText:
    """The two descriptions of a rule."""

    short: str
    full: str


_EVENTS = "Events that the server acknowledged are compared with those that it returns to a later read."
SERVER_RULES: Mapping[str, RuleText] = {
    DIED: RuleText(
        "The server ends, or accepts no more connections.",
        "After the messages of the finding the process has ended, the built-in mock has raised an exception, or new"
        " connections are refused.",
    ),
    SILENT: RuleText(
        "A reply is missing.",
        "The server does not answer a request in time on a connection that stays open, or is busy without an end. The"
        " built-in mock answers the same bytes.",
    ),
    UNDECODABLE: RuleText(
        "A reply does not decode.", "The server sends bytes that are not valid frames or messages of the protocol."
    ),
    WRONG_ANSWER: RuleText(
        "A reply breaks a rule of the protocol.",
        "The server sends a message that the session does not allow at this point, or it fails a conformance case.",
    ),
    UNHEALTHY: RuleText(
        "A valid session fails afterwards.",
        "A conformance case that passes on a fresh server fails after the messages of the finding.",
    ),
    "lost-event": RuleText("An acknowledged event is lost.", f"{_EVENTS} One is not returned."),
    "doubled-event": RuleText("An acknowledged event is returned twice.", f"{_EVENTS} One is returned twice."),
    "changed-event": RuleText("An acknowledged event is changed.", f"{_EVENTS} One is returned with other bytes."),
    MEMORY: RuleText(
        "A server takes too much memory.",
        "The server holds, or briefly uses, far more memory than the bytes that were sent and received.",
    ),
    SLOW: RuleText("A message takes too long.", "One message keeps the server busy out of proportion to its size."),
    DIFFERS: RuleText(
        "A reply differs from that of the built-in mock.",
        "The built-in mock gives another kind of reply, or another error, to the same bytes. That is not always a bug.",
    ),
}
CLIENT_RULES: Mapping[str, RuleText] = {
    CRASH: RuleText(
        "The client crashes.",
        "The client ends by a fatal signal, a panic, an assertion, a sanitizer report or an uncaught programming"
        " error after a reply with a fault.",
    ),
    SILENT: RuleText(
        "The client does not end.",
        "The client does not end in time although all replies that arrived are legal, or its connections are closed.",
    ),
    UNDECODABLE: RuleText(
        "A message of the client does not decode.", "The client sends invalid bytes after legal replies."
    ),
    MEMORY: RuleText(
        "The client takes too much memory.",
        "The client takes ten times the memory of a run without faults, or more than 1 GiB.",
    ),
}
DECODER_RULES: Mapping[str, RuleText] = {
    DIED: RuleText("The decoder raises an exception.", "One of the two paths of the decoder raises an exception."),
    DIFFERS: RuleText(
        "The two paths of the decoder differ.",
        "The row path and the column path give other records, values, errors, counts or notes for the same capture.",
    ),
    WRONG_ANSWER: RuleText(
        "The records do not match the bytes.",
        "A payload byte is in no record or in two, the fields of a frame do not tile it, or the message differs after"
        " it was encoded and decoded again.",
    ),
    SLOW: RuleText("The decoder is too slow.", "One path takes far more processor time than the capture has bytes."),
    MEMORY: RuleText(
        "The decoder takes too much memory.", "One path takes far more memory than the capture has bytes."
    ),
}


def sarif_report(result: FuzzResult) -> str:
    """Return the SARIF report: a rule for each oracle, a result for each finding."""
    oracles = sorted({finding.bucket.oracle for finding, _ in result.findings})
    invocation: dict[str, Any] = {"executionSuccessful": not result.why_cut}
    if result.why_cut:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": printable(result.why_cut)}},
        ]
    driver = {
        "name": "wiretool fuzz",
        "version": __version__,
        "informationUri": INFORMATION,
        "rules": [_rule(name, result) for name in oracles],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [
            {"ruleIndex": oracles.index(finding.bucket.oracle), **_result(finding, folder, result)}
            for finding, folder in result.findings
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(oracle: str, result: FuzzResult) -> dict[str, Any]:
    texts, section = SERVER_RULES, "oracles"
    if result.is_client:
        texts, section = CLIENT_RULES, "clients"
    elif result.is_self:
        texts, section = DECODER_RULES, "the-decoder-of-wiretool"
    return {
        "id": oracle,
        "shortDescription": {"text": texts[oracle].short},
        "fullDescription": {"text": texts[oracle].full},
        "help": {"text": _HELP},
        "helpUri": f"{PAGE}#{section}",
        "defaultConfiguration": {"level": _level(oracle, result)},
    }


def _level(oracle: str, result: FuzzResult) -> str:
    return "note" if oracle == DIFFERS and not result.is_self else "error"


def _result(finding: ReportedFinding[Any], folder: str, result: FuzzResult) -> dict[str, Any]:
    bucket = str(finding.bucket)
    digest = sha256(bucket.encode()).hexdigest()[:_HASH_DIGITS]
    place = {"artifactLocation": {"uri": page_uri(folder)}, "region": {"startLine": 1}}
    locations = [{"physicalLocation": place}] if folder else []
    return {
        "ruleId": finding.bucket.oracle,
        "level": _level(finding.bucket.oracle, result),
        "message": {"text": printable(finding.title)},
        "locations": locations,
        **({"properties": {"cases": list(finding.cases)}} if finding.cases else {}),
        "partialFingerprints": {"primaryLocationLineHash": f"{digest}:1", "bucket/v1": bucket},
    }


def page_uri(folder: str) -> str:
    """Return the URI of the page of a finding, relative if the folder is."""
    page = Path(folder, PAGE_FILE)
    return page.as_uri() if page.is_absolute() else quote(page.as_posix())
