"""Programs of torch.export through TVM's frontend. PyTorch reads a copy of the archive without anything that it would run."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from .torch_archive import copy_known

WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""The variable with which PyTorch unpickles nothing but tensors, whatever the caller asks for."""

COPY = Path("model.pt2")
"""The copy, in the private folder of the reading process."""


def load_torch_export(path: Path) -> Any:
    """Return the relax module of an exported program. Raises TilewrightError "unsafe-model".

    Changes the environment and writes a file in the working folder: it is called in the reading process alone.
    """
    copy_known(path, COPY)
    os.environ[WEIGHTS_ONLY] = "1"
    program = import_module("torch").export.load(str(COPY))
    COPY.unlink()
    return import_module("tvm.relax.frontend.torch").from_exported_program(program)


__all__ = ["load_torch_export"]
