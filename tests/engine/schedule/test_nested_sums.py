"""A block with a whole reduction inside, as topi's adaptive pooling: each of its instances sums its own element."""

from __future__ import annotations

import pytest

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

POOL = """
@T.prim_func(s_tir=True)
def main(X: T.Buffer((12, 9), "float32"), Y: T.Buffer((12,), "float32")):
    S = T.sblock_alloc_buffer((12,))
    for i in range(12):
        with T.sblock("window"):
            v = T.axis.spatial(12, i)
            T.reads(X[v, 0:9])
            T.writes(S[v])
            for k in range(v % 3 + 1):
                with T.sblock("sum"):
                    w = T.axis.spatial((v, v + 1), v)
                    r = T.axis.reduce({dom}, {value})
                    T.reads(X[w, r])
                    T.writes(S[w])
                    with T.init():
                        S[w] = T.float32(0)
                    S[w] = {term}
    for i in range(12):
        with T.sblock("mean"):
            v = T.axis.spatial(12, i)
            Y[v] = S[v] * T.float32(0.5)
"""


def pool(dom: str = "v % 3 + 1", value: str = "k", term: str = "S[w] + X[w, r]") -> Schedule:
    return Schedule(parse(POOL.format(dom=dom, value=value, term=term)).program)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.bind(s.get_loops("window")[0], "blockIdx.x"),
        lambda s: s.vectorize(s.split(s.get_loops("window")[0], [None, 5])[1]),
        lambda s: s.compute_at("window", s.get_loops("mean")[0]),
        lambda s: s.reorder(*s.split(s.get_loops("window")[0], [4, None])[::-1]),
    ],
)
def test_instances_with_a_sum_of_their_own_are_independent(call) -> None:
    sch = pool()
    call(sch)
    assert sch.verify().status == "tested"


@pytest.mark.parametrize(
    "changes",
    [
        {"dom": "9", "value": "k + 1"},  # the init never runs
        {"term": "S[w] + S[(w + 1) % 12] + X[w, r]"},
        {"term": "S[0] + X[w, r]"},
    ],
)
def test_instances_that_may_use_other_values_are_refused(changes: dict[str, str]) -> None:
    sch = pool(**changes)
    for call in (
        lambda: sch.bind(sch.get_loops("window")[0], "blockIdx.x"),
        lambda: sch.compute_at("window", sch.get_loops("mean")[0]),
    ):
        with pytest.raises(ScheduleError) as caught:
            call()
        assert caught.value.refusal.code == "order-dependent"


def test_a_load_beside_the_sum_is_refused() -> None:
    text = POOL.format(dom="v % 3 + 1", value="k", term="S[w] + X[w, r]")
    beside = "            for k in range(v % 3 + 1):\n"
    text = text.replace(beside, f"            if S[v] > T.float32(1):\n                S[v] = T.float32(2)\n{beside}")
    sch = Schedule(parse(text).program)
    with pytest.raises(ScheduleError):
        sch.compute_at("window", sch.get_loops("mean")[0])
