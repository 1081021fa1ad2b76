"""Every primitive beside TVM's C++ one: the same program, the same calls, in one process. Needs apache-tvm.

Run: `python bench/schedule.py`. Times are of this machine and this run: the least processor time of many rounds, in µs, because other load
only adds to it. The ratios are what to compare. The examples are replayed without the calls that TVM lacks. Left out: tensorize, in which
TVM 0.27 stops when its tvm-ffi is a newer one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tvm

import tilewright.static
from tilewright.app.document import evaluate, load_document
from tilewright.engine.ir import Add, BinaryOp, Expr, FloorDiv, FloorMod, IndexMap, IntImm, Mul, ScheduleCall, Var
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

EXAMPLES = sorted((Path(tilewright.static.__file__).parent / "examples").glob("*.py"))

MATMUL_RELU = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((256, 512), "float32"), B: T.Buffer((512, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    D = T.sblock_alloc_buffer((256, 256))
    for i, j, k in T.grid(256, 256, 512):
        with T.sblock("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(256, 256):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(D[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
"""

CHAIN = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 128), "float32"), D: T.Buffer((128, 128), "float32")):
    B = T.sblock_alloc_buffer((128, 128))
    C = T.sblock_alloc_buffer((128, 128))
    for i, j in T.grid(128, 128):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(128, 128):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(128, 128):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = C[vi, vj] * C[vi, vj]
"""

PADDED = """@T.prim_func(s_tir=True)
def main(x: T.Buffer((128,), "int32"), y: T.Buffer((128,), "int32")):
    p = T.sblock_alloc_buffer((140,), "int32")
    for i in range(140):
        with T.sblock("p"):
            vi = T.axis.spatial(140, i)
            T.reads(x[vi - 6])
            T.writes(p[vi])
            p[vi] = T.if_then_else(6 <= vi and vi < 134, x[vi - 6], 0, dtype="int32")
    for i in range(128):
        with T.sblock("y"):
            vi = T.axis.spatial(128, i)
            T.reads(p[vi + 6])
            T.writes(y[vi])
            y[vi] = p[vi + 6]
"""

UNEVEN = (
    MATMUL_RELU.replace("256, 512", "127, 127")
    .replace("512, 256", "127, 127")
    .replace("256", "127")
    .replace("512", "127")
)

IN_PLACE = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(A[vi, vj])
            A[vi, vj] = A[vi, vj] * T.float32(2)
"""

POOL = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((12, 128), "float32"), C: T.Buffer((8, 128), "float32")):
    B = T.sblock_alloc_buffer((12, 128))
    for i, j in T.grid(12, 128):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(8, 128, 5):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(B[vi + vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj]
"""

BIAS = MATMUL_RELU.replace("T.max(D[vi, vj], T.float32(0))", "D[vi, vj] + A[vi, vj]").replace(
    "T.reads(D[vi, vj])", "T.reads(D[vi, vj], A[vi, vj])"
)

FLAT = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((32, 128), "float32")):
    for i, j in T.grid(32, 128):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi % 8 + vi // 16 * 8, vj % 16 + vj // 32 * 16])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi % 8 + vi // 16 * 8, vj % 16 + vj // 32 * 16]
"""

Sch = Any


class Case(NamedTuple):
    """`prepare(sch)` returns the arguments of the timed call."""

    text: str
    prepare: Callable[[Sch], tuple[Any, ...]]
    call: Callable[..., Any]


def tiled(sch: Sch, block: str = "D") -> list[Any]:
    """i0 j0 k0 i1 j1 k1 around the block."""
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, 16]) for loop in sch.get_loops(sch.get_sblock(block)))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    return [i0, j0, k0, i1, j1, k1]


def loop(n: int, block: str = "D") -> Callable[[Sch], tuple[Any, ...]]:
    return lambda sch: (sch.get_loops(sch.get_sblock(block))[n],)


def block(name: str) -> Callable[[Sch], tuple[Any, ...]]:
    return lambda sch: (sch.get_sblock(name),)


def rolled(sch: Sch) -> tuple[Any, ...]:
    """The producer, computed row by row for its consumer."""
    producer, consumer = sch.get_sblock("B"), sch.get_sblock("C")
    outer, _ = sch.split(sch.get_loops(consumer)[0], [None, 1])
    sch.compute_at(producer, outer)
    return (producer,)


def annotated(sch: Sch) -> tuple[Any, ...]:
    sch.annotate(sch.get_sblock("D"), "note", 1)
    return (sch.get_sblock("D"),)


