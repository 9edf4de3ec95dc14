"""The GitHub action: its script, run in a clean environment as a runner would."""

import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
#: Every variable that the script reads, as the action sets it from the inputs.
VARIABLES = {"ACTION", "PROTOCOL", "TARGET", "COMMAND", "ARGUMENTS", "REPORTS"}


def run_action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step of the action with inputs by the names of its variables."""
    (step,) = ACTION["runs"]["steps"]
    assert set(step["env"]) == VARIABLES
    defaults = {"TARGET": "", "COMMAND": "", "ARGUMENTS": "", "REPORTS": str(folder / "reports"), "ACTION": str(ROOT)}
    # The package index, its settings and what was fetched from it are the machine's own.
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
    kept = {"PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"), "PIP_COMPILE": "0", **kept}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **kept, **defaults, **inputs}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step["run"]],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_action_judges_and_writes_its_reports(tmp_path: Path) -> None:
    ended = run_action(tmp_path, PROTOCOL="pravega", ARGUMENTS="--case 'pravega/append/[12]' --level must")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "pravega on built-in mock: 2 cases" in ended.stdout
    names = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert names == ["conform.html", "conform.json", "conform.sarif", "conform.svg", "conform.xml"]


def test_every_input_has_a_description() -> None:
    assert set(ACTION["inputs"]) == {"protocol", "target", "command", "arguments", "reports"}
    assert all(each["description"] for each in ACTION["inputs"].values())
