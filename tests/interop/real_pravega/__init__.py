"""A real Pravega server 0.13.0 from Maven Central, in a network namespace of its own: what the mock is held against.

It is optional: it needs Maven, root and `ip`, and the first build on a machine downloads 110 MB. CI runs without it.

    python -m tests.interop.real_pravega                        run it until Ctrl-C, and say how to reach it
    python -m tests.interop.real_pravega pytest tests/interop   run a command beside it, with PRAVEGA_CONTROLLER set
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent
TARGET = PROJECT / "target"
CONTROLLER = "127.0.0.1:9090"
#: The first build on a machine downloads the server.
BUILD_S = 900
STOP_S = 30.0
_MEMORY = "-Xmx2g"


@dataclass(frozen=True, slots=True)
class RealPravega:
    """A running server. Only processes in its network namespace reach it."""

    namespace: str
    controller: str = CONTROLLER

    @property
    def enter(self) -> tuple[str, ...]:
        """The words before a command that run it in the namespace."""
        return ("ip", "netns", "exec", self.namespace)


def missing() -> str:
    """Return what is missing on this machine to run the server, empty if nothing is."""
    tools = [tool for tool in ("mvn", "java", "ip") if shutil.which(tool) is None]
    needed = tools if os.geteuid() == 0 else [*tools, "root"]
    return ", ".join(needed)


def build(project: Path, target: Path, timeout_s: float) -> str:
    """Compile a Maven project if its sources are newer than the last build; return its class path."""
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = target / "built"
        sources = [project / "pom.xml", *(path for path in project.glob("src/**/*") if path.is_file())]
        if not built.exists() or built.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            subprocess.run(["mvn", "-q", "-B", "compile"], cwd=project, check=True, timeout=timeout_s)
            built.touch()
    return f"{target / 'classes'}:{(target / 'classpath').read_text()}"


@contextmanager
def real_pravega() -> Iterator[RealPravega]:
    """Run the server while the block runs. Its errors go to stderr."""
    classpath = build(PROJECT, TARGET, BUILD_S)
    with _namespace(f"wiretool{os.getpid()}") as name:
        server = RealPravega(name)
        java = ["java", _MEMORY, "-cp", classpath, "wiretool.interop.RealPravega"]
        with subprocess.Popen(
            [*server.enter, *java], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                assert line == "ready\n", f"the server did not start: {line!r}"
                yield server
            finally:
                process.terminate()
                _await_end(process)


def _await_end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(STOP_S)
    finally:
        process.kill()


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    """Make a network namespace with nothing but loopback while the block runs."""
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "netns", "exec", name, "ip", "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
