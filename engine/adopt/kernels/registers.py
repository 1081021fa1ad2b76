"""The registers that the fragments of a kernel take."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir import For, IntImm, IRModule, PrimFunc, Refusal, allocated_buffers, build, walk
from ...ir import dtype as dt
from ...script.tilelang.names import THREADS
from .edits import KernelError

REGISTER_BYTES = 255 * 4
"""The registers of a thread of a GPU (CUDA C programming guide, compute capabilities 5.0 to 10.0)."""


# Fragments are spread over the threads of a block, each of which has a limited number of registers.
def require_registers(program: IRModule | PrimFunc) -> None:
    """Raise KernelError "too-many-registers" if the fragments of a kernel need more registers than its threads have."""
    for function in [program] if isinstance(program, PrimFunc) else program.functions:
        for threads in _threads(function):
            fragments = [b for b in allocated_buffers(function.body) if b.scope == "local.fragment"]
            size = sum(prod(build.int_value(n) or 1 for n in b.shape) * dt.size_bytes(b.dtype) for b in fragments)
            if size > threads * REGISTER_BYTES:
                found = f"{-(-size // threads):,} bytes in each of {threads} threads"
                expected = f"at most {REGISTER_BYTES:,}: smaller tiles or more threads"
                raise KernelError(
                    Refusal(
                        "too-many-registers", "the fragments need more registers than a thread has", found, expected
                    )
                )


def _threads(function: PrimFunc) -> Iterator[int]:
    for node in walk(function.body):
        if isinstance(node, For) and isinstance(counts := dict(node.annotations).get(THREADS), tuple):
            yield prod(n.value for n in counts if isinstance(n, IntImm))


__all__ = ["REGISTER_BYTES", "require_registers"]
