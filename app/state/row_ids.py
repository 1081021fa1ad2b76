"""Ids of tree rows for the browser, and the loop or block handles that they identify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...engine.ir import BlockRealize, For, PrimFunc, Var, loops_and_blocks

Handle = Var | str


class RowIds(Mapping[str, Handle]):
    """Row id -> handle (the Var of a loop, the name of a block), in text order; `of` is the inverse."""

    def __init__(self, handles: Mapping[str, Handle]) -> None:
        self._handles = dict(handles)
        self._ids = {handle: row for row, handle in self._handles.items()}

    def __getitem__(self, row: str) -> Handle:
        return self._handles[row]

    def __iter__(self) -> Iterator[str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)

    def has(self, handle: Handle) -> bool:
        """Whether a loop or block has a row."""
        return handle in self._ids

    def of(self, handle: Handle) -> str:
        """The row id of a loop or block. Raises KeyError for a handle without a row (the root block)."""
        return self._ids[handle]


def row_ids(func: PrimFunc) -> RowIds:
    """Ids of all loops and blocks below the root, in text order. The id is the name; the second of that name has `name~2`."""
    handles: dict[str, Handle] = {}
    counts: dict[str, int] = {}
    for stmt in loops_and_blocks(func.body):
        if stmt is func.body:
            continue
        if isinstance(stmt, BlockRealize):
            handles[_free(stmt.block.name, handles, counts)] = stmt.block.name
        else:
            assert isinstance(stmt, For)
            handles[_free(stmt.loop_var.name, handles, counts)] = stmt.loop_var
    return RowIds(handles)


def _free(name: str, taken: Mapping[str, Handle], counts: dict[str, int]) -> str:
    """The next free row id of a name. `counts` caches the last used number of each name, so that thousands of `i` stay fast."""
    row, count = name, counts.get(name, 1)
    while row in taken:
        count += 1
        row = f"{name}~{count}"
    counts[name] = count
    return row
