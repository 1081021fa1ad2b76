"""Barriers in shared memory (`T.alloc_barrier`), and waits for asynchronous copies and products, as statements of the threads that execute
them.

A phase of a barrier ends when as many threads have arrived as it expects, and its bulk copies have ended. `T.mbarrier_wait_parity(b, p)`
goes on when the phase that ended last has the parity p; before the first phase that is 1. A copy with `barrier=` and a product with `mbar=`
tell their barrier when they end; others are awaited with `T.wait_wgmma(n)` or `T.cp_async_wait(n)`, which leave the last n.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ....ir import Call, IntImm, Stmt, StringImm
from ..names import ASYNC
from .run import Run
from .statement import kind_of, names_of, number_of, operand_of, sync

if TYPE_CHECKING:
    from ..base import TileBase

ReadBarrier: TypeAlias = "Callable[[TileBase, ast.Call], Stmt | None]"
ARRIVE, COMPLETE, WAIT, COMMIT, DRAIN = "arrive", "complete", "await", "commit", "drain"
"""Kinds of statements: threads arrive at a barrier; a copy or product that ran before tells a barrier when it ends; threads wait for a
phase; copies or products become a batch; threads wait for batches."""
COPIES, PRODUCTS = "copies", "products"
"""What runs beside the threads that begin it."""
BEGINS: Mapping[str, str] = {
    **dict.fromkeys(("tma_copy", "async_copy", "tma_load", "tma_load_im2col", "ptx_cp_async", "cp_async"), COPIES),
    **dict.fromkeys(("wgmma_gemm", "tcgen05_gemm", "tcgen05_gemm_blockscaled", "wgmma_gemm_sp"), PRODUCTS),
}
"""Operations that run beside the threads that begin them."""


class Phases(msgspec.Struct, eq=False):
    """The arrivals at each barrier in the phase that lasts, and how many phases have ended. `counts` are the arrivals that end a phase of
    each of its parts, None for a number that is not known."""

    counts: Mapping[str, tuple[int | None, ...]]
    arrived: dict[tuple[str, int], int] = msgspec.field(default_factory=dict[tuple[str, int], int])
    ended: dict[tuple[str, int], int] = msgspec.field(default_factory=dict[tuple[str, int], int])

    def passes(self, call: Call, run: Run) -> bool:
        kind = kind_of(call)
        if kind not in (ARRIVE, COMPLETE, WAIT):
            return True
        key = names_of(call)[0], run.value(number_of(call))
        if kind == WAIT:
            return (self.ended.get(key, 0) - 1) % 2 == run.value(operand_of(call)) % 2
        self.arrive(key, run.value(operand_of(call)))
        return True

    def arrive(self, key: tuple[str, int], threads: int) -> bool:
        """Count arrivals; return whether they end a phase."""
        counts = self.counts[key[0]]
        expected = counts[key[1]] if 0 <= key[1] < len(counts) else None
        if not threads:
            return False
        arrived = self.arrived.get(key, 0) + threads
        ended = 1 if expected is None else arrived // expected
        self.arrived[key] = 0 if expected is None else arrived % expected
        self.ended[key] = self.ended.get(key, 0) + ended
        return ended > 0

    def copy(self) -> Phases:
        return Phases(self.counts, dict(self.arrived), dict(self.ended))


def agent_of(annotations: Mapping[str, object]) -> str:
    """Return what runs a block beside its threads, "" for the threads themselves."""
    note = annotations.get(ASYNC)
    return note.value if isinstance(note, StringImm) else ""


def _text(reader: TileBase, node: ast.Call) -> str:
    name = (reader.exprs.called(node) or "").removeprefix("T.")
    return f"{name}({', '.join(map(ast.unparse, [*node.args, *(k.value for k in node.keywords)]))})"


def _argument(node: ast.Call, number: int, *names: str) -> ast.expr | None:
    named = next((k.value for k in node.keywords if k.arg in names), None)
    return node.args[number] if number < len(node.args) else named


def _of(reader: TileBase, node: ast.Call, kind: str, threads: int | None) -> Stmt | None:
    found = reader.barrier(_argument(node, 0, "mbarrier", "mbar", "barrier"))
    if found is None:
        return None
    barrier, number = found
    arriving = reader.running_threads() if threads is None else threads
    return sync(_text(reader, node), kind, number, (barrier,), reader.side, IntImm(arriving))


def _wait(reader: TileBase, node: ast.Call) -> Stmt | None:
    """`T.mbarrier_wait_parity(barrier, parity)`."""
    found = reader.barrier(_argument(node, 0, "mbarrier", "mbar", "barrier"))
    parity = _argument(node, 1, "parity")
    if found is None or parity is None:
        return None
    barrier, number = found
    return sync(_text(reader, node), WAIT, number, (barrier,), reader.side, reader.exprs.index(parity))


def _batch(kind: str, agent: str) -> ReadBarrier:
    def read(reader: TileBase, node: ast.Call) -> Stmt | None:
        left = IntImm(0)
        if kind == DRAIN and node.args:
            given = reader.exprs.value(node.args[0])
            left = given if isinstance(given, IntImm) else IntImm(given) if isinstance(given, int) else left
        return sync(_text(reader, node), kind, None, (agent,), reader.side, left)

    return read


def completed(reader: TileBase, node: ast.Call) -> Stmt | None:
    """Return that a copy or product tells its barrier when it ends: `barrier=` or `mbar=`."""
    given = next((k.value for k in node.keywords if k.arg in ("barrier", "mbar")), None)
    found = None if given is None else reader.barrier(given)
    if given is None or found is None:
        return None
    is_product = any(k.arg == "mbar" for k in node.keywords)
    agent = PRODUCTS if is_product else COPIES
    arrivals = IntImm(int(is_product))
    return sync("", COMPLETE, found[1], (found[0], agent), reader.side, arrivals)


def _committed(agent: str, threads: int | None) -> ReadBarrier:
    """Read `T.tcgen05_mma_arrive(barrier)`: the products before it arrive at a barrier when they end."""

    def read(reader: TileBase, node: ast.Call) -> Stmt | None:
        found = reader.barrier(_argument(node, 0, "mbar", "barrier"))
        arriving = reader.running_threads() if threads is None else threads
        return (
            None
            if found is None
            else sync(_text(reader, node), COMPLETE, found[1], (found[0], agent), reader.side, IntImm(arriving))
        )

    return read


READ_BARRIERS: Mapping[str, ReadBarrier] = {
    **dict.fromkeys(("mbarrier_wait_parity", "mbarrier_wait", "barrier_wait"), _wait),
    **dict.fromkeys(
        ("mbarrier_arrive", "barrier_arrive", "mbarrier_arrive_expect_tx", "ptx_arrive_barrier", "ptx_arrive_cluster_barrier"),
        lambda reader, node: _of(reader, node, ARRIVE, None),
    ),
    "tcgen05_mma_arrive": _committed(PRODUCTS, 1),
    **dict.fromkeys(("cp_async_barrier_noinc", "ptx_cp_async_barrier_noinc"), _committed(COPIES, None)),
    **dict.fromkeys(("wait_wgmma", "warpgroup_wait"), _batch(DRAIN, PRODUCTS)),
    **dict.fromkeys(("cp_async_wait", "cp_async_wait_group", "ptx_wait_group"), _batch(DRAIN, COPIES)),
    **dict.fromkeys(("cp_async_commit", "ptx_commit_group"), _batch(COMMIT, COPIES)),
}  # fmt: skip
"""Readers of statements that synchronise threads."""

__all__ = [
    "ARRIVE",
    "BEGINS",
    "COMMIT",
    "COMPLETE",
    "COPIES",
    "DRAIN",
    "PRODUCTS",
    "READ_BARRIERS",
    "WAIT",
    "Phases",
    "agent_of",
    "completed",
]
