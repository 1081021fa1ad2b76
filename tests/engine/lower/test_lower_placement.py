"""Placement and size of buffer allocations: plan, compaction."""

from __future__ import annotations

from support.programs.sources import HEADER, MATMUL_RELU, box_blur

from tilewright.engine.ir import Block, BlockRealize, For, PrimFunc, build, walk_stmts
from tilewright.engine.lower import allocations, plan
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def program(body: str, name: str = "f") -> PrimFunc:
    """`body` is the text after `def`, parameters included."""
    found = parse(HEADER + f"@T.prim_func(s_tir=True)\ndef {name}{body}").program
    assert isinstance(found, PrimFunc)
    return found


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def tiles(func: PrimFunc) -> dict[str, tuple[tuple[object, ...], str | None]]:
    """By buffer name: the live tile, and the loop it lives under."""
    return {a.buffer.name: (a.tile, None if a.loop is None else a.loop.name) for a in allocations(func)}


TWO_STAGES = """(A: T.Buffer((64, 48), "float32"), C: T.Buffer((64, 48), "float32")):
    B = T.sblock_alloc_buffer((64, 48))
    for i in range(64):
        for j in range(48):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(48):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""


def test_row_of_one_iteration_is_allocated_under_its_loop():
    planned = plan(program(TWO_STAGES))
    assert isinstance(planned.body, BlockRealize)
    assert planned.body.block.alloc_buffers == ()
    loop = planned.body.block.body
    assert isinstance(loop, For) and isinstance(loop.body, BlockRealize)
    owner = loop.body.block
    assert (owner.name, owner.iter_vars) == ("", ())
    assert [(b.name, [build.int_value(e) for e in b.shape]) for b in owner.alloc_buffers] == [("B", [1, 48])]
    assert [r.buffer.name for r in owner.reads] == ["A"]
    assert [w.buffer.name for w in owner.writes] == ["C"]
    names = [s.name for s in walk_stmts(planned) if isinstance(s, Block)]
    assert names == ["root", "", "B", "C"]


def test_buffer_carried_between_iterations_stays_outside():
    text = TWO_STAGES.replace("B[vi, vj] + T", "B[T.max(vi - 1, 0), vj] + T").replace(
        "T.reads(B[vi, vj])", "T.reads(B[T.max(vi - 1, 0), vj])"
    )
    assert tiles(program(text)) == {"B": ((64, 48), None)}


def test_buffer_of_a_reduction_is_outside_its_loops():
    sch = schedule(MATMUL_RELU)
    assert tiles(sch.func) == {"C": ((128, 96), None)}
    matmul, relu = sch.get_block("matmul"), sch.get_block("relu")
    i, _j, _k = sch.get_loops(matmul)
    sch.reverse_compute_at(relu, i)
    assert tiles(sch.func) == {"C": ((1, 96), i.name)}


def test_dead_reduction_buffer_is_outside_its_loop():
    func = program("""(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((8,))
    for i in range(8):
        for k in range(16):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(S[vi])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0])
            T.writes(B[vi])
            B[vi] = A[vi, 0]
""")
    assert tiles(func) == {"S": ((1,), "i")}


def test_an_unused_buffer_is_removed():
    text = TWO_STAGES.replace("    B = T", "    D = T.sblock_alloc_buffer((8,))\n    B = T")
    assert "D" not in tiles(program(text))


def test_an_uneven_split_has_tiles_of_full_size():
    sch = schedule(MATMUL_RELU)
    relu = sch.get_block("relu")
    outer, _ = sch.split(sch.get_loops(relu)[0], [None, 50])
    sch.compute_at(sch.get_block("matmul"), outer)
    assert tiles(sch.func) == {"C": ((50, 96), outer.name)}


def test_stencil_computed_at_a_pixel_keeps_three_rows():
    sch = schedule(box_blur())
    for block in ("padded", "y_blur"):
        sch.compute_inline(sch.get_block(block))
    _y, x, _ = sch.get_loops(sch.get_block("box_blur"))
    x_blur = sch.get_block("x_blur")
    sch.compute_at(x_blur, x)
    assert tiles(sch.func) == {"x_blur": ((3, 1, 3), x.name)}
    sch.transform_layout(x_blur, ("write", 0), lambda y, x, c: [x, c, y])
    assert tiles(sch.func) == {"x_blur": ((1, 3, 3), x.name)}


def test_stencil_computed_at_a_row_keeps_three_rows():
    sch = schedule(box_blur())
    for block in ("padded", "y_blur"):
        sch.compute_inline(sch.get_block(block))
    y = sch.get_loops(sch.get_block("box_blur"))[0]
    sch.compute_at(sch.get_block("x_blur"), y)
    assert tiles(sch.func) == {"x_blur": ((3, 64, 3), y.name)}


def test_an_axis_indexed_by_data_is_kept_whole():
    func = program("""(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.sblock_alloc_buffer((100, 4), "int32")
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[0:100, 0:4])
            B[A[vi], vi % 2 + 1] = vi
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi], B[0:100, 0:4])
            T.writes(C[vi])
            C[vi] = B[A[vi], vi % 2 + 1]
