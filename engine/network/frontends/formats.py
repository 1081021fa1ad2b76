"""The formats of model files, each with the package that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from .stablehlo import load_stablehlo
from .torch_export import load_torch_export


class Frontend(NamedTuple):
    """A format of model files: its name, the Python package that reads it, what pip installs for it, and the function from a path to a
    relax module."""

    name: str
    package: str
    install: str
    load: Callable[[Path], Any]


def _onnx(path: Path) -> Any:
    onnx = import_module("onnx")
    model = onnx.load(str(path), load_external_data=False)
    convert = import_module("tvm.relax.frontend.onnx").from_onnx
    # Weights as parameters make FuseTIR fail ("was used before its definition", TVM 0.27); as constants they stay out of the printed text.
    return convert(model, keep_params_in_input=False)


def _tflite(path: Path) -> Any:
    model = import_module("tflite").Model.GetRootAsModel(path.read_bytes(), 0)
    return import_module("tvm.relax.frontend.tflite").from_tflite(model)


_ONNX = Frontend("ONNX", "onnx", "onnx", _onnx)
_TFLITE = Frontend("TFLite", "tflite", "tflite flatbuffers", _tflite)
_STABLEHLO = Frontend("StableHLO", "jax", '"jax<0.7"', load_stablehlo)
_TORCH = Frontend("torch.export", "torch", "torch", load_torch_export)

FRONTENDS: Mapping[str, Frontend] = {
    ".onnx": _ONNX,
    ".tflite": _TFLITE,
    ".mlir": _STABLEHLO,
    ".stablehlo": _STABLEHLO,
    ".pt2": _TORCH,
}
"""Formats by the suffix of their files."""


def frontend_of(path: Path) -> Frontend:
    """The frontend that reads the file, by its suffix."""
    return FRONTENDS[path.suffix.lower()]


def model_suffixes() -> tuple[str, ...]:
    """The suffixes of the files that the frontends read."""
    return tuple(FRONTENDS)


def is_model_file(path: str) -> bool:
    """Whether the name is that of a model file which a frontend reads."""
    return Path(path).suffix.lower() in FRONTENDS


__all__ = ["FRONTENDS", "Frontend", "frontend_of", "is_model_file", "model_suffixes"]
