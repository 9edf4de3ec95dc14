"""The descriptors that are loaded are those of controller.proto, and the reference has nothing else."""

import ast
import importlib.resources
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from wiretool.protocols.pravega_controller import controller_pb2
from wiretool.protocols.pravega_controller.calls import CALLS, METHODS, SERVICE

HOME = Path(str(importlib.resources.files("wiretool.protocols.pravega_controller")))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the compiler makes of controller.proto today."""
    out = tmp_path_factory.mktemp("made")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{HOME}", f"--pyi_out={out}"]
    command += [f"--descriptor_set_out={out}/controller.binpb", "controller.proto"]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    return out


def test_the_descriptors_are_those_of_the_schema(made: Path) -> None:
    ours, today = (FileDescriptorSet.FromString((folder / "controller.binpb").read_bytes()) for folder in (HOME, made))
    assert ours == today


def test_the_types_are_those_of_the_schema(made: Path) -> None:
    """The text depends on the compiler's version: names and what they are annotated with do not."""
    ours, today = (annotated((folder / "controller_pb2.pyi").read_text()) for folder in (HOME, made))
    assert ours == today
    assert ("StreamCutRange", "to", "_containers.ScalarMap[int, int]") in ours


def annotated(text: str) -> set[tuple[str, str, str]]:
    """Class, name and type of every attribute."""
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return {
        (cls.name, ast.unparse(node.target), ast.unparse(node.annotation))
        for cls in classes
        for node in cls.body
        if isinstance(node, ast.AnnAssign)
    }


def test_classes_are_found_by_their_names() -> None:
    info = controller_pb2.StreamInfo(scope="a", stream="b")
    cut = controller_pb2.StreamCut(streamInfo=info, cut={1: 2})
    assert controller_pb2.StreamCut.FromString(cut.SerializeToString()) == cut
    assert controller_pb2.CreateScopeStatus.Status.Name(controller_pb2.CreateScopeStatus.SCOPE_EXISTS) == "SCOPE_EXISTS"
    with pytest.raises(AttributeError, match="has no attribute 'StreamInof'"):
        _ = controller_pb2.StreamInof  # type: ignore[attr-defined]


def test_they_do_not_meet_others_of_the_same_name() -> None:
    """A program may have Pravega's own classes loaded, in the pool that all share."""
    from google.protobuf import descriptor_pool

    with pytest.raises(KeyError):
        descriptor_pool.Default().FindServiceByName(SERVICE)


def test_every_method_has_two_messages() -> None:
    assert SERVICE == "io.pravega.controller.stream.api.grpc.v1.ControllerService"
    assert len(METHODS) == 47
    assert {name for name, _ in CALLS} == METHODS
    assert len(CALLS) == 94
    assert {"getSegmentsImmediatlyFollowing", "getSegmentsImmediatelyFollowing"} < METHODS
