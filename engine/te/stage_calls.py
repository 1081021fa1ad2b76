"""Methods of TE schedules and stages, one table each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..ir import AXIS_SEPARATOR, Buffer, Expr, IndexMap, Var
from ..script import Note
from ..script.reading.intrinsics import parameters
from ..script.subset.scope import Unknown, Value
from ..script.subset.values import Function, several
from .model import Axis, CacheOperation, Compute, Intrinsic, Operation, Tensor, ThreadAxis
from .reader import TEReader
from .sizes import require_small
from .stages import Separator, Stage, StageRequest, TESchedule

# --- calls on the schedule


def schedule_call(reader: TEReader, schedule: TESchedule, method: str, node: ast.Call) -> Value:
    read = _SCHEDULE_METHODS.get(method)
    if read is None:
        raise reader.error(node, "unsupported", f"the schedule method {method} is not supported",
                           expected=", ".join(_SCHEDULE_METHODS))  # fmt: skip
    return read(reader, schedule, node)


def _cache_read(reader: TEReader, schedule: TESchedule, node: ast.Call) -> Value:
    """Add a stage that copies `tensor` into `scope`; `readers` read the copy instead."""
    tensor_node, scope, readers_node = parameters(reader, node, ("tensor", "scope", "readers"))
    assert tensor_node is not None and scope is not None and readers_node is not None
    tensor = _tensor(reader, tensor_node)
    schedule.stage(reader, tensor, tensor_node)
    value = reader.value(readers_node)
    readers = [schedule.stage(reader, r, readers_node) for r in several(value)]
    if not readers:
        raise reader.error(readers_node, "wrong-arguments", "the cache has no reader", expected="[C]")
    made = _cached(tensor, reader.string(scope), node, [f"ax{i}" for i in range(len(tensor.buffer.shape))])
    stage = Stage(made, made.axes, ())
    schedule.order.insert(min(schedule.order.index(r) for r in readers), stage)
    schedule.stages[made] = stage
    options = {"tensor": tensor, "scope": reader.string(scope), "readers": tuple(readers)}
    schedule.events.append((stage, StageRequest("cache_read", node, options=options)))
    return Tensor(made)


def _cache_write(reader: TEReader, schedule: TESchedule, node: ast.Call) -> Value:
    """Move the computation to a new stage that writes to `scope`; the old stage becomes a copy.

    The current loop order of the old stage becomes the axis order of the new stage, as in TE.
    """
    tensor_node, scope = parameters(reader, node, ("tensor", "scope"))
    assert tensor_node is not None and scope is not None
    value = reader.value(tensor_node)
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Tensor) or len(value.op.buffers) != 1 or not isinstance(value.op, Compute):
        raise reader.error(
            tensor_node, "wrong-type", "cache_write needs a tensor of a compute with one output", expected="C"
        )
    stage = schedule.stage(reader, value, tensor_node)
    if stage.attach == "inline":
        raise reader.error(
            node, "unsupported", f"{stage.op.name} is already inlined", expected="cache_write before compute_inline"
        )
    permuted = [axis for axis in stage.leaves if axis.kind == "spatial"]
    if set(permuted) != set(stage.axes):
        raise reader.error(node, "unsupported", "cache_write of split or fused axes is not supported",
                           expected="cache_write before the splits of the stage; its axes may be reordered",
                           fix=("move this line above the splits", f"s[{stage.op.name}]: split the axes of the cache instead"))  # fmt: skip
    made = _cached(value, reader.string(scope), node, [f"{a.name}_c" for a in permuted], stage.reduce_axes, permuted)
    cache = Stage(made, made.axes, stage.reduce_axes)
    options = {"scope": reader.string(scope), "of": stage}
    _renew(schedule, stage, ())
    schedule.order.insert(schedule.order.index(stage), cache)
    schedule.stages[made] = cache
    schedule.events.append((cache, StageRequest("cache_write", node, options=options)))
    return Tensor(made)


def _cached(
    tensor: Tensor, scope: str, node: ast.AST, names: Sequence[str], reduce_axes: tuple[Axis, ...] = (),
    order: Sequence[Axis] = (),
) -> CacheOperation:  # fmt: skip
    """Create the operation: the tensor's elements in `scope`, with axes called `names`, permuted by `order` if given."""
    old = tensor.op.axes
    shape = tensor.buffer.shape
    if order:
        shape = tuple(shape[old.index(axis)] for axis in order)
    axes = tuple(Axis(Var(n, e.dtype), None, "spatial") for n, e in zip(names, shape, strict=True))
    buffer = Buffer(f"{tensor.buffer.name}_{scope}", shape, tensor.buffer.dtype, scope)
    return CacheOperation(
        f"{tensor.op.name}.{scope}", (buffer,), node, axes, reduce_axes, order=tuple(old.index(axis) for axis in order)
    )


