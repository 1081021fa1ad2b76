"""Fused loops split unevenly: the fallback schedule of a GPU, with factors that do not divide the sizes."""

from __future__ import annotations

import sys

import pytest
from support.programs.sources import uneven_program

from tilewright.engine.ir import Var
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

SIZES = [("3", "8"), ("n", "8"), ("3", "m"), ("n", "m")]


def fused(body: str, rows: str, columns: str) -> tuple[Schedule, list[Var]]:
    sch = Schedule(parse(uneven_program(body, rows, columns)).program)
    return sch, sch.split(sch.fuse(*sch.get_loops("B")), [None, 16])


@pytest.mark.sample(5)
@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("body", ["elementwise", "update"])
def test_every_call_of_a_gpu_fallback_schedule_is_accepted(body: str, rows: str, columns: str) -> None:
    for call in (
        lambda s, outer, inner: (s.bind(outer, "blockIdx.x"), s.bind(inner, "threadIdx.x")),
        lambda s, outer, inner: s.parallel(outer),
        lambda s, outer, inner: s.vectorize(inner),
        lambda s, outer, inner: s.reorder(inner, outer),
    ):
        sch, loops = fused(body, rows, columns)
        call(sch, *loops)
        sizes = {name: 7 for name in (rows, columns) if not name.isdigit()}
        assert sch.verify(sizes=sizes).status == "tested"


@pytest.mark.parametrize("size", ["32", "n"])
def test_caching_under_a_nested_uneven_split_is_accepted(size: str) -> None:
    sch = Schedule(parse(uneven_program("elementwise", size, "8")).program)
    _, inner = sch.split(sch.get_loops("B")[0], [None, 4])
    sch.split(inner, [None, 2, 5])
    sch.cache_write("B", 0, "local")
    assert sch.verify(sizes={} if size == "32" else {"n": 13}).status == "tested"


@pytest.mark.parametrize(("rows", "columns"), [("3", "8"), ("n", "8")])
def test_reorder_with_whole_rows_in_each_block(rows: str, columns: str) -> None:
    pytest.importorskip("islpy")
    sch, loops = fused("row sums", rows, columns)
    sch.reorder(*reversed(loops))
    assert sch.verify(sizes={} if rows == "3" else {"n": 5}).status == "tested"


@pytest.mark.parametrize(
    ("rows", "columns", "witness"),
    [
        (
            "5",
            "12",
            "the first term of a sum is added at (i_j_fused_1 = 0, i_j_fused_0 = 1), where the init does not run",
        ),
        ("n", "12", "where the init does not run for n = "),
        ("3", "m", "where the init does not run for m = 12"),
    ],
)
def test_reorder_of_sums_across_blocks_is_refused_with_a_witness(rows: str, columns: str, witness: str) -> None:
    pytest.importorskip("islpy")
    sch, loops = fused("row sums", rows, columns)
    with pytest.raises(ScheduleError) as refused:
        sch.reorder(*reversed(loops))
    assert refused.value.code == "order-dependent"
    assert witness in refused.value.refusal.found


def test_refusal_without_islpy_explains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "islpy", None)
    sch, loops = fused("row sums", "5", "12")
    with pytest.raises(ScheduleError) as refused:
        sch.reorder(*reversed(loops))
    assert refused.value.refusal.found == "undecided: the decision needs islpy: pip install 'tilewright[prove]'"
