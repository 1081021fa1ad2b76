"""Programs that functions, methods and lambdas of a text compute: their parameters, and values that the text does not give."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import PostProgram, Snippet, programs_in, read_nested_program, read_pasted
from tilewright.engine.ir import IntImm, PrimFunc
from tilewright.engine.script import ParseError, to_script

HEAD = "import tvm\nfrom tvm import te, tir, DataType\n\n"


def programs(text: str) -> tuple[PostProgram, ...]:
    return programs_in(HEAD + text).programs


def opened(text: str, number: int = 1, **given: int | str) -> Snippet:
    return read_nested_program(programs(text)[number - 1], "", {k.replace("__", "."): v for k, v in given.items()})[0]


def shapes(found: Snippet) -> list[tuple[object, ...]]:
    """Return the shapes and types of the buffers of a program."""
    assert isinstance(found.program, PrimFunc)
    return [(*(e.value if isinstance(e, IntImm) else str(e) for e in b.shape), b.dtype) for b in found.program.buffers]


SCALE = """\
def scale(x: te.Tensor, by):
    n, m = x.shape
    return te.compute((n, m), lambda i, j: x[i, j] * tir.const(by, x.dtype), name="scaled")
"""


def test_function_that_computes_is_listed_with_its_tensors() -> None:
    (program,) = programs(SCALE)
    assert program.label == "scale with x (tensor), by (size)"
    with pytest.raises(ParseError, match=r"needs values for x \(tensor\), by \(size\)") as caught:
        opened(SCALE)
    assert caught.value.refusal.fix == ("--size x=16x16xfloat32 --size by=128",)
    assert shapes(opened(SCALE, x="4x8xfloat16", by=2)) == [(4, 8, "float16")] * 2


def test_sizes_without_a_value_stay_symbolic() -> None:
    text = (
        "def add(n):\n    A = te.placeholder((n,), name='A')\n    B = te.compute((n,), lambda i: A[i] + 1, name='B')\n"
        "    return [A, B]\n"
    )
    found = opened(text)
    assert (
        isinstance(found.program, PrimFunc) and found.program.buffers[0].shape[0] is found.program.buffers[1].shape[0]
    )
    assert shapes(opened(text, n=8)) == [(8, "float32")] * 2


def test_size_that_decides_the_program_is_asked_for() -> None:
    text = (
        "def add(n):\n    A = te.placeholder([4] * n, name='A')\n    return te.compute(A.shape, lambda *i: A(*i) + 1)\n"
    )
    with pytest.raises(ParseError, match=r"needs values for n \(size\): a list or string is repeated by an integer"):
        opened(text)
    assert shapes(opened(text, n=3)) == [(4, 4, 4, "float32")] * 2


FORWARD = """\
class Layer(Module):
    def __init__(self, config):
        super().__init__()
        self.width = config.rope.width
        self.post_init()

    def forward(self, x, other):
        if not known(other):
            return x
        if other.ready:
            x = op.reshape(x)
        limit = get_limit(other)
        return op.tensor_expr_op(lambda y: te.compute((self.width, y.shape[1]), lambda i, j: y[i, j], name="take"), "take", [x])
"""


def test_lambda_is_read_with_the_attributes_of_its_object() -> None:
    (program,) = programs(FORWARD)
    assert program.name == "Layer.forward.take"
    assert program.label == "Layer.forward.take with config.rope.width (size), y (tensor)"


def test_attribute_that_other_code_may_change_is_asked_for() -> None:
    with pytest.raises(ParseError, match=r"needs values for self.width \(size\)"):
        opened(FORWARD, config__rope__width=4, y="8x8xint8")
    assert shapes(opened(FORWARD, config__rope__width=4, y="8x8xint8", self__width=4)) == [
        (8, 8, "int8"),
        (4, 8, "int8"),
    ]


LIMITED = """\
import other
from lib import backends, make_other
def make(n, target):
    limit = min(1024, other.max_threads(target))
    for backend in backends:
        if backend.has(target):
            return None
    if target.kind == "cuda":
        return make_other(n)
    A = te.placeholder((n, limit), name="A")
    return te.create_prim_func([A, te.compute(A.shape, lambda i, j: A[i, j] * 2, name="B")])
