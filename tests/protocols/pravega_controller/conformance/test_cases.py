"""Cases of Pravega's controller against a mock whose answers take time, and the fields that they name."""

import re
from dataclasses import replace

from wiretool.conformance.active.mock_run import run_on_mock
from wiretool.conformance.case import Expect, ExpectAll, Send, Verdict
from wiretool.conformance.registry import conformance_of
from wiretool.protocols.pravega_controller import controller_pb2 as pb

PART = conformance_of("pravega-controller")
METHODS = pb.DESCRIPTOR.services_by_name["ControllerService"].methods_by_name
#: Calls that no case makes: their answers say nothing that holds for every controller.
LEFT_OUT = {"getControllerToBucketMapping"}


def test_a_controller_that_takes_its_time_passes() -> None:
    """A real controller goes on to abort a transaction after its answer."""
    paced = replace(PART, variants={**PART.variants, "": {"is_paced": True}})
    run = run_on_mock(paced, [each for each in PART.cases if not each.variant])
    assert {result.case.id: result.why for result in run.results if result.verdict is not Verdict.PASS} == {}


def test_every_method_is_called_and_its_answer_judged() -> None:
    sent = {step.message for each in PART.cases for step in each.steps if isinstance(step, Send)}
    awaited = {
        outcome.message
        for each in PART.cases
        for step in each.steps
        if isinstance(step, Expect | ExpectAll)
        for outcome in (step.outcomes if isinstance(step, Expect) else step.replies)
        if outcome.fields
    }
    assert set(METHODS) - sent == LEFT_OUT
    assert set(METHODS) - awaited == LEFT_OUT


def test_answers_name_fields_that_there_are() -> None:
    for each in PART.cases:
        for step in each.steps:
            if isinstance(step, Expect):
                for outcome in step.outcomes:
                    if outcome.message in METHODS:
                        names = set(METHODS[outcome.message].output_type.fields_by_name)
                        assert set(outcome.fields) <= names, each.id


def test_sources_name_a_document() -> None:
    roots = re.compile(
        r"(protocols/pravega-controller\.md|facts/pravega-server\.md|every call against server 0\.13\.0)"
    )
    assert [each.id for each in PART.cases if not roots.match(each.source)] == []
