"""Many texts at once are the objects that each is by itself, or are left to the reference."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.talk import json_values
from wiretool import limits
from wiretool.errors import DecodeError
from wiretool.protocols.offramp.columns.json import plain_objects
from wiretool.protocols.offramp.events import plain_object, text_of
from wiretool.protocols.offramp.json_parser import parse_json

PLAIN = b'{"type":"CANCEL"}'
DEEP = b'{"a":%s%s}' % (b"[" * 200, b"]" * 200)
#: What the parser alone would take for something else, or what it does not take.
ODD = [
    b'{"a":1,"a":2}',
    b'{"a":1,"a" :2}',
    b'{"a":1,"a"\t:2}',
    b'{"a":1,"a"\n:2}',
    b'{"a":1,"a":2,"b":"\\u0022:"}',
    b'{"a":1,"a":2,"b":"\\"\\u003a"}',
    b'{"a":1,"a":2,"b":"\\"\\u003A"}',
    b'{"a":{"b":1,"b":2}}',
    b'{"a":[{"b":1,"b":1}]}',
    b'{"a":1,"\\u0061":2}',
    DEEP,
    b'{"a":%s}' % (b"9" * 641),
    b'{"a":-%s}' % (b"1" * 700),
    b'{"a":1e400}',
    b'{"a":NaN}',
    b'{"a":"\xff"}',
    b'{"\xc3":1}',
    b'{"a":"\\ud800"}',
    b'{"a":"\xed\xa0\x80"}',
    b'{"a":1}}',
    b'{"a":1} {}',
    b"\xef\xbb\xbf{}",
    b"[1]",
    b"null",
    b'"x"',
    b"",
    b" ",
    b'{"a":01}',
    b'{"a":1,}',
]
#: What looks odd and is not.
LAWFUL = [
    b"{}",
    b' {"a" :1} ',
    b'{"a":\n[1,\t2]}\r\n',
    b'{"a":"\\":","b":":x","c":"x:\\u0022:"}',
    b'{"a":"space :","b":"[[[{{{"}',
    b'{"a":"%s"}' % (b"[" * 300),
    b'{"a":"%s"}' % (b"8" * 900),
    b'{"a":0.%s}' % (b"3" * 700),
    b'{"a":%s}' % (b"9" * 640),
    b'{"a":-9223372036854775809,"b":18446744073709551616,"c":-0,"d":-0.0,"e":1E3}',
    b'{"a":%s%s}' % (b"[" * 199, b"]" * 199),
    b'{"\xc3\xa9":"\xf0\x9f\x98\x80","b":"\\ud83d\\ude00\\u00e9\\/"}',
]


def judged(texts: list[bytes]) -> list[dict[str, Any] | None]:
    """What they are at once; checks that nothing is taken for what it is not."""
    found = plain_objects(texts)
    assert len(found) == len(texts)
    for text, members in zip(texts, found, strict=True):
        if members is not None:
            parsed = parse_json(text_of(text))
            assert (parsed.value, parsed.error, parsed.overflow) == (members, None, None)
            assert repr(parsed.value) == repr(members)  # 1 is not 1.0, nor True
        else:
            assert plain_object(text) is None
    return found


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("others", [0, 3])
def test_odd(text: bytes, others: int) -> None:
    found = judged([PLAIN] * others + [text] + [PLAIN] * others)
    assert found.pop(others) is None
    assert found == [{"type": "CANCEL"}] * 2 * others


@pytest.mark.parametrize("text", LAWFUL)
def test_lawful(text: bytes) -> None:
    judged([text])
    judged([PLAIN, text, PLAIN])


def test_most_stay_together() -> None:
    """What a road carries is not read one by one: the texts of one batch have no other objects than its own."""
    texts = [b'{"type":"MESSAGE","payload":{"a":[{"n":%d}],"t":"x : y"}}' % n for n in range(500)]
    assert judged(texts) == [json.loads(text) for text in texts]


def test_none() -> None:
    assert plain_objects([]) == []


@pytest.mark.parametrize("shift", range(9))
@pytest.mark.parametrize("more", [0, 1])
def test_too_many_digits_wherever_they_stand(shift: int, more: int) -> None:
    text = b'{"%s":%s}' % (b"k" * shift, b"7" * (limits.JSON_INTEGER_DIGITS_MAX + more))
    judged([PLAIN, text, PLAIN])
    if more:
        with pytest.raises(DecodeError, match="a whole number of 641 digits"):
            parse_json(text.decode())
        assert plain_objects([text]) == [None]


pieces = st.sampled_from(
    [b'"a"', b'"b"', b":", b",", b"{", b"}", b"[", b"]", b" ", b"1", b'"\\":"', b'":"', b"\xff", b"\n"]
)
made = st.dictionaries(st.sampled_from(["a", "b", ':"', "é"]), json_values, max_size=4).map(
    lambda members: json.dumps(members, ensure_ascii=len(members) % 2 == 0, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
)
texts = st.one_of(
    st.lists(pieces, max_size=10).map(b"".join),
    made,
    st.tuples(made, made).map(lambda two: two[0][:-1] + b"," + two[1][1:]),
    st.sampled_from(ODD + LAWFUL),
)


@given(st.lists(texts, max_size=8))
def test_any(given_texts: list[bytes]) -> None:
    judged(given_texts)


@given(st.lists(texts, min_size=1, max_size=4), st.integers(0, 200))
def test_cut(given_texts: list[bytes], at: int) -> None:
    judged([PLAIN, *(text[:at] for text in given_texts)])
