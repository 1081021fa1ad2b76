"""Programs that functions and methods of a text make: as called, or with values for their parameters."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import Snippet, programs_in, read_nested_program, read_pasted
from tilewright.engine.ir import IntImm, PrimFunc, structural_equal
from tilewright.engine.script import ParseError, to_script

HEAD = "import tvm\nfrom tvm.script import tir as T\n\n"
PROGRAM = """\
@T.prim_func
def gemv(a: T.Buffer((rows, cols), {dtype}), y: T.Buffer((rows,), {dtype})):
    for i in range(rows):
        with T.block("y"):
            vi = T.axis.spatial(rows, i)
            y[vi] = a[vi, 0]
"""


def made_by(signature: str, before: str = "", dtype: str = '"float32"') -> str:
    """Return a function that makes the program."""
    lines = [*before.splitlines(), *PROGRAM.format(dtype=dtype).splitlines(), "return gemv"]
    return f"def make({signature}):\n" + "\n".join(f"    {line}" for line in lines) + "\n\n\n"


def shape(program: object) -> tuple[object, ...]:
    assert isinstance(program, PrimFunc)
    extents = [e.value if isinstance(e, IntImm) else e for e in program.buffers[0].shape]
    return (*extents, program.buffers[0].dtype)


def opened(text: str, **given: int | str) -> Snippet:
    (program,) = programs_in(text).programs
    return read_nested_program(program, "", given)[0]


CALLED = {
    "with arguments": "make(64, 128)",
    "with keywords": "make(cols=128, rows=64)",
    "with a dict": "make(**{'rows': 64, 'cols': 128})",
    "through another function": "(lambda n: make(n, 2 * n))(64)",
    "with a default": "make(64)",
}


@pytest.mark.parametrize("name", CALLED)
def test_called_function_gives_its_program(name: str) -> None:
    text = f"{HEAD}{made_by('rows, cols=128')}sch = tvm.tir.Schedule({CALLED[name]})\n"
    assert shape(read_pasted(text).program) == (64, 128, "float32")


def test_method_gives_the_program_of_its_object() -> None:
    method = made_by("self, cols", "rows = self.rows").replace("\n", "\n    ").rstrip()
    text = f"{HEAD}@dataclass\nclass Maker:\n    rows: int = 8\n\n    {method}\n\n\n"
    imported = f"from dataclasses import dataclass\n{text}"
    called = read_pasted(f"{imported}sch = tvm.tir.Schedule(Maker(rows=4).make(2))\n")
    assert shape(called.program) == (4, 2, "float32")
    assert shape(opened(imported, cols=16).program) == (8, 16, "float32")


def test_closure_gives_the_program_with_the_values_around_it() -> None:
    inner = made_by("cols").replace("\n", "\n    ").rstrip()
    text = f"{HEAD}def outer(n):\n    rows = n // 2\n\n    {inner}\n\n    return make\n\n\n"
    assert shape(read_pasted(f"{text}sch = tvm.tir.Schedule(outer(32)(4))\n").program) == (16, 4, "float32")
    assert shape(opened(text, n=8, cols=4).program) == (4, 4, "float32")


def test_uncalled_function_is_listed_with_what_it_needs() -> None:
    text = HEAD + made_by(
        'rows: int, cols, dtype, storage_scope="global", flag: bool = False, tile=(4, 4)', "", "dtype"
    )
    (program,) = programs_in(text).programs
    assert program.label == (
        "make.gemv with rows (size), cols (size), dtype (dtype), storage_scope='global', flag=False, tile=(4, 4)"
    )
    with pytest.raises(ParseError, match=r"needs values for rows \(size\), cols \(size\), dtype \(dtype\)") as caught:
        opened(text)
    assert caught.value.refusal.fix == ("--size rows=128 --size cols=128 --size dtype=float16",)
    found = opened(text, rows=2, cols=3, dtype="float16")
    assert shape(found.program) == (2, 3, "float16")
    assert "rows=2, cols=3, dtype=float16" in found.notes[-1].text


def test_values_of_a_call_that_is_not_read_are_proposed() -> None:
    text = f"{HEAD}{made_by('rows, cols')}def test_make():\n    run(make(32, cols=16))\n"
    assert programs_in(text).programs[0].label == "make.gemv with rows=32, cols=16"
    assert shape(opened(text).program) == (32, 16, "float32")


@pytest.mark.parametrize(
    ("before", "kind", "value"),
    [("rows, cols = x.shape", "tensor", "4x8xfloat16"), ("rows, cols = x[0], x[1]", "list", "4x8")],
)
def test_kind_of_a_parameter_is_what_the_function_uses_it_as(before: str, kind: str, value: str) -> None:
    text = HEAD + made_by("x", before)
    assert f"x ({kind})" in programs_in(text).programs[0].label
    assert shape(opened(text, x=value).program) == (4, 8, "float32")


def test_function_that_does_not_reach_its_program_is_refused() -> None:
    text = HEAD + made_by("rows, cols", "if rows > 4:\n    return None")
    with pytest.raises(ParseError, match="do not reach it with these values"):
        opened(text, rows=8, cols=1)
    assert shape(opened(text, rows=2, cols=1).program) == (2, 1, "float32")


def test_condition_that_is_not_known_is_refused_at_its_line() -> None:
    text = HEAD + made_by("rows, cols", "if tvm.cuda().exist:\n    rows = 4")
    with pytest.raises(ParseError, match="the value of rows is not known for certain: line 5 may change it"):
        opened(text, rows=8, cols=1)


HELPER = """\
def local(dtype="float32"):
    return T.alloc_buffer((1,), dtype, scope="local")


