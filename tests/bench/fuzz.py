"""Speed of `wiretool fuzz`: messages in memory, sequences over sockets beside boofuzz, and the cost of broken frames.

    python -m tests.bench.fuzz [--quick] [--no-peer] [--protocol NAME]

- In memory: default options on the built-in mocks, messages for each second of processor time. Those that only read
  back acknowledged events do not count. Mark: 10,000 messages a second.
- Over sockets, where a protocol answers one message with one reply, without a session before it: sequences of five
  messages to `wiretool serve` in a process of its own, of which the last is mutated;
  boofuzz sends the same messages to the same server. It neither logs to the terminal nor sleeps; it writes its
  database, and with its default options receives the replies to all messages but the mutated one. A second figure is
  for boofuzz that receives nothing. Marks: 2,000 sequences a second, five times boofuzz with its default options.
  The processor time of each sender shows how much of that is waiting, on a machine that does other things as well.
- Broken frames: processor time of a mock for mutated first messages, over that for valid ones. Mark: at most 5.

Each figure is the median of three rounds; wiretool and boofuzz take turns. The exit code is 1 if a mark is missed;
`--quick` takes 60 % of the marks.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import truediv
from pathlib import Path

from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.mutations import MUTATIONS, select_mutations
from wiretool.fuzz.sequences.sequence import Connect, FuzzSequence, Sending
from wiretool.fuzz.session import FuzzSession
from wiretool.fuzz.targets.socket import SocketTarget, open_target

PROTOCOLS = ("pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp", "pravega-controller")
MEMORY_MARK, SOCKET_MARK, PEER_MARK, BROKEN_MARK = 10_000.0, 2_000.0, 5.0, 5.0
QUICK_SHARE = 0.6
ROUNDS = 3
#: The message of the sequences over sockets: each server answers it, so that every sequence has five replies.
ECHOES = {"pravega": "KeepAlive", "pravega-draft": "KeepAlive", "sbp": "PING", "sbp-0.1": "PING"}
MESSAGES = 5
#: Sequences of one round over sockets, test cases of boofuzz, and first messages whose cost is compared.
SEQUENCES, PEER_CASES, FRAMES = 4_000, 300, 1_500


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter rounds, 60 %% of the marks")
    parser.add_argument("--no-peer", action="store_true", help="leave boofuzz out")
    parser.add_argument("--protocol", action="append", choices=PROTOCOLS, help="only this protocol; repeatable")
    options = parser.parse_args()
    share = QUICK_SHARE if options.quick else 1.0
    is_fine = True
    for protocol in options.protocol or PROTOCOLS:
        session = FuzzSession(protocol)
        session.add_built_in_seeds()
        rate = median(partial(in_memory, session, 2.0 if options.quick else 8.0))
        is_fine &= shown(f"{protocol}, in memory", rate, "messages/s", MEMORY_MARK * share)
        cost = median(partial(broken_cost, session))
        is_fine &= shown(f"{protocol}, broken frames", cost, "times valid ones", BROKEN_MARK, is_least=False)
        if protocol in ECHOES:
            is_fine &= over_sockets(session, share, has_peer=not options.no_peer)
    return 0 if is_fine else 1


def median(measure: Callable[[], float]) -> float:
    """Return the median of some rounds."""
    return statistics.median(measure() for _ in range(ROUNDS))


def shown(name: str, value: float, unit: str, mark: float, *, is_least: bool = True) -> bool:
    """Print a figure beside its mark; return whether it is reached."""
    is_reached = value >= mark if is_least else value <= mark
    sign = ">=" if is_least else "<="
    print(f"{name}: {value:,.1f} {unit} (mark {sign} {mark:,.0f}){'' if is_reached else '  MISSED'}", flush=True)
    return is_reached


def in_memory(session: FuzzSession, seconds: float) -> float:
    """Return the messages of a campaign on the built-in mock for each second of processor time."""
    with session.noting_branches():
        started = time.process_time()
        target = session.mock_target()
        campaign = session.campaign(target, session.investigation(target, is_reference=True), Limits(seconds))
        campaign.cases = ()
        counts = campaign.run()
        return counts.messages / (time.process_time() - started)


def broken_cost(session: FuzzSession) -> float:
    """Return the processor time of mutated first messages over that of valid ones, for the mock alone."""
    rng = random.Random(1)
    first = [sending for seed in session.seeds if not seed.setup for sending in seed.sendings[:1]]
    valid = [rng.choice(first) for _ in range(FRAMES)]
    mutations = select_mutations(["bytes/*", "number/*", "text/not-utf-8", "frame/*"], MUTATIONS)
    context = session.context("")
    broken: list[bytes] = []
    while len(broken) < FRAMES:
        made = rng.choice(mutations).apply(FuzzSequence((rng.choice(first),), ""), rng, context)
        if made is not None:
            broken += [step.data for step in made.sendings]
    return mock_time(session, broken) / mock_time(session, [each.data for each in valid])


def mock_time(session: FuzzSession, frames: Sequence[bytes]) -> float:
    """Return the processor time in which a mock takes frames, each on a connection of its own."""
    mock = session.make_mock("")
    for door in mock.doors:
        mock.bound(door.name, "127.0.0.1", door.port)
    started = time.process_time()
    for number, data in enumerate(frames, 1):
        mock.opened(number, mock.doors[0].name, number)
        mock.received(number, data, number)
        mock.ended(number, number)
        mock.lost(number, number)
    return time.process_time() - started


# -- over sockets ------------------------------------------------------------------------------------------------------


def over_sockets(session: FuzzSession, share: float, *, has_peer: bool) -> bool:
    """Measure sequences a second to a server process, and those of boofuzz."""
    with open_target(session, None, patience_s=2.0, jobs=32) as target:
        sequences = mutated_echoes(session)
        target.run(sequences[:500])
        data = [step.data for step in sequences[0].sendings][:-1]
        rates, usual, blind = [], [], []
        spent, peer_spent = 0.0, 0.0
        for _ in range(ROUNDS):
            began = time.process_time()
            rates.append(rate_of(target, sequences))
            spent += (time.process_time() - began) / len(sequences) / ROUNDS
            if has_peer:
                began = time.process_time()
                usual.append(boofuzz_rate(target, data, receives=True))
                peer_spent += (time.process_time() - began) / PEER_CASES / ROUNDS
                blind.append(boofuzz_rate(target, data, receives=False))
    name, middle = session.protocol, statistics.median
    is_fine = shown(f"{name}, over sockets", middle(rates), "sequences/s", SOCKET_MARK * share)
    if not has_peer:
        return is_fine
    print(f"{name}, boofuzz: {middle(usual):,.1f} sequences/s; {middle(blind):,.1f} without receiving anything")
    print(f"{name}, processor time of the sender: {spent * 1e6:,.0f} µs a sequence, boofuzz {peer_spent * 1e6:,.0f} µs")
    print(f"{name}, beside boofuzz that receives nothing: {middle(map(truediv, rates, blind)):,.1f} times")
    times = middle(map(truediv, rates, usual))
    return shown(f"{name}, beside boofuzz", times, "times", PEER_MARK * share) and is_fine


def mutated_echoes(session: FuzzSession) -> list[FuzzSequence]:
    """Return sequences of five messages that are all answered, the last one mutated in its bytes."""
    name = ECHOES[session.protocol]
    echo = next(step for seed in session.seeds if not seed.setup for step in seed.sendings if step.message == name)
    first = echoes_of(session, echo)
    rng = random.Random(2)
    mutations = select_mutations(["bytes/*"], MUTATIONS)
    context = session.context("")
    found: list[FuzzSequence] = []
    while len(found) < SEQUENCES:
        last = rng.choice(mutations).apply(FuzzSequence((first[-1],), "bench"), rng, context)
        if last is not None:
            found.append(FuzzSequence((Connect(1), *first[:-1], *last.steps), "bench"))
    return found


def echoes_of(session: FuzzSession, echo: Sending) -> list[Sending]:
    """Return the message five times on one connection; those of SBP with stream identifiers that increase."""
    echo = replace(echo, connection=1)
    if not session.protocol.startswith("sbp"):
        return [echo] * MESSAGES
    return [replace(echo, data=echo.data[:8] + n.to_bytes(4, "big") + echo.data[12:]) for n in range(1, MESSAGES + 1)]


def rate_of(target: SocketTarget, sequences: Sequence[FuzzSequence]) -> float:
    """Return the sequences a second, after checking that the valid messages were answered."""
    started = time.perf_counter()
    outcomes = target.run(sequences)
    seconds = time.perf_counter() - started
    answered = sum(len(outcome.exchanged) for outcome in outcomes)
    assert answered >= (MESSAGES - 1) * len(sequences), f"{answered} replies to {len(sequences)} sequences"
    return len(sequences) / seconds


def boofuzz_rate(target: SocketTarget, data: Sequence[bytes], *, receives: bool) -> float:
    """Return the test cases a second of boofuzz: the messages one after the other, the last one mutated."""
    try:
        import boofuzz
    except ImportError:
        sys.exit("boofuzz is not installed: pip install boofuzz, or --no-peer")
    address = target.address
    with tempfile.TemporaryDirectory(prefix="bench-fuzz-") as folder:
        session = boofuzz.Session(
            target=boofuzz.Target(connection=boofuzz.TCPSocketConnection(address.host, address.port)),
            fuzz_loggers=[],
            sleep_time=0,
            restart_sleep_time=0,
            web_port=None,
            keep_web_open=False,
            db_filename=str(Path(folder) / "boofuzz.db"),
            receive_data_after_each_request=receives,
            check_data_received_each_request=False,
            crash_threshold_request=10**9,
            crash_threshold_element=10**9,
            index_start=1,
            index_end=PEER_CASES,
        )
        previous = None
        for index, each in enumerate([*data, data[-1]]):
            value = boofuzz.Bytes(name=f"bytes{index}", default_value=each, fuzzable=index == len(data))
            request = boofuzz.Request(f"message{index}", children=(value,))
            session.connect(request) if previous is None else session.connect(previous, request)
            previous = request
        started = time.perf_counter()
        session.fuzz()
        count: int = session.num_cases_actually_fuzzed
    assert count >= PEER_CASES, f"boofuzz ran {count} cases"
    return count / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
