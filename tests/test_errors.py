"""The texts of errors, as users see them."""

import re
from pathlib import Path

import pytest

import wiretool
from wiretool.errors import CaptureError, NothingReadError

SOURCES = Path(wiretool.__file__).parent
#: An error that names byte 0 for lack of a better one.
BYTE_0 = re.compile(r"(CaptureError|InputError)\((?:[^()]|\([^()]*\))*offset=0\b")


@pytest.mark.parametrize(("offset", "text"), [(None, "a.pcap: damaged"), (0, "a.pcap: byte 0: damaged")])
def test_a_byte_is_named_where_there_is_one(offset: int | None, text: str) -> None:
    assert str(CaptureError("a.pcap", "damaged", offset=offset)) == text
    assert str(NothingReadError("a.pcap", "no packets")) == "a.pcap: no packets"


@pytest.mark.parametrize("offset", [None, 0, 12])
def test_an_error_is_made_again_from_its_reason(offset: int | None) -> None:
    error = CaptureError("a.pcap", "damaged: bytes 1 to 3: zero", offset=offset)
    again = CaptureError.from_reason("a.pcap", error.reason)
    assert (str(again), again.offset, again.why) == (str(error), offset, error.why)


def test_no_error_names_byte_0_where_there_is_no_byte() -> None:
    assert BYTE_0.search('raise CaptureError(str(path), "not a report", offset=0)')
    found = [path.name for path in SOURCES.rglob("*.py") if BYTE_0.search(path.read_text())]
    assert found == []
