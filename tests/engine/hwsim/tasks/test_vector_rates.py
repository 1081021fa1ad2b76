"""Vector engines: rows are summed by vectors and a tree; operations have rates, and types have lanes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.gemms import array_machine, gemm
from support.simulator.machines import PLAIN

from tilewright.engine.analysis import ProgramIndex
from tilewright.engine.hwsim import Machine, MachineError, estimate_cost, load_machine, read_machine, simulate
from tilewright.engine.hwsim.cost.model import Cost
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.hwsim.tasks.work import steps_of
from tilewright.engine.ir import Add, Mul, PrimFunc, Sub, Var
from tilewright.engine.script import parse

VECTOR = PLAIN.replace(
    'reads = ["pad"]\nwrites = ["pad"]\nvector_bytes = 32',
    'reads = ["ddr", "pad"]\nwrites = ["ddr", "pad"]\nvector_bytes = 32',
)
"""`plain` with a vector unit of 8 float32 lanes that reaches both memories."""


def machine(more: str = "") -> Machine:
    wide = VECTOR.replace("_bytes_per_cycle = 4\n", "_bytes_per_cycle = 1_048_576\n")
    head, _, tail = wide.partition("vector_bytes = 32\n")
    return read_machine(f"{head}vector_bytes = 32\n{more}\n{tail}")


def cost(source: str, on: Machine) -> Cost:
    program, _ = replayed(parse(source).program, on)
    (variant,) = program.variants
    assert program.machine.engines[variant.engine].name == "vector"
    return variant.cost


def row_sum(rows: int, length: int, term: str = "A[vi, vk]", combine: str = "C[vi] + {term}") -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {length}), "float32"), M: T.Buffer(({rows},), "float32"), C: T.Buffer(({rows},), "float32")):
    for i, k in T.grid({rows}, {length}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = {combine.format(term=term)}
"""


def column_sum(rows: int, columns: int) -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "float32"), C: T.Buffer(({columns},), "float32")):
    for j, k in T.grid({columns}, {rows}):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk, vj]
