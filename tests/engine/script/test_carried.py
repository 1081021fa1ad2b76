"""Opaque parts of texts: their text is kept, and everything that needs their meaning refuses the program."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

from tilewright.engine.execute import ExecuteError, run
from tilewright.engine.export import to_c
from tilewright.engine.hwsim import MachineError, load_machine, simulate
from tilewright.engine.ir import IRModule, PrimFunc, TilewrightError, opaque_part, structural_equal
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import ParseError, parse, to_script


def function(text: str) -> PrimFunc:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return program


def written(body: str, head: str = 'f(A: T.Buffer((16,), "float32"), n: T.int32)', option: str = "(s_tir=True)") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"# from tvm.script import tirx as T\n\n@T.prim_func{option}\ndef {head}:\n{lines}"


def block(body: str) -> str:
    """A block program with `body` in the block "a.b"."""
    inner = "".join(f"\n        {line}" for line in body.splitlines())
    return written(
        '# with T.sblock("root"):\nfor i in range(16):\n    with T.sblock("a.b"):\n        T.reads(A[0:16])'
        f"\n        T.writes(A[0:16]){inner}"
    )


OPAQUE = {
    "while": "while A[0] < T.float32(1.0):\n    A[0] = A[0] + T.float32(1.0)\n    if n > 2:\n        T.break_loop()",
    "integer": "if n:\n    A[0] = T.float32(1.0)\nelse:\n    A[1] = T.float32(1.0)",
    "return": "A[0] = T.float32(1.0)\nreturn n + 1",
    "step": "for k in range(0, n, 2):\n    A[k] = T.float32(1.0)",
    "kind-and-step": 'for k in T.unroll(0, n, step=3, annotations={"x": 1}):\n    A[k] = T.float32(1.0)',
    "data": 'B = T.decl_buffer((4, 4), "float32", data=A.data)\nB[0, 1] = A[0]',
    "pointer": 'p: T.let[T.handle("float32", "global")] = A.data\nB = T.decl_buffer((4, 4), "float32", data=p)\nB[0, 1] = A[0]',
    "view": "B = A.view(4, 4)\nB[0, 1] = A[0]",
    "reducer": 'with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), "reduce_scope", 0):\n    A[0] = T.float32(1.0)',
    "node": 'with T.attr(A.data, "double_buffer_scope", 1):\n    A[0] = T.float32(1.0)',
    "unknown-call": "T.unknown_effect(A[0], n)\nA[0] = T.float32(1.0)",
    "unknown": "T.start_profile_intrinsic(3)\nA[0] = T.float32(1.0)",
}


@pytest.mark.parametrize("name", OPAQUE)
def test_the_text_of_an_opaque_statement_is_kept(name: str) -> None:
    text = block(OPAQUE[name])
    assert to_script(function(text)) == text
    assert structural_equal(function(text), function(to_script(function(text))))


@pytest.mark.parametrize("name", OPAQUE)
def test_opaque_statement_without_meaning_is_refused(name: str) -> None:
    text = block(OPAQUE[name])
    parsed = parse(text)
    func = parsed.program
    assert isinstance(func, PrimFunc)
    sch = Schedule(func)
    (loop,) = sch.get_loops("a.b")

    def split() -> object:
        return sch.split(loop, factors=[4, None])

    def vectorized() -> object:
        return sch.vectorize(loop)

    attempts = {
        ScheduleError: (split, vectorized),
        LowerError: (lambda: lower(func), lambda: sch.plan),
        ExecuteError: (lambda: run(func, {"A": np.zeros(16, "float32"), "n": np.array(3, "int32")}),),
        MachineError: (lambda: simulate(func, load_machine("cpu-core")),),
        TilewrightError: (lambda: to_c(func),),
    }
    for kind, calls in attempts.items():
        for call in calls:
            with pytest.raises(kind) as caught:
                call()
            refusal = caught.value.refusal
            assert refusal.code == "opaque-part"
            assert parsed.positions[refusal.nodes[0]], "the text has the statement's place"
    assert not any(target.legal for target in sch.legal_targets("a.b"))
    assert sch.check().status == "unknown"
    assert sch.prove().status == "unknown"
    assert structural_equal(sch.func, func)


@pytest.mark.parametrize(
    "text",
    [
        written('T.evaluate(T.float8_e4m3b11fnuz(1.0))\nT.evaluate(T.Cast("float8_e8m0fnu", A[0]))\nT.evaluate(T.undef())\nT.evaluate(T.float32(0.0))'),
        written("T.evaluate(1)\nA[0] = T.float32(1.0)\nT.evaluate(-1)"),
        written("A[0] = T.float32(1.0)", option=""),
        written("return n * 2", "f(n: T.int32) -> T.int32"),
        written('T.evaluate(a)', 'f(a: T.handle("float32", "shared"), b: T.handle(storage_scope="shared"), c: T.handle)'),
        written("x = T.float32()\nA[0] = T.Let(x + T.float32(1.0), where={x: A[1]})"),
        written('T.func_attr({"none": None, "target": T.target({"kind": "llvm"}), "layout_free_placeholders": [A], "x": [1, [A]]})\nA[0] = T.float32(1.0)'),
        written('assert n > 0, ("ValueError", ["too ", "small"])\nassert n > 1, "small"\nA[0] = T.float32(1.0)'),
        written("c: T.int32\nc = c + 1\nA[c] = T.float32(1.0)"),
        written("A[0] = T.float32(1.0)", 'f(A: T.Buffer((T.int64(16),), "float32", elem_offset=0))'),
    ],
)  # fmt: skip
def test_details_that_a_reader_could_lose_are_printed_again(text: str) -> None:
    assert to_script(function(text)) == text


def test_a_variable_without_a_value_is_kept_and_refused_by_name() -> None:
    text = block('A[0] = T.Cast("float32", k)').replace("    # with", "    k = T.int32()\n    # with")
    parsed = parse(text)
    func = parsed.program
    assert isinstance(func, PrimFunc)
    assert to_script(func) == text
    for attempt in (lambda: Schedule(func).unroll(Schedule(func).get_loops("a.b")[0]), lambda: lower(func)):
        with pytest.raises(TilewrightError) as caught:
            attempt()
        assert caught.value.refusal.code == "opaque-part"
        assert caught.value.refusal.found == "k"
        assert parsed.positions[caught.value.refusal.nodes[0]]


def test_each_launch_of_a_declared_thread_is_a_loop() -> None:
    launched = 'tx = T.env_thread("threadIdx.x")\n{0}T.launch_thread(tx, 16){1}A[tx] = T.float32({2})\n'
    apart = written(launched.format("with ", ":\n    ", 1) + "with T.launch_thread(tx, 8):\n    A[tx] = T.float32(2)")
    found = run(function(apart), {"A": np.zeros(16, "float32"), "n": np.array(3, "int32")})["A"]
    assert (found == [2.0] * 8 + [1.0] * 8).all()
    statement = written(launched.format("", "\n", 3))
    found = run(function(statement), {"A": np.zeros(16, "float32"), "n": np.array(3, "int32")})["A"]
    assert (found == 3).all()


def test_the_remainder_of_floats_has_the_sign_of_the_dividend() -> None:
    func = function(written("A[0] = T.truncmod(A[0], T.float32(3))"))
    given = np.full(16, -7, "float32")
    assert run(func, {"A": given, "n": np.array(3, "int32")})["A"][0] == -1
    assert "fmod" in to_c(func)


def test_a_lowered_text_has_the_attributes_of_today() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer[(16,), "float32"]):\n    T.func_attr({"tir.noalias": True})\n    A[0] = T.float32(1)\n'
    assert '"tirx.noalias": True' in to_script(function(text))


def test_a_call_of_another_function_is_kept() -> None:
    text = """# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def part(p: T.handle("float32", "global"), n: T.int32):
        A = T.decl_buffer((n,), "float32", data=p)
        A[0] = T.float32(1.0)

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32")):
        Module.part(T.address_of(A[4]), 4)
