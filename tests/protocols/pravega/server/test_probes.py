"""The mock beside the real store: the same frames in the same order to the same bytes, and the same end."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.protocols.pravega.server.recorded import is_on_main_port, play, probes
from wiretool.protocols.pravega.server.mock import PravegaMock

#: Conversations that the mock carries on in another way, and why.
OTHERWISE: Mapping[str, str] = {
    **dict.fromkeys(
        ("append_sealed_midway", "append_deleted_midway"),
        "the real store forgets a writer whose append it refused, and ends the connection with the next append: "
        "clients that had more on the way may come back for ever; the mock refuses that too (--like-real does not)",
    ),
    "cond_pipelined": "the real store refuses the second of three conditional appends before it has stored the first, "
    "and so the third as well; the mock does one after the other, as the real one does in other runs",
}
#: Those with servers that were set up in another way, or are older, that the mock carries on otherwise.
OTHERWISE_ELSEWHERE: Mapping[str, str] = {
    "append_sealed_x3": "the real store closes without a word, or refuses the last; the mock refuses each of the three",
    "wronghost_all": "the mock is the only store there is",
    "zz_append_to_table": "the real store is broken by it: it never answers for that table again",
    "frame_request_then_fin": "the real store answers in one of three runs; the mock always does",
}


def is_repeatable(probe: Mapping[str, Any]) -> bool:
    """Whether it was with the plain server, and alike in every run, or takes a minute and was run once."""
    return is_on_main_port(probe) and bool(probe.get("deterministic") or probe["group"] == "slow")


REPEATABLE = [probe for probe in probes() if is_repeatable(probe)]
ELSEWHERE = [probe for probe in probes() if not is_repeatable(probe)]


def check(probe: Mapping[str, Any], mock: PravegaMock) -> None:
    for ours, theirs in play(probe, mock):
        assert ours == theirs


def expect(request: pytest.FixtureRequest, why: str | None) -> None:
    """Fail if a conversation that is listed goes as it was recorded after all."""
    if why is not None:
        request.applymarker(pytest.mark.xfail(reason=why, strict=True, raises=AssertionError))


@pytest.mark.parametrize("probe", REPEATABLE, ids=lambda probe: str(probe["name"]))
def test_answers_as_the_real_store(probe: Mapping[str, Any], request: pytest.FixtureRequest) -> None:
    expect(request, OTHERWISE.get(probe["name"]))
    check(probe, PravegaMock(wire_version=16, like_real=probe["name"].startswith("slow_idle_")))


@pytest.mark.parametrize("name", ["append_sealed_midway", "append_deleted_midway"])
def test_like_the_real_store_where_that_is_asked_for(name: str) -> None:
    (probe,) = [probe for probe in REPEATABLE if probe["name"] == name]
    check(probe, PravegaMock(wire_version=16, like_real=True))


@pytest.mark.parametrize("probe", ELSEWHERE, ids=lambda probe: str(probe["name"]))
def test_answers_as_other_servers(probe: Mapping[str, Any], request: pytest.FixtureRequest) -> None:
    expect(request, OTHERWISE_ELSEWHERE.get(probe["name"]))
    server = probe["server"]
    check(
        probe,
        PravegaMock(
            wire_version=15 if "0.11.0" in server else 16,
            auth=("user", "password") if "authorization" in server else None,
            has_admin=True,
        ),
    )


def test_nearly_all_of_them_are_alike() -> None:
    assert len(REPEATABLE) == 160
    assert set(OTHERWISE) <= {probe["name"] for probe in REPEATABLE}
    assert len(OTHERWISE) <= len(REPEATABLE) * 0.05
    assert set(OTHERWISE_ELSEWHERE) <= {probe["name"] for probe in ELSEWHERE}
