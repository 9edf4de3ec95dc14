"""Cases of Offramp against the original server as it was recorded, and against every vector that is to be refused."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import MUST, Conformance, Verdict, case
from wiretool.conformance.mutation.mutants import applied, mutants_of
from wiretool.conformance.registry import conformance_of
from wiretool.protocols.offramp.conformance.steps import MEANWHILE, open_stream, taken_leniently, text, undecodable

PART = conformance_of("offramp")
VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "offramp.json").read_text())
#: Cases in which the original server takes what it should refuse (offramp.md §1.1, §1.2, §6).
LENIENT = {"offramp/handshake/12", "offramp/handshake/13", "offramp/handshake/21", "offramp/handshake/22"}
LENIENT |= {"offramp/handshake/31"}
REFUSED = [
    vector for vector in VECTORS["json"] if vector["direction"] == "c2s" and "error" in vector and vector["text"]
]


def original(part: Conformance) -> Conformance:
    """The cases against a mock that answers as the original server was recorded to."""
    return replace(part, variants={name: {**options, "like_real": True} for name, options in part.variants.items()})


def test_the_original_server_passes() -> None:
    run = run_on_mock(original(PART), PART.cases)
    others = {result.case.id: (result.verdict, result.why) for result in run.results if result.verdict != Verdict.PASS}
    assert {id: verdict for id, (verdict, _) in others.items()} == dict.fromkeys(LENIENT, Verdict.LENIENT), others


def test_there_are_vectors() -> None:
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("refused", REFUSED, ids=[vector["name"] for vector in REFUSED])
def test_every_vector_that_is_refused_ends_a_conversation_as_the_cases_say(refused: dict[str, str]) -> None:
    talk = case(
        "offramp/vector/1",
        MUST,
        "It is refused.",
        "vectors",
        open_stream(),
        text(refused["text"]),
        undecodable(*taken_leniently("the original server takes it")),
        ignore=(*MEANWHILE, "Close"),
    )
    (result,) = run_on_mock(PART, [talk]).results
    assert (result.verdict, result.why) == (Verdict.PASS, "")


def test_every_kind_of_error_is_that_of_a_case() -> None:
    """The texts that the cases send are refused for every reason that a vector of a client names."""
    from wiretool.errors import DecodeError
    from wiretool.protocols.offramp import events
    from wiretool.protocols.offramp.conformance import malformed

    kinds = set()
    for each in (*malformed._REFUSED, *malformed._WRONG_DIRECTION, *malformed._LAX_TEXTS):
        data = each.text if isinstance(each.text, bytes) else each.text.encode()
        with pytest.raises(DecodeError) as caught:
            events.decode(data, "client")
        kinds.add(caught.value.kind)
    assert kinds >= {vector["error"] for vector in REFUSED}


def test_sources_name_a_document() -> None:
    roots = re.compile(r"(spec 004|protocols/offramp\.md|captures/offramp|vectors/offramp\.json)\b")
    assert [each.id for each in PART.cases if not roots.match(each.source)] == []


@pytest.mark.parametrize("id", ["offramp/access/13", "offramp/deflate/6"])
def test_a_server_that_upgrades_what_it_may_refuse_has_to_serve_it(id: str) -> None:
    (served_or_refused,) = (each for each in PART.cases if each.id == id)
    with applied(mutants_of(PART)["connection-missing"]):
        (silent,) = run_on_mock(PART, [served_or_refused]).results
    assert (silent.verdict, silent.difference) == (Verdict.FAIL, "no reply came in time")
    (served,) = run_on_mock(PART, [served_or_refused]).results
    (refused,) = run_on_mock(original(PART), [served_or_refused]).results
    assert (served.verdict, refused.verdict) == (Verdict.PASS, Verdict.PASS)
    assert [event.name for event in served.events if event.side == "server"] == ["HandshakeResponse", "CONNECTION"]
    (answer,) = (event.fields for event in refused.events if event.name == "HandshakeResponse")
    assert answer is not None
    assert answer["status"] == 500
