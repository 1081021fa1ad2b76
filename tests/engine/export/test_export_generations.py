"""Exports for each generation of TVM: its names, its methods, and comments on missing ones."""

from __future__ import annotations

import ast

import pytest
from support.programs.sources import MATMUL
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import evaluate, read_document
from tilewright.engine.export import to_tvm_python
from tilewright.engine.export.generations import GENERATIONS, METHODS, generation_of, read_version
from tilewright.engine.ir import TilewrightError, first_difference
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

LINES = (
    "jo, ji = sch.split(j, factors=[None, 16])",
    "sch.reorder(i, jo, ko, ki, ji)",
    'AL = sch.cache_read(C, 0, "local")',
    "sch.compute_at(AL, ko, preserve_unit_loops=True)",
    'sch.transform_layout(AL, ("write", 0), lambda a, b: [b // 8, tilewright.AXIS_SEPARATOR, a, b % 8])',
    "sch.double_buffer(AL)",
)
VERSIONS = ("0.16", "0.22", "0.24", "0.25", "0.26", "0.27", "0.31")


def exported(version: str) -> str:
    notebook = evaluate(read_document(with_lines(*LINES)))
    assert notebook.error is None and notebook.schedule is not None
    return to_tvm_python(notebook.schedule, notebook.names, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_exists_in_that_version(version: str) -> None:
    text = exported(version)
    generation = generation_of(read_version(version))
    calls = [
        node for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "sch"
    ]  # fmt: skip
    assert len(calls) > len(LINES)
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        name = call.func.attr
        assert name in ("get_block", "get_sblock") or name in METHODS
        if name in ("get_block", "get_sblock"):
            assert name == generation.get_block
            continue
        assert METHODS[name].is_in(read_version(version))
        for keyword in call.keywords:
            assert keyword.arg is not None and METHODS[name].has(keyword.arg, read_version(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_module_reads_back(version: str) -> None:
    text = exported(version)
    module = text[text.index("@I.ir_module") : text.index("\nsch = ")]
    notebook = evaluate(read_document(MATMUL_NOTEBOOK))
    assert notebook.schedule is not None
    header = "\n".join(generation_of(read_version(version)).imports[1:])
    assert first_difference(parse(f"{header}\n{module}").program, notebook.schedule.original) is None


def test_names_of_older_versions() -> None:
    old, middle, new = exported("0.22"), exported("0.25"), exported("0.27")
    assert "from tvm import tir\n" in old and "sch = tir.Schedule(Module)" in old
    assert "T.block(" in old and "T.sblock" not in old and "tir.IndexMap.AXIS_SEPARATOR" in old
    assert "T.sblock(" in middle and "tirx.IndexMap.AXIS_SEPARATOR, a, b % 8" in middle
    assert "lambda a, b: [b // 8, a, b % 8]" in new and "no axis separators; with them, index_map was" in new
    assert "an older TVM may lack some" in exported("0.9")


def test_call_that_a_version_lacks_continues_from_its_program() -> None:
    """After a call that a version lacks, the file continues from the resulting program and looks up the user's variables in it."""
    sch = Schedule(parse(MATMUL).program)
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 16], disable_predication=True)
    sch.unroll(k)
    names = {"i": i, "j": j, "k": k, "outer": jo, "inner": ji}
    text = to_tvm_python(sch, names, "0.16")
    assert (
        "split of TVM 0.16 has no disable_predication=: the schedule continues from the program after this call."
        in text
    )
    second = text[text.index("class Module_1") :]
    assert second.index("sch = tir.Schedule(Module_1)") < second.index('sch.work_on("matmul")')
    assert "outer = sch.get_loops(C)[1]" in second and "inner = sch.get_loops(C)[2]" in second
    assert second.index("k = sch.get_loops(C)[3]") < second.index("sch.unroll(k)")
    assert "outer, inner = sch.split(j, factors=[None, 16], disable_predication=True)" in to_tvm_python(
        sch, names, "0.22"
    )


def test_added_and_removed_methods() -> None:
    assert not METHODS["fuse_reduction_epilogue"].is_in((0, 22)) and METHODS["fuse_reduction_epilogue"].is_in((0, 23))
    assert METHODS["set_axis_separator"].is_in((0, 25)) and not METHODS["set_axis_separator"].is_in((0, 26))


@pytest.mark.parametrize("text", ["", "0", "0.7", "newest", "0.x", "-1.2"])
def test_an_unknown_version_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        read_version(text)
    assert caught.value.code == "unknown-version"


def test_each_version_has_its_generation() -> None:
    assert [generation_of(v).versions for v in ((0, 9), (0, 23), (0, 24), (0, 25), (0, 26), (1, 0))] == [
        GENERATIONS[n].versions for n in (2, 2, 1, 1, 0, 0)
    ]


def test_three_slots_are_noted_as_lacking_in_tvm() -> None:
    lines = (*LINES[:-1], "sch.double_buffer(AL, slots=3, banks=(0, 1, 0))")
    notebook = evaluate(read_document(with_lines(*lines)))
    assert notebook.error is None and notebook.schedule is not None
    text = to_tvm_python(notebook.schedule, notebook.names, "0.25")
    for key, value in (("scope", "0"), ("slots", "3"), ("banks", "[0, 1, 0]")):
        assert f'sch.annotate(AL, "double_buffer_{key}", {value})' in text
    assert "two slots at most" in text and "has no banks" in text
