"""Loop headers: range, T.grid, T.serial and the other kinds of loops after `for … in`."""

from __future__ import annotations

import ast

from ....ir import Annotations, Evaluate, Expr, For, ForKind, Var, build
from ....ir import dtype as dt
from ..blocks import read_annotations
from ..expressions import ExpressionReader, difference

_LOOPS: dict[str, ForKind] = {
    "T.serial": "serial",
    "T.parallel": "parallel",
    "T.vectorized": "vectorized",
    "T.unroll": "unrolled",
    "T.thread_binding": "thread_binding",
}


def loop_headers(reader: ExpressionReader, node: ast.expr) -> tuple[list[For], Expr | None]:
    """Return the loops of a `for … in`, with placeholder bodies and variables, and the step of a single loop."""
    if isinstance(node, ast.Call):
        function = reader.called(node)
        if isinstance(node.func, ast.Name) and node.func.id == "range" and "range" not in reader.scope:
            return _loop(reader, node, "serial")
        if function == "T.grid":
            return _grid(reader, node), None
        if function in _LOOPS:
            return _loop(reader, node, _LOOPS[function])
    raise reader.error(
        node,
        "unsupported",
        "for must use a loop of T",
        expected="range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding",
    )


def loop_targets(
    reader: ExpressionReader, target: ast.expr, headers: list[For]
) -> list[tuple[ast.Name, list[For], bool]]:
    """Return the names of a `for` with their loops, and whether a name is that of one loop: `iters` and `*iters` are tuples."""
    items = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    bare = [item.value if isinstance(item, ast.Starred) else item for item in items]
    names = [item for item in bare if isinstance(item, ast.Name)]
    if len(names) != len(items):
        raise reader.error(target, "unsupported", "loop variables must be names", expected="for i, j in T.grid(8, 8)")
    many = [isinstance(item, ast.Starred) for item in items]
    if len(headers) > 1 and items == [target]:
        many = [True]
    rest = len(headers) - len(names) + 1
    if sum(many) > 1 or rest < 0 or (rest != 1 and not any(many)):
        message = f"{len(headers)} loops for {len(names)} names"
        raise reader.error(target, "wrong-arguments", message, expected="one name per loop")
    found: list[tuple[ast.Name, list[For], bool]] = []
    for name, is_many in zip(names, many, strict=True):
        first = sum(len(loops) for _, loops, _ in found)
        found.append((name, headers[first : first + (rest if is_many else 1)], not is_many))
    return found


def _grid(reader: ExpressionReader, node: ast.Call) -> list[For]:
    if node.keywords:
        raise reader.error(node, "wrong-arguments", "T.grid needs extents", expected="T.grid(128, 64)")
    extents: list[Expr] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            many = reader.value(argument.value)
            extents.extend(reader.as_expr(v, argument) for v in (many if isinstance(many, tuple) else (many,)))
        else:
            extents.append(reader.index(argument))
    return [header(build.const(0, e.dtype), e, "serial") for e in extents if _require_integer(reader, node, e)]


def _require_integer(reader: ExpressionReader, node: ast.AST, extent: Expr) -> bool:
    if not dt.is_int(extent.dtype):
        raise reader.error(
            node,
            "wrong-type",
            f"a loop extent must be an integer, this is {extent.dtype}",
            expected="an integer expression",
        )
    return True


def _loop(reader: ExpressionReader, node: ast.Call, kind: ForKind) -> tuple[list[For], Expr | None]:
    keywords = {k.arg: k.value for k in node.keywords}
    arguments = list(node.args)
    tag = keywords.pop("thread", None)
    if kind == "thread_binding" and tag is None and len(arguments) > 1:
        tag = arguments.pop()
    start = keywords.pop("start", None) or (arguments.pop(0) if arguments else None)
    stop = keywords.pop("stop", None) or (arguments.pop(0) if arguments else None)
    step_node = keywords.pop("step", None) or (arguments.pop(0) if arguments else None)
    annotations = keywords.pop("annotations", None)
    if start is None or arguments or keywords or (tag is None) != (kind != "thread_binding"):
        raise reader.error(
            node,
            "wrong-arguments",
            "invalid arguments of a loop",
            expected="(stop), (start, stop), (start, stop, step), annotations={…}, thread=…",
        )
    low, high = (None, start) if stop is None else (reader.index(start), stop)
    end = reader.index(high)
    found = read_annotations(reader, annotations) if annotations is not None and not _is_none(annotations) else ()
    thread = reader.string(tag) if tag is not None else None
    step = reader.index(step_node) if step_node is not None else None
    if low is None:
        return [header(build.const(0, end.dtype), end, kind, thread, found)], step
    low, end = build.match_dtypes(low, end)
    loop = header(low, difference(end, low), kind, thread, found)
    return [loop], None if step is not None and build.is_const(step, 1) else step


def header(low: Expr, extent: Expr, kind: ForKind, thread: str | None = None, annotations: Annotations = ()) -> For:
    return For(Var("", extent.dtype), low, extent, kind, Evaluate(build.const(0, "int32")), thread, annotations)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
