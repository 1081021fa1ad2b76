"""Caches and streams: against a cache and an interpreter that process one access after the other, with and without skipping."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.profile import few
from support.programs.random_programs import programs
from support.programs.sources import HEADER
from support.schedules.calls import apply, calls
from support.simulator.cachegrind import Geometry, cached_machine
from support.simulator.machines import EVERY_SCOPE

from tilewright.engine import ir
from tilewright.engine.hwsim import CachedTask, Machine, MachineError, cache_counts, read_machine
from tilewright.engine.hwsim.caches.model import Asked, CacheLevel
from tilewright.engine.ir import PrimFunc, build
from tilewright.engine.ir import dtype as dt
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

FIRST, LAST = Geometry(256, 2, 16), Geometry(1024, 4, 32)


class NaiveLevel:
    """A textbook cache; `behind` is the next level."""

    def __init__(self, geometry: Geometry, behind: NaiveLevel | None) -> None:
        self.line, self.ways, self.behind = geometry.line, geometry.ways, behind
        self.sets = [OrderedDict() for _ in range(geometry.size // geometry.line // geometry.ways)]
        self.counts = {"reads": 0, "writes": 0, "read_misses": 0, "write_misses": 0}
        self.written_back = 0

    def access(self, address: int, written: bool, *, nearest: bool = True) -> None:
        line = address // self.line
        held = self.sets[line % len(self.sets)]
        kind = "write" if written else "read"
        self.counts[f"{kind}s"] += 1
        if line in held:
            held.move_to_end(line)
        else:
            self.counts[f"{kind}_misses"] += 1
            if len(held) == self.ways:
                victim, dirty = held.popitem(last=False)
                if dirty:
                    self.put_out(victim)
            held[line] = False
            if self.behind:
                self.behind.access(address, written, nearest=False)
        held[line] = held[line] or (written and nearest)

    def put_out(self, line: int) -> None:
        self.written_back += 1
        if self.behind:
            self.behind.take_back(line * self.line)

    def take_back(self, address: int) -> None:
        line = address // self.line
        held = self.sets[line % len(self.sets)]
        if line in held:
            held[line] = True
        else:
            self.put_out(line)


class DataError(Exception):
    """A choice depends on data, which the tracer does not have."""


class Tracer:
    """The accesses of a lowered program, one by one. For a statement: unconditional loads left to right, each once, chosen ones, the
    store.
    """

    def __init__(self, bases: dict[str, int]) -> None:
        self.bases, self.trace = bases, []

    def stmt(self, s, env) -> None:
        match s:
            case ir.SeqStmt():
                for each in s.seq:
                    self.stmt(each, env)
            case ir.For():
                first = self.value(s.min, env)
                for i in range(first, first + self.value(s.extent, env)):
                    self.stmt(s.body, {**env, s.loop_var: i})
            case ir.IfThenElse():
                if self.value(s.condition, env):
                    self.stmt(s.then_case, env)
                elif s.else_case is not None:
                    self.stmt(s.else_case, env)
            case ir.Allocate() | ir.AttrStmt():
                self.stmt(s.body, env)
            case ir.BufferStore():
                sure, chosen = [], []
                for e in (s.value, *s.indices):
                    self.loads(e, env, sure, chosen, False)
                for load in (*once(sure), *(c for c in chosen if not any(alike(c, s) for s in sure))):
                    self.trace.append((self.address(load.buffer, load.indices, env), False))
                self.trace.append((self.address(s.buffer, s.indices, env), True))
            case _:
                raise NotImplementedError(type(s))

    def loads(self, e, env, sure, chosen, hangs: bool) -> None:
        match e:
            case ir.BufferLoad():
                for i in e.indices:
                    self.loads(i, env, sure, chosen, hangs)
                (chosen if hangs else sure).append(e)
            case ir.Select() | ir.Call(op="if_then_else"):
                condition, yes, no = e.args if isinstance(e, ir.Call) else (e.condition, e.true_value, e.false_value)
                self.loads(condition, env, sure, chosen, hangs)
                self.loads(yes if self.value(condition, env) else no, env, sure, chosen, True)
            case _:
                for child in ir.children(e):
                    if isinstance(child, ir.Expr):
                        self.loads(child, env, sure, chosen, hangs)

    def address(self, buffer, indices, env) -> int:
        steps = [s.value for s in buffer.strides]
        place = 0
        for n, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            value = self.value(index, env)
            place = place + value * steps[n] if steps else place * extent.value + value
        return self.bases[buffer.name] + place * dt.size_bytes(buffer.dtype)

    def value(self, e, env) -> int:
        match e:
            case ir.Var():
                return env[e]
            case ir.IntImm():
                return e.value
            case ir.Cast():
                return self.value(e.value, env)
            case ir.Not():
                return not self.value(e.a, env)
            case ir.And():
                return self.value(e.a, env) and self.value(e.b, env)
            case ir.Or():
                return self.value(e.a, env) or self.value(e.b, env)
            case ir.Select() | ir.Call(op="if_then_else"):
                condition, yes, no = e.args if isinstance(e, ir.Call) else (e.condition, e.true_value, e.false_value)
                return self.value(yes if self.value(condition, env) else no, env)
            case ir.BufferLoad() | ir.Call() | ir.FloatImm():
                raise DataError
            case ir.BinaryOp() | ir.Predicate():
                a, b = self.value(e.a, env), self.value(e.b, env)
                return OPERATIONS[type(e)](a, b)
            case _:
                raise NotImplementedError(type(e))


def once(loads):
    """The loads without duplicates of equal text."""
    found = []
    for load in loads:
        if not any(alike(load, other) for other in found):
            found.append(load)
    return found


def alike(a, b) -> bool:
    pairs = zip(a.indices, b.indices, strict=True)
    return a.buffer is b.buffer and all(ir.structural_equal(x, y) for x, y in pairs)


OPERATIONS = {
    ir.Add: lambda a, b: a + b,
    ir.Sub: lambda a, b: a - b,
    ir.Mul: lambda a, b: a * b,
    ir.FloorDiv: lambda a, b: a // b,
    ir.FloorMod: lambda a, b: a % b,
    ir.Min: min,
    ir.Max: max,
    ir.EQ: lambda a, b: a == b,
    ir.NE: lambda a, b: a != b,
    ir.LT: lambda a, b: a < b,
    ir.LE: lambda a, b: a <= b,
    ir.GT: lambda a, b: a > b,
    ir.GE: lambda a, b: a >= b,
}


def naive_counts(
    func: PrimFunc, bases: dict[str, int], first: Geometry, last: Geometry
) -> tuple[NaiveLevel, NaiveLevel]:
    tracer = Tracer(bases)
    tracer.stmt(lower(func).body, {})
    behind = NaiveLevel(last, None)
    front = NaiveLevel(first, behind)
    for address, written in tracer.trace:
        front.access(address, written)
    return front, behind


def request(addresses: Sequence[int], dirty: Sequence[bool]) -> Asked:
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    return Asked(np.arange(len(addresses)), np.array(addresses, np.int64), np.array(dirty, np.bool_), nothing)


@given(
    seed=st.integers(0, 10_000),
    ways=st.integers(1, 4),
    sets=st.sampled_from([1, 2, 3, 8]),
    spread=st.sampled_from([64, 512, 4096]),
)
def test_law_a_level_misses_and_evicts_as_in_the_textbook(seed: int, ways: int, sets: int, spread: int):
    generator = random.Random(seed)
    geometry = Geometry(16 * ways * sets, ways, 16)
    behind = Geometry(64 * 2 * 4, 2, 64)
    machine = cached_machine(geometry, behind)
    front, back = (CacheLevel(c) for c in machine.caches)
    naive_back = NaiveLevel(behind, None)
    naive = NaiveLevel(geometry, naive_back)
    for _ in range(4):
        batch = [(generator.randrange(spread), generator.random() < 0.3) for _ in range(generator.randrange(120))]
        missed = front.ask(request([a for a, _ in batch], [w for _, w in batch]))
        positions = missed.which
        through = request([batch[p][0] for p in positions], [False] * len(positions))
        last = back.ask(Asked(positions, through.address, through.dirty, missed.returned))
        before = dict(naive.counts), dict(naive_back.counts), naive.written_back, naive_back.written_back
        for address, written in batch:
            naive.access(address, written)
        assert len(positions) == sum(naive.counts[k] - before[0][k] for k in ("read_misses", "write_misses"))
        assert len(last.which) == sum(naive_back.counts[k] - before[1][k] for k in ("read_misses", "write_misses"))
        assert len(missed.returned[0]) == naive.written_back - before[2]
        assert len(last.returned[0]) == naive_back.written_back - before[3]
    assert [list(s.items()) for s in front.sets] == [list(s.items()) for s in naive.sets]
    assert [list(s.items()) for s in back.sets] == [list(s.items()) for s in naive_back.sets]


@settings(few(4), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_law_counts_of_a_schedule_are_those_of_its_lowered_accesses(data: st.DataObject):
    sch = Schedule(data.draw(programs()))
    for _ in range(data.draw(st.integers(0, 4))):
        try:
            apply(sch, data.draw(calls(sch, LAYOUT_AND_ORDER)))
        except ScheduleError:
            continue
    func = lower(sch.func)
    assume(not any(isinstance(n, ir.Ramp) for n in ir.walk(func.body)))
    buffers = [*func.buffers, *ir.allocated_buffers(func.body)]
    assume(len({b.name for b in buffers}) == len(buffers))
    machine = cached_machine(FIRST, LAST).replace("memories.registers.scopes", ["elsewhere"])
    machine = machine.replace("memories.dram.scopes", ["global", *EVERY_SCOPE])
    bases = dict(zip([b.name for b in buffers], range(0, len(buffers) << 14, 1 << 14), strict=True))
    try:
        found = cache_counts(sch.func, machine, bases=bases, batch=data.draw(st.sampled_from([1, 7, 1 << 17])))
    except MachineError as error:
        assert error.code in ("data-dependent", "opaque-access"), error
        return
    try:
        front, behind = naive_counts(sch.func, bases, FIRST, LAST)
    except DataError:
        return  # both sides of the choice are loaded anyway
    for name, naive in (("first", front), ("last", behind)):
        total = found.total(name)
        assert {k: getattr(total, k) for k in naive.counts} == naive.counts
        assert found.written_back[name] == naive.written_back
    assert found.accesses == sum(front.counts[k] for k in ("reads", "writes"))


LAYOUT_AND_ORDER = (
    *(
        "split",
        "fuse",
        "reorder",
        "tile",
        "loop_partition",
        "compute_at",
        "reverse_compute_at",
        "compute_inline",
        "cache_read",
        "cache_write",
    ),
    *("set_layout", "storage_align", "decompose_reduction", "double_buffer", "rfactor"),
)


def streams(draw: st.DrawFn) -> str:
    """A nest that reads and writes at multiples of its loop variables."""
    loops = [("i", draw(st.integers(2, 40))), ("j", draw(st.integers(1, 12))), ("k", draw(st.integers(1, 6)))]
    steps = {n: [draw(st.sampled_from([0, 0, 1, 2, 4, 8, 16, 32, 64])) for _ in loops] for n in "ABC"}
    sizes = {n: 1 + sum((extent - 1) * s for (_, extent), s in zip(loops, steps[n], strict=True)) for n in "ABC"}
    place = {n: " + ".join(f"v{loop} * {s}" for (loop, _), s in zip(loops, steps[n], strict=True)) for n in "ABC"}
    limit = draw(st.sampled_from(["", "", f"T.where(j < {max(1, loops[1][1] - 1)})\n            "]))
    return (
        HEADER
        + f"""
