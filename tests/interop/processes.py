"""Servers and drivers in processes of their own, each with a deadline."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent

READY_S = 30.0
STOP_S = 15.0
DRIVER_S = 90.0
#: Between two looks at the ready file.
LOOK_S = 0.02


@contextmanager
def server(command: Sequence[str], folder: Path) -> Iterator[tuple[Mapping[str, str], Path]]:
    """The addresses and the log of a server while the block runs. It must stop well afterwards when it is told to.

    The command takes `--ready-file FILE`, where it writes its addresses.
    """
    ready, log = folder / "ready.json", folder / "server.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen([*command, "--ready-file", str(ready)], cwd=ROOT, stderr=stderr)
    try:
        yield _doors(process, ready, log), log
    finally:
        process.terminate()
        try:
            code = process.wait(STOP_S)
        finally:
            process.kill()
    assert code == 0, f"the server has ended with {code}: {log.read_text()}"


def _doors(process: subprocess.Popen[bytes], ready: Path, log: Path) -> Mapping[str, str]:
    """The addresses of a server, once it is ready; what it says where it ends instead."""
    for _ in range(int(READY_S / LOOK_S)):
        if ready.exists():
            doors: dict[str, str] = json.loads(ready.read_text())["endpoints"]
            return doors
        try:
            code = process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the server has ended with {code}: {log.read_text()}")
    raise AssertionError(f"the server is not ready after {READY_S:.0f} s: {log.read_text()}")


def report_of(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a driver prints: its last line is JSON. It must end by itself, in time and well."""
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        stdout, stderr = process.communicate(timeout=DRIVER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        _, stderr = process.communicate()
        raise AssertionError(f"no end after {DRIVER_S:.0f} s: {' '.join(command)}\n{stderr[-4000:]}") from None
    assert process.returncode == 0, f"exit code {process.returncode}: {' '.join(command)}\n{stderr[-4000:]}"
    report: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    return report
