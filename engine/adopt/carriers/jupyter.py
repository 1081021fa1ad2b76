"""Jupyter notebooks (`.ipynb`, versions 3 and 4): the code cells are one program text, markdown cells are prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ...cancellation import checkpoint
from ...ir import Place, Refusal
from ...script import Note, python_tree
from .content import CarrierError, Content, Segment, left_out, limited, lines_in, piece_of

WHAT = "a Jupyter notebook"
MOST_MAGICS = 200
"""Maximum number of magics in a cell; the rest is read as Python."""

_FORMAT = re.compile(r'"nbformat"\s*:\s*\d')
_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?P<target>[A-Za-z_][\w, ]*=[ \t]*)?(?P<sign>%%?|!!?)[ \t]*(?P<command>[\w/.~$].*)"
)
_HELP = re.compile(r"[ \t]*(?:\?{1,2}[ \t]*[\w.]+|[\w.]+\?{1,2})[ \t;]*$")
_RUNS_BODY = re.compile(r"[ \t]*%%(?:time|capture|prun|memit)\b")
"""Cell magics that run their cell as Python in the notebook."""
_DEFINES = re.compile(r"(?:run|pylab|store|load_ext|macro)\b")
"""Line magics that may define any name."""
_EMBEDDED = re.compile(r"\]\(data:[^)]{40,}\)")


def is_notebook(text: str) -> bool:
    """Whether a text is a Jupyter notebook."""
    return text.startswith("{") and ('"cells"' in text or '"worksheets"' in text) and _FORMAT.search(text) is not None


def read_notebook(text: str) -> Content:
    """Return the cells of a notebook. Raises CarrierError "bad-notebook"."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno, error.lineno, error.colno)
        raise _bad(f"the JSON of the notebook is damaged: {error.msg}", place) from error
    except (RecursionError, ValueError) as error:
        raise _bad("the JSON of the notebook is damaged: a number is too long, or it is nested too deeply") from error
    segments: list[Segment] = []
    notes: list[Note] = []
    for number, cell in enumerate(_cells(data), 1):
        checkpoint()
        _read_cell(cell, f"cell {number}", segments, notes)
    return Content(WHAT, (piece_of(segments),), limited(notes))


def _bad(message: str, place: Place | None = None) -> CarrierError:
    return CarrierError(
        Refusal("bad-notebook", message, expected="a notebook of Jupyter, format 3 or 4", place=place,
                fix=("save the notebook in Jupyter again",))
    )  # fmt: skip


def _cells(data: Any) -> Sequence[Mapping[str, Any]]:
    """The cells of a notebook; those of format 3 are in worksheets."""
    cells: Any = data.get("cells")
    if cells is None and isinstance(data.get("worksheets"), list):
        found = [sheet.get("cells") for sheet in _dicts(data["worksheets"])]
        cells = [cell for part in found if isinstance(part, list) for cell in cast("list[Any]", part)]
    if not isinstance(cells, list):
        raise _bad("the notebook has no list of cells")
    return _dicts(cells)


def _dicts(values: Any) -> list[Mapping[str, Any]]:
    """The values of a list, each of which is an object. Raises "bad-notebook"."""
    several = cast("list[Any]", values)
    if not all(isinstance(value, dict) for value in several):
        raise _bad("a cell of the notebook is not an object")
    return several