def _tensor(reader: TEReader, node: ast.expr) -> Tensor:
    value = reader.value(node)
    if not isinstance(value, Tensor):
        raise reader.error(node, "wrong-type", "this is not a tensor", expected="a tensor")
    return value


def _rfactor(reader: TEReader, schedule: TESchedule, node: ast.Call) -> Value:
    """Compute partial results along `axis` in a new tensor; the old stage reduces that tensor over the axis.

    As in TE, the old stage starts over: its reduction splits apply to the new stage, and requests for other axes are lost.
    """
    tensor_node, axis_node, factor_node = parameters(reader, node, ("tensor", "axis", "factor_axis"), 2)
    assert tensor_node is not None and axis_node is not None
    tensor = _tensor(reader, tensor_node)
    stage = schedule.stage(reader, tensor, tensor_node)
    axis = stage.require_leaf(reader, reader.value(axis_node), axis_node)
    if axis.kind != "reduce":
        raise reader.error(
            axis_node,
            "wrong-type",
            f"{axis.name} is not a reduction axis of the stage",
            expected="an axis of a reduction",
        )
    position = reader.constant_int(factor_node) if factor_node is not None else 0
    if not -1 <= position <= len(stage.axes):
        raise reader.error(node, "out-of-range", "factor_axis is out of range", expected=f"0 to {len(stage.axes)}")
    moved = {a: Axis(Var(a.name, a.var.dtype), None, a.kind) for a in (*stage.axes, *stage.leaves) if a is not axis}
    moved[axis] = Axis(Var(axis.name, axis.var.dtype), None, "spatial")
    axes = [moved[a] for a in stage.axes]
    axes.insert(position if position >= 0 else len(axes), moved[axis])
    reduced = tuple(moved[a] for a in stage.leaves if a.kind == "reduce" and a is not axis)
    buffer = Buffer(f"{tensor.buffer.name}_rf", tuple(a.var for a in axes), tensor.buffer.dtype)
    made = CacheOperation(f"{tensor.op.name}.rf", (buffer,), node, tuple(axes), reduced)
    partial = Stage(made, made.axes, reduced)
    left = Axis(Var(f"{axis.name}_v", axis.var.dtype), None, "reduce")
    options = {"of": stage, "axis": axis, "factor_axis": position, "moved": moved, "left": left,
               "before": (stage.axes, stage.reduce_axes, tuple(e for e in stage.events if e.axes[0].kind == "reduce"))}  # fmt: skip
    _renew(schedule, stage, (left,))
    schedule.order.insert(schedule.order.index(stage), partial)
    schedule.stages[made] = partial
    schedule.events.append((partial, StageRequest("rfactor", node, options=options)))
    return Tensor(made)


def _renew(schedule: TESchedule, stage: Stage, reduce_axes: tuple[Axis, ...]) -> None:
    """Reset the stage's loop requests; its operation now reduces over `reduce_axes`."""
    op = Operation(stage.op.name, stage.op.buffers, stage.op.node, stage.axes, reduce_axes, stage.op.tag)
    stage.op, stage.reduce_axes, stage.leaves, stage.events = op, reduce_axes, [*stage.axes, *reduce_axes], []
    schedule.stages[op] = stage


