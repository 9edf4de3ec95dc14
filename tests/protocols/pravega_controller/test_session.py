"""Phases of a connection and its streams: every triple is either in its table or a defect with a name."""

import pytest

from wiretool.codec.message import SIDES, Side
from wiretool.protocols.pravega_controller.grpc_messages import Held
from wiretool.protocols.pravega_controller.messages import FRAMES, Data, Headers, PushPromise, RstStream, WindowUpdate
from wiretool.protocols.pravega_controller.session import CONNECTION, STREAM, Kind, Phase, Session, Stream

ON_CONNECTION = (Phase.NEW, Phase.PREFACED, Phase.OPEN, Phase.HEADERS, Phase.JOINED)
ON_STREAM = (Phase.IDLE, Phase.OPEN, Phase.ENDED, Phase.RESET, Phase.JOINED)
OF_STREAM = (Data, Headers, WindowUpdate, RstStream)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("phase", ON_CONNECTION, ids=lambda phase: phase.value)
def test_every_frame_in_every_phase_of_a_connection(phase: Phase, side: Side) -> None:
    if (phase, side) == (Phase.PREFACED, "server"):
        return
    for kind in FRAMES:
        session = Session(from_start=True)
        session.phases[side] = phase
        breach = session.take(side, kind, ends_block=False)
        following = CONNECTION.get((phase, side, kind))
        assert (breach is None) == (following is not None), kind
        if breach is None:
            assert session.phases[side] is following
        else:
            assert (breach.phase, breach.side, breach.message) == (phase.value, side, kind.__name__)
            assert session.take(side, Data) is None or session.phases[side] is Phase.OPEN, "said once"


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("phase", ON_STREAM, ids=lambda phase: phase.value)
@pytest.mark.parametrize("kind", OF_STREAM, ids=lambda kind: kind.__name__)
def test_every_frame_in_every_phase_of_a_stream(phase: Phase, side: Side, kind: Kind) -> None:
    for ends in (False, True):
        stream = Stream(1, {"client": phase, "server": phase}, Held())
        breach = stream.take(side, kind, ends=ends)
        following = STREAM.get((phase, side, kind))
        assert (breach is None) == (following is not None)
        if breach is None:
            assert stream.phases[side] is (Phase.ENDED if ends else following)
        else:
            assert "(stream 1)" in breach.why


def test_no_table_has_a_triple_that_cannot_be() -> None:
    assert {phase for phase, _, _ in CONNECTION} <= set(ON_CONNECTION)
    assert {phase for phase, _, _ in STREAM} <= set(ON_STREAM)
    assert {kind for _, _, kind in CONNECTION} == set(FRAMES)
    assert {kind for _, _, kind in STREAM} == set(OF_STREAM)
    assert (Phase.OPEN, "client", PushPromise) not in CONNECTION


def test_a_hole_leaves_ended_streams_ended() -> None:
    session = Session(from_start=True)
    one, two = session.stream(1), session.stream(3)
    one.take("client", Headers, ends=True)
    two.take("client", Headers, ends=False)
    session.hole("client")
    assert (one.phases["client"], two.phases["client"]) == (Phase.ENDED, Phase.JOINED)
    assert session.stream(5).phases == {"client": Phase.JOINED, "server": Phase.IDLE}
