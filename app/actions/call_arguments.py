"""Conversion of submitted form values to call arguments: row ids become handles; map texts are parsed, never executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...engine.ir import IndexMap, PrimFunc, Refusal, RegionMap, TilewrightError, Var
from ...engine.script import read_calls
from ..state.row_ids import RowIds, row_ids


def call_arguments(
    func: PrimFunc, method: str, target: str, arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The submitted values as (args, kwargs) for `getattr(schedule, method)`: row ids become handles, index maps are parsed.

    Only fields that hold rows are resolved as rows, since a buffer or a new loop may have the name of a loop. Raises TilewrightError
    "unknown-row", "bad-index-map", or a ParseError.
    """
    ids = row_ids(func)
    kwargs = {name: _value(ids, name, value) for name, value in arguments.items()}
    loops = kwargs.pop("loops", None)
    if loops is not None:
        return tuple(loops), kwargs
    return (handle_of(ids, target),), kwargs


def handle_of(ids: RowIds, row: str) -> Var | str:
    """The loop or block of a row. Raises TilewrightError "unknown-row" (for example, if the page is older than the program)."""
    if not isinstance(row, str) or row not in ids:
        raise TilewrightError(Refusal("unknown-row", f"there is no loop or block {row!r}", expected=", ".join(ids)))
    return ids[row]


def _value(ids: RowIds, name: str, value: Any) -> Any:
    if name == "loop":
        return handle_of(ids, value)
    if name == "loops":
        if not isinstance(value, list):
            raise TilewrightError(Refusal("bad-arguments", "the loops are not a list of rows", expected='["ko", "ki"]'))
        return [handle_of(ids, row) for row in cast("list[str]", value)]
    if name == "buffer" and isinstance(value, list):
        return tuple(value)
    if name == "index_map":
        return read_index_map(value)
    if name == "gen_new_ranges":
        return read_region_map(value)
    if name == "pad_value" and isinstance(value, str):
        return read_pad_value(value)
    return value


def _require_text(code: str, text: object, expected: str) -> None:
    if not isinstance(text, str):
        raise TilewrightError(Refusal(code, "a map must be a text", found=type(text).__name__, expected=expected))


def read_index_map(text: str) -> IndexMap:
    """The IndexMap of "lambda i, j: [j // 4, AXIS_SEPARATOR, i]". Raises TilewrightError; the text is parsed, not executed."""
    _require_text("bad-index-map", text, "lambda i, j: [j, i]")
    for step in read_calls(f"sch.transform_layout({text.strip()})", "index map"):
        if len(step.args) == 1 and not step.kwargs and isinstance(step.args[0], IndexMap):
            return step.args[0]
    raise TilewrightError(
        Refusal("bad-index-map", "the text is not an index map", found=text, expected="lambda i, j: [j, i]")
    )


def read_region_map(text: str) -> RegionMap:
    """The RegionMap of "lambda i, j: [i, (j - 1, j + 2)]". Raises TilewrightError."""
    _require_text("bad-region", text, "lambda i, j: [i, (j - 1, j + 2)]")
    for step in read_calls(f"sch.annotate_buffer_access({text.strip()})", "region"):
        found = step.args[0] if len(step.args) == 1 and not step.kwargs else None
        if isinstance(found, IndexMap):
            return RegionMap.from_items(found.params, found.indices)
        if isinstance(found, RegionMap):
            return found
    raise TilewrightError(
        Refusal(
            "bad-region", "the text is not a map to a region", found=text, expected="lambda i, j: [i, (j - 1, j + 2)]"
        )
    )


def read_pad_value(text: str) -> float | IndexMap:
    """A number, or a map of the new axes. Raises TilewrightError."""
    try:
        return float(text)
    except ValueError:
        return read_index_map(text)