def _normalize(reader: TEReader, schedule: TESchedule, node: ast.Call) -> Value:
    return schedule


_SCHEDULE_METHODS: dict[str, Callable[[TEReader, TESchedule, ast.Call], Value]] = {
    "cache_read": _cache_read,
    "cache_write": _cache_write,
    "rfactor": _rfactor,
    "normalize": _normalize,
}


# --- calls on a stage

StageRead: TypeAlias = Callable[[TEReader, Stage, ast.Call], Value]


def stage_call(reader: TEReader, stage: Stage, method: str, node: ast.Call) -> Value:
    read = _STAGE_METHODS.get(method)
    if read is None:
        reason, fix = UNREAD_METHODS.get(method, (f"a stage has no supported method {method}", ()))
        raise reader.error(node, "unsupported", reason, expected=", ".join(_STAGE_METHODS), fix=fix)
    return read(reader, stage, node)


UNREAD_METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    "prefetch": ("prefetch has no equivalent in block programs", ("stage the data with cache_read and compute_at",)),
    "env_threads": ("env_threads has no equivalent in block programs", ("bind the loops of each stage",)),
}
"""Methods of TE's stages that are refused, with the reason."""


def _split(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    parent, factor, nparts, _ = parameters(reader, node, ("parent", "factor", "nparts", "disable_predication"), 1)
    assert parent is not None
    size = factor if factor is not None else nparts
    if size is None or (factor is not None and nparts is not None):
        raise reader.error(
            node, "wrong-arguments", "a split needs a factor or a number of parts", expected="factor=16, or nparts=4"
        )
    axis = stage.require_leaf(reader, reader.value(parent), parent)
    return _split_axis(reader, stage, axis, size, node, parts=factor is None)


def _split_axis(
    reader: TEReader, stage: Stage, axis: Axis, size: ast.expr, node: ast.Call, *, parts: bool = False
) -> tuple[Axis, Axis]:
    number = reader.constant_int(size)
    if number <= 0:
        raise reader.error(size, "out-of-range", "a split needs a positive factor", expected="1 or more")
    outer, inner = (Axis(Var(f"{axis.name}_{end}", axis.var.dtype), None, axis.kind) for end in ("outer", "inner"))
    stage.replace([axis], [outer, inner])
    stage.events.append(StageRequest("split", node, (axis,), (outer, inner), {"nparts" if parts else "factor": number}))
    return outer, inner


def _tile(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    names = ("x_parent", "y_parent", "x_factor", "y_factor")
    found = parameters(reader, node, names)
    x, y, x_factor, y_factor = (part for part in found if part is not None)
    first = stage.require_leaf(reader, reader.value(x), x)
    second = stage.require_leaf(reader, reader.value(y), y)
    x_outer, x_inner = _split_axis(reader, stage, first, x_factor, node)
    y_outer, y_inner = _split_axis(reader, stage, second, y_factor, node)
    tiled = (x_outer, y_outer, x_inner, y_inner)
    _set_order(stage, tiled, node)
    return tiled


def _reorder(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    axes = [stage.require_leaf(reader, value, node) for value in reader.items(node.args)]
    if len(set(axes)) != len(axes):
        raise reader.error(node, "wrong-arguments", "an axis occurs twice in the order", expected="each axis once")
    _set_order(stage, axes, node)
    return None


def _set_order(stage: Stage, axes: Sequence[Axis], node: ast.AST) -> None:
    """Reorder `axes` among the positions that they occupy."""
    places = sorted(stage.leaves.index(axis) for axis in axes)
    if [stage.leaves[p] for p in places] == list(axes):
        return
    for place, axis in zip(places, axes, strict=True):
        stage.leaves[place] = axis
    stage.events.append(StageRequest("reorder", node, tuple(axes)))


def _fuse(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    axes = [stage.require_leaf(reader, value, node) for value in reader.items(node.args)]
    if not axes:
        raise reader.error(node, "unsupported", "no axes are fused", expected="two axes at least")
    if len(axes) == 1:
        return axes[0]
    axes = _outer_first(stage, axes)
    first = stage.leaves.index(axes[0])
    if stage.leaves[first : first + len(axes)] != axes:
        raise reader.error(node, "wrong-arguments", "the fused axes are not adjacent",
                           expected="adjacent axes, the outer one first: " + ", ".join(a.name for a in stage.leaves))  # fmt: skip
    if len({axis.kind for axis in axes}) > 1:
        raise reader.error(
            node,
            "wrong-arguments",
            "a spatial axis is fused with a reduction axis",
            expected="axes of a single kind",
        )
    fused = Axis(Var("_".join([*(a.name for a in axes), "fused"]), axes[0].var.dtype), None, axes[0].kind)
    stage.replace(axes, [fused])
    stage.events.append(StageRequest("fuse", node, tuple(axes), (fused,)))
    return fused


def _outer_first(stage: Stage, axes: list[Axis]) -> list[Axis]:
    """Return axes in the order of their loops: TE fuses one after the other, and swaps an axis with the loop directly around it."""
    ordered = axes[:1]
    for axis in axes[1:]:
        is_around = stage.leaves.index(axis) + 1 == stage.leaves.index(ordered[0])
        ordered = [axis, *ordered] if is_around else [*ordered, axis]
    return ordered


def _kind(method: str) -> StageRead:
    def read(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
        (var,) = parameters(reader, node, ("var",))
        assert var is not None
        axis = stage.require_leaf(reader, reader.value(var), var)
        stage.events.append(StageRequest(method, node, (axis,)))
        return None

    return read


def _bind(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    var, thread = parameters(reader, node, ("ivar", "thread_ivar"))
    assert var is not None and thread is not None
    tag = reader.value(thread)
    if not isinstance(tag, ThreadAxis):
        raise reader.error(thread, "wrong-type", "bind needs a thread axis", expected='te.thread_axis("threadIdx.x")')
    axis = stage.require_leaf(reader, reader.value(var), var)
    stage.events.append(StageRequest("bind", node, (axis,), options={"thread_axis": tag.tag}))
    return None


def _tensorize(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    """Read a tensorize: the loops from the axis inward become one block, which an intrinsic can implement."""
    var, intrin = parameters(reader, node, ("var", "tensor_intrin"))
    assert var is not None and intrin is not None
    if not isinstance(reader.value(intrin), Intrinsic | Unknown):
        raise reader.error(intrin, "wrong-type", "tensorize needs an intrinsic", expected="te.decl_tensor_intrin(…)")
    stage.events.append(StageRequest("tensorize", node, (stage.require_leaf(reader, reader.value(var), var),)))
    text = "tensorize makes a block of these loops; the instructions of its intrinsic are not part of the program"
    reader.notes.append(Note(text, reader.source.place(node)))
    return None


def _pragma(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    var, kind, value_node = parameters(reader, node, ("var", "pragma_type", "pragma_value"), 2)
    assert var is not None and kind is not None
    axis = stage.require_leaf(reader, reader.value(var), var)
    value = reader.value(value_node) if value_node is not None else None
    if isinstance(value, Unknown):
        text = "this pragma is left out: its value is made by code that is never run"
        reader.notes.append(Note(text, reader.source.place(node)))
        return None
    if not isinstance(value, int | float | str | None):
        raise reader.error(node, "unsupported", "the value of a pragma must be a number or a string", expected="16")
    options = {"key": f"pragma_{reader.string(kind)}", "value": 1 if value is None else value}
    stage.events.append(StageRequest("pragma", node, (axis,), options=options))
    return None


def _compute_at(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    parent_node, scope = parameters(reader, node, ("parent", "scope"))
    assert parent_node is not None and scope is not None
    parent = reader.value(parent_node)
    if not isinstance(parent, Stage):
        raise reader.error(parent_node, "wrong-type", "compute_at needs a stage", expected="s[C]")
    if parent is stage:
        raise reader.error(parent_node, "wrong-arguments", "compute_at needs another stage", expected="its consumer")
    axis = parent.require_leaf(reader, reader.value(scope), scope)
    stage.attach, stage.attached_by = (parent, axis), node
    return None


def _attach(how: str) -> StageRead:
    def read(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
        parameters(reader, node, ())
        stage.attach, stage.attached_by = how, node
        return None

    return read


def _set_store_predicate(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    """Read `tx.var.equal(0)`, which makes one thread store a sum: block programs do that implicitly for sums over threads, so it is
    ignored."""
    (predicate,) = parameters(reader, node, ("predicate",))
    match predicate:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name() as thread, attr="var"), attr="equal"), args=[zero]
        ):
            if isinstance(reader.value(thread), ThreadAxis) and reader.value(zero) == 0:
                return None
        case _:
            pass
    raise reader.error(node, "unsupported", "a conditional store has no equivalent in block programs",
                       expected="the first thread of a reduction over threads: tx.var.equal(0)")  # fmt: skip


def _set_scope(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    (scope,) = parameters(reader, node, ("scope",))
    assert scope is not None
    stage.storage.append(StageRequest("set_scope", node, options={"storage_scope": reader.string(scope)}))
    return None


def _double_buffer(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    parameters(reader, node, ())
    stage.storage.append(StageRequest("double_buffer", node))
    return None


def _storage_align(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    axis_node, factor, offset = parameters(reader, node, ("axis", "factor", "offset"))
    assert axis_node is not None and factor is not None and offset is not None
    axis = reader.value(axis_node)
    if not isinstance(axis, Axis) or axis not in stage.axes:
        raise reader.error(axis_node, "unknown-axis", "only an axis of the tensor can be aligned",
                           expected=f"one of s[{stage.op.name}].op.axis")  # fmt: skip
    options = {
        "axis": stage.axes.index(axis),
        "factor": reader.constant_int(factor),
        "offset": reader.constant_int(offset),
    }
    stage.storage.append(StageRequest("storage_align", node, options=options))
    return None


def _transform_layout(reader: TEReader, stage: Stage, node: ast.Call) -> Value:
    """Store the tensor by a map of its axes. In TE its loops change too; here they do not, and the results are the same."""
    (map_node,) = parameters(reader, node, ("mapping_function",))
    assert map_node is not None
    function = reader.value(map_node)
    if not isinstance(function, Function):
        raise reader.error(
            map_node,
            "wrong-type",
            "a layout must be a function of the axes of the tensor",
            expected="lambda i, j: [j, i]",
        )
    shape = stage.op.buffers[0].shape
    names = [a.arg for a in function.node.args.args]
    names += [f"i{i}" for i in range(len(names), len(shape))] if function.node.args.vararg else []
    if len(names) != len(shape):
        raise reader.error(map_node, "wrong-arguments", f"the map has {len(names)} axes, the tensor {len(shape)}",
                           expected=f"{len(shape)} axes")  # fmt: skip
    params = [Var(n, e.dtype) for n, e in zip(names, shape, strict=True)]
    value = reader.call(function, params, map_node)
    items = several(value)
    found = [AXIS_SEPARATOR if isinstance(i, Separator) else reader.as_expr(i, map_node) for i in items]
    require_small(reader, [e for e in found if isinstance(e, Expr)], map_node)
    stage.storage.append(
        StageRequest("transform_layout", node, options={"index_map": IndexMap.from_items(params, found)})
    )
    return None


_STAGE_METHODS: dict[str, StageRead] = {
    "split": _split,
    "tile": _tile,
    "reorder": _reorder,
    "fuse": _fuse,
    "vectorize": _kind("vectorize"),
    "unroll": _kind("unroll"),
    "parallel": _kind("parallel"),
    "bind": _bind,
    "pragma": _pragma,
    "tensorize": _tensorize,
    "compute_at": _compute_at,
    "compute_inline": _attach("inline"),
    "compute_root": _attach("root"),
    "set_store_predicate": _set_store_predicate,
    "set_scope": _set_scope,
    "double_buffer": _double_buffer,
    "storage_align": _storage_align,
    "transform_layout": _transform_layout,
}
