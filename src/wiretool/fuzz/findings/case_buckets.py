"""Buckets of failed conformance cases: one bug of a server makes many cases fail in the same way."""

import re

from wiretool.conformance.results import CaseResult
from wiretool.fuzz.oracles import BYTES, Bucket, kind_of

#: Begins the reply of a bucket of cases.
CASE = "conformance case: "
#: A message among those that were expected, without its fields.
_EXPECTED = re.compile(r"(?:^| or )(\w+)\(")
#: A problem of a reply that does not decode; what follows its place has values of the reply.
_AT_BYTE = re.compile(r"(.*?) at byte \d+(?: (\([^)]*\)))?")
#: Fields whose values distinguish failures; other values differ from case to case.
_CODE = re.compile(r"code$|status$")
_BOOLS = frozenset({"True", "False"})


def case_bucket(oracle: str, result: CaseResult) -> Bucket:
    """Return the bucket of a failed case: the last request, and the kind of failure without the values of the case."""
    return Bucket(oracle, "", _request(result), "", f"{CASE}{failure_kind(result)}")


def bucket_by_id(oracle: str, result: CaseResult) -> Bucket:
    """Return the bucket as earlier versions wrote it in a baseline: each case had its own."""
    return Bucket(oracle, "", "", "", result.case.id)


def _request(result: CaseResult) -> str:
    """Return the name of the last request; an invalid one is described in words that begin with it, or are bytes."""
    if result.sent is None:
        return ""
    first = re.match(r"\w*", result.sent.name)
    name = first[0] if first else ""
    return name if name[:1].isupper() else BYTES


def failure_kind(result: CaseResult) -> str:
    """Return how a case failed: the field that differs, the reply and the expected one, or the problem of the reply."""
    text = result.difference or result.why
    path, is_field, values = text.partition(": expected ")
    if is_field:
        return f"{kind_of(path)} differs{_distinct_values(path, values)}"
    if at := _AT_BYTE.match(text):
        return kind_of(" ".join(part for part in at.groups() if part))
    if ": " in text or not result.expected:
        return kind_of(text)
    return f"{kind_of(text)}; expected {_expected_kind(result.expected)}"


def _distinct_values(path: str, values: str) -> str:
    """Return the values of a code or a flag, as they distinguish failures; empty for other fields."""
    expected, _, found = values.partition(", found ")
    if _CODE.search(path) or (expected in _BOOLS and found in _BOOLS):
        return f": {expected[:40]} expected, {found[:40]} found"
    return ""


def _expected_kind(expected: str) -> str:
    """Return the names of the messages that were expected, or the words for something else."""
    names = sorted(set(_EXPECTED.findall(expected)))
    return " or ".join(names) or kind_of(expected.strip("()"))
