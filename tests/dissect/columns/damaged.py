"""Hold columns to rows on seeded captures of many connections, some of them damaged.

    python -m tests.dissect.columns.damaged [COUNT] [FIRST_SEED]

Each seed makes one capture. The exit code is 1 at the first seed whose columns differ from its rows.
"""

import random
import sys
from contextlib import ExitStack
from io import BytesIO

import pytest

from tests.dissect.columns.engines import assert_equal, by_columns, by_rows, small_batches, table_packets
from tests.dissect.columns.made import FOREIGN, FORMS, HARMS, SHORT, SPOKEN, TROUBLES, Spoken, files_of, packets_made
from wiretool.codec.frames import boundaries as hops
from wiretool.dissect.columns import rounds

#: The protocols of a capture; frames of one connection, and packets of one table: one, a few, a thousand, or all.
EVERY_MIX = (
    *(("pravega",), ("sbp", "sbp-0.1"), ("offramp", "offramp-deflate"), ("pravega", "pravega-draft"), SPOKEN),
    *((SHORT,), (SHORT, SHORT, SHORT, "pravega", FOREIGN)),
)
MIXES = [mix for names in EVERY_MIX if (mix := tuple(name for name in names if name in SPOKEN))]
FRAMES, TABLE_PACKETS = (8, 40, 160), (1, 7, 61, 1_000, 65_536)


def check_seed(seed: int) -> None:
    """AssertionError where columns and rows of the capture of this seed differ."""
    luck = random.Random(seed)
    protocols = luck.choice(MIXES)
    is_short = protocols[0] == SHORT
    count = luck.choice((20, 60) if is_short else (2, 9, 40))
    share = luck.choice((0.0, 0.1, 0.3 if is_short else 1.0))
    connections = [_connection(luck, luck.choice(protocols), share) for _ in range(count)]
    harms = frozenset(luck.sample(HARMS, luck.choice((0, 0, 1, 2))))
    table = luck.choice(TABLE_PACKETS[3:] if is_short else TABLE_PACKETS)
    # A table costs much more than a packet.
    packets = packets_made(connections, harms, seed, FRAMES[0] if table == 1 else luck.choice(FRAMES))
    raw = files_of(packets, luck.choice(FORMS), seed)
    rows = by_rows([BytesIO(each) for each in raw])
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(hops, "RANGES_ABREAST_MIN", luck.choice((1, 4, 48)))
        patch.setattr(rounds, "ROWS_MIN", luck.choice((1, 64)))
        stack.enter_context(table_packets(table))
        if luck.random() < 0.2:
            stack.enter_context(small_batches())
        assert_equal(by_columns([BytesIO(each) for each in raw]), rows)


def _connection(luck: random.Random, protocol: str, share: float) -> Spoken:
    troubles = luck.sample(TROUBLES, luck.choice((1, 2))) if luck.random() < share else []
    return Spoken(
        protocol,
        each=luck.choice((1, 3, 9, 40)),
        mtu=luck.choice((60, 536, 1460, 30_000)),
        ipv6=luck.random() < 0.2,
        begin=luck.random() < (0.9 if protocol == SHORT else 0.7),
        acks=luck.random() < 0.5,
        wraps=luck.random() < 0.1,
        end="fin" if protocol == SHORT and luck.random() < 0.7 else luck.choice(("fin", "rst", "")),
        again=luck.random() < 0.1,
        troubles=frozenset(troubles),
    )


def main(arguments: list[str]) -> int:
    count, first = (int(each) for each in [*arguments, *("200", "0")[len(arguments) :]])
    for seed in range(first, first + count):
        try:
            check_seed(seed)
        except AssertionError as err:
            print(f"seed {seed}: {err}", file=sys.stderr)
            return 1
    print(f"{count:,} captures, from seed {first}: columns and rows are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
