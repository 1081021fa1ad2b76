"""Products of TileLang's kernels (`T.gemm`): the instruction that the compiler chooses, and how it divides the result among the warps.

Source: TileLang 0.1.15, `src/cuda/op/gemm.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd
from typing import Literal

import msgspec
import numpy as np

from ...ir import Annotation, Block, Buffer, BufferLoad, BufferStore, For, IntImm, PrimFunc, walk
from ...ir import dtype as dt
from ...script.tilelang.names import GEMM, THREADS
from ...script.tilelang.sync.warps import group_of, threads_in
from ..machine.model import Machine
from ..machine.parts import MatrixEngine

Unit = Literal["mma", "wgmma"]
"""The matrix unit of a machine: that of sm_80, or that of sm_90, which has both instructions."""
ROWS, COLUMNS, GROUP = 16, 8, 4
"""A warp has a multiple of these rows and columns; wgmma takes warps in groups of four."""
DEFAULT_THREADS = 128
POLICIES = ("Square", "FullRow", "FullCol")
MOST_REGISTERS = 255
"""The 32-bit registers that a thread can have (CUDA C programming guide, compute capabilities 8.0 and 9.0)."""


class Product(msgspec.Struct, frozen=True, eq=False):
    """A product `c += a @ b` of M x N x K elements by `threads`, in the block of this name. `policy` is a name of POLICIES, "" if it is not
    known."""

    block: str
    a: Buffer
    b: Buffer
    c: Buffer
    rows: int
    columns: int
    depth: int
    turned_a: bool
    turned_b: bool
    policy: str
    threads: int

    @property
    def warps(self) -> int:
        return self.threads // 32

    @property
    def result_registers(self) -> int | None:
        """The registers of each thread that hold the result in a fragment, which is divided among all threads. None elsewhere."""
        if self.c.scope != "local.fragment":
            return None
        return -(-self.rows * self.columns * element_bits(self.c) // (32 * self.threads))


def matrix_unit(machine: Machine | None) -> Unit | None:
    """Returns the matrix unit of a machine, if TileLang's compiler is known for it."""
    engines = () if machine is None else machine.engines
    return next((e.tile_language for e in engines if isinstance(e, MatrixEngine) and e.tile_language), None)


def integers(note: Annotation | None) -> list[int]:
    """Returns the integers of an annotation that is a list."""
    return [n.value for n in note if isinstance(n, IntImm)] if isinstance(note, tuple) else []


def threads_of_kernel(func: PrimFunc) -> int | None:
    """Returns the number of threads of a TileLang kernel's blocks; None for other programs."""
    for node in walk(func.body):
        if isinstance(node, For):
            counts = integers(dict(node.annotations).get(THREADS))
            if counts:
                return int(np.prod(counts))
            if node.thread_tag is None:
                return None
    return None


def products_of(func: PrimFunc) -> tuple[Product, ...]:
    """Returns the products of a TileLang kernel, in text order, with the threads of the block or of the group of warps that runs them."""
    return tuple(_products(func, threads_of_kernel(func) or DEFAULT_THREADS))


def _products(func: PrimFunc, threads: int) -> Iterator[Product]:
    for block in walk(func.body):
        numbers = integers(dict(block.annotations).get(GEMM)) if isinstance(block, Block) else []
        if len(numbers) != 6:
            continue
        assert isinstance(block, Block)
        store = next((n for n in walk(block.body) if isinstance(n, BufferStore)), None)
        if store is None:
            continue
        loads = [n.buffer for n in walk(store.value) if isinstance(n, BufferLoad)]
        if loads.count(store.buffer) == 1:
            loads.remove(store.buffer)
        if len(loads) == 2:
            m, n, k, turned_a, turned_b, policy = numbers
            named = POLICIES[policy] if 0 <= policy < len(POLICIES) else ""
            yield Product(
                block.name,
                loads[0],
                loads[1],
                store.buffer,
                m,
                n,
                k,
                bool(turned_a),
                bool(turned_b),
                named,
                threads_in(group_of(block)) or threads,
            )


def instruction(product: Product, unit: Unit) -> Unit:
    """Returns the instruction of a product: wgmma needs four warps, 64 rows and operands of certain types and orders."""
    in_groups = product.rows >= 64 and product.warps % GROUP == 0 and product.warps > 0
    return "wgmma" if unit == "wgmma" and in_groups and _has_wgmma(product) else "mma"


def _has_wgmma(p: Product) -> bool:
    if p.b.scope not in ("shared", "shared.dyn"):
        return False
    a, b, c = p.a.dtype, p.b.dtype, p.c.dtype
    in_order = not p.turned_a and p.turned_b
    if c in ("float16", "float32") and a == b == "float16":
        return p.depth % 16 == 0
    if c == "float32" and a == b == "bfloat16":
        return p.depth % 16 == 0
    if c in ("float16", "float32") and a.startswith("float8") and b.startswith("float8"):
        return in_order and p.depth % 32 == 0
    return c == "int32" and {a, b} <= {"int8", "uint8"} and in_order and p.depth % 32 == 0


def warp_partition(product: Product, unit: Unit) -> tuple[int, int] | None:
    """Returns the warps along the rows and the columns of the result; None if no partition is valid, which TileLang refuses, or the policy
    is not known."""
    if instruction(product, unit) == "wgmma":
        return _partition(product, lambda m: m % GROUP == 0)
    return _partition(product, lambda m: True)


def _partition(p: Product, is_whole: Callable[[int], bool]) -> tuple[int, int] | None:
    pairs = [(m, p.warps // m) for m in range(1, p.warps + 1) if p.warps % m == 0 and is_whole(m)]
    valid = [(m, n) for m, n in pairs if p.rows % (m * ROWS) == 0 and p.columns % (n * COLUMNS) == 0]
    match p.policy:
        case "FullRow":
            return max(valid, default=None)
        case "FullCol":
            return min(valid, default=None)
        case "Square":
            single = np.float32
            ideal = single(p.rows) / single(p.columns)

            def balance(pair: tuple[int, int]) -> float:
                rows, columns = single(p.rows) / single(pair[0] * ROWS), single(p.columns) / single(pair[1] * COLUMNS)
                return float(abs(rows / columns - ideal))

            return min(valid, key=balance, default=None)
        case _:
            return None


def instruction_columns(product: Product, unit: Unit) -> int | None:
    """Returns the columns of a wgmma instruction: the widest that divides the columns of a warp; None without a partition."""
    partition = warp_partition(product, unit)
    if partition is None:
        return None
    width = product.columns // partition[1]
    least = gcd(width, 256)
    if width % 16:
        return least
    return next((n for n in range(256, least, -16) if width % n == 0), least)


def element_bits(buffer: Buffer) -> int:
    return dt.bits(buffer.dtype)
