"""Mutations of the JSON in Offramp's events: the frame around it stays whole."""

import random

from tests.fuzz.helpers import session_of
from wiretool.fuzz.session import all_mutations
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.fuzz.json_text import changed


def test_frames_stay_whole() -> None:
    session = session_of("offramp")
    (mutation,) = [each for each in all_mutations("offramp") if each.name == "json/text"]
    rng = random.Random(0)
    made = [mutation.apply(seed, rng, session.context(seed.setup)) for seed in session.seeds]
    steps = [step for each in made if each is not None for step in each.sendings if step.changes]
    assert len(steps) >= 20
    for step in steps:
        header = framing.read_header(step.data, 0, len(step.data))
        assert header is not None
        assert header.size + header.length == len(step.data)
        assert framing.payload_of(header, step.data, 0, len(step.data)).startswith(b"{")


def test_values_are_deep_and_large_and_keys_repeat() -> None:
    text = b'{"type":"COMMIT","correlationId":"a","offsets":{"0":5}}'
    made = [changed(text, random.Random(seed)) for seed in range(300)]
    assert max(each.count(b"[") for each in made) >= 20_000
    assert any(b"9" * 400 in each for each in made)
    assert any(each.count(b'"correlationId"') == 2 for each in made)
    assert text not in made
