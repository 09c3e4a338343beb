"""Makes the Python side of Dvor's contracts from the files in `proto/`, when a program starts."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parents[2] / "proto"


def make_stubs(proto: Path = PROTO) -> None:
    """After this, `dvor.stages.v1.stage_pb2` and its friends can be imported."""
    out = tempfile.mkdtemp(prefix="dvor-stubs-")
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    files = ["dvor/model/v1/offer.proto", "dvor/stages/v1/stage.proto"]
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["", f"-I{proto}", f"-I{well_known}", f"--python_out={out}", f"--grpc_python_out={out}"]
    if protoc.main(arguments + files) != 0:
        raise SystemExit(f"the contracts in {proto} cannot be compiled")
    sys.path.insert(0, out)
