"""docs/machine-file.md matches the types, every key is documented, and the file on the page is a machine."""

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


def test_the_page_is_generated_from_the_types() -> None:
    assert PAGE.read_text(encoding="utf-8") == machine_file_page(), (
        "run support/record/machine_file.py and look at what changed"
    )


@pytest.mark.parametrize("part", [part for _, _, part in SECTIONS], ids=lambda part: part.__name__)
def test_each_key_of_a_section_is_documented(part: type[msgspec.Struct]) -> None:
    for field in keys_of(part):
        assert meanings(part)[field.name].endswith("."), field.name


def test_program_runs_on_the_machine_of_the_page() -> None:
    machine = read_machine(SMALLEST)
    sch = tilewright.Schedule(tilewright.parse(SOURCE))
    sch.cache_read("C", 0, "local")
    assert {name for name, engine in simulate(sch.func, machine).engines.items() if engine.tasks} == {"dma", "core"}


def test_missing_key_is_refused_at_its_section() -> None:
    lines = SMALLEST.splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith(("[", "source", "latency_cycles")):
            with pytest.raises(tilewright.TilewrightError) as error:
                read_machine("\n".join(lines[:number] + lines[number + 1 :]), "my.toml")
            place = error.value.refusal.place
            assert place is not None and place.line <= number + 1, line
