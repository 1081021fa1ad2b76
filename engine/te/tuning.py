"""Parameters of AutoTVM templates: a template is read with the first candidate of each, or with the values that users give.

`cfg.define_split("tile", axis, num_outputs=3)` begins with the sizes (-1, 1, 1), as AutoTVM's space does; `--size tile=4x8` gives the
inner sizes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from ..ir import IntImm, Range
from ..script import Note
from ..script.errors import UnknownValueError
from ..script.subset.scope import Foreign, Value
from ..script.subset.targets import items
from ..script.subset.values import Attributes, Function
from .model import Axis
from .reader import TEReader
from .sizes import sizes_in

_POLICIES = ("factors", "power2", "verbose", "candidate")
_OPTIONAL = ("try_unroll", "try_vec", "try_unroll_vec", "unroll", "vec")
MAX_CANDIDATES = 4096


class TuningConfig(Foreign):
    """A template's `cfg`: the chosen value of each parameter by name."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}


class TunedSplit(Foreign):
    """Sizes for the parts of an axis, from the outermost; that of the first is -1."""

    __slots__ = ("sizes",)

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)


class TunedOrder(Foreign):
    """An order of axes."""

    __slots__ = ("order",)

    def __init__(self, order: Sequence[int]) -> None:
        self.order = tuple(order)


class TunedAnnotation(Foreign):
    """Annotations of axes, of which the first candidate has none."""


class TunedLoop(Foreign):
    """A loop of the space: an extent, or one of the parts of a split. Its extent is 0 if it is not known."""

    __slots__ = ("extent",)

    def __init__(self, extent: int) -> None:
        self.extent = extent


# --- the definition of the space


def config_call(reader: TEReader, config: TuningConfig, method: str, node: ast.Call) -> Value:
    """Read a call of a config, such as `cfg.define_split(…)`."""
    args = items(reader.python, node.args)
    named = {k.arg: reader.value(k.value) for k in node.keywords if k.arg is not None}
    match method:
        case "define_split":
            return _define_split(reader, config, args, named, node)
        case "define_knob":
            return _define_knob(reader, config, args, named, node)
        case "define_reorder":
            return _define_reorder(reader, config, args, named, node)
        case "define_annotate":
            return _define_annotation(reader, config, args, named, node)
        case "axis" | "reduce_axis":
            return TunedLoop(_extent(args[0] if args else None))
        case "add_flop" | "multi_filter":
            return None
        case _:
            raise reader.error(node, "unsupported", f"the parameters of an AutoTVM template: .{method}() is not read",
                               expected="define_split, define_knob, define_reorder, define_annotate")  # fmt: skip


def _option(args: Sequence[Value], named: Mapping[str, Value], at: int, name: str, default: Value = None) -> Value:
    return named.get(name, args[at] if len(args) > at else default)


