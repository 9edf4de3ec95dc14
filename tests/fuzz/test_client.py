"""Fuzzing of clients: planted bugs are found, a robust client shows nothing, findings are confirmed and small."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz import clients
from wiretool.capture.files.reading import read_packets
from wiretool.conformance.registry import conformance_of
from wiretool.errors import InputError, PeerError, UsageError
from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.client.campaign import ClientCampaign, PlanSource, reply_context
from wiretool.fuzz.client.clean_runs import CleanRuns, learn, setup_for
from wiretool.fuzz.client.findings import ClientFinding, write_client_finding
from wiretool.fuzz.client.investigation import ClientInvestigation, ConfirmedFault, smaller_plans
from wiretool.fuzz.client.mutations import reply_mutations
from wiretool.fuzz.client.oracles import ClientOracles
from wiretool.fuzz.client.pool import RunPool
from wiretool.fuzz.client.replaying import is_usual_crash
from wiretool.fuzz.client.reply_fault import FaultKind, Plan, ReplyFault, fault_form
from wiretool.fuzz.findings.replaying import replay_finding
from wiretool.fuzz.findings.standing import Standing
from wiretool.fuzz.mutations import select_mutations
from wiretool.fuzz.oracles import CRASH, MEMORY, SILENT, UNDECODABLE
from wiretool.fuzz.sequences.sequence import Change, SetField, Splice
from wiretool.replay.recording import recording_of


def cleaned(program: str, *, timeout_s: float = 5.0) -> CleanRuns:
    """Return the behaviour of a client without faults."""
    return learn(setup_for("pravega", clients.command(program), timeout_s=timeout_s, seed=0))


def fuzzed(
    program: str,
    *cases: str,
    runs: int,
    timeout_s: float = 5.0,
    jobs: int = 1,
    seed: int = 0,
    findings: int = 100,
    clean: CleanRuns | None = None,
) -> tuple[Counts, list[ConfirmedFault], CleanRuns]:
    """Fuzz a client; return figures, findings, and its behaviour without faults."""
    clean = clean or cleaned(program, timeout_s=timeout_s)
    found: list[ConfirmedFault] = []
    oracles = ClientOracles(clean)
    mutations = select_mutations(cases, reply_mutations("pravega"))
    context = reply_context(conformance_of("pravega").protocol_in(""), clean.replies)
    plans = PlanSource(clean.replies, mutations, context, random.Random(seed))
    with RunPool(clean.setup, jobs) as pool:
        campaign = ClientCampaign(
            pool,
            clean,
            plans,
            oracles,
            ClientInvestigation(clean.setup, oracles),
            Limits(runs=runs, findings=findings),
            found.append,
        )
        return campaign.run(), found, clean


def test_a_crash_is_found_and_shrunk(tmp_path: Path) -> None:
    """The folder of the finding has what it takes to show it again, to explain it, and to see that it is fixed."""
    _, found, clean = fuzzed(clients.FRAGILE, "reply/close", "reply/reset", "frame/truncate", runs=30, findings=1)
    assert [each.suspicion.bucket.oracle for each in found] == [CRASH]
    confirmed = found[0]
    assert confirmed.suspicion.bucket.reply.startswith("IndexError at ")
    assert (confirmed.shown, confirmed.is_flaky, len(confirmed.plan)) == (3, False, 1)
    assert confirmed.plan[0].message == "Hello"
    finding = ClientFinding(1, clean.setup, confirmed)
    place = write_client_finding(finding, tmp_path)
    form = json.loads((place / "finding.json").read_text("utf-8"))
    assert form["client"] == list(clean.setup.command)
    assert form["bucket"] == list(finding.bucket)
    page = (place / "README.md").read_text("utf-8")
    assert "IndexError: index out of range" in page
    assert "Hello 1" in page
    recording = recording_of(read_packets([place / "repro.pcapng"]))
    assert [record.message for each in recording.dialogues for record in each.records][:1] == ["Hello"]
    assert replay_finding(place).standing is Standing.FAILS
    fixed = replay_finding(place, client=clients.command(clients.ROBUST))
    assert (fixed.standing, fixed.text) == (Standing.FIXED, "3 runs of the client show nothing")
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_repro.py"]
    ran = subprocess.run(test, cwd=place, capture_output=True, text=True, check=False, env=os.environ, timeout=60)
    assert ran.returncode == 1
    assert "IndexError" in ran.stdout


def test_the_crash_of_a_client_that_always_fails_is_found() -> None:
    """Its exit code is the same without any fault; the crash is not."""
    notes: list[str] = []
    program = f"{clients.FRAGILE}\nsys.exit('no work to do')"
    clean = learn(setup_for("pravega", clients.command(program), timeout_s=5.0, seed=0), notes.append)
    (note,) = notes
    assert note.startswith("the client fails without any fault, with exit code 1: no work to do; ")
    found = fuzzed(program, "reply/close", runs=8, findings=1, clean=clean)[1]
    assert [each.suspicion.bucket.oracle for each in found] == [CRASH]
    assert found[0].suspicion.bucket.reply.startswith("IndexError at ")


def test_a_crash_without_any_fault_is_no_finding(tmp_path: Path) -> None:
    """The same crash says nothing of a fault, and no replay can show it fixed."""
    program = clients.FRAGILE.replace("data[15]", "data[99]")
    notes: list[str] = []
    clean = learn(setup_for("pravega", clients.command(program), timeout_s=5.0, seed=0), notes.append)
    assert "with exit code 1: IndexError at " in notes[0]
    assert not fuzzed(program, "reply/close", runs=4, clean=clean)[1]
    (error,) = clean.crashes
    assert is_usual_crash(error, clean)
    assert not is_usual_crash("IndexError at other.py:1", clean)
    assert not is_usual_crash("SIGSEGV", clean)
    assert is_usual_crash("SIGSEGV", replace(clean, exit_codes=frozenset({-11})))


def test_a_hang_after_a_lost_connection_is_found() -> None:
    found = fuzzed(clients.HANGING, "reply/close", runs=6, timeout_s=2.5, findings=1)[1]
    assert [each.suspicion.bucket.oracle for each in found] == [SILENT]
    assert "its connections are closed" in found[0].suspicion.why
    assert found[0].outcome.exit_code is None


def plans_of(*plans: Plan) -> Callable[[int], Plan | None]:
    """Return a source of plans for a pool."""
    left = iter(plans)
    return lambda under_way: next(left, None)


def test_a_slow_run_does_not_hold_up_the_others() -> None:
    """Of two workers, one runs the lost reply for a second; the other one takes all other plans meanwhile."""
    clean = cleaned(clients.ROBUST, timeout_s=8.0)
    lost = ReplyFault("Hello", 1, FaultKind.DROP, Change("reply/drop", "Hello"))
    other = ReplyFault("Hello", 1, FaultKind.CLOSE, Change("reply/close", "Hello"))
    with RunPool(clean.setup, 2) as pool:
        plans = [outcome.plan for outcome in pool.run(plans_of((lost,), (other,), (other,), (other,)))]
    assert plans.index((lost,)) >= 2
    assert plans.count((other,)) == 3


def test_a_client_that_tries_again_is_not_silent() -> None:
    """It has no connection at the end of its time, but makes a new one again and again."""
    clean = cleaned(clients.RETRYING, timeout_s=2.0)
    broken = ReplyFault("Hello", 1, FaultKind.EDIT, Change("number/kind", "Hello.type"), (Splice(0, 1, b"\x01"),))
    with RunPool(clean.setup, 1) as pool:
        (outcome,) = pool.run(plans_of((broken,)))
    assert (outcome.exit_code, outcome.log.open_when_late) == (None, 0)
    assert outcome.log.connections > 3
    assert not ClientOracles(clean).judge(outcome)


def test_a_reply_that_is_lost_ends_with_a_closed_connection() -> None:
    """A client may wait for a reply that never comes; the mock closes the connection, and only then must it end."""
    clean = cleaned(clients.ROBUST, timeout_s=4.0)
    lost = ReplyFault("Hello", 1, FaultKind.DROP, Change("reply/drop", "Hello"))
    with RunPool(clean.setup, 1) as pool:
        (outcome,) = pool.run(plans_of((lost,)))
    assert (outcome.exit_code, outcome.last_line) == (1, "the connection ended")
    assert outcome.log.has_closed_idle
    assert not ClientOracles(clean).judge(outcome)


def test_a_robust_client_shows_nothing() -> None:
    counts, found, _ = fuzzed(clients.ROBUST, "!reply/delay", runs=24, jobs=2)
    assert not found, [each.suspicion for each in found]
    assert counts.runs == 24
    assert counts.features >= 8


def test_an_uncaught_exception_of_the_network_is_no_crash() -> None:
    assert not fuzzed(clients.UNCAUGHT, "reply/close", "reply/reset", runs=8)[1]


def test_a_signal_is_a_crash() -> None:
    found = fuzzed(clients.SEGFAULT, "reply/close", runs=8, findings=1)[1]
    assert [each.suspicion.bucket.reply for each in found] == ["SIGSEGV"]


def test_the_error_before_a_long_trace_is_found() -> None:
    found = fuzzed(clients.OVERFLOWING, "reply/close", runs=8, findings=1)[1]
    assert [each.suspicion.bucket.reply for each in found] == ["java.lang.StackOverflowError at SegmentReader.java:40"]


def test_bytes_that_do_not_decode_are_found() -> None:
    found = fuzzed(clients.GARBAGE, "reply/delay", runs=8, findings=1)[1]
    assert [each.suspicion.bucket.oracle for each in found] == [UNDECODABLE]
    assert found[0].plan[0].kind is FaultKind.DELAY


def test_memory_out_of_proportion_is_found() -> None:
    _, found, clean = fuzzed(clients.GREEDY, "number/length", runs=40, findings=1)
    assert [each.suspicion.bucket[:3] for each in found] == [(MEMORY, "", "Hello")]
    assert found[0].outcome.peak_bytes > clean.setup.memory_max_bytes > 5 * clean.peak_bytes


def test_a_seed_repeats_the_plans() -> None:
    clean = cleaned(clients.ROBUST)

    def drawn(seed: int) -> list[object]:
        context = reply_context(conformance_of("pravega").protocol_in(""), clean.replies)
        source = PlanSource(clean.replies, reply_mutations("pravega"), context, random.Random(seed))
        return [source.draw() for _ in range(50)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        ("print('no')", PeerError, "never connects and ends with exit code 0: no"),
        ("import os, socket\nhost, _, port = os.environ['WIRETOOL_ADDRESS'].rpartition(':')\n"
         "socket.create_connection((host, int(port)))", PeerError, "connects, sends no pravega"),
        (clients.ROBUST + "\ntime.sleep(60)", UsageError, r"does not end within 1\.5 s without any fault"),
    ],
)  # fmt: skip
def test_clients_that_cannot_be_fuzzed(program: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        cleaned(program, timeout_s=1.5)


def test_a_missing_program_is_named() -> None:
    with pytest.raises(UsageError, match="--client: no-such-program: No such file"):
        learn(setup_for("pravega", ["no-such-program"], timeout_s=5, seed=0))


def test_smaller_plans_are_smaller() -> None:
    change = Change("bytes/replace", "Hello.low_version")
    edit = ReplyFault("Hello", 1, FaultKind.EDIT, change, (Splice(8, 4, bytes(4)), SetField(("x",), 1)))
    late = ReplyFault("Hello", 1, FaultKind.DELAY, change, seconds=2.0)
    plans = list(smaller_plans((edit, late)))
    assert plans[:2] == [(late,), (edit,)]
    sizes = [plan[0].edits[0].removed for plan in plans[2:] if isinstance(plan[0].edits[0], Splice)]
    assert min(sizes) == 2
    assert any(plan[1].seconds == 0.5 for plan in plans[2:])
    assert not list(smaller_plans((ReplyFault("Hello", 1, FaultKind.DROP, change),)))


def test_a_finding_without_faults_is_refused(tmp_path: Path) -> None:
    form = {"version": 1, "protocol": "pravega", "bucket": [""] * 5, "client": ["x"], "faults": [{"message": "Hello"}],
            "timeout": 1, "seed": 0, "why": ""}  # fmt: skip
    (tmp_path / "finding.json").write_text(json.dumps(form), "utf-8")
    with pytest.raises(InputError, match="not a list of faults"):
        replay_finding(tmp_path)
    del form["faults"]
    (tmp_path / "finding.json").write_text(json.dumps(form), "utf-8")
    with pytest.raises(InputError, match="expected the keys version, protocol, bucket, client, faults"):
        replay_finding(tmp_path)


def client_finding(folder: Path, **changes: object) -> Path:
    """Write the form of a finding about a robust client into a folder and return it."""
    fault = ReplyFault("Hello", 1, FaultKind.CLOSE, Change("reply/close", "Hello"))
    form = {"version": 1, "protocol": "pravega", "bucket": ["crash", "", "", "", "IndexError"], "timeout": 5.0,
            "client": clients.command(clients.ROBUST), "faults": [fault_form(fault)], "seed": 0, "why": "",
            "exit_code": 1}  # fmt: skip
    (folder / "finding.json").write_text(json.dumps(form | changes), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [({"client": []}, "client: expected a list of texts"), ({"timeout": "x"}, "timeout and seed: expected numbers")],
)
def test_a_finding_with_other_values_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay_finding(client_finding(tmp_path, **change))


def test_a_client_that_always_crashes_is_not_fixed(tmp_path: Path) -> None:
    """Its crash is that of each run, so one by the fault cannot be recognized; one of another kind can."""
    failing = clients.command(clients.SEGFAULT.replace("len(data) < 16", "data is not None"))
    folder = client_finding(tmp_path, bucket=["crash", "", "Hello", "", "SIGSEGV"])
    replayed = replay_finding(folder, client=failing)
    assert replayed.standing is Standing.OTHER
    assert "the client ends in this way without any fault" in replayed.text
    assert replay_finding(client_finding(tmp_path), client=failing).standing is Standing.FIXED


def test_runs_without_any_effect_are_no_result() -> None:
    """A fault in a message that the client does not receive shows nothing about the client."""
    clean = cleaned(clients.ROBUST, timeout_s=4.0)
    never = replace(clean, replies=[(9, reply) for _, reply in clean.replies])
    with pytest.raises(PeerError, match="no fault took effect in 2 runs"):
        fuzzed(clients.ROBUST, "reply/close", runs=2, clean=never)
