"""The database of found schedules: keys of programs and machines, the file, and searches that start from its records."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.profile import IS_DEEP
from support.programs.gemms import CONVOLUTION, GEMM
from support.programs.sources import ROWS

from tilewright.engine.execute import random_inputs, run
from tilewright.engine.explore import (
    Database,
    DatabaseError,
    Settings,
    SketchChoice,
    Space,
    SpaceOrigin,
    TuningRecord,
    WarmStart,
    derive_space,
    explore,
    space_of,
)
from tilewright.engine.explore.database.database import KEPT
from tilewright.engine.explore.database.record import RULES
from tilewright.engine.explore.database.target import target_of
from tilewright.engine.explore.database.warm_start import found_lines
from tilewright.engine.explore.database.workload import workload_of
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse, read_calls

GEMMINI = load_machine("gemmini")
LINES = """
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
rows = tilewright.choose("rows", [16, 32, 64, 128])
i_o, i_i = sch.split(i, [None, rows], names=["i_o", "i_i"])
sch.reorder(i_o, j, k, i_i)
A_in = sch.cache_read(C, 0, "local.scratchpad")
at = tilewright.choose("A at", ["i_o", "j"])
sch.compute_at(A_in, at)
slots = tilewright.choose("slots", [1, 2])
sch.double_buffer(A_in, slots=slots)
B_in = sch.cache_read(C, 1, "local.scratchpad")
C_out = sch.cache_write(C, 0, "local.accumulator")
sch.reverse_compute_at(C_out, i_o)
"""


def gemm(m: int = 64, n: int = 32, k: int = 32, dtype: str = "int8") -> PrimFunc:
    found = parse(GEMM.format(m=m, n=n, k=k, dtype=dtype)).program
    assert isinstance(found, PrimFunc)
    return found


def space(program: PrimFunc, lines: str = LINES) -> Space:
    return space_of(program, read_calls(lines))


def record(program: PrimFunc, text: str = LINES, cycles: int = 100) -> TuningRecord:
    return TuningRecord(workload_of(program), target_of(GEMMINI), text.strip() + "\n", cycles)


def text_of(program: PrimFunc, old: str, new: str) -> PrimFunc:
    from tilewright.engine.script import to_script

    found = parse(to_script(program).replace(old, new)).program
    assert isinstance(found, PrimFunc)
    return found


# --- keys


def test_workloads_with_other_names_are_equal() -> None:
    plain = gemm()
    renamed = text_of(text_of(text_of(plain, "vi", "row"), 'T.sblock("C")', 'T.sblock("product")'), "A", "left")
    one, other = workload_of(plain), workload_of(renamed)
    assert one.is_equal(other) and one.distance(other) == 0
    assert other.blocks == ("product",) and "left" in other.names


def test_sizes_and_types_change_only_the_workload() -> None:
    base = workload_of(gemm())
    larger, wider = workload_of(gemm(m=128)), workload_of(gemm(dtype="int16"))
    assert base.structure == larger.structure == wider.structure
    assert not base.is_equal(larger) and not base.is_equal(wider)
    assert 0 < base.distance(larger) < base.distance(workload_of(gemm(m=256)))


def test_another_computation_has_another_structure() -> None:
    convolution = parse(CONVOLUTION.format(h=16, w=16, c=16, fh=3, fw=3, f=32, oh=14, ow=14, s=1)).program
    strided = parse(CONVOLUTION.format(h=17, w=17, c=16, fh=3, fw=3, f=32, oh=8, ow=8, s=2)).program
    base = workload_of(gemm())
    assert base.distance(workload_of(convolution)) == float("inf")
    assert workload_of(convolution).structure != base.structure
    assert not workload_of(convolution).is_equal(workload_of(strided))


def test_values_of_symbolic_sizes_are_part_of_the_key() -> None:
    symbolic = parse(
        "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,), 'float32')\n"
        "    B = T.match_buffer(b, (n,), 'float32')\n    for i in range(n):\n        with T.block('B'):\n"
        "            vi = T.axis.spatial(n, i)\n            B[vi] = A[vi]\n"
    ).program
    small, large = workload_of(symbolic, {"n": 64}), workload_of(symbolic, {"n": 128})
    assert small.structure == large.structure and not small.is_equal(large)


def test_machine_key_has_only_the_parameters() -> None:
    base = target_of(GEMMINI)
    assert base.is_equal(target_of(replace(GEMMINI, name="other", description="another")))
    faster = target_of(GEMMINI.replace("memories.scratchpad.capacity_bytes", 1 << 20))
    assert not base.is_equal(faster) and 0 < base.distance(faster) < float("inf")
    assert base.distance(target_of(load_machine("dual-bank-npu"))) == float("inf")


# --- the file


def test_missing_database_is_created_by_the_first_record(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    with Database(file) as database:
        assert database.records() == [] and not file.exists()
        database.commit(record(gemm()))
    with Database(file) as database:
        assert [r.cycles for r in database.records()] == [100]


def test_only_the_fastest_schedules_of_a_program_are_kept(tmp_path: Path) -> None:
    with Database(tmp_path / "found.sqlite3") as database:
        for cycles in range(200, 100, -10):
            database.commit(record(gemm(), LINES.replace('"rows"', f'"rows {cycles}"'), cycles))
        database.commit(record(gemm(m=128), cycles=900))
        kept = [r.cycles for r in database.query(workload_of(gemm()), target_of(GEMMINI), 10)]
    assert kept[0] == 110 and sorted(kept) == [110, 120, 130, 140, 900] and len(kept) == KEPT + 1


def test_query_returns_the_nearest_records_first(tmp_path: Path) -> None:
    with Database(tmp_path / "found.sqlite3") as database:
        database.commit(*(record(gemm(m=m), cycles=m) for m in (256, 64, 128, 32)))
        found = database.query(workload_of(gemm(m=128)), target_of(GEMMINI), 3)
    assert found[0].cycles == 128 and {r.cycles for r in found[1:]} == {64, 256}


cycle_lists = st.lists(st.tuples(st.sampled_from([32, 64]), st.integers(0, 5), st.integers(1, 99)), max_size=12)


@pytest.mark.slow
@settings(max_examples=500 if IS_DEEP else 10)
@given(cycle_lists, cycle_lists)
def test_merging_keeps_the_best_of_both(
    tmp_path_factory: pytest.TempPathFactory, one: list[tuple[int, int, int]], two: list[tuple[int, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    best: dict[int, int] = {}
    with Database(folder / "one") as mine, Database(folder / "two") as other:
        for database, rows in ((mine, one), (other, two)):
            for m, name, cycles in rows:
                database.commit(record(gemm(m=m), LINES.replace('"rows"', f'"rows {name}"'), cycles))
        for stored in (*mine.records(), *other.records()):
            m = int(stored.workload.numbers[0])
            best[m] = min(best.get(m, stored.cycles), stored.cycles)
        mine.merge(other)
        merged = mine.records()
        for m, cycles in best.items():
            assert min(r.cycles for r in merged if r.workload.numbers[0] == m) == cycles
        assert mine.merge(other) == 0


@pytest.mark.slow
def test_two_processes_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    code = (
        "import sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "import conftest\n"  # the profiles of Hypothesis
        "from test_database import record, gemm\n"
        "from tilewright.engine.explore import Database\n"
        "for n in range(12):\n"
        "    with Database(sys.argv[1].split(',')[0]) as d:\n"
        "        d.commit(record(gemm(m=16 * (n + 1), n=int(sys.argv[1].split(',')[1])), cycles=n + 1))\n"
    )
    tests = Path(__file__).parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", code, f"{file},{n}", str(Path(__file__).parent), str(tests)])
        for n in (16, 32)
    ]
    assert [process.wait() for process in running] == [0, 0]
    with Database(file) as database:
        assert len(database.records()) == 24


def broken(file: Path, kind: str) -> None:
    """Write a file that is no database of this version."""
    with Database(file) as database:
        database.commit(record(gemm()))
    base = sqlite3.connect(file)
    match kind:
        case "newer-database":
            base.execute("pragma user_version = 99")
        case "trigger":
            base.execute("create trigger t after insert on records begin delete from records; end")
        case "other":
            base.execute("pragma application_id = 7")
        case "damaged":
            base.close()
            data = bytearray(file.read_bytes())
            data[4096:] = b"\xff" * (len(data) - 4096)
            file.write_bytes(bytes(data))
        case _:
            base.close()
            file.write_text("# %% machine\n" * 100)
    base.close()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("newer-database", "newer-database"),
        ("trigger", "not-a-database"),
        ("other", "not-a-database"),
        ("damaged", "database-unusable"),
        ("a text", "database-unusable"),
    ],
)
def test_search_continues_without_an_unusable_file(tmp_path: Path, kind: str, code: str) -> None:
    file = tmp_path / "found.sqlite3"
    broken(file, kind)
    before = file.read_bytes()
    study = explore(space(gemm()), GEMMINI, Settings(trials=1, exhaustive=0), database=file)
    assert study.best is not None and study.warm_start.problem is not None
    assert study.warm_start.problem.code == code and "the search goes on without it" in study.warm_start.text
    assert file.read_bytes() == before
    with pytest.raises(DatabaseError) as refused:
        Database(file).records()
    assert refused.value.code == code


def test_search_continues_without_a_writable_folder(tmp_path: Path) -> None:
    study = explore(
        space(gemm()), GEMMINI, Settings(trials=1, exhaustive=0), database=tmp_path / "missing" / "found.sqlite3"
    )
    assert study.best is not None and study.warm_start.problem is not None
    assert study.warm_start.problem.code == "database-unusable" and not study.warm_start.written


def test_undecodable_records_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    with Database(file) as database:
        database.commit(record(gemm()), record(gemm(m=128)))
    base = sqlite3.connect(file)
    base.execute('update records set record = \'{"cycles": "many"}\' where id = 1')
    base.commit()
    base.close()
    with Database(file) as database:
        assert len(database.records()) == 1


# --- searches


@pytest.mark.slow
def test_after_an_exact_hit_the_first_candidate_is_as_recorded(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    first = explore(space(gemm()), GEMMINI, database=file)
    assert first.best is not None and first.best.outcome.figures is not None and first.best.point != (0, 0, 0)
    assert first.warm_start.records == () and first.warm_start.written
    second = explore(space(gemm()), GEMMINI, database=file)
    outcome = second.trials[0].outcome
    assert outcome.figures is not None and outcome.figures.cycles <= first.best.outcome.figures.cycles
    assert second.warm_start.exact == 1 and "the schedule found before" in second.warm_start.text


@pytest.mark.slow
def test_lines_of_an_exact_hit_have_the_programs_names(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    explore(space(gemm()), GEMMINI, database=file)
    other = text_of(gemm(), 'T.sblock("C")', 'T.sblock("product")')
    with WarmStart(file, other, {}, GEMMINI) as warm:
        derived = derive_space(other, GEMMINI, records=warm.records, stop=lambda: True)
        assert warm.use.exact == 1
        known = warm.records[0].cycles
    study = explore(derived.space, GEMMINI, Settings(trials=1, exhaustive=0))
    figures = study.trials[0].outcome.figures
    assert figures is not None and figures.cycles <= known


@pytest.mark.slow
def test_for_another_size_the_nearest_values_are_evaluated_first(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    with Database(file) as database:
        lines = found_lines(space(gemm()), (1, 0, 1))  # rows 32 of up to 128, two slots
        database.commit(record(gemm(), lines))
    study = explore(space(gemm(m=128)), GEMMINI, database=file)
    assert study.trials[0].point == (1, 0, 1) and study.warm_start.exact == 0
    assert "the nearest found schedule" in study.warm_start.text


def test_the_largest_value_is_also_a_start(tmp_path: Path) -> None:
    small, large = space(gemm(), LINES.replace(", 128]", "]")), space(gemm(m=128))
    with Database(tmp_path / "found.sqlite3") as database:
        database.commit(record(gemm(), found_lines(small, (2, 0, 0))))
    with WarmStart(tmp_path / "found.sqlite3", gemm(m=128), {}, GEMMINI) as warm:
        assert warm.points(large) == ((3, 0, 0), (2, 0, 0))


@pytest.mark.slow
def test_groups_of_other_sizes_come_first(tmp_path: Path) -> None:
    file, machine = tmp_path / "found.sqlite3", load_machine("dual-bank-npu")
    rows, longer = parse(ROWS).program, parse(ROWS.replace("(8,", "(16,")).program
    derived = derive_space(rows, machine)
    study = explore(derived.space, machine, Settings(trials=8), database=file, origin=derived.origin)
    assert study.best is not None and derived.choice is not None
    with WarmStart(file, longer, {}, machine) as warm:
        other = derive_space(longer, machine, records=warm.records, stop=lambda: True)
    assert other.choice == derived.choice


@pytest.mark.slow
def test_stopped_study_resumes_with_its_own_starts(tmp_path: Path) -> None:
    file, store = tmp_path / "found.sqlite3", tmp_path / "study.sqlite3"
    some = Settings(trials=6, exhaustive=0)
    with Database(file) as database:
        database.commit(record(gemm(), found_lines(space(gemm()), (2, 1, 1))))
    first = explore(space(gemm(m=128)), GEMMINI, replace(some, trials=3), store=store, database=file)
    with Database(file) as database:
        database.commit(record(gemm(m=256), found_lines(space(gemm()), (0, 1, 0)), 1))
    again = explore(space(gemm(m=128)), GEMMINI, some, store=store, database=file)
    assert first.trials[0].point == (2, 1, 1)
    assert [t.point for t in again.trials[:3]] == [t.point for t in first.trials]


def test_a_record_with_wrong_cycles_is_corrected(tmp_path: Path) -> None:
    file = tmp_path / "found.sqlite3"
    with Database(file) as database:
        database.commit(record(gemm(), found_lines(space(gemm()), (0, 1, 0)), 1))
    study = explore(space(gemm()), GEMMINI, database=file)
    assert study.best is not None and study.best.outcome.figures is not None
    with Database(file) as database:
        assert min(r.cycles for r in database.records()) == study.best.outcome.figures.cycles


def test_records_of_current_rules_come_before_older_ones(tmp_path: Path) -> None:
    with Database(tmp_path / "found.sqlite3") as database:
        database.commit(replace(record(gemm(), cycles=1), rules=RULES - 1), record(gemm(), LINES + "# x\n", 5))
        database.commit(record(gemm(), LINES.replace('"rows"', '"tile rows"'), 7))
        assert database.query(workload_of(gemm()), target_of(GEMMINI), 5)[0].rules == RULES


# --- records from anywhere

HOSTILE = (
    "__import__('os').system('touch executed')",
    "import os\nos.system('touch executed')",
    "sch.__class__.__init__(sch)",
    'C = sch.get_block("C")\nsch.unroll(C)',
    "x = [0] * 10 ** 9",
    "C = (" * 500,
    'i = sch.get_loops("C")[0]\nsch.split(i, [None, 10 ** 30])',
    'i, j, k = sch.get_loops("C")\nsch.split(i, [None, 0])',
    'C = sch.get_block("C")\nsch.compute_inline(C)',
    'tile = tilewright.choose("rows", [])',
    "\x00",
    "'''",
)
texts = st.one_of(
    st.sampled_from([*HOSTILE, LINES]),
    st.lists(st.sampled_from(LINES.strip().splitlines()), max_size=12).map("\n".join),
    st.text(max_size=60),
)
choices = st.one_of(
    st.none(),
    st.builds(
        SketchChoice,
        st.integers(-2, 3),
        st.lists(st.lists(st.integers(0, 4), max_size=3).map(tuple), max_size=2).map(tuple),
    ),
)


@settings(max_examples=500 if IS_DEEP else 5)
@given(texts, choices, st.booleans(), st.integers(0, 2), st.integers(0, 1000))
def test_law_no_record_changes_the_result(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    choice: SketchChoice | None,
    is_exact: bool,
    names: int,
    cycles: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    program = gemm(m=16, n=16, k=16)
    own = workload_of(program if is_exact else gemm(m=32, n=16, k=16))
    swapped = tuple(reversed(own.names)) if names == 1 else own.names[:names] if names else own.names
    proposal = TuningRecord(replace(own, names=swapped), target_of(GEMMINI), text, cycles, "proved", "", choice)
    try:
        with Database(folder / "found") as database:
            database.commit(proposal)
    except DatabaseError as error:  # text that UTF-8 cannot encode
        raise AssertionError(error) from error
    with WarmStart(folder / "found", program, {}, GEMMINI) as warm:
        derived = derive_space(program, GEMMINI, records=warm.records, stop=lambda: True)
    study = explore(
        derived.space, GEMMINI, Settings(trials=4, exhaustive=0), database=folder / "found", origin=SpaceOrigin()
    )
    assert study.offers
    inputs = random_inputs(program)
    for offer in study.offers:
        scheduled = study.space.schedule_at(offer.trial.point).schedule
        assert (run(scheduled.func, inputs)["C"] == run(program, inputs)["C"]).all()
    assert not Path("executed").exists()
