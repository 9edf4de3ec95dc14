"""The files at which code scanning shows the results of `wiretool conform`."""

from pathlib import Path

import pytest

from wiretool.commands.conform.locations import report_files
from wiretool.commands.conform.options import ConformOptions, Reports
from wiretool.commands.conform.reports import read_report
from wiretool.errors import UsageError

SARIF = Reports(sarif=Path("out/conform.sarif"))


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a program and a capture."""
    root = tmp_path / "repository"
    (root / "bin").mkdir(parents=True)
    (root / "bin/my server").touch()
    (root / "client.py").touch()
    monkeypatch.chdir(root)
    return root


def options(**given: object) -> ConformOptions:
    return ConformOptions("sbp", reports=SARIF, **given)  # type: ignore[arg-type]


def test_captures() -> None:
    files = report_files(options(is_capture=True, arguments=["runs/a 1.pcap", "./b.pcap"]))
    assert files.judged == ["runs/a%201.pcap", "b.pcap"]


def test_a_capture_elsewhere_has_an_absolute_uri(repository: Path) -> None:
    files = report_files(options(is_capture=True, arguments=["../b.pcap", str(repository / "c.pcap")]))
    assert files.judged == [(repository.parent / "b.pcap").as_uri(), "c.pcap"]


def test_the_program_of_a_server_or_client() -> None:
    server = options(targets=["127.0.0.1:1"], command="env A=1 './bin/my server' --port 1", expect=Path("known.toml"))
    assert report_files(server).judged == ["bin/my%20server"]
    client = options(is_client=True, arguments=["/bin/sh", "client.py", "{address}"])
    assert report_files(client).judged == ["client.py"]
    script = options(is_client=True, arguments=["/bin/sh", "-c", "true # " + "x" * 300])
    assert report_files(script).judged == ["out/conform.sarif"]


def test_known_failures_or_else_the_report_where_no_program_is_named() -> None:
    files = report_files(options(targets=["127.0.0.1:1"], expect=Path("ci/known.toml")))
    assert (files.judged, files.expected) == (["ci/known.toml"], "ci/known.toml")
    assert report_files(options()).judged == ["out/conform.sarif"]
    assert report_files(options(is_capture=True, arguments=["-"])).judged == ["out/conform.sarif"]


def test_reading_a_report_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"none\.json: no such file$"):
        read_report(Path("none.json"))
