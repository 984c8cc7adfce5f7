"""The committed classes are those of `proto/ag_ui.proto`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.encode.protobuf.pb import ag_ui_pb2

ROOT = Path(__file__).parents[3]
FOLDER = "gateway/encode/protobuf/pb"
PB = ROOT / FOLDER
COMMAND = f"python -m grpc_tools.protoc -Iproto --python_out={FOLDER} --pyi_out={FOLDER} proto/ag_ui.proto"


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pb")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto", f"--python_out={out}", f"--pyi_out={out}"]
    subprocess.run([*command, "proto/ag_ui.proto"], cwd=ROOT, check=True, timeout=60)
    return out


@pytest.mark.parametrize("name", ["ag_ui_pb2.py", "ag_ui_pb2.pyi"])
def test_the_committed_file_is_what_the_compiler_makes_of_the_proto(name: str, regenerated: Path) -> None:
    same = (PB / name).read_bytes() == (regenerated / name).read_bytes()
    assert same, f"{name} is not what proto/ag_ui.proto says. In the project's folder run:\n    {COMMAND}"


def test_the_classes_can_be_imported_and_used() -> None:
    event = ag_ui_pb2.Event()
    event.text_message_end.message_id = "m"
    assert ag_ui_pb2.Event.FromString(event.SerializeToString()).WhichOneof("event") == "text_message_end"
