"""Lints of a kernel's products (`T.gemm`): tiles that its warps cannot divide, and results that take more registers than a thread has."""

from __future__ import annotations

from collections.abc import Iterator

from ...hwsim.tile_layouts import MOST_REGISTERS, matrix_unit, products_of, warp_partition
from ...hwsim.tile_layouts.products import COLUMNS, ROWS
from ..finding import LintFinding
from ..subject import Subject
from .texts import line_of, statements_of
from .values import value_fixes


def find_unpartitioned(subject: Subject) -> Iterator[LintFinding]:
    """The warps of a block cannot divide the result of a product among them: each takes a multiple of 16 rows and of 8 columns. TileLang
    refuses the kernel."""
    unit = matrix_unit(subject.machine)
    if unit is None:
        return
    for product in products_of(subject.func):
        if product.policy and product.warps and warp_partition(product, unit) is None:
            yield LintFinding(
                "no-partition",
                "error",
                f"{product.block}{line_of(statements_of(subject), product.block)}: {product.warps} warps cannot divide {product.rows} x "
                f"{product.columns} elements among them: each takes a multiple of {ROWS} rows and of {COLUMNS} columns",
                (product.block,),
                buffers=(product.c.name,),
            )


def partition_fixes(subject: Subject, _: LintFinding) -> Iterator[Subject | None]:
    """Another number of threads, or another tile with which the kernel computes the same, in the text of a TileLang kernel."""
    return value_fixes(subject, lambda after: not any(find_unpartitioned(after)), both=True)


def find_register_overflows(subject: Subject) -> Iterator[LintFinding]:
    """The result of a product of a TileLang kernel needs more registers than a thread can have. The compiler moves the rest to memory, and
    each use of it waits; the cycles assume that there is room."""
    if matrix_unit(subject.machine) is None:
        return
    for product in products_of(subject.func):
        needed = product.result_registers
        if needed is not None and needed > MOST_REGISTERS:
            yield LintFinding(
                "register-overflow",
                "warning",
                f"{product.c.name} of {product.block} takes {needed} registers of each of {product.threads} threads, which have at most "
                f"{MOST_REGISTERS}", (product.block,), buffers=(product.c.name,),
            )  # fmt: skip


def register_fixes(subject: Subject, _: LintFinding) -> Iterator[Subject | None]:
    """More threads, or a smaller tile with which the kernel computes the same, in the text of a TileLang kernel."""
    return value_fixes(subject, lambda after: not any(find_register_overflows(after)))


__all__ = ["find_register_overflows", "find_unpartitioned", "partition_fixes", "register_fixes"]
