"""Seeds from vectors: valid messages of clients in hex, at the beginning of a session or as early as they may come."""

import json
from pathlib import Path

import pytest

from tests.fuzz.helpers import session_of
from tests.helpers.examples import needs_protocol
from wiretool.errors import InputError
from wiretool.fuzz.oracles import SILENT
from wiretool.fuzz.part import fuzz_part_of
from wiretool.fuzz.seeds.vectors import Vector, is_vector_file, read_vectors, vector_sequences
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.session import FuzzSession

VECTORS = Path(__file__).parents[2] / "vectors"
HELLO, HELLO_REPLY_CUT = "ffffff81000000080000001100000005", "ffffff8100000008000000"
#: A reply of servers, `NoSuchSegment` with the name "a".
NO_SUCH_SEGMENT = "000000370000001300000000000000010001610000" + "00" * 6


def made_of(protocol: str, *data: str) -> list[FuzzSequence]:
    """Return the sequences of vectors in hex."""
    session = session_of(protocol)
    vectors = [Vector(f"vector {number}", bytes.fromhex(each)) for number, each in enumerate(data)]
    table = fuzz_part_of(protocol).table
    return list(vector_sequences(vectors, session.protocol_in(""), table, session.seeds))


def test_a_message_that_may_come_first_is_a_session_by_itself() -> None:
    (made,) = made_of("pravega", HELLO)
    assert [step.message for step in made.sendings] == ["Hello"]
    assert made.sendings[0].data.hex() == HELLO
    assert made.origin == "vector 0"


def test_a_vector_of_several_messages_is_one_session() -> None:
    (made,) = made_of("pravega", HELLO * 2)
    assert [step.message for step in made.sendings] == ["Hello", "Hello"]


def test_other_bytes_are_left_out() -> None:
    """A cut message, one of servers, no bytes, and bytes that are no message."""
    assert made_of("pravega", HELLO_REPLY_CUT, NO_SUCH_SEGMENT, "", "ffffffff" * 4) == []


@needs_protocol("offramp")
def test_a_later_message_comes_after_the_shortest_session_that_leads_to_it() -> None:
    request = json.loads((VECTORS / "offramp.json").read_text())["frames"][0]["hex"]
    (made,) = made_of("offramp", request)
    assert [step.message for step in made.sendings] == ["HandshakeRequest", "REQUEST"]
    assert made.sendings[-1].data.hex() == request


@needs_protocol("offramp")
def test_without_a_session_table_only_first_messages_are_seeds() -> None:
    session = session_of("offramp")
    request = json.loads((VECTORS / "offramp.json").read_text())["frames"][0]["hex"]
    vectors = [Vector("request", bytes.fromhex(request))]
    assert list(vector_sequences(vectors, session.protocol_in(""), None, session.seeds)) == []


@pytest.mark.parametrize(
    ("protocol", "name", "least"),
    [
        ("pravega", "pravega", 40),
        ("pravega-draft", "pravega", 8),
        ("sbp", "sbp", 40),
        ("sbp-0.1", "sbp", 40),
        ("offramp", "offramp", 12),
    ],
)
def test_seeds_of_our_vectors_reach_a_clean_mock(protocol: str, name: str, least: int) -> None:
    session = FuzzSession(protocol)
    session.add_cases()
    before = len(session.seeds)
    vectors = read_vectors(VECTORS / f"{name}.json")
    assert session.add_vectors(vectors) == len(session.seeds) - before >= least
    known = {vector.data for vector in vectors}
    answered = 0
    for seed, outcome in zip(
        session.seeds[before:], session.reference().run_fresh(session.seeds[before:]), strict=True
    ):
        assert outcome.error is None
        sent = [step.data for step in seed.sendings]
        assert any(b"".join(sent[at:]) in known for at in range(len(sent)))
        # A read at the end of a segment waits for data.
        assert [each for each in session.oracles.judge(outcome) if each.bucket.oracle != SILENT] == []
        answered += bool(outcome.exchanged)
    assert answered > 0.5 * (len(session.seeds) - before)


# -- files -------------------------------------------------------------------------------------------------------------


def test_vectors_are_in_a_list_or_in_lists_by_name(tmp_path: Path) -> None:
    path = tmp_path / "messages.JSON"
    assert is_vector_file(path)
    assert not is_vector_file(tmp_path / "session.pcap")
    entries = [{"name": "hel\nlo", "hex": "00 01"}, {"hex": "02"}, {"text": "no bytes"}, "a text"]
    expected = [Vector(rf"{path}, hel\x0alo", b"\0\1"), Vector(f"{path}, vector 2", b"\2")]
    path.write_text(json.dumps(entries))
    assert read_vectors(path) == expected
    path.write_text(json.dumps({"about": "two messages", "frames": entries}))
    assert read_vectors(path) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[", "not JSON"),
        ("[]", "no vectors; expected a list of vectors, each with the bytes of messages in hex"),
        ('{"vectors": 3}', "no vectors"),
        ("7", "no vectors"),
        ('[{"hex": "0"}]', "vector 1: hex is not hexadecimal digits in pairs"),
        ('[{"hex": "zz", "name": "odd"}]', "odd: hex is not"),
        ('[{"hex": 12}]', "hex is not"),
        ("[" * 100_000, "not JSON: nested too deeply"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "messages.json"
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_vectors(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: "):
        read_vectors(tmp_path / "nowhere.json")
