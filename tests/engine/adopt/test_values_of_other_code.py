"""Values that code of other packages computes: asked for by their text where they decide something, and given by it."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import MissingValuesError, Snippet, programs_in, read_program, value_name
from tilewright.engine.ir import PrimFunc, TilewrightError
from tilewright.engine.script import to_script

HEAD = "import os\nimport tvm\nfrom tvm import te, tir\nfrom tvm.script import tir as T\nfrom lib import limit_of, mode_of\n\n"
ROWS = """\
@T.prim_func
def rows(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + 1.0
"""
INDENTED = "".join(f"    {line}\n" for line in ROWS.splitlines())


def opened(text: str, number: int = 1, **given: int | str) -> Snippet:
    return read_program(programs_in(HEAD + text).programs[number - 1], sizes=given)


def asked(text: str, number: int = 1, **given: int | str) -> list[tuple[str, str, str]]:
    """Return the values that a program asks for: name, kind, example."""
    with pytest.raises(MissingValuesError) as caught:
        opened(text, number, **given)
    return [(need.name, need.kind, need.example) for need in caught.value.needs]


def size_of(found: Snippet) -> str:
    assert isinstance(found.program, PrimFunc)
    return str(getattr(found.program.buffers[0].shape[0], "value", None))


OTHER = {
    "a call that decides a branch": (
        "def make(n):\n    if mode_of(n) == \"wide\":\n        n = n * 2\n" + INDENTED + "    return rows\n",
        {"n": 8}, 'mode_of(n)', ("dtype", "wide"), "wide", "16",
    ),
    "an item of the environment": (
        "def make(k):\n    n = int(os.environ[\"ROWS\"]) * k\n" + INDENTED + "    return rows\n",
        {"k": 2}, 'os.environ["ROWS"]', ("size", "128"), 8, "16",
    ),
    "a flag that a call gives": (
        "def make(n):\n    if not mode_of(n, exact=True):\n        n = 4\n" + INDENTED + "    return rows\n",
        {"n": 8}, "mode_of(n,exact=True)", ("flag", "1"), 0, "4",
    ),
    "the first of the numbers that code compares with": (
        "def make(n):\n    if limit_of(n) == 24:\n        n = 12\n" + INDENTED + "    return rows\n",
        {"n": 8}, "limit_of(n)", ("size", "24"), 24, "12",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER)
def test_value_of_other_code_is_asked_for_by_its_text(name: str) -> None:
    text, given, hole, (kind, example), value, size = OTHER[name]
    assert asked(text, **given) == [(hole, kind, example)]
    assert size_of(opened(text, **given, **{hole: value})) == size


def test_call_with_other_arguments_is_another_value() -> None:
    text = (
        "def make(k):\n    n = 0\n    for i in range(3):\n        n += int(limit_of(i))\n"
        + INDENTED
        + "    return rows\n"
    )
    with pytest.raises(TilewrightError, match="not known for certain"):
        opened(text, k=1, **{"limit_of(i)": 4})


def test_value_that_depends_on_the_program_is_not_asked_for() -> None:
    text = 'def f(x: te.Tensor):\n    return te.compute((8,), lambda i: limit_of(x[i]), name="y")\n'
    with pytest.raises(TilewrightError, match="not known for certain"):
        opened(text, x="8xfloat32")


@pytest.mark.parametrize(("kind", "lanes"), [("cuda", 1024), ("metal", 256), ("opencl", 256), ("webgpu", 256)])
def test_target_is_given_by_its_kind_with_the_attributes_that_tvm_has_for_it(kind: str, lanes: int) -> None:
    text = "def make(target):\n    n = int(target.max_num_threads) * 2\n" + INDENTED + "    return rows\n"
    assert asked(text) == [("target", "target", "cuda")]
    found = opened(text, target=kind)
    assert size_of(found) == str(2 * lanes)
    assert f"max_num_threads={lanes}, as TVM has it for the target {kind}" in [note.text for note in found.notes]


def test_example_of_a_target_is_a_kind_that_the_code_knows() -> None:
    text = 'def make(n, target):\n    if target.kind.name == "llvm":\n        n = 4\n' + INDENTED + "    return rows\n"
    assert asked(text, n=8) == [("target", "target", "llvm")]
    assert [size_of(opened(text, n=8, target=kind)) for kind in ("llvm", "cuda")] == ["4", "8"]


def test_target_that_decides_nothing_is_not_asked_for() -> None:
    text = "def make(n, target):\n" + INDENTED + "    return tvm.build(rows, target)\n"
    assert size_of(opened(text, n=8)) == "8"


def test_undefined_name_that_is_no_misspelling_is_a_value() -> None:
    assert asked(ROWS.replace("n,", "rows_of_all,").replace("(n)", "(rows_of_all)")) == [("rows_of_all", "size", "128")]
    text = "import numpy as np\n" + ROWS
    assert asked(text) == [("n", "size", "128")]
    assert size_of(opened(text, n=8)) == "8"


def test_values_that_reach_a_program_are_asked_for() -> None:
    text = (
        'def make(n=8, wide=False, mode="a"):\n    if wide and mode == "b":\n'
        + "".join(f"    {line}\n" for line in INDENTED.splitlines())
        + "        return rows\n"
    )
    assert asked(text) == [("wide", "flag", "1"), ("mode", "dtype", "b")]
    assert size_of(opened(text, wide=1, mode="b")) == "8"


def test_dict_that_a_function_is_given_has_the_entries_that_it_uses() -> None:
    text = (
        'def make(n, config: dict[str, object]):\n    if "scale" in config and config["kind"] == "long":\n'
        '        n = n * config["scale"]\n' + INDENTED + "    return rows\n"
    )
    assert asked(text) == [("n", "size", "128"), ("config.kind", "dtype", "long"), ("config.scale", "size", "128")]
    assert size_of(opened(text, n=8, **{"config.kind": "long", "config.scale": 4})) == "32"


COPY = """\
@T.prim_func
def copy(A: T.Buffer((4, 6, 8), "float32"), B: T.Buffer((4, 6, 8), "float32")):
    for i in range(4):
        for s in T.grid(6, 8):
            with T.block("B"):
                {remap}
                {store}
"""


def test_iterators_of_one_name_and_elements_by_functions() -> None:
    short = COPY.format(
        remap='vi, *vs = T.axis.remap("S" * 3, [i, *s])',
        store="T.buffer_store(B, T.BufferLoad(A, [vi, *vs]), [vi, *vs])",
    )
    written = COPY.format(
        remap='vi, vs_0, vs_1 = T.axis.remap("SSS", [i, *s])', store="B[vi, vs_0, vs_1] = A[vi, vs_0, vs_1]"
    )
    assert to_script(opened(short).program) == to_script(opened(written).program)


def test_value_names_are_read_as_people_write_them() -> None:
    assert value_name("config.heads") == "config.heads"
    assert value_name("os.environ[ 'ROWS' ]") == 'os.environ["ROWS"]'
    assert value_name("threads_of( target, 4 )") == "threads_of(target,4)"
    assert [value_name(text) for text in ("", "a b", "f(", "1", "lambda: 3", "a+b")] == [""] * 6


def test_given_values_are_read_instead_of_those_of_a_call_in_the_text() -> None:
    text = "def make(n):\n" + INDENTED + "    return rows\n\nprogram = make(16)\n"
    assert [size_of(opened(text)), size_of(opened(text, n=8))] == ["16", "8"]


def test_what_follows_from_a_known_value_is_not_asked_for() -> None:
    text = (
        "from tvm.runtime import DataType\ndef make(dtype: str):\n    n = limit_of(DataType(dtype).bits)\n"
        + INDENTED
        + "    return rows\n"
    )
    assert asked(text, dtype="float16") == [("n", "size", "128")]
    wide = (
        "from tvm.runtime import DataType, DataTypeCode\ndef make(dtype: str):\n    n = DataType(dtype).bits\n"
        "    if DataType(dtype).type_code == DataTypeCode.UINT:\n        n = n * 2\n" + INDENTED + "    return rows\n"
    )
    assert [size_of(opened(wide, dtype=dtype)) for dtype in ("float16", "uint8")] == ["16", "16"]


def test_function_of_another_language_is_refused_with_its_place() -> None:
    text = (
        "def test(n):\n    @te.hybrid.script\n    def compute(a):\n"
        "        c = output_tensor((n,), 'int32')\n        return c\n    return compute\n"
    )
    with pytest.raises(TilewrightError) as caught:
        opened(text, n=8)
    assert caught.value.code != "internal-error"


STRATEGY = """\
def dense(ctx, n):
    A = te.placeholder((n, n), name="A")
    def combine(shape, part):
        X = te.placeholder(part, name="X")
        return te.compute(shape, lambda i, j, k: X[i, j, k] * 2.0, name="Y")
    ctx.set_info({"function": combine})
    return te.compute((n, n), lambda i, j: A[i, j] + 1.0, name="B")
"""


def test_object_that_only_has_methods_is_not_asked_for() -> None:
    first, inner = programs_in(HEAD + STRATEGY).programs
    assert first.label == "dense with n (size)"
    assert size_of(opened(STRATEGY, n=8)) == "8"
    assert inner.nested is not None
    assert [(need.name, need.example) for need in inner.nested.needs] == [("shape", "16x16x16"), ("part", "16x16x16")]


def test_function_in_a_function_is_reached_without_the_values_of_lines_that_it_does_not_need() -> None:
    assert size_of(opened(STRATEGY, 2, shape="4x4x4", part="4x4x4")) == "4"


def test_object_whose_attribute_is_a_value_is_asked_for() -> None:
    text = STRATEGY.replace("ctx.set_info(", "n = n * ctx.scale\n    ctx.set_info(")
    assert [need for need, *_ in asked(text, n=8)] == ["ctx.scale"]


def test_method_of_a_test_class_is_not_asked_for() -> None:
    text = (
        "class TestAdd(Case):\n    def test_add(self):\n        A = te.placeholder((self.rows, 4), name='A')\n"
        "        B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name='B')\n        self.assertEqual(B.op.body, 3)\n"
        "        return B\n"
    )
    (program,) = programs_in(HEAD + text).programs
    assert program.label == "TestAdd.test_add with self.rows (size)"
    assert size_of(opened(text, **{"self.rows": 8})) == "8"


def test_parameter_of_a_schedule_whose_definition_depends_on_the_target_asks_for_the_target() -> None:
    text = (
        "@tvm.autotvm.template('add')\ndef add(n):\n    A = te.placeholder((n,), name='A')\n"
        "    B = te.compute((n,), lambda i: A[i] + 1.0, name='B')\n    s = te.create_schedule(B.op)\n"
        "    cfg = tvm.autotvm.get_config()\n"
        "    target = tvm.target.Target.current()\n    if target.kind.name == 'rocm':\n        cfg.define_knob('wide', [4])\n"
        "    else:\n        cfg.define_knob('wide', [2, 8])\n"
        "    s[B].split(B.op.axis[0], cfg['wide'].val)\n    return s, [A, B]\n"
    )
    assert asked(text, n=64) == [("target", "target", "rocm")]
    factors = [opened(text, n=64, target=t).schedule.trace.steps[-1].argument("factors") for t in ("rocm", "cuda")]
    assert factors == [(None, 4), (None, 2)]
    with pytest.raises(TilewrightError, match="the template does not define narrow"):
        opened(text.replace("cfg['wide'].val", "cfg['narrow'].val"), n=64)


def test_environment_of_vta_has_its_instruction() -> None:
    text = (
        "def add(env):\n    A = te.placeholder((8, 8), name='A', dtype=env.inp_dtype)\n"
        "    B = te.compute((8, 8), lambda i, j: A[i, j] + A[i, j], name='B')\n    s = te.create_schedule(B.op)\n"
        "    s[B].pragma(B.op.axis[0], env.mock.dma_copy)\n    s[B].tensorize(B.op.axis[1], env.gemm)\n    return s, [A, B]\n"
    )
    found = opened(text)
    assert any("tensorize makes a block" in note.text for note in found.notes)
    assert "pragma_skip_dma_copy" in to_script(found.schedule.mod)


def test_schedule_of_what_another_package_computes_names_its_line_and_asks_for_nothing() -> None:
    text = (
        "from blocks import conv\n\ndef tiled(n):\n    X, Y = conv(n)\n    s = te.create_schedule(Y.op)\n"
        "    s[Y].parallel(Y.op.axis[0])\n    return s, [X, Y]\n"
    )
    with pytest.raises(TilewrightError, match="the computation of this schedule is not in the text: line 11 makes it"):
        opened(text, n=8)