def _define_split(
    reader: TEReader, config: TuningConfig, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    name, axis = _option(args, named, 0, "name"), _option(args, named, 1, "axis")
    policy = _option(args, named, 2, "policy", "factors")
    count = named.get("num_outputs", 0)
    candidates = named.get("candidate")
    first = [_sizes(candidate) for candidate in _list(candidates)[:1]] if policy == "candidate" else []
    count = len(first[0]) if first else count
    if not isinstance(name, str) or policy not in _POLICIES or not isinstance(count, int) or count < 1:
        raise reader.error(node, "unsupported", "this split of an AutoTVM template is not read",
                           expected='cfg.define_split("tile", axis, num_outputs=2)')  # fmt: skip
    extent = _extent(axis)
    given = _given_sizes(reader, name, count, extent, node)
    if given is not None:
        sizes = given
    elif first:
        sizes = first[0]
    else:
        sizes = _first(reader, count, extent, named.get("filter"), node)
    config.values[name] = TunedSplit(sizes)
    _note(reader, name, sizes, node, is_given=given is not None)
    return tuple(TunedLoop(max(size, 0)) for size in sizes)


def _list(value: Value) -> list[Value]:
    return [*value] if isinstance(value, tuple | list) else []


def _sizes(value: Value) -> tuple[int, ...]:
    return tuple(v for v in _list(value) if isinstance(v, int))


def _given_sizes(reader: TEReader, name: str, count: int, extent: int, node: ast.AST) -> tuple[int, ...] | None:
    """Return the sizes that users give for a split; those of the inner parts suffice. Raises "out-of-range"."""
    if name not in reader.outside:
        return None
    reader.used.add(name)
    inner = sizes_in(reader.outside[name]) if isinstance(reader.outside[name], int) else _sizes(reader.outside[name])
    inner = tuple(inner[1:] if len(inner) == count else inner)
    if len(inner) != count - 1 or any(size < 1 for size in inner) or (extent and extent % math.prod(inner)):
        raise reader.error(node, "out-of-range", f"these sizes are no candidate for {name}",
                           expected=f"{count - 1} factors of {extent or 'the extent'}")  # fmt: skip
    return (-1, *inner)


def _first(reader: TEReader, count: int, extent: int, keeps: Value, node: ast.AST) -> tuple[int, ...]:
    """Return the first candidate of a split into factors that a filter keeps: the last size varies slowest."""
    sizes = [1] * (count - 1)
    if not isinstance(keeps, Function):
        return (-1, *sizes)
    factors = [n for n in range(1, extent + 1) if extent % n == 0]
    for number in range(min(len(factors) ** (count - 1), MAX_CANDIDATES)):
        rest = number
        for at in range(count - 1):
            rest, digit = divmod(rest, len(factors))
            sizes[at] = factors[digit]
        if extent % math.prod(sizes) == 0 and reader.call(keeps, [TunedSplit((-1, *sizes))], node) is True:
            return (-1, *sizes)
    raise reader.error(node, "unsupported", "no candidate of this split is known to pass its filter",
                       expected="a filter of the sizes")  # fmt: skip


def _define_knob(
    reader: TEReader, config: TuningConfig, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    name, candidates = _option(args, named, 0, "name"), _option(args, named, 1, "candidate")
    if not isinstance(name, str) or not isinstance(candidates, tuple | list | range) or not candidates:
        raise reader.error(node, "unsupported", "this knob of an AutoTVM template is not read",
                           expected='cfg.define_knob("unroll", [0, 16])')  # fmt: skip
    known = name in reader.outside
    value = reader.outside[name] if known else candidates[0]
    if known:
        reader.used.add(name)
    config.values[name] = Attributes({"val": value}, "a knob")
    _note(reader, name, value, node, is_given=known)
    return None


def _define_reorder(
    reader: TEReader, config: TuningConfig, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    name, axes = _option(args, named, 0, "name"), _option(args, named, 1, "axes")
    policy, candidates = _option(args, named, 2, "policy"), named.get("candidate")
    known, several_orders = _list(axes), _list(candidates)
    first = _list(several_orders[0]) if policy == "candidate" and several_orders else known
    if not isinstance(name, str) or not known or policy not in ("all", "identity", "candidate"):
        raise reader.error(node, "unsupported", "this order of an AutoTVM template is not read",
                           expected='cfg.define_reorder("order", [a, b], "all")')  # fmt: skip
    order = [next(n for n, axis in enumerate(known) if axis is item) for item in first]
    config.values[name] = TunedOrder(order)
    _note(reader, name, tuple(order), node, is_given=False)
    return tuple(known[n] for n in order)


def _define_annotation(
    reader: TEReader, config: TuningConfig, args: Sequence[Value], named: Mapping[str, Value], node: ast.Call
) -> Value:
    name, policy = _option(args, named, 0, "name"), _option(args, named, 2, "policy")
    if not isinstance(name, str) or policy not in _OPTIONAL:
        raise reader.error(node, "unsupported", "this annotation of an AutoTVM template is not read",
                           expected='cfg.define_annotate("ann", [a], policy="try_unroll")')  # fmt: skip
    config.values[name] = TunedAnnotation()
    _note(reader, name, "none", node, is_given=False)
    return None


def _extent(axis: Value) -> int:
    """Return the extent of an axis of the space; 0 if it is not a constant."""
    match axis:
        case TunedLoop(extent=extent):
            return extent
        case Axis(dom=Range(extent=IntImm(value=extent))):
            return extent
        case IntImm(value=value):
            return value
        case int():
            return axis
        case _:
            return 0


def _note(reader: TEReader, name: str, value: Value, node: ast.AST, *, is_given: bool) -> None:
    how = "the given value" if is_given else "the first candidate"
    reader.notes.append(Note(f"AutoTVM chooses {name}: it is read with {value}, {how}", reader.source.place(node)))


# --- the chosen values


def config_item(reader: TEReader, config: TuningConfig, node: ast.Subscript) -> Value:
    """Read `cfg["tile"]`."""
    name = reader.string(node.slice)
    if name not in config.values:
        error = reader.error(
            node, "unknown-name", f"the template does not define {name}", expected=", ".join(config.values)
        )
        condition = _condition_around(reader, name)
        raise error if condition is None else UnknownValueError(error.refusal, reader.python.origin_of(condition))
    return config.values[name]


def _condition_around(reader: TEReader, name: str) -> ast.expr | None:
    """Return the condition, not known, that decides whether a parameter is defined."""
    for node in reader.python.passed:
        if isinstance(node, ast.If) and any(_defines(part, name) for part in ast.walk(node)):
            return node.test
    return None


def _defines(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(defined)), *_]):
            return method.startswith("define_") and defined == name
        case _:
            return False


def apply_choice(reader: TEReader, choice: Value, node: ast.Call) -> Value:
    """Read `cfg["tile"].apply(s, C, axis)`: the calls of the schedule that it makes."""
    args = items(reader.python, node.args)
    if len(args) < 3:
        raise reader.error(node, "wrong-arguments", "apply takes a schedule, a tensor and axes", expected="apply(s, C, axis)")  # fmt: skip
    schedule, op, axes = args[:3]
    match choice:
        case TunedSplit(sizes=sizes):
            found: list[Value] = []
            axis = axes
            for at in range(1, len(sizes)):
                factor = math.prod(sizes[at:])
                names: dict[str, Value] = {"s": schedule, "op": op, "axis": axis, "factor": factor}
                outer, axis = _called(reader, "s[op].split(axis, factor)", node, names)
                found.append(outer)
            return [*found, axis]
        case TunedOrder(order=order):
            ordered = [_list(axes)[n] for n in order]
            _called(reader, "s[op].reorder(*axes)", node, {"s": schedule, "op": op, "axes": ordered})
            return ordered
        case _:
            return axes


def _called(reader: TEReader, text: str, node: ast.Call, names: Mapping[str, Value]) -> tuple[Value, ...]:
    """Return the results of a call of the schedule with these values, whose place is `node`."""
    scope = reader.python.scope.opened("comprehension")
    for name, value in names.items():
        scope.define(name, value)
    call = ast.parse(text, mode="eval").body
    for part in ast.walk(call):
        ast.copy_location(part, node)
    with reader.python.inside(scope):
        found = reader.python.value(call)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


__all__ = ["TunedAnnotation", "TunedOrder", "TunedSplit", "TuningConfig", "apply_choice", "config_call", "config_item"]
