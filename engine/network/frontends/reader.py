"""`python -m tilewright.engine.network.frontends.reader`: a confined process that makes the text of a lowered module of a model file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ...ir import Refusal, TilewrightError
from ...processes.confined import ConfinedRequest, serve
from ...processes.sandbox import out_of_memory
from .formats import FRONTENDS, Frontend, frontend_of

PASSES = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR")
"""TVM's passes from operators of relax to one tensor program for each group of operators that it fuses."""

ALLOCATION_ERRORS = ("bad_alloc", "can't allocate memory", "Unable to allocate", "MemoryError")
"""Words of libraries that report a failed allocation by an error of another kind."""


def main() -> int:
    """Answer the request on the command line."""
    packages = {"tvm", "tvm_ffi", *(f.package for f in FRONTENDS.values())}
    return serve(_lowered, packages)


def _lowered(request: ConfinedRequest, start_limits: Callable[[], None]) -> str:
    file = Path(request.file)
    frontend = frontend_of(file)
    relax = imported(frontend, file)
    start_limits()
    try:
        module = frontend.load(file)
        for name in PASSES:
            module = getattr(relax.transform, name)()(module)
        return str(module.script(show_meta=False))
    except TilewrightError:
        raise
    except Exception as error:  # the frontends raise errors of many kinds
        if isinstance(error, MemoryError) or any(words in str(error) for words in ALLOCATION_ERRORS):
            raise out_of_memory(file, request.memory_bytes) from error
        raise _not_a_model(frontend, file, error) from error


def imported(frontend: Frontend, file: Path) -> Any:
    """Return TVM's package of relax, after importing it and the package of the format. Raises TilewrightError "no-frontend"."""
    try:
        relax = import_module("tvm.relax")
    except ModuleNotFoundError as error:
        raise _missing(frontend, error, 'pip install "tilewright[models]"', file) from error
    try:
        import_module(frontend.package)
    except ModuleNotFoundError as error:
        raise _missing(frontend, error, f"pip install {frontend.install}", file) from error
    return relax


def _not_a_model(frontend: Frontend, file: Path, error: Exception) -> TilewrightError:
    first = str(error).strip().splitlines()[-1:] or [type(error).__name__]
    message = f"TVM's {frontend.name} frontend cannot read or lower {file.name}: {first[0][:200]}"
    return TilewrightError(Refusal("not-a-model", message, expected=f"a model in {frontend.name} that TVM compiles"))


def _missing(frontend: Frontend, error: ModuleNotFoundError, fix: str, file: Path) -> TilewrightError:
    message = f"reading {frontend.name} needs the package {error.name}"
    return TilewrightError(Refusal("no-frontend", message, found=file.name, fix=(fix,)))


if __name__ == "__main__":
    sys.exit(main())