def _object(value: Any) -> Mapping[str, Any]:
    """The value, if it is an object; else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _source(value: Any) -> str:
    """The text of a cell: a text, or a list of its lines."""
    if isinstance(value, list) and all(isinstance(line, str) for line in cast("list[Any]", value)):
        return "".join(cast("list[str]", value))
    if not isinstance(value, str):
        raise _bad("the source of a cell is not text")
    return value


def _read_cell(cell: Mapping[str, Any], section: str, segments: list[Segment], notes: list[Note]) -> None:
    kind = cell.get("cell_type")
    text = _source(cell.get("source", cell.get("input", "")))
    if kind == "code":
        _read_code(text, section, segments, notes)
        notes += _outputs(cell, section)
    elif kind in ("markdown", "heading", "html"):
        _read_prose(text, cell, section, segments, notes)
    elif text.strip():
        notes.append(left_out(f"the cell of kind {str(kind)[:20]!r}", section=section))


def _read_prose(text: str, cell: Mapping[str, Any], section: str, segments: list[Segment], notes: list[Note]) -> None:
    if cell.get("cell_type") == "heading":
        text = f"{'#' * _level(cell.get('level'))} {text}"
    lines = lines_in(text)
    for number, line in enumerate(lines, 1):
        if _EMBEDDED.search(line):
            notes.append(left_out("an embedded image", number, section))
    lines = tuple(_EMBEDDED.sub("]()", line) for line in lines)
    notes += [
        left_out(f"the attached file {name[:60]!r}", section=section) for name in _object(cell.get("attachments"))
    ]
    segments.append(Segment("prose", lines, section))


def _level(value: Any) -> int:
    return min(max(value, 1), 6) if isinstance(value, int) else 1


def _outputs(cell: Mapping[str, Any], section: str) -> Iterator[Note]:
    """One note on the outputs of a cell."""
    outputs = cell.get("outputs")
    if not isinstance(outputs, list) or not outputs:
        return
    kinds: dict[str, None] = {}
    for output in map(_object, cast("list[Any]", outputs)):
        names = [*_object(output.get("data"))] or [str(output.get("output_type", ""))]
        kinds |= dict.fromkeys(name[:30] for name in names)
    yield left_out(f"the output of the cell ({', '.join(list(kinds)[:4])})", section=section)


def _read_code(text: str, section: str, segments: list[Segment], notes: list[Note]) -> None:
    lines = list(lines_in(text))
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return
    if lines[first].startswith("%%"):
        if not _RUNS_BODY.match(lines[first]):
            rest = len([line for line in lines[first + 1 :] if line.strip()])
            what = f"the cell of the magic {lines[first].strip()[:60]!r}, which has {rest} more lines,"
            notes.append(left_out(what, first + 1, section))
            return
        notes.append(left_out(f"the magic {lines[first].strip()[:60]!r}", first + 1, section))
        lines[first] = ""
    notes += _without_magics(lines, section)
    segments.append(Segment("code", tuple(lines), section))


def _without_magics(lines: list[str], section: str) -> Iterator[Note]:
    """Replace the magics in a cell's lines by what they may do to its names. Only a line at which Python's parser fails can be one, so
    that lines of strings and of long expressions stay."""
    for _ in range(MOST_MAGICS):
        number = _unread(lines)
        if number is None:
            return
        line = lines[number]
        magic, is_help = _MAGIC.match(line), _HELP.match(line)
        if magic is None and is_help is None:
            return
        end = number
        while magic is not None and lines[end].endswith("\\") and end + 1 < len(lines):
            end += 1
        yield left_out(
            f"the magic {line.strip()[:60]!r}" if magic else f"the request for help {line.strip()[:60]!r}",
            number + 1,
            section,
        )
        lines[number] = _in_place_of(magic) if magic is not None else ""
        lines[number + 1 : end + 1] = [""] * (end - number)


def _in_place_of(magic: re.Match[str]) -> str:
    """Python with the effect of a magic on names: its result is unknown, and `%run` may define any name."""
    indent, target = magic["indent"], magic["target"]
    if target:
        return f"{indent}{target}get_ipython().run_line_magic()"
    if magic["sign"] == "%" and _DEFINES.match(magic["command"]) and not indent:
        return "from get_ipython import *"
    return f"{indent}pass" if indent else ""


def _unread(lines: Sequence[str]) -> int | None:
    """The line at which Python's parser fails; None if it does not."""
    try:
        python_tree("\n".join(lines))
    except SyntaxError as error:
        number = (error.lineno or 0) - 1
        return number if 0 <= number < len(lines) else None
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


__all__ = ["is_notebook", "read_notebook"]
