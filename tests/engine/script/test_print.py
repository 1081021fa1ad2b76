"""The text of programs, and the position of each node in it."""

from __future__ import annotations

from typing import Any

import pytest
from support.programs.sources import ALL, CURRENT

from tilewright.engine.ir import (
    Add,
    Allocate,
    AssertStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    FloatImm,
    For,
    IntImm,
    IRModule,
    LetStmt,
    Place,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    build,
    first_difference,
    walk_stmts,
)
from tilewright.engine.script import expr_text, parse, print_program, to_script

MATMUL_TEXT = """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    # with T.sblock("root"):
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def program(body: Stmt, *buffers: Buffer, attrs: Any = ()) -> PrimFunc:
    handles = tuple(Var(f"h{n}", "handle") for n in range(len(buffers)))
    return PrimFunc("f", handles, tuple(zip(handles, buffers, strict=True)), body, attrs)


def buffer(name: str = "A", *shape: int, **fields: Any) -> Buffer:
    return Buffer(name, tuple(IntImm(e) for e in shape or (8,)), **fields)


def assert_reads_back(func: PrimFunc | IRModule, dialect: Any = "current") -> str:
    text = to_script(func, dialect)
    again = parse(text).program
    difference = first_difference(again, func)
    assert difference is None, f"{difference}\n{text}"
    assert to_script(again, dialect) == text
    return text


def test_the_text_of_the_matmul() -> None:
    assert to_script(parse(CURRENT["matmul"]).program) == MATMUL_TEXT


def test_long_signature_has_one_parameter_per_line() -> None:
    lines = to_script(parse(CURRENT["fused_matmul_add_relu"]).program).splitlines()
    assert "    def fused_matmul_add_relu(" in lines
    assert '        fc1_bias: T.Buffer((T.int64(64),), "float32"),' in lines and "    ):" in lines


def test_words_of_the_classic_dialect() -> None:
    text = to_script(parse(CURRENT["matmul_relu"]).program, "classic")
    assert "from tvm.script import tir as T" in text
    assert 'T.block("matmul")' in text and "C = T.alloc_buffer((128, 96))" in text and '"tir.noalias"' in text
    assert "sblock" not in text and "tirx" not in text and "s_tir" not in text


@pytest.mark.parametrize("dialect", ["current", "classic"])
@pytest.mark.parametrize("name", ALL)
def test_a_sample_reads_back(name: str, dialect: str) -> None:
    found = parse(ALL[name]).program
    assert_reads_back(found, dialect)


def test_an_unknown_dialect_is_an_error() -> None:
    with pytest.raises(ValueError, match="classic"):
        to_script(parse(CURRENT["matmul"]).program, "2021")  # pyright: ignore[reportArgumentType]


def store(target: Buffer, value: Expr, *indices: Expr) -> BufferStore:
    return BufferStore(target, value, indices or (IntImm(0),))


def test_inner_loop_of_the_same_name_is_renamed_in_its_scope() -> None:
    a = buffer()
    outer, inner, later = Var("i"), Var("i"), Var("i")
    nest = build.serial(outer, 4, build.serial(inner, outer, store(a, build.cast(build.add(inner, outer), "float32"))))
    text = assert_reads_back(program(SeqStmt((nest, build.serial(later, 4, store(a, FloatImm(1.0), later)))), a))
    assert "for i in range(4):\n        for i_1 in range(i):" in text
    assert text.count("for i in range(4)") == 2


def test_names_that_python_forbids_are_replaced() -> None:
    a, b = buffer("fc1.bias"), buffer("class")
    text = assert_reads_back(program(store(a, BufferLoad(b, (IntImm(0),))), a, b))
    assert "fc1_bias[0] = class_1[0]" in text


def test_separators_strides_scope_and_alignment_are_keywords() -> None:
    a = buffer(
        "A", 2, 64, scope="local.vtcm", axis_separators=(1,), strides=(IntImm(64), IntImm(1)), data_alignment=128
    )
    text = assert_reads_back(program(store(a, FloatImm(0.0), IntImm(0), IntImm(0)), a))
    assert 'T.Buffer((2, 64), "float32", strides=(64, 1), scope="local.vtcm", align=128, axis_separators=[1])' in text


@pytest.mark.parametrize("dialect", ["current", "classic"])
def test_lowered_allocations_read_back_wherever_they_end(dialect: str) -> None:
    out, first, second = (
        buffer("out"),
        buffer("X", 4, scope="local"),
        buffer("Y", 2, 4, scope="local.vtcm", axis_separators=(1,)),
    )
    x = Allocate((first,), store(first, FloatImm(1.0)))
    y = Allocate(
        (second,),
        SeqStmt((store(second, FloatImm(2.0), IntImm(0), IntImm(1)), store(out, FloatImm(3.0)))),
        (("note", IntImm(1)),),
    )
    text = assert_reads_back(program(SeqStmt((x, y)), out), dialect)
    assert 'with T.allocate((4,), scope="local") as X:' in text
    word = "T.alloc_buffer" if dialect == "current" else "T.allocate"
    assert f'Y = {word}((2, 4), scope="local.vtcm", axis_separators=[1], annotations={{"note": 1}})' in text


def test_bindings_and_asserts_read_back_wherever_they_end() -> None:
    a, x, y = buffer(), Var("x"), Var("x")
    let_x = LetStmt(x, IntImm(3), store(a, FloatImm(1.0), x))
    let_y = LetStmt(y, IntImm(4), store(a, FloatImm(2.0), y))
    checks = AssertStmt(build.lt(x, 3), "small", store(a, FloatImm(0.0), x))
    text = assert_reads_back(program(SeqStmt((let_x, LetStmt(x, IntImm(5), SeqStmt((checks, let_y))))), a))
    assert "with T.LetStmt(3) as x:" in text
    assert 'with T.Assert(x < 3, "small"):' in text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (build.mul(build.add(Var("a"), Var("b")), 2), "(a + b) * 2"),
        (build.sub(Var("a"), build.sub(Var("b"), Var("c"))), "a - (b - c)"),
        (build.sub(build.sub(Var("a"), Var("b")), Var("c")), "a - b - c"),
        (build.floordiv(Var("a"), build.floormod(Var("b"), 3)), "a // (b % 3)"),
        (build.logical_and(build.logical_or(Var("p", "bool"), Var("q", "bool")), Var("r", "bool")), "(p or q) and r"),
        (build.logical_not(build.lt(Var("a"), 1)), "not a < 1"),
        (build.add(Var("a", "int64"), 1), "a + T.int64(1)"),
        (build.mul(Var("a"), -1), "a * -1"),
        (build.TRUE, "T.bool(True)"),
        (FloatImm(1e30), "T.float32(1e+30)"),
        (FloatImm(float("nan")), 'T.float32("nan")'),
        (FloatImm(-0.0, "float64"), "T.float64(-0.0)"),
        (StringImm('a "b" \\ \n'), '"a \\"b\\" \\\\ \\n"'),
        (Call("call_extern", (StringImm("f"), Var("a")), "float32"), 'T.call_extern("float32", "f", a)'),
        (Call("mystery", (Var("a"),), "int32"), 'T.call_intrin("int32", "tirx.mystery", a)'),
        (Add(IntImm(1), IntImm(2)), "T.Add(1, 2)"),
        (build.add(Var("i_0"), build.mul(Var("i_0"), 16)), "i_0 + i_0 * 16"),
        (Range(Var("i"), IntImm(4)), "i:i + 4"),
        (BufferRegion(buffer("A", 8, 8), (build.point(Var("i")), Range(IntImm(0), IntImm(8)))), "A[i, 0:8]"),
        (BufferLoad(buffer("A", 8, 8), (Var("i"), Var("j"))), "A[i, j]"),
    ],
)  # fmt: skip
def test_the_text_of_an_expression(expr: Any, text: str) -> None:
    assert expr_text(expr) == text


def test_an_empty_block_reads_back() -> None:
    inner = BlockRealize((), build.TRUE, Block("", (), (), (), Evaluate(IntImm(0))))
    root = BlockRealize(
        (),
        build.TRUE,
        Block(
            "root",
            (),
            (),
            (),
            SeqStmt((inner, BlockRealize((), build.TRUE, Block("x", (), (), (), Evaluate(IntImm(0)))))),
        ),
    )
    assert 'with T.sblock(""):' in assert_reads_back(program(root))


@pytest.mark.parametrize("allocates", [True, False])
def test_unusual_root_is_written(allocates: bool) -> None:
    a, s = buffer(), buffer("S")
    only_block = BlockRealize((), build.TRUE, Block("x", (), (), (), store(a, FloatImm(1.0))))
    root = BlockRealize((), build.TRUE, Block("root", (), (), (), only_block, alloc_buffers=(s,) if allocates else ()))
    text = assert_reads_back(program(root, a))
    assert ('# with T.sblock("root")' in text) is allocates


def test_private_function_and_attributes_are_kept() -> None:
    attrs = (
        ("private", build.TRUE),
        ("tirx.noalias", build.TRUE),
        ("n", (IntImm(1), IntImm(2))),
        ("f", FloatImm(0.5, "float64")),
    )
    text = assert_reads_back(program(store(a := buffer(), FloatImm(1.0)), a, attrs=attrs))
    assert "@T.prim_func(private=True, s_tir=True)" in text
    assert 'T.func_attr({"tirx.noalias": True, "n": [1, 2], "f": 0.5})' in text


def test_handles_of_symbolic_sizes_are_matched() -> None:
    n, m = Var("n", "int64"), Var("m", "int64")
    a = Buffer("A", (n, m), strides=(m, build.const(1, "int64")), elem_offset=Var("A_off", "int64"), offset_factor=4)
    i = Var("i", "int64")
    body = build.serial(i, n, BufferStore(a, FloatImm(1.0), (i, build.const(0, "int64"))))
    handle = Var("a", "handle")
    text = assert_reads_back(PrimFunc("f", (handle, n), ((handle, a),), body))
    assert "def f(var_A: T.handle, n: T.int64):" in text
    assert "m = T.int64()" in text and "offset_factor=4" in text


def cut(text: str, place: Place) -> str:
    lines = text.splitlines()[place.line - 1 : place.end_line]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize("name", CURRENT)
def test_positions_of_a_printed_program_cut_out_its_nodes(name: str) -> None:
    found = parse(CURRENT[name]).program
    printed = print_program(found)
    assert printed.text == to_script(found)
    for node, places in printed.positions.items():
        for place in places:
            piece = cut(printed.text, place)
            match node:
                case For():
                    assert piece.startswith("for ") and piece.endswith(":") and node.loop_var.name in piece
                case BlockRealize():
                    assert piece.removeprefix("# ") == f'with T.sblock("{node.block.name}"):'
                case Block():
                    assert node.name in piece
                case Buffer() | Var():
                    assert piece.startswith(node.name) or ": T." in piece
                case BufferStore():
                    assert " = " in piece and piece.startswith(node.buffer.name)
                case _:
                    assert piece
    loops = [s for s in walk_stmts(found) if isinstance(s, For)]
    assert loops and all(loop in printed.positions and loop.loop_var in printed.positions for loop in loops)


def test_positions_of_printed_expressions_are_their_text() -> None:
    printed = print_program(parse(CURRENT["conv2d"]).program)
    loads = [
        (node, place) for node, places in printed.positions.items() if isinstance(node, BufferLoad) for place in places
    ]
    assert loads
    for node, place in loads:
        assert cut(printed.text, place) == expr_text(node)


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("elem_offset=off", "elem_offset=off"),
        ("elem_offset=off, offset_factor=4", "elem_offset=off, offset_factor=4"),
        ("elem_offset=T.int32(0), offset_factor=8", "elem_offset=0, offset_factor=8"),
        ("offset_factor=8", "offset_factor=8"),
    ],
)
def test_type_and_factor_of_an_offset_are_kept(declared: str, written: str) -> None:
    text = (
        "@T.prim_func(s_tir=True)\ndef main(a: T.handle):\n    off = T.int64()\n"
        f'    A = T.match_buffer(a, (16,), "float32", {declared})\n    A[0] = T.float32(1)\n'
    )
    text = text if "=off" in declared else text.replace("    off = T.int64()\n", "")
    printed = to_script(parse(text).program)
    assert written in printed
    assert ("off = T.int64()" in printed) == ("=off" in declared)
    assert to_script(parse(printed).program) == printed


def test_wide_integers_and_boxed_numbers_in_attributes_are_kept() -> None:
    values = "1099511627776, T.int64(1099511627776), 1.5, T.float64(1.5)"
    head = '@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((16,), "float32")):\n'
    text = f'{head}    T.func_attr({{"a": [{values}]}})\n    A[0] = T.float32(1)\n'
    assert f'"a": [{values}]' in to_script(parse(text).program)
