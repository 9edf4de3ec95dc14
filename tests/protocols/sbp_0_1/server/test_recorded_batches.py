"""The mock answers clients of the real placement manager (schema S2) as that did."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocols.sbp.server.recorded import (
    Player,
    Recording,
    compare,
    frames_of,
    name_of,
    read_recording,
    recordings_of,
)
from wiretool.protocols.sbp.framing import read_frame
from wiretool.protocols.sbp_0_1 import tables_s2
from wiretool.protocols.sbp_0_1.messages import S2
from wiretool.protocols.sbp_0_1.server.mock import Sbp01Mock
from wiretool.server.mock import Mock

#: The placement manager, and data nodes that it talks to as a client.
MANAGER = 12378
DATA_NODES = (10911, 10912, 10913)
#: The captures that the mock is held to; not all of them go with the project.
RECORDED = ("pm_s2_batch", "pm_s2_seal")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded" in metafunc.fixturenames:
        metafunc.parametrize("recorded", recordings_of(metafunc.config, "S2", RECORDED))


@pytest.mark.parametrize("has_two_doors", [True, False], ids=["two doors", "one door"])
def test_answers_of_the_capture(recorded: Path, has_two_doors: bool) -> None:
    recording = read_recording(recorded, frozenset((MANAGER, *DATA_NODES)))
    mocks: dict[int, Sbp01Mock] = {}

    def mock_of(server: str) -> tuple[Mock, str]:
        port = int(server.rsplit(":", 1)[1])
        if port not in mocks:
            mocks[port] = Sbp01Mock(has_two_doors=has_two_doors, schema="S2", like_real=has_two_doors, nodes={})
            prepare(mocks[port], recording, port)
        return mocks[port], "placement-manager" if port == MANAGER and has_two_doors else mocks[port].doors[0].name

    ours = Player(recording, mock_of).play()
    found = compare(S2, recording.sides, ours, lingers=False)
    expected = (3, 3, 0) if name_of(recorded) == "pm_s2_batch" and not has_two_doors else (0, 0, 0)
    # Behind one door APPEND, FETCH and DESCRIBE_RANGES are served, which the placement manager does not know.
    assert not found.pings, str(found)
    assert found.figures == expected, f"{found}: {found.missing}, {found.extra}"
    print(f"{name_of(recorded)}: {found}")


def prepare(mock: Sbp01Mock, recording: Recording, port: int) -> None:
    """Give the mock the id that the recorded manager had come to, and a data node the ranges that it sealed."""
    for header in headers_of(recording, port):
        if isinstance(header, tables_s2.SealRangesResponse) and port != MANAGER:
            for result in header.seal_responses or ():
                assert result.range is not None
                mock.store.take_over(result.range.stream_id, result.range.range_index, 0, ())
    created = [header for header in headers_of(recording, port) if isinstance(header, tables_s2.CreateStreamsResponse)]
    if created and created[0].create_responses:  # numbers of a request that fails are used up, so only the first tells
        stream = created[0].create_responses[0].stream
        assert stream is not None
        mock.store.next_stream = stream.stream_id


def headers_of(recording: Recording, port: int) -> Iterator[object]:
    """The headers of what the server on a port said."""
    for side in recording.sides.values():
        if side.server.endswith(f":{port}"):
            for data in frames_of(bytes(side.data)):
                yield read_frame(S2, data, 0, len(data)).frame.header