@T.prim_func
def moves(A: T.Buffer(({sizes["A"]},), "float32"), B: T.Buffer(({sizes["B"]},), "float32"), C: T.Buffer(({sizes["C"]},), "float32")):
    for i, j, k in T.grid({", ".join(str(extent) for _, extent in loops)}):
        with T.block("moves"):
            {limit}vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[{place["C"]}] = A[{place["A"]}] + B[{place["B"]}]
"""
    )


@few(5)
@given(data=st.data())
def test_law_skipped_accesses_are_counted_exactly(data: st.DataObject):
    func = parse(streams(data.draw)).program
    ways, sets = data.draw(st.sampled_from([1, 2, 3])), data.draw(st.sampled_from([1, 2, 4, 8]))
    first = Geometry(16 * ways * sets, ways, 16)
    last = Geometry(32 * 2 * 8, 2, 32)
    machine = cached_machine(first, last)
    tasks = (CachedTask((0,), data.draw(st.integers(0, 3))),)
    skipped = cache_counts(func, machine, tasks=tasks, batch=data.draw(st.sampled_from([4, 16, 100])))
    plain = cache_counts(func, machine, tasks=tasks, batch=64, skip=False)
    assert plain.simulated == plain.accesses == skipped.accesses
    assert (skipped.rows, skipped.written_back, skipped.cycles) == (plain.rows, plain.written_back, plain.cycles)


MATMUL = (
    HEADER
    + """
