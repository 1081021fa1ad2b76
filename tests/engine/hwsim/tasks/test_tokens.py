"""Tokens: cycles that engines spend on waits and signals, against hand calculations and a replay of every task."""

from __future__ import annotations

from random import Random

import pytest
from support.profile import samples
from support.simulator.exactness import MACHINES, differing_reports, tiled, varied
from support.simulator.machines import plain

from tilewright.engine.hwsim import Machine, MachineError, lower_bound_of, simulate, tasks_of
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

CHAIN = """
@T.prim_func
def chain(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    for i in range(32):
        with T.block("B"):
            v = T.axis.remap("S", [i])
            B[v] = A[v] * 2
"""


def synchronised(waits: int, signals: int, machine: Machine | None = None) -> Machine:
    """The machine with engines that spend these cycles on a token."""
    found = machine or plain()
    for engine in found.engines:
        found = found.replace(f"engines.{engine.name}.wait_cycles", waits)
        found = found.replace(f"engines.{engine.name}.signal_cycles", signals)
    return found


def staged(steps: int) -> PrimFunc:
    """A load, a product by two and a store in each of `steps` steps."""
    sch = Schedule(parse(CHAIN).program)
    outer, _ = sch.split(sch.get_loops("B")[0], factors=[steps, None])
    sch.compute_at(sch.cache_read("B", 0, "local"), outer)
    sch.reverse_compute_at(sch.cache_write("B", 0, "local"), outer)
    return sch.func


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("waits", "signals"), [(3, 2), (7, 0), (0, 5)])
def test_tasks_of_a_chain_exchange_one_token(steps: int, waits: int, signals: int) -> None:
    before, after = (simulate(staged(steps), m) for m in (plain(), synchronised(waits, signals)))
    assert after.cycles == before.cycles + 3 * steps * (waits + signals)
    for name, tasks in (("dma", 2 * steps), ("vector", steps)):
        assert after.engines[name].busy == before.engines[name].busy + tasks * (waits + signals)


def test_engines_of_one_unit_need_no_tokens() -> None:
    unit = plain()
    for name in ("dma", "vector"):
        unit = unit.replace(f"engines.{name}.unit", "core")
    assert simulate(staged(4), synchronised(3, 2, unit)).cycles == simulate(staged(4), unit).cycles


def test_engines_that_share_only_reads_need_no_tokens() -> None:
    text = CHAIN.replace("* 2", "")
    alone = Schedule(parse(text).program).func
    assert simulate(alone, synchronised(3, 2)).cycles == simulate(alone, plain()).cycles


def test_bound_with_tokens_is_that_of_the_report() -> None:
    program = tasks_of(staged(4), synchronised(3, 2))
    report = simulate(staged(4), synchronised(3, 2))
    assert lower_bound_of(program).cycles == report.bound <= report.cycles


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", samples(range(12), *range(3)))
def test_law_skipping_with_tokens_is_exact(seed: int) -> None:
    rng = Random(seed)
    base, *scopes = rng.choice(MACHINES)
    func = tiled(rng, *scopes)
    machine = synchronised(rng.choice((0, 2, 25)), rng.choice((1, 4, 40)), varied(rng, base))
    try:
        assert not differing_reports(func, machine)
    except MachineError as error:
        assert error.code in ("out-of-reach", "no-such-bank", "too-many-tasks")
