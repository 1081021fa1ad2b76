"""The meaning of text: every construct of the subset, in both dialects."""

from __future__ import annotations

from typing import Any

import pytest
from support.programs.sources import ALL, CLASSIC, CURRENT

from tilewright.engine.ir import (
    Allocate,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    FloatImm,
    For,
    IfThenElse,
    IntImm,
    IRModule,
    LetStmt,
    Mul,
    PrimFunc,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    first_difference,
    structural_equal,
    walk_stmts,
)
from tilewright.engine.script import ParseError, expr_text, parse, to_script

HEADER = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"


def function(body: str, params: str = 'A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "int32")') -> PrimFunc:
    """A function of two buffers with `body`, whose lines begin at the left edge."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    program = parse(f"{HEADER}def f({params}):\n{lines}\n").program
    assert isinstance(program, PrimFunc)
    return program


def block(signature: str, body: str = "A[vi, vj] = T.float32(1)") -> BlockRealize:
    """The block of two axes with `signature` lines."""
    inner = "\n".join(f"        {line}" for line in (*signature.strip().splitlines(), *body.splitlines()))
    text = f'for i, j in T.grid(16, 8):\n    with T.sblock("b"):\n        vi, vj = T.axis.remap("SS", [i, j])\n{inner}'
    found = [s for s in walk_stmts(function(text).body) if isinstance(s, BlockRealize)]
    return found[-1]


def value(text: str) -> Any:
    """The value stored by `A[0, 0] = text`."""
    stores = [
        s for s in walk_stmts(function(f"for i in range(4):\n    A[i, 0] = {text}").body) if isinstance(s, BufferStore)
    ]
    return stores[0].value


def only(func: PrimFunc, kind: type[Stmt]) -> Any:
    (found,) = [s for s in walk_stmts(func.body) if isinstance(s, kind)]
    return found


@pytest.mark.parametrize("name", ALL)
def test_a_sample_is_read(name: str) -> None:
    assert isinstance(parse(ALL[name]).program, IRModule | PrimFunc)


def test_both_dialects_of_a_program_are_equal() -> None:
    difference = first_difference(parse(CLASSIC["matmul"]).program, parse(CURRENT["matmul"]).program)
    assert difference is None, difference


@pytest.mark.parametrize(
    "imports",
    [
        "from tvm.script import ir as I, tirx as T",
        "from tilewright.script import ir as I, tirx as T",
        "import tvm\nfrom tvm.script import ir as I\nfrom tvm.script import tirx as T",
        "# from tvm.script import tirx as T",
        "",
    ],
)
def test_every_form_of_import_gives_the_same_program(imports: str) -> None:
    text = CURRENT["matmul"].partition("@T")
    assert structural_equal(parse(f"{imports}\n\n@T{text[2]}").program, parse(CURRENT["matmul"]).program)


def test_another_name_for_t_is_recognised() -> None:
    text = CURRENT["matmul"].replace("tirx as T", "tirx as X").replace("T.", "X.")
    assert structural_equal(parse(text).program, parse(CURRENT["matmul"]).program)


def test_module_of_the_classic_decorator_is_read() -> None:
    lines = CLASSIC["matmul"].partition("@T.prim_func")[2].splitlines()
    body = "\n".join(f"    {line}" for line in ("@T.prim_func", *lines))
    module = parse(f"import tvm\nfrom tvm.script import tir as T\n@tvm.script.ir_module\nclass M:\n{body}").program
    assert isinstance(module, IRModule)
    assert structural_equal(module.functions[0], parse(CLASSIC["matmul"]).program)


def test_constants_above_the_program_are_known() -> None:
    text = (
        CURRENT["matmul"]
        .replace("@T", "N = 64 * 2\nshape = (N, N)\n\n@T")
        .replace("(128, 128)", "shape")
        .replace("128", "N")
    )
    assert structural_equal(parse(text).program, parse(CURRENT["matmul"]).program)


@pytest.mark.parametrize(
    ("header", "kind", "low", "extent", "tag"),
    [
        ("range(8)", "serial", 0, 8, None),
        ("range(2, 8)", "serial", 2, 6, None),
        ("T.serial(8)", "serial", 0, 8, None),
        ("T.parallel(8)", "parallel", 0, 8, None),
        ("T.vectorized(0, 8)", "vectorized", 0, 8, None),
        ("T.unroll(8)", "unrolled", 0, 8, None),
        ('T.thread_binding(8, thread="threadIdx.x")', "thread_binding", 0, 8, "threadIdx.x"),
        ('T.thread_binding(0, 8, "blockIdx.y")', "thread_binding", 0, 8, "blockIdx.y"),
        ("T.serial(T.int64(8))", "serial", 0, 8, None),
    ],
)
def test_kind_and_bounds_of_a_loop(header: str, kind: str, low: int, extent: int, tag: str | None) -> None:
    loop = only(function(f"for i in {header}:\n    A[i, 0] = T.float32(1)"), For)
    assert (loop.kind, loop.min.value, loop.extent.value, loop.thread_tag) == (kind, low, extent, tag)
    assert loop.loop_var.dtype == loop.extent.dtype


def test_annotations_of_a_loop_are_kept() -> None:
    loop = only(
        function('for i in T.serial(8, annotations={"n": 1, "s": "x", "l": [1, 2], "t": True}):\n    A[i, 0] = 1.0'),
        For,
    )
    found = dict(loop.annotations)
    assert isinstance(found["n"], IntImm) and found["n"].dtype == "int32"
    assert isinstance(found["s"], StringImm) and found["s"].value == "x"
    assert len(found["l"]) == 2  # pyright: ignore[reportArgumentType]
    assert isinstance(found["t"], IntImm) and found["t"].dtype == "bool"


def test_explicit_axes_have_domain_type_and_binding() -> None:
    text = (
        'for i, k in T.grid(16, 8):\n    with T.sblock("b"):\n        v = T.axis.spatial((2, 18), i + 2)\n'
        "        r = T.axis.R(8, k)\n        s = T.axis.S(8, 0)\n        A[v, s] = A[v, r]"
    )
    realize = [s for s in walk_stmts(function(text).body) if isinstance(s, BlockRealize)][-1]
    v, r, s = realize.block.iter_vars
    assert (expr_text(v.dom.min), expr_text(v.dom.extent), v.iter_type) == ("2", "16", "spatial")
    assert (r.iter_type, s.iter_type) == ("reduce", "spatial")
    assert [expr_text(e) for e in realize.iter_values] == ["i + 2", "k", "0"]


def test_a_predicate_belongs_to_the_realize() -> None:
    assert expr_text(block("T.where(i * 8 + j < 100)").predicate) == "i * 8 + j < 100"


def test_block_attributes_are_annotations() -> None:
    realize = block('T.sblock_attr({"double_buffer_scope": 0})')
    assert [name for name, _ in realize.block.annotations] == ["double_buffer_scope"]


def test_a_buffer_in_a_block_belongs_to_the_block() -> None:
    realize = block('S = T.sblock_alloc_buffer((4, 4), "int8", scope="local", strides=(8, 1), align=16)')
    (buffer,) = realize.block.alloc_buffers
    assert (buffer.name, buffer.dtype, buffer.scope, buffer.data_alignment) == ("S", "int8", "local", 16)
    assert [expr_text(s) for s in buffer.strides] == ["8", "1"]


def test_axis_separators_belong_to_the_buffer() -> None:
    (buffer,) = block('S = T.sblock_alloc_buffer((2, 64), scope="local.vtcm", axis_separators=[1])').block.alloc_buffers
    assert buffer.axis_separators == (1,)


def test_a_matched_region_belongs_to_the_block() -> None:
    realize = block('M = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)', "M[vj] = T.float32(1)")
    (match,) = realize.block.match_buffers
    assert expr_text(match.source) == "A[vi, 0:8]"
    assert isinstance(match.buffer.elem_offset, Var)


def test_missing_regions_are_inferred() -> None:
    realize = block("", 'A[vi, vj] = T.Cast("float32", B[vi, 7 - vj]) + A[vi, 0]')
    assert [expr_text(r) for r in realize.block.reads] == ["B[vi, 7 - vj]", "A[vi, 0]"]
    assert [expr_text(w) for w in realize.block.writes] == ["A[vi, vj]"]


def test_init_without_regions_does_not_read_what_it_writes() -> None:
    program = parse(CLASSIC["matmul"]).program
    realize = [s for s in walk_stmts(program) if isinstance(s, BlockRealize)][-1]
    assert [expr_text(r) for r in realize.block.reads] == ["A[vi, vk]", "B[vk, vj]"]
    assert realize.block.init is not None


def test_a_function_without_blocks_has_no_root() -> None:
    assert isinstance(function("for i in range(4):\n    A[i, 0] = T.float32(1)").body, For)


def test_alloc_buffer_scopes_over_its_followers() -> None:
    func = function('L = T.alloc_buffer((8,), "int8", scope="local")\nfor i in range(8):\n    L[i] = T.int8(0)')
    assert isinstance(func.body, Allocate)
    assert (func.body.buffers[0].scope, func.body.buffers[0].dtype) == ("local", "int8")


def test_bindings_scope_over_their_followers() -> None:
    func = function(
        "for i in range(4):\n    x: T.let = i * 2\n    y: T.let[T.int32] = x + 1\n    B[y, 0] = x\n    B[x, 1] = y"
    )
    lets = [s for s in walk_stmts(func.body) if isinstance(s, LetStmt)]
    assert [let.var.name for let in lets] == ["x", "y"]
    assert lets[0].body is lets[1] and isinstance(lets[1].body, SeqStmt)


def test_both_sides_of_a_branch() -> None:
    branch = only(
        function("for i in range(4):\n    if i < 2:\n        A[i, 0] = 1.0\n    else:\n        A[i, 0] = 2.0"),
        IfThenElse,
    )
    assert expr_text(branch.condition) == "i < 2" and branch.else_case is not None


def test_calls_for_effect_are_kept_unchanged() -> None:
    func = function('T.evaluate(1 + T.max(2, 3))\nT.call_extern("int32", "f", 1)\nT.tvm_storage_sync("shared")')
    evaluated = [s.value for s in walk_stmts(func.body) if isinstance(s, Evaluate)]
    assert [v.op for v in evaluated if isinstance(v, Call)] == ["call_extern", "tvm_storage_sync"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-A[i, 0]", "A[i, 0] * T.float32(-1.0)"),
        ("A[i, 0] + B[i, 0]", 'A[i, 0] + T.Cast("float32", B[i, 0])'),
        ("A[i, 0] / 3", "A[i, 0] / T.float32(3.0)"),
        ("B[i, 0] // 3 % 2", 'T.Cast("float32", B[i, 0] // 3 % 2)'),
        ("T.truncdiv(B[i, 0], 3)", 'T.Cast("float32", T.Div(B[i, 0], 3))'),
        ("T.Select(i == 1 and not i > 3, A[i, 0], 0.5)", "T.Select(i == 1 and not i > 3, A[i, 0], T.float32(0.5))"),
        ("T.if_then_else(0 < i, A[i - 1, 0], T.float32(0))", "T.if_then_else(0 < i, A[i - 1, 0], T.float32(0.0))"),
        ("T.exp(T.sqrt(T.max(A[i, 0], T.min(A[i, 1], 2.0))))", "T.exp(T.sqrt(T.max(A[i, 0], T.min(A[i, 1], T.float32(2.0)))))"),
        ("T.float32(\"inf\")", 'T.float32("inf")'),
        ("T.min_value(\"int8\")", "T.float32(-128.0)"),
        ("T.cast(B[i, 0], \"float32\")", 'T.Cast("float32", B[i, 0])'),
        ("B[i, 0].astype(\"float32\")", 'T.Cast("float32", B[i, 0])'),
        ("T.float32(B[i, 0])", 'T.Cast("float32", B[i, 0])'),
        ("B[i, 0] & 3 | 1 << i", 'T.Cast("float32", B[i, 0] & 3 | 1 << i)'),
        ("T.pow(A[i, 0], 2.0)", "T.pow(A[i, 0], T.float32(2.0))"),
        ("A[i, 0] + 0", "A[i, 0]"),
    ],
)  # fmt: skip
def test_an_expression_has_tvms_types(text: str, expected: str) -> None:
    assert expr_text(value(text)) == expected


def test_a_number_takes_the_type_of_the_buffer() -> None:
    assert isinstance(value("1"), FloatImm) and isinstance(value("B[i, 0]"), Cast)
    assert isinstance(value("A[i, 0] * 2"), Mul)


def test_symbolic_sizes_share_variables() -> None:
    func = function(
        'm = T.int64()\nX = T.match_buffer(x, (m, n), "float32")\nY = T.match_buffer(y, (n, m))\nfor i in range(n):\n    X[0, i] = Y[i, 0]',
        "x: T.handle, y: T.handle, n: T.int64",
    )
    x, y = func.buffers
    assert x.shape == (y.shape[1], y.shape[0])
    assert x.shape[1] is func.params[2] and x.shape[0].dtype == "int64"


def test_quoted_sizes_are_new_variables() -> None:
    func = function(
        "m = T.int64()\nfor i in range(m):\n    X[i, 0] = Y[0]",
        'X: T.Buffer(("m", 4), "float32"), Y: T.Buffer(("m",), "float32")',
    )
    loop = only(func, For)
    assert loop.extent is func.buffers[0].shape[0] is func.buffers[1].shape[0]
    assert loop.extent.dtype == "int64"


def test_nodes_are_found_at_their_positions() -> None:
    text = CURRENT["matmul_relu"]
    parsed = parse(text, "m.py")
    lines = text.splitlines()
    for realize in (s for s in walk_stmts(parsed.program) if isinstance(s, BlockRealize) and s.block.iter_vars):
        place = parsed.positions[realize.block][0]
        assert (
            lines[place.line - 1][place.column - 1 : place.end_column - 1] == f'with T.sblock("{realize.block.name}"):'
        )
        assert place.file == "m.py"
    for store in (s for s in walk_stmts(parsed.program) if isinstance(s, BufferStore)):
        place = parsed.positions[store][0]
        assert lines[place.line - 1][place.column - 1 : place.end_column - 1].startswith(f"{store.buffer.name}[")
        assert len(parsed.positions[store.buffer]) > 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["A", "Ä"])
def test_columns_of_a_long_line_count_characters(name: str) -> None:
    count = 6_000
    regions = ", ".join([f"{name}[{n % 4}]" for n in range(count)])
    text = (
        HEADER
        + f"""def f({name}: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            T.reads({regions})
            T.writes(B[vi])
            B[vi] = {name}[vi]
"""
    )
    parsed = parse(text)
    (line,) = (n for n, words in enumerate(text.splitlines(), 1) if "T.reads" in words)
    loads = [
        p for node, places in parsed.positions.items() if isinstance(node, BufferLoad) for p in places if p.line == line
    ]
    start = len("            T.reads(") + 1
    assert [(p.column, p.end_column) for p in loads] == [(start + 6 * n, start + 6 * n + 4) for n in range(count)]


def test_types_of_old_printers_are_read_and_checked() -> None:
    text = (
        "from tvm.script import tir as T\n"
        "@T.prim_func\n"
        "def f(a: T.handle) -> None:\n"
        "    A = T.match_buffer(a, [8])\n"
        "    for i in range(8):\n"
        '        with T.block("A"):\n'
        "            vi = T.axis.S(8, i)\n"
        '            A[vi] = T.if_then_else(vi < 3, T.exp(A[vi], dtype="float32"), T.float32(0), dtype="float32")\n'
    )
    plain = text.replace(', dtype="float32")', ")")
    assert structural_equal(parse(text).program, parse(plain).program)
    with pytest.raises(ParseError) as caught:
        parse(text.replace('T.exp(A[vi], dtype="float32")', 'T.exp(A[vi], dtype="float16")'))
    assert caught.value.refusal.place is not None and caught.value.refusal.place.line == 8


NAMES_OF_LOOPS = {
    "one name": ("iters", "T.axis.remap('SSS', iters)", "iters_0, iters_1, iters_2"),
    "the rest": ("n, *rest", "T.axis.remap('SSS', [n, *rest])", "n, rest_0, rest_1"),
}


@pytest.mark.parametrize("name", NAMES_OF_LOOPS)
def test_name_of_several_loops_is_a_tuple(name: str) -> None:
    target, bindings, printed = NAMES_OF_LOOPS[name]
    text = (
        "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"
        "def f(A: T.Buffer((8, 4, 2), 'float'), B: T.Buffer((8, 4, 2), 'float32')):\n"
        f"    for {target} in T.grid(8, 4, 2):\n        with T.sblock('B'):\n            i, j, k = {bindings}\n"
        "            B[i, j, k] = A[i, j, k]\n"
    )
    script = to_script(parse(text).program)
    assert f"for {printed} in T.grid(8, 4, 2):" in script
    assert 'A: T.Buffer((8, 4, 2), "float32")' in script
