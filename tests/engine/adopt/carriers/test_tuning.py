"""TVM's JSON of modules, and the lines of meta-schedule's databases."""

# ruff: noqa: E501

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from support.pasted.old_graphs import OldGraph, twice_module

from tilewright.engine.adopt import Content, programs_of, read_program, unwrapped, with_trace
from tilewright.engine.ir import IRModule, TilewrightError
from tilewright.engine.script import parse, to_script

PROGRAM = """\
# from tvm.script import ir as I
# from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        A_local = T.alloc_buffer((64,), "float32", scope="local")
        for i in T.serial(64):
            with T.block("copy"):
                vi = T.axis.spatial(64, i)
                T.reads(A[vi])
                T.writes(A_local[vi])
                T.block_attr({"note": 1})
                A_local[vi] = A[vi]
        for i in T.serial(64):
            with T.block("twice"):
                vi = T.axis.spatial(64, i)
                T.reads(A_local[vi])
                T.writes(B[vi])
                T.block_attr({"note": 1})
                B[vi] = (A_local[vi] * T.float32(2.0))
"""
TRACE = [
    [
        ["GetBlock", [], ["twice", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1"]],
        ["Split", ["l1", "None", 8], [1], ["l2", "l3"]],
    ],
    [],
]


def workload(text: str, prefix: bool = True) -> str:
    data = text.encode()
    return json.dumps(["12345", b64encode((len(data).to_bytes(8, "little") if prefix else b"") + data).decode()])


def record(seconds: float | None = 2e-5, number: int = 0) -> str:
    return json.dumps(
        [number, [TRACE, [seconds] if seconds is not None else None, {"kind": "cuda"}, [["TENSOR", "float32", [64]]]]]
    )


def content_of(text: str) -> Content:
    found = unwrapped(text)
    assert found is not None
    return found


def test_the_json_of_a_module_is_its_program() -> None:
    (piece,) = content_of(twice_module()).pieces
    assert piece.code.rstrip() == PROGRAM.rstrip()
    (program,) = programs_of(piece.parts).programs
    found = read_program(program).program
    assert isinstance(found, IRModule) and to_script(found) == to_script(parse(PROGRAM).program)


@pytest.mark.parametrize("prefix", [True, False])
def test_a_workload_is_the_json_of_its_module(prefix: bool) -> None:
    (piece,) = content_of(workload(twice_module(), prefix)).pieces
    assert piece.code.rstrip() == PROGRAM.rstrip() and str(piece.origin(5)) == "workload 0, line 5"


def test_a_record_schedules_the_program_of_its_workload() -> None:
    lines = [workload(twice_module(3.0)), workload(twice_module()), record(2e-5, 1), record(None, 1), record(1e-5, 1)]
    found = content_of("\n".join(lines))
    assert [piece.name for piece in found.pieces] == [
        "record 1 (20.0 µs on cuda)",
        "record 2 (not measured on cuda)",
        "record 3 (10.0 µs on cuda)",
    ]
    piece = found.pieces[2]
    assert piece.code.rstrip() == PROGRAM.rstrip()
    (program,) = programs_of(piece.parts).programs
    assert len(with_trace(read_program(program).program, piece.trace).schedule.trace.steps) == 3


def test_of_many_records_the_fastest_are_listed() -> None:
    lines = [workload(twice_module()), *(record(n * 1e-6) for n in range(100, 0, -1))]
    found = content_of("\n".join(lines))
    assert len(found.pieces) == 64 and found.pieces[0].name.startswith("record 37 (64.0 µs")
    (note,) = found.notes
    assert note.text == "each of 36 slower records is left out"


def test_records_without_their_program_are_refused() -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(record())
    assert caught.value.code == "no-workload" and "--program" in str(caught.value)


def test_a_record_of_an_unknown_workload_is_listed() -> None:
    found = content_of(f"{workload(twice_module())}\n{record(1e-6, 4)}\n{record()}")
    assert len(found.pieces) == 1
    assert [note.text for note in found.notes] == [
        "a record of workload 4, which is not in the text or not read, is left out"
    ]


def test_parts_that_are_not_read_are_refused_by_name() -> None:
    for kind in ("tir.Allocate", "tir.AttrStmt"):
        with pytest.raises(TilewrightError) as caught:
            unwrapped(twice_module().replace('"tir.SeqStmt"', f'"{kind}"'))
        assert caught.value.code == "unsupported" and kind.rpartition(".")[2] in str(caught.value)
    with pytest.raises(TilewrightError) as caught:
        unwrapped(twice_module(loop_kind=4))
    assert caught.value.code == "unsupported"


@pytest.mark.parametrize(
    ("old", "new"),
    [('"root": ', '"root": 9'), ('"nodes": [', '"nodes": [4, '), ('"tir.Mul"', '"tir.Var"'), ('"data": [', '"data": ["x", '), ('"dtype": "float32"', '"dtype": "x; y"'),
     ('"type_key": "Array"', '"type_key": "Map"'), ('"name_hint"', '"other"')],
)  # fmt: skip
def test_a_damaged_graph_is_refused(old: str, new: str) -> None:
    text = twice_module()
    assert old in text
    with pytest.raises(TilewrightError) as caught:
        unwrapped(text.replace(old, new))
    assert caught.value.code in ("bad-module-json", "unsupported")


def test_a_graph_that_shares_nodes_is_refused_before_it_is_written_out() -> None:
    """Each of 64 sums has the one before twice: 2^64 terms."""
    g = OldGraph()
    value = g.number(3)
    for _ in range(64):
        value = g.add("tir.Add", {"a": value, "b": value, "dtype": "int32"})
    body = g.add("tir.Evaluate", {"value": value})
    function = g.add("tir.PrimFunc", {"attrs": "0", "body": body, "buffer_map": g.table(), "params": g.array()})
    with pytest.raises(TilewrightError) as caught:
        unwrapped(g.json(function))
    assert caught.value.code == "unsupported" and "length" in str(caught.value)


def test_a_cycle_is_refused() -> None:
    g = OldGraph()
    loop = g.add("tir.SeqStmt", {"seq": g.array(str(len(g.nodes) + 1))})
    function = g.add("tir.PrimFunc", {"attrs": "0", "body": loop, "buffer_map": g.table(), "params": g.array()})
    with pytest.raises(TilewrightError) as caught:
        unwrapped(g.json(function))
    assert caught.value.code == "too-deep"


@pytest.mark.parametrize("line", ['["1", "aGk="]', '["12", "e30="]', '["1", "AAAA"]'])
def test_a_damaged_workload_is_refused(line: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(line)
    assert caught.value.code in ("bad-record", "bad-module-json")