@T.prim_func
def matmul(A: T.Buffer((256, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((256, 32), "float32")):
    for i, j, k in T.grid(256, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)


@pytest.mark.slow
def test_repeated_rows_are_skipped_with_equal_counts():
    func, machine = parse(MATMUL).program, cached_machine(Geometry(2048, 2, 64), Geometry(8192, 4, 64))
    tasks = (CachedTask((0,), 1),)
    skipped = cache_counts(func, machine, tasks=tasks)
    plain = cache_counts(func, machine, tasks=tasks, skip=False)
    assert skipped.simulated < skipped.accesses / 3
    assert (skipped.rows, skipped.written_back, skipped.cycles) == (plain.rows, plain.written_back, plain.cycles)


def test_miss_cycles_are_the_cost_of_the_next_level():
    func, machine = parse(MATMUL).program, cached_machine(Geometry(2048, 2, 64), Geometry(8192, 4, 64))
    found = cache_counts(func, machine, tasks=(CachedTask((0,), 2),))
    first, last = found.total("first"), found.total("last")
    from_last, from_memory = 10 + 64 // 32, 100 + 64 // 8
    expected = (first.read_misses + first.write_misses) * from_last + (
        last.read_misses + last.write_misses
    ) * from_memory
    assert len(found.cycles[0]) == 256 * 32 and sum(found.cycles[0]) == expected
    assert (last.reads, last.writes) == (first.read_misses, first.write_misses)


def test_second_core_hits_what_the_first_loaded():
    source = (
        HEADER
        + """
@T.prim_func
def two(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = B[vi]
"""
    )
    machine = read_machine(TWO_CORES)
    own = cache_counts(parse(source).program, machine, engine={0: "one", 1: "two"})
    assert own.total("mine").reads == own.total("yours").reads == 64
    of_c = {r.buffer: r for r in own.rows if r.cache == "both" and r.block == "C"}
    assert (of_c["B"].reads, of_c["B"].read_misses) == (4, 0), "the shared level has B's lines already"
    assert {r.buffer: r.read_misses for r in own.rows if r.cache == "yours"}["B"] == 4


TWO_CORES = """
name = "two cores"
clock_hz = 1_000_000_000

[memories.dram]
scopes = ["global"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 8
write_bytes_per_cycle = 8

[engines.one]
kind = "scalar"
reads = ["dram"]
writes = ["dram"]
cycles_per_operation = 1

[engines.two]
kind = "scalar"
reads = ["dram"]
writes = ["dram"]
cycles_per_operation = 1

[caches.mine]
memory = "dram"
engines = ["one"]
size_bytes = 1_024
ways = 2
line_bytes = 64
bytes_per_cycle = 32

[caches.yours]
memory = "dram"
engines = ["two"]
size_bytes = 1_024
ways = 2
line_bytes = 64
bytes_per_cycle = 32

[caches.both]
memory = "dram"
engines = ["one", "two"]
size_bytes = 8_192
ways = 4
line_bytes = 64
bytes_per_cycle = 16
"""


GATHER = (
    HEADER
    + """
@T.prim_func
def gather(A: T.Buffer((64,), "float32"), at: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[at[vi]]
"""
)


def without_caches() -> Machine:
    head, _, _ = TWO_CORES.partition("[caches.mine]")
    return read_machine(head)


def test_addresses_that_depend_on_data_are_refused():
    with pytest.raises(MachineError) as caught:
        cache_counts(parse(GATHER).program, read_machine(TWO_CORES))
    assert caught.value.code == "data-dependent" and "'A'" in caught.value.refusal.message


def test_too_many_accesses_and_no_caches_are_refused():
    func = parse(MATMUL).program
    with pytest.raises(MachineError) as caught:
        cache_counts(func, without_caches())
    assert caught.value.code == "no-cache"
    with pytest.raises(MachineError) as caught:
        cache_counts(func, read_machine(TWO_CORES), limit=1000)
    assert caught.value.code == "too-many-accesses" and "1000" in caught.value.refusal.message


@pytest.mark.slow
def test_buffers_lie_at_the_given_bases():
    func = parse(MATMUL.replace("256", "32")).program
    machine = cached_machine(Geometry(1024, 1, 64), Geometry(65536, 8, 64))
    apart = cache_counts(func, machine, bases={"A": 0, "B": 1 << 16, "C": 1 << 17})
    shifted = cache_counts(func, machine, bases={"A": 0, "B": (1 << 16) + 512, "C": (1 << 17) + 256})
    assert apart.total("first").reads == shifted.total("first").reads
    assert apart.total("first").read_misses != shifted.total("first").read_misses
    assert build.int_value(func.buffers[0].shape[0]) == 32
