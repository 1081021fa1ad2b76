"""Model files through TVM's frontends: from a file to the text of a lowered module. Needs TVM and the package of the format.

A confined process (`reader`) imports TVM and reads the file; this process receives text alone.
"""

from __future__ import annotations

from pathlib import Path

from ...ir import Refusal, TilewrightError
from ...processes.sandbox import confined_text
from .formats import is_model_file, model_suffixes


def lowered_text(path: str | Path) -> str:
    """Return the text of a model file's module: tensor programs, and a relax function that calls them. Weights are not in it.

    Raises TilewrightError "no-file", "no-frontend" without the packages that read it, "unsafe-model" for a file that would run code,
    "not-a-model" if TVM cannot read or lower it, "too-large", "too-slow" and "reader-ended" by the limits of the process.
    """
    file = Path(path)
    if not file.is_file():
        raise TilewrightError(Refusal("no-file", f"there is no file {path}"))
    return confined_text(f"{__name__}.reader", file)


__all__ = ["is_model_file", "lowered_text", "model_suffixes"]