""")
    assert tiles(func) == {"B": ((100, 2), None)}


def test_only_the_guarded_part_of_a_read_is_compacted():
    func = program("""(A: T.Buffer((32,), "int32"), C: T.Buffer((34,), "int32")):
    B = T.sblock_alloc_buffer((64,), "int32")
    for i in range(32):
        with T.sblock("B"):
            vi = T.axis.spatial(32, i)
            T.reads(A[vi])
            T.writes(B[vi + 8])
            B[vi + 8] = A[vi]
    for i in range(34):
        with T.sblock("C"):
            vi = T.axis.spatial(34, i)
            T.reads(B[vi + 7])
            T.writes(C[vi])
            C[vi] = T.if_then_else(1 <= vi and vi < 33, B[vi + 7], 0)
""")
    assert tiles(func) == {"B": ((32,), None)}


SUMS = """(A: T.Buffer((1024,), "int32"), C: T.Buffer((1024,), "int32")):
    for i in range(4):
        with T.sblock("tile"):
            T.reads(A[i * 255:i * 255 + 255])
            T.writes(C[i * 255:i * 255 + 255])
            B = T.sblock_alloc_buffer((5, 16, 16), "int32")
            for x in range(255):
                with T.sblock("B"):
                    T.reads(A[i * 255 + x])
                    T.writes(B[(i * 255 + x) // 255, (i * 255 + x) % 255 // 16, (i * 255 + x) % 255 % 16])
                    B[(i * 255 + x) // 255, (i * 255 + x) % 255 // 16, (i * 255 + x) % 255 % 16] = A[i * 255 + x]
            for x, y in T.grid(16, 16):
                with T.sblock("C"):
                    T.where(x * 16 + y < 255)
                    T.reads(B[(i * 255 + x * 16 + y) // 255, (i * 255 + x * 16 + y) % 255 // 16, (i * 255 + x * 16 + y) % 255 % 16])
                    T.writes(C[i * 255 + x * 16 + y])
                    C[i * 255 + x * 16 + y] = B[
                        (i * 255 + x * 16 + y) // 255, (i * 255 + x * 16 + y) % 255 // 16, (i * 255 + x * 16 + y) % 255 % 16
                    ]
"""


def test_condition_on_a_sum_bounds_its_digits():
    (found,) = allocations(program(SUMS))
    assert found.tile == (1, 16, 16)


def test_else_of_an_or_negates_both_conditions():
    func = program("""(A: T.Buffer((64, 64), "int32"), C: T.Buffer((64, 64), "int32")):
    B = T.sblock_alloc_buffer((64, 64), "int32")
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj], C[vi, vj])
            if vi < 16 or vj < 24:
                C[vi, vj] = A[vi, vj]
            else:
                B[vi, vj] = A[vi, vj]
    for i, j in T.grid(48, 40):
        with T.sblock("C"):
            vi = T.axis.spatial(64, i + 16)
            vj = T.axis.spatial(64, j + 24)
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
""")
    (found,) = allocations(func)
    assert found.tile == (48, 40)


def test_grid_elsewhere_leaves_buffers_of_iterations_in_place():
    func = program("""(A: T.Buffer((13,), "int32"), C: T.Buffer((6,), "int32"), D: T.Buffer((13,), "int32")):
    B = T.sblock_alloc_buffer((13,), "int32")
    for i in T.thread_binding(13, thread="blockIdx.x"):
        with T.sblock("D"):
            v = T.axis.spatial(13, i)
            D[v] = A[v]
    for o in T.parallel(2):
        for i in range(7):
            with T.sblock("B"):
                v = T.axis.spatial(13, o * 6 + i)
                B[v] = A[v]
        for i in range(3):
            with T.sblock("C"):
                v = T.axis.spatial(6, o * 3 + i)
                C[v] = B[v * 2] + B[v * 2 + 1]
""")
    (found,) = allocations(func)
    assert found.tile == (7,) and found.loop is not None and found.loop.name == "o"
