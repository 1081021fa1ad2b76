"""`te.scan`: a recurrence along the first axis. Its state is one buffer, and the blocks of a step share a loop over time."""

from __future__ import annotations

import ast
from typing import TypeVar

from ...arith import prove_equal
from ...ir import Buffer
from ...script.reading.intrinsics import parameters
from ...script.subset.scope import Value
from ...script.subset.values import several
from ..model import Compute, Placeholder, Scan, Tensor
from ..reader import TEReader
from ..tensors import identifier, outputs_of

T = TypeVar("T", Compute, Placeholder)


def read_scan(reader: TEReader, node: ast.Call) -> Value:
    """Read `te.scan(init, update, state_placeholder, inputs, name)`: one tensor for each state."""
    names = ("init", "update", "state_placeholder", "inputs", "name", "tag", "attrs")
    init, update, state, _, name, *_ = parameters(reader, node, names, 3)
    assert init is not None and update is not None and state is not None
    title = reader.string(name) if name is not None else "scan"
    starts = _operations(reader, init, Compute, "te.compute")
    steps = _operations(reader, update, Compute, "te.compute")
    states = _operations(reader, state, Placeholder, "te.placeholder")
    if not len(starts) == len(steps) == len(states):
        raise reader.error(node, "wrong-arguments", f"{len(starts)} initial tensors, {len(steps)} updates and {len(states)} states",
                           expected="one of each per state")  # fmt: skip
    for start, step, held in zip(starts, steps, states, strict=True):
        _require_shapes(reader, node, start.buffers[0], step.buffers[0], held.buffers[0])
    buffers = tuple(
        Buffer(identifier(title if len(states) == 1 else f"{title}_v{n}"), held.buffers[0].shape, held.buffers[0].dtype)
        for n, held in enumerate(states)
    )
    made = outputs_of(reader, Scan(title, buffers, node, init=starts, update=steps, states=states))
    return made[0] if len(made) == 1 else made


def _operations(reader: TEReader, node: ast.expr, kind: type[T], made_by: str) -> tuple[T, ...]:
    value = reader.value(node)
    found = several(value)
    kept = tuple(v.op for v in found if isinstance(v, Tensor) and isinstance(v.op, kind) and len(v.op.buffers) == 1)
    if len(kept) != len(found) or not kept:
        raise reader.error(
            node, "wrong-type", f"a scan needs tensors of {made_by} here", expected="a tensor for each state"
        )
    return kept


def _require_shapes(reader: TEReader, node: ast.Call, start: Buffer, step: Buffer, held: Buffer) -> None:
    """Require the same shape of the update and the state, and of the initial tensor behind its first axis."""
    pairs = list(zip(step.shape, held.shape, strict=False))
    if start.shape:
        pairs += zip(start.shape[1:], held.shape[1:], strict=False)
    ranks = {len(start.shape), len(step.shape), len(held.shape)}
    dtypes = {start.dtype, step.dtype, held.dtype}
    if len(ranks) != 1 or not held.shape or len(dtypes) != 1 or not all(prove_equal(a, b) for a, b in pairs):
        raise reader.error(node, "wrong-arguments", "the shapes or types of the scan do not match",
                           expected="an update of the state's shape and type, and an initial tensor of its first steps")  # fmt: skip


__all__ = ["read_scan"]
