"""What states of open flows cost: `python -m tests.bench.flow_states [--quick]`.

A stream of captures, cut into batches, whose open flows become bytes and flows again after each; in the same run by
pickle, which checks nothing and runs whatever it is told to. The exit code is 1 where the schema takes more than
`RATIO_MAX` times as long.
"""

import argparse
import io
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.dissect.columns.made import Spoken, packets_made
from tests.helpers.captures import packets_of, pcap_bytes
from tests.helpers.sbp_frames import schemas
from tests.pipeline.flows.test_open_flows import Gathered, by_flow, rows_in
from wiretool.capture.tcp.stream_events import NO_DUPLICATES
from wiretool.pipeline.flows.parts import parts_of
from wiretool.pipeline.flows.payloads import Payloads
from wiretool.pipeline.flows.reading import Flow
from wiretool.pipeline.flows.state import deserialize, serialize
from wiretool.pipeline.tables import Kept
from wiretool.protocols.base.registry import PROTOCOLS

RATIO_MAX = 1.5
BATCHES = 10
_KNOWN = {str(number): each for number, each in enumerate([NO_DUPLICATES, *PROTOCOLS.values(), *schemas().values()])}
_NAMES = {id(each): name for name, each in _KNOWN.items()}


class _Pickler(pickle.Pickler):
    """Pickles a flow, noting whole numbers in passing: what the schema is measured against."""

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, protocol=5)
        self.numbers: list[Any] = []

    def persistent_id(self, each: Any) -> str | None:
        kind = type(each)
        if kind is str:
            return None
        if kind is int or kind is np.int64 or kind is np.ndarray:
            self.numbers.append(each)
            return None
        return _NAMES.get(id(each))


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: str) -> Any:
        return _KNOWN[name]


def pickled(flow: Flow, kept: Kept) -> Any:
    """A flow that went through pickle."""
    out = io.BytesIO()
    _Pickler(out).dump((flow, kept))
    return _Unpickler(io.BytesIO(out.getvalue())).load()


def passed(flow: Flow, kept: Kept) -> Any:
    """A flow that went through the schema."""
    data = serialize(flow, kept, (flow.dissector.numbers, flow.places))
    return deserialize(data, {"notes": note})


def note(text: str) -> None:
    """Of what is noted nothing is asked."""


def flows_of(path: Path, share: float) -> Iterator[tuple[Flow, Kept]]:
    """The flows of a capture, open after so much of it."""
    rows = rows_in([path])
    tables = Gathered([path])
    with Payloads([path]) as payloads:
        for part in parts_of(by_flow(rows.slice(0, int(len(rows) * share)))):
            flow = Flow(part.flow, notes=note)
            for told in [*flow.read(part.rows, payloads), *flow.let_go()]:
                tables.write(told)
            yield flow, tables.give({each.connection.id for each in flow.over}, 0)


def measured(made: Any, flows: list[tuple[Flow, Kept]], times: int) -> float:
    """Seconds for all flows, the least of some times."""
    least = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        for flow, kept in flows:
            made(flow, kept)
        least = min(least, time.perf_counter() - begun)
    return least


def main() -> int:
    """Measure each protocol; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer flows, and only once")
    count, times = (40, 2) if parser.parse_args().quick else (200, 5)
    worst = 0.0
    with TemporaryDirectory() as folder:
        for protocol in ("pravega", "sbp", "offramp"):
            path = Path(folder) / f"{protocol}.pcap"
            spoken = [Spoken(protocol, acks=True) for _ in range(count)]
            packets = packets_made(spoken, frozenset(), 1, count * 30)
            path.write_bytes(pcap_bytes(packets_of([packet.data for packet in packets])))
            flows = list(flows_of(path, 0.7))
            own, other = measured(passed, flows, times), measured(pickled, flows, times)
            worst = max(worst, own / other)
            print(
                f"{protocol}: {len(flows)} flows, schema {own / len(flows) * 1e3:.2f} ms a flow, "
                f"pickle {other / len(flows) * 1e3:.2f} ms: {own / other:.2f} times"
            )
    print(f"worst {worst:.2f} times, at most {RATIO_MAX}")
    return int(worst > RATIO_MAX)


if __name__ == "__main__":
    sys.exit(main())