CASES: dict[str, Case] = {
    "split": Case(MATMUL_RELU, loop(0), lambda s, v: s.split(v, [None, 16])),
    "split, uneven": Case(MATMUL_RELU, loop(0), lambda s, v: s.split(v, [None, 7])),
    "fuse": Case(MATMUL_RELU, lambda s: tuple(s.get_loops(s.get_sblock("D"))[:2]), lambda s, *v: s.fuse(*v)),
    "reorder": Case(MATMUL_RELU, lambda s: tuple(s.get_loops(s.get_sblock("D"))[::-1]), lambda s, *v: s.reorder(*v)),
    "add_unit_loop": Case(MATMUL_RELU, loop(0), lambda s, v: s.add_unit_loop(v)),
    "loop_partition": Case(CHAIN, loop(1, "B"), lambda s, v: s.loop_partition(v, [32, None])),
    "parallel": Case(MATMUL_RELU, loop(0), lambda s, v: s.parallel(v)),
    "vectorize": Case(MATMUL_RELU, loop(1, "C"), lambda s, v: s.vectorize(v)),
    "unroll": Case(MATMUL_RELU, loop(2), lambda s, v: s.unroll(v)),
    "bind": Case(MATMUL_RELU, loop(0), lambda s, v: s.bind(v, "blockIdx.x")),
    "annotate": Case(MATMUL_RELU, block("D"), lambda s, b: s.annotate(b, "note", 1)),
    "unannotate": Case(MATMUL_RELU, annotated, lambda s, b: s.unannotate(b, "note")),
    "compute_at": Case(
        CHAIN, lambda s: (s.get_sblock("B"), s.get_loops(s.get_sblock("C"))[0]), lambda s, b, v: s.compute_at(b, v)
    ),
    "compute_at, tiled": Case(
        MATMUL_RELU,
        lambda s: (tiled(s)[2], s.cache_read(s.get_sblock("D"), 0, "shared")),
        lambda s, v, b: s.compute_at(b, v),
    ),
    "reverse_compute_at": Case(
        MATMUL_RELU, lambda s: (tiled(s)[1], s.get_sblock("C")), lambda s, v, b: s.reverse_compute_at(b, v)
    ),
    "compute_inline": Case(CHAIN, block("C"), lambda s, b: s.compute_inline(b)),
    "reverse_compute_inline": Case(CHAIN, block("D"), lambda s, b: s.reverse_compute_inline(b)),
    "cache_read": Case(MATMUL_RELU, block("D"), lambda s, b: s.cache_read(b, 0, "shared")),
    "cache_write": Case(MATMUL_RELU, block("D"), lambda s, b: s.cache_write(b, 0, "local")),
    "reindex": Case(MATMUL_RELU, block("D"), lambda s, b: s.reindex(b, ("read", 0))),
    "set_scope": Case(MATMUL_RELU, block("D"), lambda s, b: s.set_scope(b, 0, "local")),
    "storage_align": Case(MATMUL_RELU, block("D"), lambda s, b: s.storage_align(b, 0, 0, 32, 8)),
    "transform_layout": Case(
        MATMUL_RELU,
        block("D"),
        lambda s, b: s.transform_layout(b, ("write", 0), lambda i, j: [i // 16, j // 16, i % 16, j % 16]),
    ),
    "transform_block_layout": Case(
        CHAIN, block("B"), lambda s, b: s.transform_block_layout(b, lambda i, j: [i * 128 + j])
    ),
    "reorder_block_iter_var": Case(MATMUL_RELU, block("D"), lambda s, b: s.reorder_block_iter_var(b, [2, 0, 1])),
    "decompose_reduction": Case(
        MATMUL_RELU, lambda s: (s.get_sblock("D"), tiled(s)[2]), lambda s, b, v: s.decompose_reduction(b, v)
    ),
    "rfactor": Case(MATMUL_RELU, lambda s: (s.split(loop(2)(s)[0], [None, 16])[1],), lambda s, v: s.rfactor(v, 0)),
    "blockize": Case(MATMUL_RELU, lambda s: (tiled(s)[3],), lambda s, v: s.blockize(v)),
    "decompose_padding": Case(
        PADDED,
        lambda s: (s.get_sblock("p"), s.get_loops(s.get_sblock("p"))[0]),
        lambda s, b, v: s.decompose_padding(b, v),
    ),
    "pad_einsum": Case(UNEVEN, block("D"), lambda s, b: s.pad_einsum(b, [16, 16, 16])),
    "merge": Case(CHAIN, lambda s: (*loop(1, "B")(s), *loop(1, "C")(s)), lambda s, *v: s.merge(*v)),
    "cache_inplace": Case(IN_PLACE, block("A"), lambda s, b: s.cache_inplace(b, 0, "local")),
    "cache_index": Case(FLAT, block("B"), lambda s, b: s.cache_index(b, "global", 0)),
    "reindex_cache_read": Case(
        MATMUL_RELU, block("D"), lambda s, b: s.reindex_cache_read(b, 0, "shared", lambda i, j, k: (k, i))
    ),
    "reindex_cache_write": Case(
        MATMUL_RELU, block("D"), lambda s, b: s.reindex_cache_write(b, 0, "local", lambda i, j, k: (j, i))
    ),
    "read_at": Case(
        MATMUL_RELU, lambda s: (tiled(s)[2], s.get_sblock("D")), lambda s, v, b: s.read_at(v, b, 0, "shared")
    ),
    "write_at": Case(
        MATMUL_RELU, lambda s: (tiled(s)[1], s.get_sblock("D")), lambda s, v, b: s.write_at(v, b, 0, "local")
    ),
    "rolling_buffer": Case(POOL, rolled, lambda s, b: s.rolling_buffer(b, 0)),
    "fuse_reduction_epilogue": Case(
        BIAS, lambda s: (s.get_sblock("D"), s.get_sblock("C")), lambda s, d, c: s.fuse_reduction_epilogue(d, c)
    ),
    "unsafe_set_dtype": Case(MATMUL_RELU, block("D"), lambda s, b: s.unsafe_set_dtype(b, 0, "float16")),
    "annotate_buffer_access": Case(
        CHAIN, block("B"), lambda s, b: s.annotate_buffer_access(b, 0, "read", lambda i, j: [i, j])
    ),
}


def whole(sch: Sch) -> None:
    """Fourteen calls: a tiled matmul with staged operands and its result finished in tiles."""
    i0, j0, k0, *_ = tiled(sch)
    d = sch.get_sblock("D")
    for operand in (0, 1):
        sch.compute_at(sch.cache_read(d, operand, "shared"), k0)
    sch.reverse_compute_at(sch.cache_write(d, 0, "local"), j0)
    sch.reverse_compute_at(sch.get_sblock("C"), j0)
    sch.parallel(i0)
    sch.decompose_reduction(d, k0)


TVM_LACKS = {"double_buffer", "pipeline", "set_layout", "tile", "work_on"}


def replay(sch: Sch, steps: Sequence[ScheduleCall], *, theirs: bool) -> None:
    """The calls of a trace on a schedule of either kind, with the handles that it returns."""
    handles: dict[Any, Any] = {}
    for step in steps:
        if step.method in TVM_LACKS:
            continue
        method = "get_sblock" if step.method == "get_block" else step.method
        given = {
            key: translated(value, handles) for key, value in step.arguments if key not in ("names", "keep_tiling")
        }
        listed = [given.pop(key) for key in ("ordered_loops",) if key in given]
        if theirs and method == "get_sblock":
            given = {"name": step.argument("name")}
        result = getattr(sch, method)(*(listed[0] if listed else ()), **given)
        results = result if isinstance(result, list | tuple) else [result]
        handles.update(zip(step.results, results, strict=False))


def translated(value: Any, handles: Mapping[Any, Any]) -> Any:
    match value:
        case tuple():
            return [translated(v, handles) for v in value] if value[:1] not in (("read",), ("write",)) else value
        case IndexMap():
            return lambda *axes: [on_axes(i, dict(zip(value.params, axes, strict=True))) for i in value.indices]
        case Var() | str():
            return handles.get(value, value)
        case _:
            return value


def on_axes(index: Expr, axes: Mapping[Var, Any]) -> Any:
    match index:
        case Var():
            return axes[index]
        case IntImm(value=value):
            return value
        case BinaryOp(a=a, b=b):
            return OPERATORS[type(index)](on_axes(a, axes), on_axes(b, axes))
        case _:
            raise NotImplementedError(index)


OPERATORS: dict[type[Expr], Callable[[Any, Any], Any]] = {
    Add: lambda x, y: x + y,
    Mul: lambda x, y: x * y,
    FloorDiv: lambda x, y: x // y,
    FloorMod: lambda x, y: x % y,
}


def compare_example(file: Path, rounds: int = 11) -> tuple[int, float, float]:
    """(calls, ours, TVM's) in µs: the example's whole schedule."""
    schedule = evaluate(load_document(file)).schedule
    assert schedule is not None
    steps = [s for s in schedule.trace.steps if s.method not in TVM_LACKS]
    mine, other = schedules(to_script(schedule.original[schedule.func_name]))

    def once() -> tuple[float, ...]:
        a, b = mine.copy(), other.copy()
        return seconds(lambda: replay(a, steps, theirs=False)), seconds(lambda: replay(b, steps, theirs=True))

    once()
    ours, theirs = least_us(once, rounds)
    return sum(s.changes for s in steps), ours, theirs


def least_us(work: Callable[[], tuple[float, ...]], rounds: int) -> tuple[float, ...]:
    """The least of the times that `work` measures, in µs."""
    return tuple(min(column) * 1e6 for column in zip(*(work() for _ in range(rounds)), strict=True))


def seconds(work: Callable[[], object]) -> float:
    """Processor time, which depends less on the load of the machine."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def schedules(text: str) -> tuple[Schedule, Any]:
    """Schedules of both kinds, with their indexes computed before the first call: TVM's computes its own on creation."""
    mine = Schedule(parse(text).program)
    assert mine.index.root
    return mine, tvm.s_tir.Schedule(tvm.script.from_source(text))


def compare(case: Case, rounds: int = 41) -> tuple[float, float]:
    """(ours, TVM's) in µs, measured alternately."""
    pair = [(sch, case.prepare(sch)) for sch in schedules(case.text)]

    def once() -> tuple[float, ...]:
        found: list[float] = []
        for sch, arguments in pair:
            copy = sch.copy()
            found.append(seconds(lambda s=copy, a=arguments: case.call(s, *a)))
        return tuple(found)

    once()
    ours, theirs = least_us(once, rounds)
    return ours, theirs


def chain_program(stages: int) -> str:
    """`stages` elementwise blocks in a row, about seven nodes each."""
    lines = [
        "@T.prim_func(s_tir=True)",
        'def main(X0: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):',
    ]
    lines += [f"    X{n} = T.sblock_alloc_buffer((64, 64))" for n in range(1, stages)]
    for n in range(stages):
        target = "Y" if n == stages - 1 else f"X{n + 1}"
        lines += [
            "    for i, j in T.grid(64, 64):", f'        with T.sblock("B{n}"):', '            vi, vj = T.axis.remap("SS", [i, j])',
            f"            T.reads(X{n}[vi, vj])", f"            T.writes({target}[vi, vj])",
            f"            {target}[vi, vj] = X{n}[vi, vj] + T.float32({n})",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    print(f"{'call':24} {'Tilewright':>11} {'TVM':>9} {'ratio':>7}")
    ratios: list[float] = []
    for name, case in CASES.items():
        try:
            ours, theirs = compare(case)
        except Exception as error:
            print(f"{name:24} {type(error).__name__}: {str(error).splitlines()[0][:80]}")
            continue
        ratios.append(ours / theirs)
        print(f"{name:24} {ours:8.0f} µs {theirs:6.0f} µs {ours / theirs:7.2f}")
    print(f"{'median, largest ratio':24} {'':11} {'':9} {statistics.median(ratios):7.2f} {max(ratios):7.2f}")

    pair = schedules(MATMUL_RELU)
    ours, theirs = least_us(lambda: tuple(seconds(lambda s=s: whole(s.copy())) for s in pair), 21)
    print(f"{'a whole schedule':24} {ours:8.0f} µs {theirs:6.0f} µs {ours / theirs:7.2f}")
    for file in EXAMPLES:
        calls, ours, theirs = compare_example(file)
        print(f"{file.stem:24} {ours:8.0f} µs {theirs:6.0f} µs {ours / theirs:7.2f}  ({calls} calls)")
    mine, theirs_text = parse(MATMUL_RELU).program, MATMUL_RELU
    module = tvm.script.from_source(theirs_text)
    ours, theirs = least_us(
        lambda: (seconds(lambda: parse(theirs_text)), seconds(lambda: tvm.script.from_source(theirs_text))), 21
    )
    print(f"{'parse':24} {ours:8.0f} µs {theirs:6.0f} µs {ours / theirs:7.2f}")
    ours, theirs = least_us(lambda: (seconds(lambda: to_script(mine)), seconds(module.script)), 21)
    print(f"{'print':24} {ours:8.0f} µs {theirs:6.0f} µs {ours / theirs:7.2f}")

    print(
        "\ngrowth: chains of elementwise blocks, split of one loop and where one block may go (the rest: bench/growth.py)"
    )
    for stages in (30, 100, 430):
        sch, other = schedules(chain_program(stages))
        name = f"B{stages // 2}"

        def split(s: Sch, name: str = name) -> float:
            copy = s.copy()
            found = copy.get_loops(copy.get_sblock(name))[0]
            return seconds(lambda: copy.split(found, [None, 8]))

        def targets(s: Schedule = sch, name: str = name) -> float:
            copy = s.copy()
            copy.annotate(name, "note", 1)  # a program with empty caches, as after a drop
            return seconds(lambda: copy.legal_targets(name))

        ours, theirs, drop = least_us(lambda s=sch, o=other: (split(s), split(o), targets()), 7)
        print(
            f"{stages * 7:5} nodes: split {ours:7.0f} µs, TVM {theirs:6.0f} µs ({ours / theirs:.2f}); legal_targets {drop / 1000:6.1f} ms"
        )


if __name__ == "__main__":
    main()
