"""The formats of model files, each with the package that reads it, and the passes that lower its operators to tensor programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ...ir import Refusal, TilewrightError
from .stablehlo import load_stablehlo
from .torch_export import load_torch_export

PASSES = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR")
"""TVM's passes from operators of relax to one tensor program for each group of operators that it fuses."""


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


def model_suffixes() -> tuple[str, ...]:
    """The suffixes of the files that the frontends read."""
    return tuple(FRONTENDS)


def is_model_file(path: str) -> bool:
    """Whether the name is that of a model file which a frontend reads."""
    return Path(path).suffix.lower() in FRONTENDS


def lowered_text(path: str | Path) -> str:
    """Return the text of a model file's module: tensor programs, and a relax function that calls them. Weights are not in it.

    Raises TilewrightError "no-file", "no-frontend" without the packages that read it, "unsafe-model" for a file that would run code,
    "not-a-model" if TVM cannot read or lower it.
    """
    file = Path(path)
    frontend = FRONTENDS[file.suffix.lower()]
    if not file.is_file():
        raise TilewrightError(Refusal("no-file", f"there is no file {path}"))
    try:
        relax = import_module("tvm.relax")
    except ModuleNotFoundError as error:
        raise _missing(frontend, error, 'pip install "tilewright[models]"', str(path)) from error
    try:
        import_module(frontend.package)
    except ModuleNotFoundError as error:
        raise _missing(frontend, error, f"pip install {frontend.install}", str(path)) from error
    try:
        module = frontend.load(file)
        for name in PASSES:
            module = getattr(relax.transform, name)()(module)
        return str(module.script(show_meta=False))
    except TilewrightError:
        raise
    except Exception as error:  # the frontends raise errors of many kinds
        first = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        message = f"TVM's {frontend.name} frontend cannot read or lower {file.name}: {first[0][:200]}"
        raise TilewrightError(
            Refusal("not-a-model", message, expected=f"a model in {frontend.name} that TVM compiles")
        ) from error


def _missing(frontend: Frontend, error: ModuleNotFoundError, fix: str, path: str) -> TilewrightError:
    message = f"reading {frontend.name} needs the package {error.name}"
    return TilewrightError(Refusal("no-frontend", message, found=path, fix=(fix,)))


__all__ = ["FRONTENDS", "is_model_file", "lowered_text", "model_suffixes"]
