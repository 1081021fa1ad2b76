"""Layouts of shared buffers, as TileLang's compiler infers them: operands of products are swizzled or padded, and so is what a bulk store
of sm_90 reads. The text may give layouts; other buffers are row-major.

Source: TileLang 0.1.15, `src/layout/gemm_layouts.cc`, `cuda/op/gemm`, `src/cuda/op/copy.cc` and `copy_analysis.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    For,
    PrimFunc,
    StringImm,
    allocated_buffers,
    build,
    walk,
)
from ...script.tilelang.names import COPY, GEMM, LAYOUTS
from .products import Product, Unit, element_bits, instruction, instruction_columns, integers, products_of

Kind: TypeAlias = Literal["swizzled", "padded", "row-major", "double", "unknown"]
ATOM = 8
"""Rows of a swizzle: the columns of 16 bytes are permuted by the row's number in it."""
ACCESS_BITS = 128
BOX = 256
"""The most elements of an axis that a bulk copy moves at once."""


class StoredLayout(msgspec.Struct, frozen=True):
    """How a shared buffer is stored. `width` is the width of a swizzle in bytes (32, 64 or 128), or the elements after each padded row.
    `reason` says what decides it."""

    kind: Kind
    width: int = 0
    reason: str = ""

    @property
    def title(self) -> str:
        match self.kind:
            case "swizzled":
                return f"swizzle of {self.width} bytes"
            case "padded":
                return f"rows padded by {self.width} elements"
            case "double":
                return "swizzle of 64-bit elements"
            case "row-major":
                return "row-major"
            case "unknown":
                return "not known"

    def row_elements(self, columns: int) -> int:
        return columns + self.width if self.kind == "padded" else columns

    def order(self, rows: int, columns: int, bits: int) -> npt.NDArray[np.int64] | None:
        """Returns the place of each element of a row-major matrix in memory, in elements; None if it is the same place."""
        i, j = np.divmod(np.arange(rows * columns, dtype=np.int64), columns)
        vector = max(1, ACCESS_BITS // bits)
        match self.kind:
            case "padded":
                return i * (columns + self.width) + j
            case "swizzled":
                count = self.width // 16
                step = i % ATOM // (ATOM // count)
                column = j // vector
                inside = (column % count ^ step) * vector + j % vector + i % ATOM * count * vector
                height = min(rows, ATOM)
                return (column // count * (rows // height) + i // ATOM) * (height * count * vector) + inside
            case "double":
                inner, row = j % 16, i % 4
                inside = inner // 4 * 4 + (inner % 4 ^ row) + row * 16
                return (j // 16 * (rows // 4) + i // 4) * 64 + inside
            case _:
                return None


ROW_MAJOR = StoredLayout("row-major")


def stored_layouts(func: PrimFunc, unit: Unit) -> dict[Buffer, StoredLayout]:
    """Returns the layouts of shared buffers of a TileLang kernel that something decides; the others are row-major."""
    if not _is_tile_kernel(func):
        return {}
    found = _given(func)
    for product in products_of(func):
        used = instruction(product, unit)
        for buffer, continuity in (
            (product.a, _continuity(product, unit, left=True)),
            (product.b, _continuity(product, unit, left=False)),
        ):
            if not _is_shared(buffer) or (used == "mma" and buffer in found):
                continue
            layout = _operand(buffer) if used == "mma" else _descriptor(buffer, product, continuity)
            found[buffer] = _merged(found.get(buffer), layout)
    for buffer in _of_opaque(func):
        found.setdefault(buffer, StoredLayout("unknown", reason="an operation that is not read decides it"))
    if unit == "wgmma":
        for buffer, layout in _of_bulk_copies(func, found).items():
            found.setdefault(buffer, layout)
    return found


def _is_tile_kernel(func: PrimFunc) -> bool:
    """Whether a program was read from TileLang's text: its products and copies say so."""
    return any(isinstance(n, Block) and not {GEMM, COPY}.isdisjoint(dict(n.annotations)) for n in walk(func.body))


def _is_shared(buffer: Buffer) -> bool:
    return buffer.scope in ("shared", "shared.dyn")


def _matrix(buffer: Buffer) -> tuple[int, int] | None:
    """Returns the extents of the last two axes."""
    shape = [build.int_value(extent) for extent in buffer.shape[-2:]]
    return (shape[0], shape[1]) if len(shape) == 2 and shape[0] is not None and shape[1] is not None else None


def _swizzled(buffer: Buffer, columns: int, reason: str) -> StoredLayout | None:
    """Returns the widest swizzle that divides the rows of `columns` elements."""
    vector = ACCESS_BITS // element_bits(buffer)
    return next(
        (StoredLayout("swizzled", 16 * n, reason) for n in (8, 4, 2) if vector and columns % (vector * n) == 0), None
    )


def _operand(buffer: Buffer, reason: str = "operand of mma") -> StoredLayout:
    """Returns the layout of an operand that ldmatrix loads (`MakeSwizzledLayout` with padding allowed)."""
    shape = _matrix(buffer)
    if shape is None:
        return StoredLayout("unknown", reason="its size is not known")
    rows, columns = shape
    bits = element_bits(buffer)
    if bits == 64:
        found = StoredLayout("double", reason=reason) if columns % 16 == 0 else None
    else:
        found = _swizzled(buffer, columns, reason)
        if found is not None and rows % ATOM and rows != 4:
            return StoredLayout("unknown", reason=f"{rows} rows, which TileLang refuses")
    if found is not None:
        return found
    padding = ACCESS_BITS // bits if bits * columns % 256 == 0 else 0
    return StoredLayout("padded", padding, reason) if padding else StoredLayout("row-major", reason=reason)


def _continuity(product: Product, unit: Unit, *, left: bool) -> int | None:
    """Returns the elements that a descriptor of wgmma finds side by side."""
    if left:
        return 64 if product.turned_a else product.depth
    return product.depth if product.turned_b else instruction_columns(product, unit)


def _descriptor(buffer: Buffer, product: Product, continuity: int | None) -> StoredLayout:
    """Returns the layout of an operand that wgmma reads (`infer_shared_layout`)."""
    shape = _matrix(buffer)
    if continuity is None or shape is None:
        return StoredLayout(
            "unknown", reason="the policy of the warps is not known" if shape else "its size is not known"
        )
    vector = ACCESS_BITS // element_bits(product.a)
    width = next((16 * n for n in (8, 4, 2) if continuity % (vector * n) == 0), 0)
    if not width:
        return StoredLayout("row-major", reason="operand of wgmma")
    is_whole = (shape[0] % ATOM == 0 or shape[0] == 4) and shape[1] * element_bits(buffer) % (width * 8) == 0
    return (
        StoredLayout("swizzled", width, "operand of wgmma")
        if is_whole
        else StoredLayout("unknown", reason="TileLang refuses this operand")
    )


def _merged(before: StoredLayout | None, layout: StoredLayout) -> StoredLayout:
    """Returns the layout for two uses: the narrower swizzle (`MergeSwizzleLayouts`)."""
    if before is None or before == layout or "unknown" in (before.kind, layout.kind):
        return layout if before is None or layout.kind == "unknown" else before
    if before.kind == layout.kind == "swizzled":
        return min(before, layout, key=lambda found: found.width)
    return (
        before
        if before.kind == layout.kind
        else StoredLayout("unknown", reason="two operations need different layouts")
    )


# --- layouts that the text gives


def layouts_given(func: PrimFunc) -> dict[str, str]:
    """Returns the layouts that `T.annotate_layout` gives to buffers by name, which the reader left at a loop of the grid."""
    found: dict[str, str] = {}
    for loop in walk(func.body):
        note = dict(loop.annotations).get(LAYOUTS, ()) if isinstance(loop, For) else ()
        for pair in note if isinstance(note, tuple) else ():
            match pair:
                case (StringImm(value=name), StringImm(value=layout)):
                    found[name] = layout
                case _:
                    pass
    return found


def _given(func: PrimFunc) -> dict[Buffer, StoredLayout]:
    named = layouts_given(func)
    if not named:
        return {}
    return {b: _by_name(b, named[b.name]) for b in allocated_buffers(func.body) if b.name in named and _is_shared(b)}


def _by_name(buffer: Buffer, name: str) -> StoredLayout:
    reason = "T.annotate_layout"
    shape = _matrix(buffer)
    widths = {"full_bank_swizzled": 128, "half_bank_swizzled": 64, "quarter_bank_swizzled": 32}
    if name == "linear":
        return StoredLayout("row-major", reason=reason)
    if shape is None:
        return StoredLayout("unknown", reason=reason)
    if name == "swizzled":
        return _operand(buffer, reason)
    if name.startswith("padded "):
        width = int(name.removeprefix("padded ")) - shape[1]
        if width < 0:
            return StoredLayout("unknown", reason=f"{reason}: rows overlap")
        return StoredLayout("padded", width, reason) if width else StoredLayout("row-major", reason=reason)
    if name in widths:
        return StoredLayout("swizzled", widths[name], reason)
    return _bulk(buffer, shape, reason) if name == "wgmma_swizzled" else StoredLayout("unknown", reason=reason)


# --- bulk copies


def _bulk(buffer: Buffer, shape: tuple[int, int], reason: str) -> StoredLayout:
    """Returns the layout that `MakeGemmABLayoutHopper` chooses."""
    rows, columns = shape
    if element_bits(buffer) == 64:
        if columns % 16 == 0:
            return StoredLayout("double", reason=reason)
        return StoredLayout("swizzled", 32, reason) if rows % ATOM == 0 else StoredLayout("row-major", reason=reason)
    found = _swizzled(buffer, columns, reason) if rows % ATOM == 0 else None
    return found or StoredLayout("row-major", reason=reason)


def _of_bulk_copies(func: PrimFunc, known: Mapping[Buffer, StoredLayout]) -> dict[Buffer, StoredLayout]:
    """Returns the layouts of the buffers that `T.copy` stores by bulk copies. Those of loaded buffers with more than BOX elements in a row
    are not known."""
    found: dict[Buffer, StoredLayout] = {}
    for realize in walk(func.body):
        if not isinstance(realize, BlockRealize):
            continue
        note = dict(realize.block.annotations).get(COPY)
        extents = integers(note)
        store = next((n for n in walk(realize.block.body) if isinstance(n, BufferStore)), None)
        loads = [] if store is None else [n for n in walk(store.value) if isinstance(n, BufferLoad)]
        if note is None or store is None or not loads:
            continue
        source, target = next((n.buffer for n in loads if _is_shared(n.buffer)), loads[0].buffer), store.buffer
        if target.scope == "global" and _is_shared(source) and source not in known and source not in found:
            is_plain, is_inside = all(n.buffer is not target for n in loads), build.is_const(realize.predicate, 1)
            layout = _stored_in_bulk(source, target, extents, is_plain=is_plain, is_inside=is_inside)
            if isinstance(note, StringImm):
                layout = StoredLayout("unknown", reason="an option of the text may switch bulk copies off")
            if layout is not None:
                found[source] = layout
        elif (
            source.scope == "global"
            and _is_shared(target)
            and any((build.int_value(e) or 0) > BOX for e in target.shape)
        ):
            found.setdefault(target, StoredLayout("unknown", reason="it depends on how the copy is made"))
    return found


def _stored_in_bulk(
    source: Buffer, target: Buffer, extents: list[int], *, is_plain: bool, is_inside: bool
) -> StoredLayout | None:
    """Returns the layout of a buffer that is stored in global memory, or `is_plain` not, added to it; None if it stays row-major."""
    bits = element_bits(target)
    shape = [build.int_value(extent) for extent in target.shape]
    steps = [int(np.prod([s or 1 for s in shape[n + 1 :]])) for n in range(len(shape) - 1)]
    is_odd = any(
        step * bits // 8 % 16 for step, n in zip(steps, range(len(shape) - 1), strict=True) if all(shape[n + 1 :])
    )
    if source.dtype != target.dtype or is_odd or len(extents) != len(shape):
        return None
    if is_plain and is_inside and _is_run(extents, shape) and int(np.prod(extents)) * bits % ACCESS_BITS == 0:
        return None
    matrix = _matrix(source)
    if extents[-1] * bits % ACCESS_BITS or matrix is None:
        return None
    return _bulk(source, matrix, "stored by bulk copies")


def _is_run(extents: list[int], shape: list[int | None]) -> bool:
    """Whether a box of a buffer is contiguous."""
    is_cut = False
    for extent, size in zip(reversed(extents), reversed(shape), strict=True):
        if is_cut and extent != 1:
            return False
        is_cut = is_cut or extent != size
    return True


def _of_opaque(func: PrimFunc) -> list[Buffer]:
    """Returns the shared buffers of operations that only declare their regions."""
    blocks = (
        n
        for n in walk(func.body)
        if isinstance(n, Block) and isinstance(n.body, Evaluate) and isinstance(n.body.value, Call)
    )
    return [r.buffer for block in blocks for r in (*block.reads, *block.writes) if _is_shared(r.buffer)]


__all__ = ["StoredLayout", "layouts_given", "stored_layouts"]
