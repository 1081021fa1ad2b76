"""Names for the rows of the tree: what the browser calls a loop or a block, and the handle it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....engine.ir import BlockRealize, For, PrimFunc, Var, loops_and_blocks

Handle = Var | str


class RowIds(Mapping[str, Handle]):
    """Row id -> handle (a loop is its Var, a block its name), in text order; `of` goes the other way."""

    def __init__(self, handles: Mapping[str, Handle]) -> None:
        self._handles = dict(handles)
        self._ids = {handle: row for row, handle in self._handles.items()}

    def __getitem__(self, row: str) -> Handle:
        return self._handles[row]

    def __iter__(self) -> Iterator[str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)

    def of(self, handle: Handle) -> str:
        """The row id of a loop or block. Raises KeyError for what has no row (the root block)."""
        return self._ids[handle]


def row_ids(func: PrimFunc) -> RowIds:
    """Ids of all loops and blocks below the root: the name; for the second of that name `name~2`, in text order."""
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
    """`counts`: up to which number the rows of a name are taken, so that thousands of `i` are not tried one after the other."""
    row, count = name, counts.get(name, 1)
    while row in taken:
        count += 1
        row = f"{name}~{count}"
    counts[name] = count
    return row