def placed(i, j):
    return j, i


@T.prim_func
def copy(a: T.Buffer((4, 8), "float32"), b: T.Buffer((8, 4), "float32")):
    s = local()
    for i, j in T.grid(4, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            x, y = T.meta_var(placed(vi, vj))
            b[x, y] = a[vi, vj] + s[0]
"""


def test_program_uses_helpers_of_the_text() -> None:
    func = read_pasted(HEAD + HELPER + "sch = tvm.tir.Schedule(copy)\n").program
    assert isinstance(func, PrimFunc)
    written = read_pasted(
        HEAD + HELPER.replace("s = local()", 's = T.alloc_buffer((1,), "float32", scope="local")')
        .replace("            x, y = T.meta_var(placed(vi, vj))\n", "").replace("b[x, y]", "b[vj, vi]")
        + "sch = tvm.tir.Schedule(copy)\n"
    ).program  # fmt: skip
    assert structural_equal(func, written)


ALLOCATING = """\
import math


def one(dtype):
    return T.alloc_buffer((1,), dtype, scope="local")


def pair():
    return one("float32"), one("int32")


def tiles(rows, dtype):
    shape = (math.ceil(rows / 3),)
    first = T.alloc_buffer(shape, dtype, scope="local")
    second = T.alloc_buffer((rows, 2), dtype, scope="shared")
    return second, first


@T.prim_func
def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    with T.block("root"):
        x, y = pair()
        tall, first = tiles(4, "float32")
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                b[vi] = a[vi] + x[0] + T.cast(y[0], "float32") + tall[vi, 1] + first[vi // 2]
"""


def test_buffers_that_helpers_of_the_text_declare_have_the_callers_names() -> None:
    func = read_pasted(HEAD + ALLOCATING + "sch = tvm.tir.Schedule(copy)\n").program
    written = ALLOCATING.replace(
        "x, y = pair()",
        'x = T.alloc_buffer((1,), "float32", scope="local")\n        y = T.alloc_buffer((1,), "int32", scope="local")',
    ).replace(
        'tall, first = tiles(4, "float32")',
        'first = T.alloc_buffer((2,), "float32", scope="local")\n        tall = T.alloc_buffer((4, 2), "float32", scope="shared")',
    )
    assert to_script(func) == to_script(read_pasted(HEAD + written + "sch = tvm.tir.Schedule(copy)\n").program)


def test_each_program_of_plain_classes_is_one_of_the_text() -> None:
    program = """    @T.prim_func
    def {}(a: T.Buffer((N,), "float32")):
        for i in range(N):
            with T.block("b"):
                vi = T.axis.spatial(N, i)
                a[vi] = T.float32(2)
"""
    text = (
        "from tvm.script import tir as T\nN = 4\nN *= 2\nclass Fused:\n"
        + program.format("before")
        + program.format("after")
    )
    other = "class Split(object):\n" + program.format("before")
    found = programs_in(text + other).programs
    assert [p.label for p in found] == ["Fused.before", "Fused.after", "Split.before"]
    assert [shape(read_nested_program(one, "", {})[0].program) for one in found] == [(8, "float32")] * 3
    assert not programs_in("from tvm.script import tir as T\nN = 8\n" + other).programs  # read as a whole