"""
    program = parse(text).program
    assert to_script(program) == text
    assert isinstance(program, IRModule)
    assert opaque_part(program["main"].body) is not None
    assert to_script(parse(text.replace("Module", "Other")).program) == text


def test_schedule_calls_keep_targets_and_layout_free_buffers() -> None:
    attrs = 'T.func_attr({"layout_free_placeholders": [A], "target": T.target("llvm")})\n'
    body = 'for i in range(16):\n    with T.sblock("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = A[vi] + T.float32(1.0)'
    sch = Schedule(function(written(attrs + body)))
    sch.split(sch.get_loops("b")[0], factors=[4, None])
    assert attrs.strip() in to_script(sch.func)
    sch.transform_layout("b", ("write", 0), lambda i: [i // 4, i % 4])
    assert "A: T.Buffer((4, 4)" in to_script(sch.func)
    assert attrs.strip() in to_script(sch.func), "the attribute has the buffer of the new layout"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A[0] = T.unknown_value(A[1])", "T.unknown_value"),
        ("T.evaluatee(A[0])", "T.evaluatee"),
        ("T.start_profile(A[0:4], keyword=1)", "T.start_profile"),
        ("B = T.sblock_alloc_buffer((4,), data=A.data)", "A.data"),
        ("while A[0] < 1.0:\n    pass\nelse:\n    A[0] = 1.0", "while A[0] < 1.0: pass else: A[0] = 1.0"),
        ("if A[0]:\n    A[0] = 1.0", "A[0]"),
        ("return", "return"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(line: str, found: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(written(line))
    assert caught.value.refusal.found == found
    assert caught.value.place is not None
    assert caught.value.place.line == 5


def test_function_without_a_root_block_runs_and_refuses_calls() -> None:
    text = written("for i in range(16):\n    A[i] = A[i] + T.float32(1.0)", 'f(A: T.Buffer((16,), "float32"))')
    func = function(text)
    assert to_script(Schedule(func).func) == text
    values = np.arange(16, dtype="float32")
    assert run(func, {"A": values})["A"][3] == 4
    assert simulate(lower(func), load_machine("dual-bank-npu")).cycles > 0
    with pytest.raises(ScheduleError) as caught:
        Schedule(func).split("i", [4, 4])
    assert caught.value.refusal.code == "no-root-block"
