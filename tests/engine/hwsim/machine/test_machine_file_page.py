"""docs/machine-file.md is what the types say, every key has its meaning, and the page's own file is a machine."""

from __future__ import annotations

import msgspec
import pytest
from support.record.machine_file import PAGE, SECTIONS, SMALLEST, keys_of, machine_file_page

import tilewright
from tilewright.engine.hwsim import simulate
from tilewright.engine.hwsim.machine.machine_file import read_machine
from tilewright.engine.hwsim.machine.parts import meanings

SOURCE = """
@T.prim_func
def double(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""


def test_the_page_is_what_the_types_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == machine_file_page(), (
        "run support/record/machine_file.py and look at what changed"
    )


@pytest.mark.parametrize("part", [part for _, _, part in SECTIONS], ids=lambda part: part.__name__)
def test_given_a_part_then_each_of_its_keys_says_what_it_means(part: type[msgspec.Struct]) -> None:
    for field in keys_of(part):
        assert meanings(part)[field.name].endswith("."), field.name


def test_given_the_pages_file_then_it_is_a_machine_that_a_program_runs_on() -> None:
    machine = read_machine(SMALLEST)
    sch = tilewright.Schedule(tilewright.parse(SOURCE))
    sch.cache_read("C", 0, "local")
    assert {name for name, engine in simulate(sch.func, machine).engines.items() if engine.tasks} == {"dma", "core"}


def test_given_the_pages_file_without_a_key_that_is_needed_then_it_is_refused_at_its_section() -> None:
    lines = SMALLEST.splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith(("[", "source", "latency_cycles")):
            with pytest.raises(tilewright.TilewrightError) as error:
                read_machine("\n".join(lines[:number] + lines[number + 1 :]), "my.toml")
            place = error.value.refusal.place
            assert place is not None and place.line <= number + 1, line
