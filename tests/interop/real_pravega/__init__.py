"""A real Pravega server 0.13.0 from Maven Central, in a network namespace of its own: what the mock is held against.

It is optional: it needs Maven, root and `ip`, and the first build on a machine downloads 110 MB. CI runs without it.

    python -m tests.interop.real_pravega                        run it until Ctrl-C, and say how to reach it
    python -m tests.interop.real_pravega pytest tests/interop   run a command beside it, with PRAVEGA_CONTROLLER set
    python -m tests.interop.real_pravega --setup NAME ...       the same in a setup of `wiretool conform pravega`
    python -m tests.interop.real_pravega.conformance PAGE       judge the server in each setup, and write the page
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent
TARGET = PROJECT / "target"
STORE, CONTROLLER, ADMIN = "127.0.0.1:12345", "127.0.0.1:9090", "127.0.0.1:9999"
NEWEST = "0.13.0"
#: The first build on a machine downloads the server.
BUILD_S = 900
STOP_S = 30.0
_MEMORY = "-Xmx2g"


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """The version of a server, and the options that its launcher takes."""

    #: A sentence for the page.
    description: str
    version: str = NEWEST
    options: tuple[str, ...] = ()


#: By the name that `wiretool conform pravega --setup` has for the setup; the usual one is the empty name.
SETUPS: Mapping[str, ServerSetup] = {
    "": ServerSetup("The server has one container and its default options."),
    "authorization": ServerSetup(
        "The server checks delegation tokens; the cases sign theirs with its default key.", options=("authorization",)
    ),
    "admin": ServerSetup(
        "The server has an admin port and four containers, which end their first writes before the cases begin: "
        "a busy container refuses to be flushed.",
        options=("admin",),
    ),
    "wire-15": ServerSetup("The server is an older one, of wire version 15.", version="0.12.0"),
    "unloads-idle": ServerSetup("The case waits until the server unloads its idle segment, for one to two minutes."),
    "expendable": ServerSetup("The cases may damage the server, which is discarded afterwards."),
}
#: Setups that no server on Maven Central has, and why.
UNAVAILABLE: Mapping[str, str] = {
    "wire-17": "no released server has wire version 17: the newest on Maven Central, 0.13.0, has 16, in which "
    "LocateOffset is an unknown type and segments have no index",
}


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


def build(project: Path, target: Path, timeout_s: float, *properties: str) -> str:
    """Compile a Maven project if its sources are newer than the last build; return its class path."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = target / "built"
        sources = [project / "pom.xml", *(path for path in project.glob("src/**/*") if path.is_file())]
        if not built.exists() or built.stat().st_mtime < max(source.stat().st_mtime for source in sources):
            subprocess.run(["mvn", "-q", "-B", *properties, "compile"], cwd=project, check=True, timeout=timeout_s)
            built.touch()
    return f"{target / 'classes'}:{(target / 'classpath').read_text()}"


@contextmanager
def real_pravega(setup: ServerSetup = SETUPS[""]) -> Iterator[RealPravega]:
    """Run the server while the block runs. Its errors go to stderr."""
    classpath = build(PROJECT, TARGET / setup.version, BUILD_S, f"-Dpravega.version={setup.version}")
    with _namespace(f"wiretool{os.getpid()}") as name:
        server = RealPravega(name)
        java = ["java", _MEMORY, "-cp", classpath, "wiretool.interop.RealPravega", *setup.options]
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