"""


def elementwise(expression: str, dtype: str = "float32", n: int = 64) -> str:
    return f'''
@T.prim_func
def main(A: T.Buffer(({n},), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = {expression}
'''


@given(st.integers(2, 20), st.integers(8, 100))
def test_law_a_row_takes_its_vectors_and_a_tree_over_the_lanes(rows: int, length: int):
    """8 lanes: 3 halvings of a shuffle and an addition for each row."""
    assert cost(row_sum(rows, length), machine()).duration == 3 + rows * (-(-length // 8) + 3 * 2)


def test_a_single_row_is_also_summed_by_a_tree():
    assert cost(row_sum(1, 64), machine()).duration == 3 + 8 + 6
    # Four elements are two halvings.
    assert cost(row_sum(1, 4), machine()).duration == 3 + 1 + 4


def test_lanes_of_rows_shorter_than_a_vector_follow_the_results():
    assert cost(row_sum(64, 3), machine()).duration == 3 + 3 * 64 // 8


def test_sums_of_columns_need_no_tree():
    assert cost(column_sum(40, 64), machine()).duration == 3 + 40 * 64 // 8


def test_a_row_sum_has_no_bank_conflicts():
    """Summed across its rows, as gathers, this tile of 32 x 32 would have 8-way conflicts."""
    banked = machine().replace("ddr.banks", 8).replace("ddr.interleave_bytes", 4).replace("ddr.mapping", "interleave")
    found = cost(row_sum(32, 32), banked)
    assert found.conflicts == () and found.duration == 3 + 32 * (4 + 6)


def test_row_sum_reads_each_element_and_writes_each_sum_once():
    report = simulate(parse(row_sum(32, 64)).program, machine())
    assert {(a.buffer, a.read_bytes, a.written_bytes) for a in report.accesses} == {
        ("A", 32 * 64 * 4, 0), ("C", 32 * 4, 32 * 4),
    }  # fmt: skip


def test_each_operation_takes_its_own_rate():
    rated = machine("rates = { exp = 4, div = 6, shuffle = 3, max = 2 }")
    assert cost(elementwise("T.exp(A[vi]) / (A[vi] + T.float32(1))"), rated).duration == 3 + 8 * (4 + 6 + 1)
    assert cost(elementwise("T.exp(A[vi]) / (A[vi] + T.float32(1))"), machine()).duration == 3 + 8 * 3
    assert cost(elementwise("T.exp2(A[vi] * T.float32(2))"), rated).duration == 3 + 8 * (4 + 1)
    # The difference, its exponential and the sum for each vector; at the end a shuffle of 3 and an addition of 1 for each halving.
    row = cost(row_sum(4, 64, "T.exp(A[vi, vk] - M[vi])"), rated)
    assert row.duration == 3 + 4 * (8 * (1 + 4 + 1) + 3 * (3 + 1))
    # A maximum of 2 in the vectors and in the tree.
    maximum = cost(row_sum(4, 64, combine="T.max(C[vi], {term})"), rated)
    assert maximum.duration == 3 + 4 * (8 * 2 + 3 * (3 + 2))


def test_rates_change_cycles_and_not_the_energy_of_operations():
    rated, flat = (
        machine("rates = { exp = 9 }\nenergy_pj_per_operation = 1.0"),
        machine("energy_pj_per_operation = 1.0"),
    )
    program = parse(elementwise("T.exp(A[vi])")).program
    assert simulate(program, rated).energy == simulate(program, flat).energy
    assert simulate(program, rated).cycles > simulate(program, flat).cycles


def test_rates_of_a_scalar_engine_count_too():
    found = machine().replace("scalar.rates", {"exp": 10})
    source = elementwise("T.exp(A[vi])").replace(
        "            B[vi]", '            T.block_attr({"engine": "scalar"})\n            B[vi]'
    )
    assert simulate(parse(source).program, found).cycles == 64 * (1 + 10 + 1)


@pytest.mark.parametrize(("dtype", "lanes"), [("int8", 16), ("float16", 16), ("float32", 8), ("float64", 2)])
def test_lanes_by_type_apply_to_their_type(dtype: str, lanes: int):
    typed = machine("lanes_by_type = { int8 = 16, float64 = 2 }")
    assert cost(elementwise("A[vi] + A[vi]", dtype), typed).duration == 3 + 64 // lanes


def tensor_product(first: str, second: str, wide: str) -> PrimFunc:
    zero = "0" if wide == "int32" else f"T.{wide}(0)"
    return parse(f'''
@T.prim_func
def main(A: T.Buffer((32, 32), "{first}"), B: T.Buffer((32, 16), "{second}"), C: T.Buffer((32, 16), "{wide}")):
    for i, j, k in T.grid(32, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {zero}
            C[vi, vj] = C[vi, vj] + T.Cast("{wide}", A[vi, vk]) * T.Cast("{wide}", B[vk, vj])
''').program


def tensor_core() -> Machine:
    """The tensor core of gpu-sm on memories that are no limit."""
    sm = load_machine("gpu-sm")
    for memory in ("hbm", "registers"):
        sm = sm.replace(f"{memory}.read_bytes_per_cycle", 1 << 20).replace(f"{memory}.write_bytes_per_cycle", 1 << 20)
    return sm.replace("tensor.reads", ("hbm",)).replace("tensor.writes", ("hbm",))


@pytest.mark.parametrize(
    ("dtype", "cycles"), [("int8", 1), ("float16", 2), ("bfloat16", 2), ("float32", 4), ("float64", 32)]
)
def test_tile_cycles_of_a_tensor_core_depend_on_the_types(dtype: str, cycles: int):
    wide = "int32" if dtype == "int8" else "float64" if dtype == "float64" else "float32"
    found = simulate(tensor_product(dtype, dtype, wide), tensor_core())
    assert found.engines["tensor"].busy == 2 * 2 * 2 * cycles


@pytest.mark.parametrize(
    ("first", "second", "cycles"),
    [
        ("float8_e4m3fn", "float8_e4m3fn", 1),
        ("float8_e4m3fn", "float8_e5m2", 1),
        ("float8_e5m2", "float16", 2),
        ("float16", "float16", 2),
    ],
)
def test_fp8_on_a_tensor_core_takes_half_of_fp16_unless_mixed(first: str, second: str, cycles: int) -> None:
    hopper = tensor_core().replace("tensor.cycles_by_type", {"float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2})
    assert simulate(tensor_product(first, second, "float32"), hopper).engines["tensor"].busy == 2 * 2 * 2 * cycles


@pytest.mark.parametrize(("table", "passes"), [({}, 4), ({"float16": 2}, 2)])
def test_stated_passes_replace_the_squared_width(table: dict[str, int], passes: int):
    program, array = gemm(64, 8, 8, "float16"), array_machine(8, 8, "weight_stationary")
    assert simulate(program, array.replace("array.passes_by_type", table)).cycles == passes * (8 + 64 + 14)


@pytest.mark.parametrize(
    ("figure", "value", "code"),
    [
        ("vector.rates", {"gelu": 4}, "unknown-name"),
        ("vector.rates", {"exp": 0}, "bad-figure"),
        ("vector.lanes_by_type", {"float23": 4}, "unknown-name"),
        ("matrix.cycles_by_type", {"float16": "fast"}, "bad-figure"),
    ],
)
def test_table_with_a_wrong_entry_is_refused(figure: str, value: object, code: str):
    with pytest.raises(MachineError) as caught:
        machine().replace(figure, value)
    assert caught.value.refusal.code == code


def test_wrong_name_in_a_file_is_refused_at_its_line():
    with pytest.raises(MachineError, match="gelu") as caught:
        machine("rates = { exp = 4, gelu = 4 }")
    place = caught.value.refusal.place
    assert place is not None and place.line == VECTOR.splitlines().index("vector_bytes = 32") + 2


@pytest.mark.parametrize("combine", ["C[vi] + {term}", "T.max(C[vi], {term})"])
@pytest.mark.parametrize(("rows", "length"), [(1, 3), (1, 64), (16, 7), (16, 8), (16, 100), (7, 256)])
def test_estimate_of_a_row_reduction_is_the_reported_work(rows: int, length: int, combine: str) -> None:
    on = machine("rates = { exp = 4, shuffle = 3, max = 2 }")
    for term in ("A[vi, vk]", "T.exp(A[vi, vk] - M[vi])"):
        func = parse(row_sum(rows, length, term, combine)).program
        assert estimate_cost(ProgramIndex(func), on).busy == simulate(func, on).bound


@pytest.mark.parametrize(("rows", "columns"), [(16, 8), (64, 24), (5, 16)])
def test_the_estimate_of_column_sums_has_no_tree(rows: int, columns: int) -> None:
    func = parse(column_sum(rows, columns)).program
    assert estimate_cost(ProgramIndex(func), machine()).busy == simulate(func, machine()).bound


def test_a_multiply_add_is_one_operation_at_its_rate():
    a, b, c = (Var(name, "float32") for name in "abc")
    added = Add(Mul(a, b), c)
    assert [steps_of(added, rates) for rates in ({}, {"fma": 1}, {"fma": 3})] == [2, 1, 3]
    assert steps_of(Mul(Add(a, b), c), {"fma": 1}) == 2
    both = Sub(Mul(a, b), Mul(a, c))
    assert steps_of(both, {"fma": 1}) == 2
