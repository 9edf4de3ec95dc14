"""Other people's programs that tests hold ours against: left out by name where they are missing, but never in CI."""

import os
import shutil
import subprocess

import pytest


def needs_root_to(act: str) -> pytest.MarkDecorator:
    """Mark a test that only root can run: it is left out by name for other users, and fails for them in CI."""
    return pytest.mark.skipif(os.geteuid() != 0 and "CI" not in os.environ, reason=f"only root can {act}")


def run_tool(name: str, *arguments: str, timeout_s: float = 120.0) -> str:
    """What a program prints on stdout; the test is left out where there is no such program, and fails in CI."""
    path = path_of_tool(name)
    return subprocess.run([path, *arguments], check=True, capture_output=True, text=True, timeout=timeout_s).stdout


def path_of_tool(name: str) -> str:
    """Return the path of a program; the test is left out where there is none, and fails in CI."""
    path = shutil.which(name)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing")
        pytest.skip(f"{name} is not installed")
    return path
