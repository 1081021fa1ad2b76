"""Random small kernels of TileLang, each as a text and as what it computes in NumPy, block by block.

The meaning is written down here from TileLang's documentation and from runs of its compiler, without the reader of the product: a copy
reads zeros outside of a tensor and writes nothing there, `gemm` adds to its result, reductions combine or overwrite. All values are small
integers, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

Array: TypeAlias = np.ndarray[Any, Any]
LIMIT = 8
BM, BN, BK = 8, 16, 4
MATRICES = ("S", "U", "F", "H")


@dataclass
class Block:
    """The memory of a block of the grid: tensors that all blocks share, buffers of its own, and the numbers of the block and of loops."""

    tensors: dict[str, Array]
    own: dict[str, Array]
    numbers: dict[str, int]


@dataclass(frozen=True)
class Code:
    """Lines of a kernel, and what they do to the memory of a block."""

    lines: tuple[str, ...]
    run: Callable[[Block], None]


@dataclass(frozen=True)
class Kernel:
    text: str
    given: dict[str, int]
    grid: tuple[int, int]
    body: tuple[Code, ...]
    own: dict[str, tuple[tuple[int, ...], str]]
    rows: int
    columns: int

    def results(self) -> dict[str, Array]:
        """Return new tensors for the results."""
        shapes = {"C": (self.rows, self.columns), "D": (self.rows,), "E": (len(MATRICES), self.rows, self.columns)}
        return {name: np.zeros(shape, "float32") for name, shape in shapes.items()}

    def compute(self, a: Array, b: Array) -> dict[str, Array]:
        """Return the results of the kernel."""
        tensors = {"A": a, "B": b, **self.results()}
        for bx in range(self.grid[0]):
            for by in range(self.grid[1]):
                own = {name: np.zeros(shape, dtype) for name, (shape, dtype) in self.own.items()}
                block = Block(tensors, own, {"bx": bx, "by": by})
                for code in self.body:
                    code.run(block)
        return tensors


def taken(tensor: Array, start: Sequence[int], shape: Sequence[int]) -> Array:
    """Return a box of a tensor, with zeros outside of it."""
    found = np.zeros(shape, tensor.dtype)
    for index in np.ndindex(*shape):
        at = tuple(s + i for s, i in zip(start, index, strict=True))
        if all(0 <= x < n for x, n in zip(at, tensor.shape, strict=True)):
            found[index] = tensor[at]
    return found


def put(tensor: Array, start: Sequence[int], values: Array, *, adds: bool = False) -> None:
    """Store a box in a tensor; what is outside of it is dropped."""
    for index in np.ndindex(*values.shape):
        at = tuple(s + i for s, i in zip(start, index, strict=True))
        if all(0 <= x < n for x, n in zip(at, tensor.shape, strict=True)):
            tensor[at] = tensor[at] + values[index] if adds else values[index]


def both(*codes: Code) -> Code:
    def run(block: Block) -> None:
        for code in codes:
            code.run(block)

    return Code(tuple(line for code in codes for line in code.lines), run)


def indented(header: str, code: Code, run: Callable[[Block], None]) -> Code:
    return Code((header, *(f"    {line}" for line in code.lines)), run)


OWN = {"S": ((BM, BN), "float32"), "U": ((BM, BN), "float32"), "F": ((BM, BN), "float32"), "H": ((BM, BN), "float16"),
       "R": ((BM,), "float32"), "K": ((BN,), "float32"), "P": ((BM, BK), "float32"), "PT": ((BK, BM), "float32"),
       "Q": ((BK, BN), "float32"), "QT": ((BN, BK), "float32"), "v": ((1,), "int32")}  # fmt: skip


@st.composite
def loads(draw: st.DrawFn) -> Code:
    """A copy from a tensor: of a whole tile, of a part of one, or of a row; at an offset, which may be outside."""
    tensor, target = draw(st.sampled_from("AB")), draw(st.sampled_from(MATRICES))
    dy, dx = draw(st.integers(-3, 5)), draw(st.integers(-3, 5))
    form = draw(st.sampled_from(("start", "slices", "part", "row")))
    h, w = draw(st.integers(1, BM)), draw(st.integers(2, BN))
    y, x = f"by * {BM} + {dy}", f"bx * {BN} + {dx}"
    text = {
        "start": f"T.copy({tensor}[{y}, {x}], {target})",
        "slices": f"T.copy({tensor}[{y} : {y} + {BM}, {x} : {x} + {BN}], {target})",
        "part": f"T.copy({tensor}[{y} : {y} + {h}, {x} : {x} + {w}], {target}[{BM - h}:{BM}, 0:{w}])",
        "row": f"T.copy({tensor}[{y}, {x}], K)",
    }[form]

    def run(block: Block) -> None:
        start = (block.numbers["by"] * BM + dy, block.numbers["bx"] * BN + dx)
        if form == "row":
            block.own["K"][:] = taken(block.tensors[tensor], start, (1, BN))[0]
        elif form == "part":
            block.own[target][BM - h :, :w] = taken(block.tensors[tensor], start, (h, w))
        else:
            block.own[target][:] = taken(block.tensors[tensor], start, (BM, BN))

    return Code((text,), run)


@st.composite
def moves(draw: st.DrawFn) -> Code:
    """A copy on the chip, which converts, or a fill of a part."""
    source, target = draw(st.sampled_from(MATRICES)), draw(st.sampled_from(MATRICES))
    value, top, left = draw(st.integers(-2, 2)), draw(st.integers(0, BM - 1)), draw(st.integers(0, BN - 1))
    if source != target and draw(st.booleans()):
        return Code(
            (f"T.copy({source}, {target})",),
            lambda block: np.copyto(block.own[target], block.own[source], casting="unsafe"),
        )

    def run(block: Block) -> None:
        block.own[target][top:, left:] = value

    return Code((f"T.fill({target}[{top}:{BM}, {left}:{BN}], {value})",), run)


@st.composite
def products(draw: st.DrawFn) -> Code:
    """A loop over a depth that may end in a tile, with operands that may be transposed."""
    turned_a, turned_b, clear = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    stages, trips = draw(st.integers(0, 3)), draw(st.integers(1, 3))
    left, right = "PT" if turned_a else "P", "QT" if turned_b else "Q"
    first = f"A[k * {BK}, by * {BM}]" if turned_a else f"A[by * {BM}, k * {BK}]"
    second = f"B[bx * {BN}, k * {BK}]" if turned_b else f"B[k * {BK}, bx * {BN}]"
    lines = (f"for k in T.Pipelined({trips}, num_stages={stages}):", f"    T.copy({first}, {left})", f"    T.copy({second}, {right})",
             f"    T.gemm({left}, {right}, F, transpose_A={turned_a}, transpose_B={turned_b}, clear_accum={clear})")  # fmt: skip

    def run(block: Block) -> None:
        y, x = block.numbers["by"] * BM, block.numbers["bx"] * BN
        for k in range(trips):
            at = (k * BK, y) if turned_a else (y, k * BK)
            block.own[left][:] = taken(block.tensors["A"], at, block.own[left].shape)
            at = (x, k * BK) if turned_b else (k * BK, x)
            block.own[right][:] = taken(block.tensors["B"], at, block.own[right].shape)
            a, b = block.own[left], block.own[right]
            found = (a.T if turned_a else a) @ (b.T if turned_b else b)
            block.own["F"][:] = found if clear else block.own["F"] + found

    return both(Code(lines, run), limited("F"))


def limited(name: str) -> Code:
    """Keep values small."""
    text = (f"for i, j in T.Parallel({BM}, {BN}):", f"    {name}[i, j] = T.min(T.max({name}[i, j], -{LIMIT}), {LIMIT})")
    return Code(text, lambda block: np.clip(block.own[name], -LIMIT, LIMIT, out=block.own[name]))


_KINDS: dict[str, tuple[Callable[..., Any], Callable[[Array, Array], Array], bool]] = {
    "sum": (np.sum, np.add, False), "max": (np.max, np.maximum, False), "min": (np.min, np.minimum, False),
    "abssum": (np.sum, np.add, True), "absmax": (np.max, np.maximum, True),
}  # fmt: skip


@st.composite
def reductions(draw: st.DrawFn) -> Code:
    """A reduction of rows or columns, which overwrites its result or combines with it."""
    kind, source = draw(st.sampled_from([*_KINDS])), draw(st.sampled_from(("S", "F", "U")))
    dim, clear = draw(st.sampled_from((0, 1, -1))), draw(st.booleans())
    target, cap = ("K", BN) if dim == 0 else ("R", BM)
    whole, combine, is_absolute = _KINDS[kind]

    def run(block: Block) -> None:
        values = np.abs(block.own[source]) if is_absolute else block.own[source]
        found = whole(values, axis=dim)
        block.own[target][:] = np.clip(found if clear else combine(block.own[target], found), -LIMIT, LIMIT)

    lines = (f"T.reduce_{kind}({source}, {target}, dim={dim}, clear={clear})", f"for i in T.Parallel({cap}):",
             f"    {target}[i] = T.min(T.max({target}[i], -{LIMIT}), {LIMIT})")  # fmt: skip
    return Code(lines, run)


@st.composite
def scans(draw: st.DrawFn) -> Code:
    """A sum along an axis, in place or not, from either end."""
    source, dim, backward, in_place = (
        draw(st.sampled_from("SU")),
        draw(st.integers(0, 1)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    target = source if in_place else "US"["SU".index(source)]
    given = source if in_place else f"{source}, {target}"

    def run(block: Block) -> None:
        values = np.flip(block.own[source], dim) if backward else block.own[source]
        found = np.cumsum(values, axis=dim)
        block.own[target][:] = np.flip(found, dim) if backward else found

    return both(Code((f"T.cumsum({given}, dim={dim}, reverse={backward})",), run), limited(target))


@st.composite
def elementwise(draw: st.DrawFn) -> Code:
    """Independent iterations, with a condition on the place or on a value."""
    target, other = draw(st.sampled_from(("S", "U", "F"))), draw(st.sampled_from(MATRICES))
    form, bound = (
        draw(st.sampled_from(("choice", "branch", "row", "column", "variable"))),
        draw(st.integers(0, BM + BN)),
    )
    i, j = np.indices((BM, BN))
    value = {
        "choice": f"T.if_then_else(i + j < {bound}, {target}[i, j] - {other}[i, j], {bound % 3})",
        "branch": f"{target}[i, j] + 1",
        "row": f"{target}[i, j] * 2 - R[i]",
        "column": f"T.max({target}[i, j], K[j])",
        "variable": f"{target}[i, j] + T.cast(v, 'float32')",
    }[form]
    store = f"{target}[i, j] = {value}"
    lines = (f"for i, j in T.Parallel({BM}, {BN}):", *((f"    if {other}[i, j] > 0 and i < {bound}:", f"        {store}")
                                                          if form == "branch" else (f"    {store}",)))  # fmt: skip

    def run(block: Block) -> None:
        own, old = block.own, block.own[target]
        b = own[other].astype("float32")
        own[target][:] = {
            "choice": np.where(i + j < bound, old - b, bound % 3),
            "branch": np.where((b > 0) & (i < bound), old + 1, old),
            "row": old * 2 - own["R"][:, None],
            "column": np.maximum(old, own["K"][None, :]),
            "variable": old + own["v"][0],
        }[form]

    return both(Code(lines, run), limited(target))


@st.composite
def counts(draw: st.DrawFn) -> Code:
    """A variable that is assigned, in a branch on the block or not."""
    step, start = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    if draw(st.booleans()):

        def in_branch(block: Block) -> None:
            block.own["v"][0] = start if block.numbers["bx"] == 0 else step

        return Code(("if bx == 0:", f"    v = {start}", "else:", f"    v = {step}"), in_branch)

    def run(block: Block) -> None:
        for k in range(start):
            block.own["v"][0] = min(block.own["v"][0] + k + step, LIMIT)

    return Code((f"for k in T.serial({start}):", f"    v = T.min(v + k + {step}, {LIMIT})"), run)


@st.composite
def results(draw: st.DrawFn) -> Code:
    """A copy to the result, or an update of one by all blocks, at an offset that may be outside."""
    source, dy, dx = draw(st.sampled_from(MATRICES)), draw(st.integers(-2, 3)), draw(st.integers(-2, 3))
    if draw(st.booleans()):
        return _summed()

    def run(block: Block) -> None:
        put(block.tensors["C"], (block.numbers["by"] * BM + dy, block.numbers["bx"] * BN + dx), block.own[source])

    return Code((f"T.copy({source}, C[by * {BM} + {dy}, bx * {BN} + {dx}])",), run)


def _summed() -> Code:
    def run(block: Block) -> None:
        put(block.tensors["D"], (block.numbers["by"] * BM,), block.own["R"], adds=True)

    return Code((f"T.atomic_add(D[by * {BM}], R)",), run)


def _shown(number: int, name: str) -> Code:
    def run(block: Block) -> None:
        put(block.tensors["E"][number], (block.numbers["by"] * BM, block.numbers["bx"] * BN), block.own[name])

    return Code((f"T.copy({name}, E[{number}, by * {BM}, bx * {BN}])",), run)


STEPS = (loads(), moves(), products(), reductions(), scans(), elementwise(), counts(), results())


@st.composite
def sequences(draw: st.DrawFn, depth: int = 1) -> Code:
    """Some operations, of which some are in a loop or in a branch on the block."""
    codes: list[Code] = []
    for _ in range(draw(st.integers(1, 4))):
        form = draw(st.sampled_from(("step", "step", "step", "loop", "branch"))) if depth else "step"
        if form == "step":
            codes.append(draw(st.one_of(*STEPS)))
            continue
        inner, bound = draw(sequences(depth - 1)), draw(st.integers(1, 2))
        codes.append(_looped(inner, bound) if form == "loop" else _branched(inner, bound))
    return both(*codes)


def _looped(inner: Code, trips: int) -> Code:
    def run(block: Block) -> None:
        for _ in range(trips):
            inner.run(block)

    return indented(f"for step in T.serial({trips}):", inner, run)


def _branched(inner: Code, bound: int) -> Code:
    def run(block: Block) -> None:
        if block.numbers["by"] < bound:
            inner.run(block)

    return indented(f"if by < {bound}:", inner, run)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    rows, columns = draw(st.integers(3, 20)), draw(st.integers(3, 36))
    body = both(draw(sequences()), *(_shown(number, name) for number, name in enumerate(MATRICES)), _summed())
    fills = [f"T.clear({name})" for name in OWN if name != "v"]
    kinds = {"R": "fragment", "K": "shared", "F": "fragment", "H": "fragment"}
    buffers = [(name, *OWN[name]) for name in OWN if name != "v"]
    allocations = [
        f"{name} = T.alloc_{kinds.get(name, 'shared')}({shape}, '{dtype}')" for name, shape, dtype in buffers
    ]
    lines = [*allocations, "v = T.alloc_var('int32', init=0)", *fills, *body.lines]
    text = "\n".join((
        "import tilelang", "import tilelang.language as T", "", "@tilelang.jit", "def kernel(A, B, C, D, E):", "    M, N = T.const('M, N')",
        "    A: T.Tensor((M, N), 'float32')", "    B: T.Tensor((M, N), 'float32')", "    C: T.Tensor((M, N), 'float32')",
        "    D: T.Tensor((M,), 'float32')", f"    E: T.Tensor(({len(MATRICES)}, M, N), 'float32')",
        f"    with T.Kernel(T.ceildiv(N, {BN}), T.ceildiv(M, {BM}), threads=64) as (bx, by):", *(f"        {line}" for line in lines), "",
    ))  # fmt: skip
    grid = (-(-columns // BN), -(-rows // BM))
    return Kernel(text, {"M": rows, "N": columns}, grid, (body,), OWN, rows, columns)
