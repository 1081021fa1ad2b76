"""The built modules of `static/components` (`static/bundling/build.js`), and the style sheets that Python puts into pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ... import static

STATIC = Path(static.__file__).parent

BUILT = STATIC / "built"


def style(name: str) -> str:
    """The text of a style sheet in `static`."""
    return (STATIC / "styles" / name).read_text(encoding="utf-8")


@cache
def bundle(name: str) -> str:
    """The module of `static/built`, with all that it imports."""
    try:
        return (BUILT / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"static/built/{name} is missing; `make components` bundles the components") from error