"""


def test_variable_that_is_not_known_is_asked_for_by_name() -> None:
    text = LIMITED.replace(
        "    for backend in backends:\n        if backend.has(target):\n            return None\n", ""
    )
    with pytest.raises(ParseError, match=r"needs values for other.max_threads\(target\) \(size\): .* line 7"):
        opened(text, n=8, target__kind="llvm")
    assert shapes(opened(text, n=8, target__kind="llvm", **{"other.max_threads(target)": 64}))[0] == (8, 64, "float32")
    assert shapes(opened(text, n=8, target__kind="llvm", limit=64)) == [(8, 64, "float32")] * 2


def test_variable_of_a_function_of_axes_is_not_asked_for() -> None:
    text = (
        "from lib import mapped\ndef f(x: te.Tensor):\n    def of(i, j):\n        k = mapped(i, j)\n        return x[k, j]\n"
        "    return te.compute(x.shape, of, name='y')\n"
    )
    for given in ({}, {"k": 3}):
        with pytest.raises(ParseError, match=r"the value of k is not known|this value is not known") as caught:
            opened(text, x="4x8xint8", **given)
        assert caught.value.code != "missing-values"


def test_condition_that_is_not_known_decides_the_function_that_computes() -> None:
    with pytest.raises(ParseError, match="not part of the supported subset"):
        opened(LIMITED, n=8, target__kind="llvm", limit=64)


INNER = """\
def outer(n, target):
    if target.exists():
        return None
    size = n
    def inner(x: te.Tensor):
        return te.compute((size,), lambda i: x[i], name="y")
{after}    return inner
"""


@pytest.mark.parametrize("after", ["    size = 2 * n\n", "    size += 1\n", "    for size in range(n): pass\n"])
def test_name_that_changes_after_the_definition_is_not_known(after: str) -> None:
    with pytest.raises(ParseError, match=r"line \d+ may change it after it is used"):
        opened(INNER.format(after=after), n=8, x="16xint32")


def test_run_that_reaches_the_definition_is_read() -> None:
    assert shapes(opened(INNER.format(after=""), n=8, x="16xint32")) == [(16, "int32"), (8, "int32")]


def test_programs_of_the_same_name_are_opened_by_number() -> None:
    made = "    def f(x: te.Tensor):\n        return te.compute(({n},), lambda i: x[i])\n"
    text = f"def one(flag):\n{made.format(n=4)}\n{made.format(n=8)}"
    assert [p.name for p in programs(text)] == ["one.f", "one.f"]
    assert shapes(opened(text, 1, x="16xint8"))[1] == (4, "int8")
    assert shapes(opened(text, 2, x="16xint8"))[1] == (8, "int8")


def test_parametrized_test_has_the_first_values() -> None:
    text = (
        "import pytest\nfrom lib import run\n@pytest.mark.parametrize('n, dtype', [(4, 'int8'), (8, 'int16')])\ndef test_add(n, dtype):\n"
        "    A = te.placeholder((n,), dtype, name='A')\n    run(te.create_prim_func([A, te.compute((n,), lambda i: A[i] + A[i])]))\n"
    )
    (program,) = programs(text)
    assert program.label == "test_add with n=4, dtype='int8'"
    assert shapes(opened(text)) == [(4, "int8")] * 2
    assert shapes(opened(text, n=16)) == [(16, "int8")] * 2


def test_function_with_a_schedule_gives_its_calls() -> None:
    text = (
        "def tuned(n, tile):\n    A = te.placeholder((n,), name='A')\n    B = te.compute((n,), lambda i: A[i] + 1, name='B')\n"
        "    s = te.create_schedule(B.op)\n    s[B].split(B.op.axis[0], tile)\n    return s, [A, B]\n"
    )
    found = opened(text, n=64, tile=8)
    assert [step.method for step in found.schedule.trace.steps][-1:] == ["split"]
    block = text.replace("te.create_schedule(B.op)", "tir.Schedule(te.create_prim_func([A, B]))").replace(
        "s[B].split(B.op.axis[0], tile)", "s.split(s.get_loops(s.get_block('B'))[0], [None, tile])"
    )
    assert [step.method for step in opened(block, n=64, tile=8).schedule.trace.steps] == [
        "get_block", "get_loops", "split",
    ]  # fmt: skip


FORMS = {
    "a function of a module by name": "getattr(tir, 'exp')(x[i, j])",
    "a tuple of indices": "x[(i, j)]",
    "conditions in one call": "tir.if_then_else(tir.all(i > 0, j > 0), x[i, j], x[0, 0])",
    "converted indices": "x[tvm.runtime.convert([i, j])]",
    "a constant": "x[i, j] + tir.const(2, x.dtype)",
    "the bits of a type": "x[i, j * DataType('int4').bits // 4]",
}


@pytest.mark.parametrize("name", FORMS)
def test_form_is_read(name: str) -> None:
    text = f"def f(x: te.Tensor):\n    return te.compute(x.shape, lambda i, j: {FORMS[name]}, name='y')\n"
    assert shapes(opened(text, x="4x8xfloat32")) == [(4, 8, "float32")] * 2


def test_program_of_another_language_is_named() -> None:
    text = (
        "import triton.language as T\ndef make(n):\n    @T.prim_func\n    def main(a: T.Buffer((n,))):\n        pass\n"
    )
    assert programs(text) == ()


GIVEN_SCHEDULES = {
    "a program": "def apply(func, target):\n    sch = tir.Schedule(func)\n    return sch\n",
    "a module in a class": "class Rule:\n    def apply(self, func):\n        mod = tvm.IRModule({'main': func})\n"
    "        sch = tir.Schedule(mod)\n        return sch\n",
    "tensors": "def schedule(outs):\n    outs = [outs] if isinstance(outs, te.Tensor) else outs\n    out = outs[0]\n"
    "    return te.create_schedule(out.op)\n",
}


@pytest.mark.parametrize("name", GIVEN_SCHEDULES)
def test_schedule_of_what_a_function_is_given_is_no_program_of_the_text(name: str) -> None:
    assert not programs(GIVEN_SCHEDULES[name])


def test_module_of_relax_functions_only_is_no_program_of_the_text() -> None:
    graph = "@I.ir_module\nclass Graph:\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n        return x\n\n\n"
    head = "from tvm.script import ir as I, relax as R\n"
    (program,) = programs(head + graph + SCALE)
    assert program.name == "scale"


HELPERS = {
    "get_const_tuple": ("from tvm.topi.utils import get_const_tuple", "n, m = get_const_tuple(x.shape)"),
    "of an operator of TVM": ("from ..utils import get_const_int", "n, m = get_const_int(x.shape[0]), x.shape[1]"),
    "an analyzer": ("", "n, m = (tvm.arith.Analyzer().simplify(s + 0) for s in x.shape)"),
    "of an old version": ("", "n, m = tvm.ir_pass.Simplify(x.shape[0]), x.shape[1]"),
    "a type of TVM": ("", "n, m = x.shape[0] if isinstance(x.shape[0], tir.IntImm) else 1, x.shape[1]"),
    "a test of its device": ("", "if not tvm.runtime.enabled('cuda'):\n        return\n    n, m = x.shape"),
    "a question about a size": ("", "n, m = x.shape if not tvm.ir.is_prim_var(x.shape[0]) else (1, 1)"),
    "a comparison of sizes": ("", "n, m = (x.shape[0], x.shape[1]) if x.shape[0] == 4 and x.shape[1] > 4 else (1, 1)"),
    "a type of several": ("", "n, m = x.shape if isinstance(x.shape[0], tir.IntImm | tir.FloatImm) else (1, 1)"),
    "a type of another package": ("import numpy as np", "n, m = (1, 1) if isinstance(x, np.ndarray) else x.shape"),
    "a single condition": ("", "n, m = tir.any(x.shape[0]), x.shape[1]"),
    "a list before a shape": ("", "n, m = ([] + x.shape)[:2]"),
    "a function under a tag": (
        "def first(shape):\n    return later(shape)\n@te.tag_scope(tag='injective')\ndef later(shape):\n    return shape[0]",
        "all = [x.shape[0], x.shape[1]]\n    n, m = first(all), all[1]",
    ),
    "a reduction by a function": (
        "from functools import reduce",
        "n, m = reduce(tir.max, [x.shape[0], x.shape[0]]), x.shape[1]",
    ),
}


@pytest.mark.parametrize("name", HELPERS)
def test_helper_of_tvm_is_read(name: str) -> None:
    before, line = HELPERS[name]
    text = f"{before}\ndef scale(x):\n    {line}\n    return te.compute((n, m), lambda i, j: x[i, j] * 2, name='y')\n"
    assert shapes(opened(text, x="4x8xfloat32")) == [(4, 8, "float32"), (4, 8, "float32")]


EXAMPLES = {
    "words of a guard": (
        "    assert len(x.shape) == 3\n    if x.dtype != 'int8': raise TypeError()\n",
        "16x16x16xint8",
    ),
    "a tensor like another": ("    assert len(x.shape) == len(y.shape)\n    a, b, c = y.shape\n", "16x16x16xfloat32"),
    "brackets": ("    z = te.compute((4, 4), lambda i, j: x[i][j])\n", "16x16xfloat32"),
    "one bracket": ("    z = te.compute((4, 4), lambda i, j: x[i])\n", "16xfloat32"),
    "an index": ("    z = te.compute((4,), lambda i: y(x(i)))\n", "16xint32"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_a_tensor_fits_the_code(name: str) -> None:
    lines, example = EXAMPLES[name]
    (program, *_) = programs(f"def f(x: te.Tensor, y):\n{lines}    return te.compute((4,), lambda *i: x(*i) + y)\n")
    assert program.nested is not None
    assert program.nested.needs[0].example == example


NAMED = {
    "stride : int or a list of two ints": "1",
    "padding : int or str": "0",
    "dilations : list of ints": "1x1",
    "layout : str": "NCHW",
    "in_dtype : str or list": "float16",
}


@pytest.mark.parametrize("entry", NAMED)
def test_example_of_a_parameter_fits_its_documentation(entry: str) -> None:
    name = entry.partition(" ")[0]
    text = f"def f(x, {name}):\n    '''Compute.\n\n    {entry}\n    '''\n    return te.compute(x.shape, lambda *i: x(*i))\n"
    (program,) = programs(text)
    assert program.nested is not None
    assert program.nested.needs[1].example == NAMED[entry]


RANKS = {
    "an axis from the start": ("x.shape[3]", "16x16x16x16xfloat32"),
    "an axis from the end": ("x.shape[-3]", "16x16x16xfloat32"),
}


@pytest.mark.parametrize("name", RANKS)
def test_axes_that_code_asks_for_are_those_of_the_example(name: str) -> None:
    axis, example = RANKS[name]
    (program,) = programs(f"def f(x):\n    return te.compute(({axis},), lambda i: x(*[i] * len(x.shape)), name='y')\n")
    assert program.nested is not None
    assert program.nested.needs[0].example == example


def test_documented_axes_are_those_of_the_example() -> None:
    text = "def f(x, stride):\n    '''Scale.\n\n    x : tvm.te.Tensor\n        4-D with shape [n, c, h, w]\n    '''\n"
    (program,) = programs(f"{text}    return te.compute(x.shape, lambda *i: x(*i) * stride, name='y')\n")
    assert program.nested is not None
    assert [need.example for need in program.nested.needs] == ["16x16x16x16xfloat32", "1"]


def test_call_that_a_test_expects_to_fail_is_passed_over() -> None:
    text = (
        "import pytest\nfrom tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n        with T.block('A'):\n            vi = T.axis.spatial(8, i)\n"
        "            A[vi] = T.float32(1)\n\nsch = tir.Schedule(f)\n(i,) = sch.get_loops('A')\n"
        "with pytest.raises(tvm.tir.ScheduleError):\n    sch.fuse(i)\nsch.parallel(i)\n"
    )
    found = read_pasted(HEAD + text)
    assert [step.method for step in found.schedule.trace.steps] == ["get_loops", "parallel"]


def test_entries_of_a_dict_are_asked_for_by_their_names() -> None:
    text = (
        "def scale(x: te.Tensor, config):\n    by = 2 if config['kind'] == 'double' else 3\n"
        "    return te.compute(x.shape, lambda i, j: x[i, j] * by * config['heads'], name='y')\n"
    )
    (program,) = programs(text)
    assert program.nested is not None
    assert [(n.name, n.kind, n.example) for n in program.nested.needs[1:]] == [
        ("config.heads", "size", "128"),
        ("config.kind", "dtype", "double"),
    ]
    found = opened(text, x="4x8xfloat32", config__kind="double", config__heads=8)
    assert "T.float32(16.0)" in to_script(found.program) or "T.float32(2.0)" in to_script(found.program)


WRITTEN = {
    "a number in a name": ('name="A%d" % 4', "A4"),
    "several values": ('name="%s_%d" % ("A", 4)', "A_4"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_formatted_names_are_read(name: str) -> None:
    argument, expected = WRITTEN[name]
    text = f"def f(x):\n    return te.compute(x.shape, lambda i, j: x[i, j] + 1, {argument})\n"
    found = opened(text, x="4x8xfloat32")
    assert isinstance(found.program, PrimFunc)
    assert found.program.buffers[1].name == expected


def test_equality_of_expressions_by_a_method_is_read() -> None:
    text = "def f(x):\n    return te.compute(x.shape, lambda i, j: te.if_then_else((i % 2).equal(0), x[i, j], 0.0), name='y')\n"
    assert "% 2 == 0" in to_script(opened(text, x="4x8xfloat32").program)


def test_parameter_that_decides_a_schedule_is_asked_for_as_a_flag() -> None:
    text = (
        "from tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    for i in range(8):\n"
        "        with T.block('A'):\n            vi = T.axis.spatial(8, i)\n            A[vi] = T.float32(1)\n\n\n"
        "def test_f(by_name):\n    sch = tir.Schedule(f)\n    block = 'A' if by_name else sch.get_block('A')\n"
        "    sch.parallel(sch.get_loops(block)[0])\n"
    )
    number = next(n for n, p in enumerate(programs(text), 1) if p.nested is not None)
    with pytest.raises(ParseError, match="needs values for by_name"):
        opened(text, number)
    assert [s.method for s in opened(text, number, by_name=1).schedule.trace.steps][-1] == "parallel"


def test_constant_of_a_file_that_is_not_read_is_asked_for() -> None:
    text = "from sizes import WIDTH\ndef scale(x):\n    return te.compute((4, WIDTH), lambda i, j: x[i, j] * 2, name='y')\n"
    with pytest.raises(ParseError, match=r"needs values for WIDTH \(size\)"):
        opened(text, x="4x8xfloat32")
    assert shapes(opened(text, x="4x8xfloat32", WIDTH=8)) == [(4, 8, "float32")] * 2


PASSED_ON = """\
def preprocess(data, strides):
    batch, rows = data.shape
    first, second = strides
    return te.compute((batch // first, rows // second), lambda i, j: data[i * first, j * second], name="picked")


def picked(data, strides):
    out = preprocess(data, strides)
    return te.compute(out.shape, lambda i, j: out[i, j] + 1.0, name="out")
"""


def test_parameter_that_is_passed_on_is_what_the_called_function_uses_it_as() -> None:
    assert programs(PASSED_ON)[1].label == "picked with data (tensor), strides (list)"
    assert shapes(opened(PASSED_ON, 2, data="8x8xfloat32", strides="2x4")) == [(8, 8, "float32"), (4, 2, "float32")]


def test_size_whose_shape_is_read_is_asked_for_as_a_tensor() -> None:
    text = (
        "identity = lambda x: x\ndef f(data, by):\n    rows, columns, depth = identity(data).shape\n"
        "    return te.compute((rows, by), lambda i, j: identity(data)(i, j, 0))\n"
    )
    with pytest.raises(ParseError) as caught:
        opened(text)
    assert caught.value.refusal.fix == ("--size data=16x16x16xfloat32 --size by=128",)
    assert shapes(opened(text, data="8x8x4xfloat16", by=2)) == [(8, 8, 4, "float16"), (8, 2, "float16")]


ASSERTED = """\
def f(n: int, kind=0):
    A = te.placeholder((n,), name="A")
    args = [A]
    assert kind != 0, "a kind is needed"
    if kind >= 1:
        args.append(te.compute((n,), lambda i: A[i] + 1.0, name="B"))
    return te.create_prim_func(args)
"""


def test_value_with_which_an_assertion_fails_is_asked_for() -> None:
    with pytest.raises(ParseError) as caught:
        opened(ASSERTED, n=8)
    assert caught.value.refusal.fix == ("--size kind=1",)
    assert shapes(opened(ASSERTED, n=8, kind=1)) == [(8, "float32")] * 2


def test_assertion_that_fails_is_noted() -> None:
    text = ASSERTED.replace("if kind >= 1", "if True")
    found = opened(text, n=8)
    assert [note.text for note in found.notes if "assertion" in note.text] == [
        "this assertion fails with these values and is passed over: assert kind != 0, 'a kind is needed'"
    ]
    assert not [note.text for note in opened(text, n=8, kind=1).notes if "assertion" in note.text]


def test_entries_of_a_dict_that_code_asks_for_are_no_example() -> None:
    text = (
        'def f(x: te.Tensor, scaling: dict):\n    by = 2\n    if "kind" in scaling and scaling["kind"] == "large":\n'
        '        by = scaling["by"]\n    if scaling.get("more") == "yes":\n        by = by + 1\n    use(scaling)\n'
        "    return te.compute(x.shape, lambda i, j: x[i, j] * float(by))\n"
    )
    with pytest.raises(ParseError) as caught:
        opened(text.replace('scaling["by"]', "4"))
    assert caught.value.refusal.fix == ("--size x=16x16xfloat32 --size 'scaling={}'",)


def test_functions_of_operators_only_are_programs() -> None:
    text = (
        "from tvm import topi\n\ndef layer(shape, axis):\n    data = te.placeholder(shape, name='data')\n"
        "    return [data, topi.sum(data, axis)]\n"
    )
    assert shapes(opened(text, shape="4x8", axis=1)) == [(4, 8, "float32"), (4, "float32")]


def test_sizes_are_never_unknown_and_kinds_of_types_are_compared() -> None:
    text = (
        "from tvm import DataTypeCode\n\ndef f(x: te.Tensor):\n"
        "    if not x.dtype.matches_code(DataTypeCode.FLOAT, DataTypeCode.BFLOAT):\n        raise TypeError\n"
        "    sizes = []\n    for size in x.shape:\n        if isinstance(size, tvm.tir.Any):\n"
        "            sizes.append(te.size_var('size'))\n"
        "        else:\n            sizes.append(size)\n    return te.compute(tuple(sizes), lambda i, j: x[i, j] + 1.0)\n"
    )
    assert shapes(opened(text, x="4x8xfloat32")) == [(4, 8, "float32")] * 2
    notes = [note.text for note in opened(text, x="4x8xint32").notes]
    assert any("the text raises an exception here with these values" in note for note in notes)
    assert not any("raises" in note.text for note in opened(text, x="4x8xfloat32").notes)


def test_infinity_is_a_number() -> None:
    text = (
        'def f(x: te.Tensor):\n    low = float("-inf")\n'
        '    return te.compute(x.shape, lambda i: te.max(x[i], tir.const(low, "float32")))\n'
    )
    found = opened(text, x="4xfloat32")
    assert isinstance(found.program, PrimFunc) and 'T.float32("-inf")' in to_script(found.program)


def test_parameter_that_is_a_type_in_the_code_is_asked_for_as_one() -> None:
    text = (
        "def check(kind, other):\n    A = te.placeholder((8,), dtype=kind)\n"
        "    return te.compute((8,), lambda i: A[i].astype(other))\n"
    )
    (program,) = programs(text)
    assert program.label == "check with kind (dtype), other (dtype)"
    assert shapes(opened(text, kind="int8", other="float32")) == [(8, "int8"), (8, "float32")]


def test_immediate_is_a_constant() -> None:
    text = (
        'from tvm.tir.expr import IntImm\n\ndef f(dtype):\n    zero = IntImm("int32", 3).astype(dtype)\n'
        "    return te.compute((4,), lambda i: zero + i.astype(dtype))\n"
    )
    assert "T.float16(3.0) + T.Cast" in to_script(opened(text, dtype="float16").program)


def test_function_that_the_text_calls_too_is_read_once() -> None:
    text = (
        "def test_add():\n    A = te.placeholder((4,), name='A')\n    B = te.compute((4,), lambda i: A[i] + 1, name='B')\n"
        "    print(B.op.tag)\n\ntest_add()\n"
    )
    assert shapes(opened(text)) == [(4, "float32")] * 2
