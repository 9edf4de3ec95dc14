"""The parts of the bench: each measures wiretool and its peers on its captures, and holds the ratios against marks."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from tests.bench.columns import careful
from tests.bench.columns.captures import Recipe
from tests.bench.columns.runs import (
    PRAVEGA_FIELDS,
    SBP_FIELDS,
    SBP_LUA,
    Command,
    dpkt_loop,
    ndjson,
    ndjson_to_pipe,
    parquet,
    pipeline,
    stats,
    tshark_json,
    tshark_plain,
    tshark_with_json,
    tshark_with_lua,
)
from tests.bench.columns.timing import Bench
from tests.bench.decode import LUA

Seconds = Mapping[str, float]

CONNECTIONS = (1, 64, 1_000, 10_000)
#: Packets of appends in mid-stream, in full and quickly; at least so many for each connection.
PACKETS, PACKETS_QUICK, CONNECTION_PACKETS_MIN = 150_000, 60_000, 8
#: The same for NDJSON, of which every tool makes tens of thousands a second.
NDJSON_PACKETS, NDJSON_PACKETS_QUICK = 40_000, 20_000
SHORT, SHORT_QUICK = 100_000, 20_000
LARGE, LARGE_QUICK = 60_000, 20_000

#: Names of peers.
DPKT, LUA_FIELDS, TSHARK, TSHARK_JSON, ROWS = "dpkt", "tshark-lua", "tshark", "tshark-json", "rows"

STATS_MARKS = {DPKT: (1.5, 4.0), LUA_FIELDS: (25.0, 80.0)}
PARQUET_MARKS = {DPKT: (0.7, 1.5), LUA_FIELDS: (12.0, 25.0)}
#: Of the rate with one connection.
RATE_SHARE_MIN = 2 / 3
#: MB/s of short connections, and what is hoped for.
SHORT_MARKS = {"stats": (30.0, 60.0), "Parquet": (25.0, 40.0), "pipeline run": (12.0, 25.0)}
NDJSON_MARK = (8.0, 15.0)
#: `--engine auto` may take the slower one where the two are about as fast.
AUTO_MARK = 1.5
OTHERS: Mapping[str, tuple[int, int, float, float]] = {
    # kind: size, quick size, mark and aim against tshark
    "sbp": (100_000, 40_000, 5.0, 10.0),
    "offramp": (200_000, 60_000, 8.0, 12.0),
    "deflate": (200_000, 60_000, 3.0, 5.0),
}
OTHER_CONNECTIONS = (1, 1_000)
MIXED = ("sbp", "pravega", "offramp")
MIXED_FRAMES, MIXED_FRAMES_QUICK, MIXED_CONNECTIONS, MIXED_MARK = 50_000, 20_000, (1, 500), (2.0, 5.0)
HARM_CONNECTIONS = (64, 1_000)
#: The share of segments that are harmed: how much longer the harmed capture may take.
HARM_MARKS, HARM_QUICK_SHARE = {0.0005: 1.3, 0.005: 1.6, 0.02: 3.0}, 0.8
#: How many times as far apart the packets are of harmed captures in which gaps expire: 1 ms.
HARM_SLOWED = (1, 40)
CAREFUL_FRAMES, CAREFUL_FRAMES_QUICK, CAREFUL_CONNECTIONS, CAREFUL_MARK = 100_000, 30_000, (1, 64, 1_000), 1.1
LARGE_MARKS = {LUA_FIELDS: 2.0, TSHARK: 1.5, DPKT: 1.2}


def pravega_fields() -> Command:
    """Return tshark with our dissector of Pravega."""
    return tshark_with_lua(LUA, PRAVEGA_FIELDS)


def appends(bench: Bench, connections: int, full: int = PACKETS, quick: int = PACKETS_QUICK) -> Recipe:
    """Return the recipe of appends in mid-stream, large enough for the connections."""
    size = bench.packets or (quick if bench.is_quick else full)
    return Recipe("appends", connections, max(size, CONNECTION_PACKETS_MIN * connections))


def named(count: int) -> str:
    """Return a number of connections in words."""
    return "1 connection" if count == 1 else f"{count:,} connections"


def chosen(bench: Bench, counts: tuple[int, ...]) -> Iterator[int]:
    """Yield the numbers of connections that were asked for."""
    return (count for count in counts if not bench.connections or count in bench.connections)


def hold(bench: Bench, title: str, seconds: Seconds, marks: Mapping[str, tuple[float, float]]) -> None:
    """Hold the ratio to each peer that was measured against its mark; ours comes first in `seconds`."""
    ours = next(iter(seconds))
    for peer, (mark, aim) in marks.items():
        if peer in seconds:
            bench.report.at_least(f"{title}: {peer} / {ours}", seconds[peer] / seconds[ours], mark, aim=aim)


# -- appends of Pravega in mid-stream ----------------------------------------------------------------------------------


def measure_stats(bench: Bench) -> None:
    """Measure `stats` at every number of connections, against dpkt, tshark and rows."""
    commands = {"stats": stats(bench.engine), DPKT: dpkt_loop(), LUA_FIELDS: pravega_fields(), ROWS: stats("rows")}
    rates: dict[int, float] = {}
    for count in chosen(bench, CONNECTIONS):
        title, recipe = f"stats, {named(count)}", appends(bench, count)
        seconds = bench.seconds(title, recipe, commands)
        hold(bench, title, seconds, STATS_MARKS)
        rates[count] = bench.captures.get(recipe).megabytes / seconds["stats"]
        if 1 in rates and count != 1:
            bench.report.at_least(f"{title}: rate / that of 1 connection", rates[count] / rates[1], RATE_SHARE_MIN)


def measure_parquet(bench: Bench) -> None:
    """Measure Parquet at every number of connections, against dpkt and tshark."""
    commands = {"Parquet": parquet(bench.engine), DPKT: dpkt_loop(), LUA_FIELDS: pravega_fields()}
    for count in chosen(bench, CONNECTIONS):
        title = f"Parquet, {named(count)}"
        hold(bench, title, bench.seconds(title, appends(bench, count), commands), PARQUET_MARKS)


def measure_ndjson(bench: Bench) -> None:
    """Measure NDJSON into a file and into a pipe, against tshark; and which engine `auto` takes."""
    for count in chosen(bench, CONNECTIONS):
        recipe = appends(bench, count, NDJSON_PACKETS, NDJSON_PACKETS_QUICK)
        title = f"ndjson, {named(count)}"
        commands = {
            "to a file": ndjson(bench.engine),
            "to a pipe": ndjson_to_pipe(bench.engine),
            TSHARK_JSON: tshark_json(LUA),
            ROWS: ndjson("rows"),
            "auto": ndjson("auto"),
        }
        seconds = bench.seconds(title, recipe, commands)
        for ours in ("to a file", "to a pipe"):
            if TSHARK_JSON in seconds:
                ratio = seconds[TSHARK_JSON] / seconds[ours]
                bench.report.at_least(f"{title}: {TSHARK_JSON} / {ours}", ratio, NDJSON_MARK[0], aim=NDJSON_MARK[1])
        if {ROWS, "auto"} <= seconds.keys():
            best = min(seconds[ROWS], seconds["to a file"])
            bench.report.at_most(f"{title}: auto / the faster engine", seconds["auto"] / best, AUTO_MARK)


def measure_short(bench: Bench) -> None:
    """Measure `stats`, Parquet and `pipeline run` of short connections, in MB/s."""
    count = SHORT_QUICK if bench.is_quick else SHORT
    recipe, title = Recipe("short", count, count), f"{count:,} short connections"
    ours = {"stats": stats(bench.engine), "Parquet": parquet(bench.engine), "pipeline run": pipeline()}
    peers = {DPKT: dpkt_loop(), LUA_FIELDS: pravega_fields(), ROWS: stats("rows")}
    seconds = bench.seconds(title, recipe, {**ours, **peers})
    megabytes = bench.captures.get(recipe).megabytes
    for name, (mark, aim) in SHORT_MARKS.items():
        if name in seconds:
            bench.report.at_least(f"{title}: {name}", megabytes / seconds[name], mark, aim=aim, unit=" MB/s")


def measure_large(bench: Bench) -> None:
    """Measure `stats` of large appends: there is little to read in so many bytes."""
    commands = {
        "stats": stats(bench.engine),
        LUA_FIELDS: pravega_fields(),
        TSHARK: tshark_plain(),
        DPKT: dpkt_loop(),
    }
    recipe = Recipe("large", 1, LARGE_QUICK if bench.is_quick else LARGE)
    seconds = bench.seconds("large appends", recipe, commands)
    for peer, mark in LARGE_MARKS.items():
        if peer in seconds:
            bench.report.at_least(f"large appends: {peer} / stats", seconds[peer] / seconds["stats"], mark)


# -- other protocols, mixed traffic, harmed captures -------------------------------------------------------------------


def measure_others(bench: Bench, kind: str) -> None:
    """Measure `stats` of small requests of SBP, or messages of Offramp, against tshark."""
    full, quick, mark, aim = OTHERS[kind]
    peer = tshark_with_lua(SBP_LUA, SBP_FIELDS) if kind == "sbp" else tshark_with_json()
    # tshark counts the two heads of an upgrade as HTTP, not as frames: only those of SBP are held against ours.
    peer = peer if kind == "sbp" else peer._replace(in_stdout=None)
    commands = {"stats": stats(bench.engine), TSHARK: peer, DPKT: dpkt_loop(), ROWS: stats("rows")}
    for count in chosen(bench, OTHER_CONNECTIONS):
        title = f"{kind}, {named(count)}"
        seconds = bench.seconds(title, Recipe(kind, count, quick if bench.is_quick else full), commands)
        hold(bench, title, seconds, {TSHARK: (mark, aim)})


def measure_mixed(bench: Bench) -> None:
    """Measure `stats` of all messages of a protocol, against the row path."""
    frames = MIXED_FRAMES_QUICK if bench.is_quick else MIXED_FRAMES
    for protocol in MIXED:
        for count in chosen(bench, MIXED_CONNECTIONS):
            title = f"mixed {protocol}, {named(count)}"
            recipe = Recipe(f"mixed-{protocol}", count, frames)
            seconds = bench.seconds(title, recipe, {"stats": stats(bench.engine), ROWS: stats("rows")})
            hold(bench, title, seconds, {ROWS: MIXED_MARK})


def measure_harmed(bench: Bench) -> None:
    """Measure `stats` and Parquet of harmed captures, against the clean one."""
    commands = {"stats": stats(bench.engine), "Parquet": parquet(bench.engine)}
    for count in chosen(bench, HARM_CONNECTIONS):
        recipe = appends(bench, count)
        clean = bench.seconds(f"harmed, clean, {named(count)}", recipe, commands)
        for share, slowed in product(HARM_MARKS, HARM_SLOWED):
            title = f"harmed {share:.2%}{', slowed' if slowed > 1 else ''}, {named(count)}"
            harmed = Recipe(recipe.kind, count, recipe.size, share, slowed)
            # A third is lost, each with its frames and a write that it was a part of.
            seconds = bench.seconds(title, harmed, commands, found_min=1 - 2 * share)
            for name in seconds:
                ratio = seconds[name] / clean[name]
                bench.report.at_most(f"{title}: {name} / clean", ratio, HARM_MARKS[share], quick_share=HARM_QUICK_SHARE)


def measure_careful(bench: Bench) -> None:
    """Measure `stats` and Parquet of connections that need care all the time, against the row path."""
    jobs = {"stats": stats, "Parquet": parquet}
    for kind, count in product(careful.KINDS, chosen(bench, CAREFUL_CONNECTIONS)):
        title = f"careful {kind}, {named(count)}"
        recipe = Recipe(f"careful-{kind}", count, CAREFUL_FRAMES_QUICK if bench.is_quick else CAREFUL_FRAMES)
        commands = {name: job(bench.engine) for name, job in jobs.items()}
        commands |= {f"{name} by {ROWS}": job(ROWS) for name, job in jobs.items()}
        seconds = bench.seconds(title, recipe, commands)
        for name in jobs:
            ratio = seconds[name] / seconds[f"{name} by {ROWS}"]
            bench.report.at_most(f"{title}: {name} / rows", ratio, CAREFUL_MARK, quick_share=HARM_QUICK_SHARE)


PARTS: Mapping[str, Callable[[Bench], None]] = {
    "stats": measure_stats,
    "parquet": measure_parquet,
    "ndjson": measure_ndjson,
    "short": measure_short,
    "large": measure_large,
    "sbp": lambda bench: measure_others(bench, "sbp"),
    "offramp": lambda bench: measure_others(bench, "offramp"),
    "deflate": lambda bench: measure_others(bench, "deflate"),
    "mixed": measure_mixed,
    "harmed": measure_harmed,
    "careful": measure_careful,
}
