"""The work that the page does in background jobs, by name: of any notebook, and of the largest programs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from support.programs.sources import elementwise_stages, matmul
from support.programs.transformer import transformer_notebook
from support.sessions.pages import painted

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import SelectRow, act
from tilewright.app.document import evaluate, read_document
from tilewright.app.export.exports import apart, made
from tilewright.app.jobs.analyses.layouts import layout_analysis
from tilewright.app.jobs.analyses.machine import trying
from tilewright.app.jobs.background_analysis import verdict_of
from tilewright.app.jobs.drop_preview import Drag, move_of
from tilewright.app.jobs.drop_targets import targets_of
from tilewright.app.state.derived import MAX_TASKS, Store, report_of, sizes_of
from tilewright.app.state.model import State
from tilewright.app.state.row_ids import row_ids
from tilewright.app.views.labels.buffer_ids import buffer_ids
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.execute import verify
from tilewright.engine.explore import Settings, TilingTargetError, derive_space, explore
from tilewright.engine.hwsim import Machine, Report, load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lint import linting
from tilewright.engine.lower import planned
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

Work = Callable[[], object]

TRIALS = 8
"""Candidates of a search."""


def run_all(pieces: Iterator[object]) -> None:
    """Run an iterator to its end."""
    deque(pieces, maxlen=0)


def page_works(text: str, *, blocks: int = 8) -> dict[str, Work]:
    """The background work of a page that shows a notebook; drops are previewed for its first `blocks`."""
    state, store = act(State(), OpenText(text, "")), Store()
    assert state.moment is not None, state.notice
    schedule, machine = state.moment.schedule, store.machine(state)
    assert isinstance(machine, Machine)
    func, sizes = store.costed(state, schedule), sizes_of(state, schedule.func)

    def sensitivity() -> None:
        plan = planned(func)
        report = report_of(func, machine, plan)
        if isinstance(report, Report):
            run_all(trying(func, machine, report, plan))

    return {
        "read": lambda: evaluate(read_document(text)),
        "report": lambda: report_of(func, machine),
        "verdict": lambda: verdict_of(schedule.copy(), sizes),
        "lints": lambda: run_all(linting(schedule, machine, sizes)),
        "sensitivity": sensitivity,
        "previews": lambda: preview(state, machine, blocks),
        "layouts": lambda: layouts(state),
        "replay": lambda: made("replay", apart(*painted(state))),
        "search": lambda: search(schedule, machine, sizes),
    }


def preview(state: State, machine: Machine, blocks: int) -> None:
    """Apply and simulate each legal drop of the first blocks."""
    assert state.moment is not None
    schedule = state.moment.schedule
    ids = row_ids(schedule.func)
    for row in [row for row, handle in ids.items() if isinstance(handle, str)][:blocks]:
        drag = Drag(state, machine, [row], [], row)
        for entry in targets_of(schedule, [row]):
            if entry.legal:
                after = act(state, move_of(drag, entry))
                if after.moment is not None:
                    report_of(after.moment.schedule.described, machine)


def layouts(state: State) -> None:
    """Try the layouts of each staged buffer."""
    store = Store()
    assert state.moment is not None
    store.simulated(state)
    for name in buffer_ids(state.moment.schedule.func):
        work = layout_analysis(act(state, SelectRow(buffer=name)), store)
        if work is not None:
            run_all(work.pieces())


def search(schedule: Schedule, machine: Machine, sizes: dict[str, int]) -> None:
    """Derive a space of the original program, and search it."""
    try:
        space = derive_space(schedule.original, machine, sizes=sizes)
    except TilingTargetError:
        return
    explore(space.space, machine, Settings(trials=TRIALS, exhaustive=TRIALS))


def examples() -> dict[str, str]:
    """The notebooks of the examples and a long one, by name."""
    return {**{e.name: e.text for e in load_examples()}, "transformer": transformer_notebook()}


def large_works() -> dict[str, Work]:
    """The longest work that the limits of the app allow."""
    chain = parse(elementwise_stages(430)).program
    lines = elementwise_stages(1500) + "# %% schedule\nsch = tilewright.Schedule(stages)\n"
    return {
        "chain: report": lambda: report_of(program(chain), load_machine("matrix-vector-npu")),
        "chain: verdict": lambda: verdict_of(moved(program(chain))),
        "chain: targets": lambda: targets_of(Schedule(program(chain)), [row_of(program(chain), "b200")]),
        "chain: lints": lambda: run_all(linting(Schedule(program(chain)), load_machine("matrix-vector-npu"), {})),
        "text: read": lambda: evaluate(read_document(NOTEBOOK_HEAD + lines)),
        "steps: read": lambda: evaluate(read_document(NOTEBOOK_HEAD + many_steps(400))),
        "tasks: report": lambda: simulate(staged_matmul(4096), load_machine("dual-bank-npu"), MAX_TASKS),
        "tasks: replayed": lambda: simulate(
            staged_matmul(3072), load_machine("dual-bank-npu"), MAX_TASKS, whole=MAX_TASKS
        ),
        "tasks: shared ports": lambda: simulate(
            staged_matmul(3072),
            load_machine("dual-bank-npu").replace("memories.vtcm.ports", "shared"),
            MAX_TASKS,
            whole=MAX_TASKS,
        ),
        "caches: report": lambda: simulate(plain_matmul(320), load_machine("cpu-core")),
        "caches: tiled": lambda: simulate(tiled_matmul(192, 16), load_machine("cpu-core")),
        "verify: tiled": lambda: verify(tiled_matmul(512, 8), plain_matmul(512)),
        "verify: plain": lambda: verify(plain_matmul(1024), plain_matmul(1024)),
    }


NOTEBOOK_HEAD = """# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
"""


def program(module: object) -> PrimFunc:
    """A parsed function."""
    assert isinstance(module, PrimFunc)
    return module


def plain_matmul(n: int) -> PrimFunc:
    """A square matmul."""
    return program(parse(matmul(n, n, n)).program)


def tiled_matmul(n: int, tile: int) -> PrimFunc:
    """A square matmul in tiles."""
    sch = Schedule(plain_matmul(n))
    loops = [sch.split(loop, [None, tile]) for loop in sch.get_loops("C")]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    return sch.func


def staged_matmul(n: int) -> PrimFunc:
    """A square matmul in tiles, its operands and result staged on chip."""
    sch = Schedule(program(parse(matmul(n, n, n, "float16")).program))
    tiles = zip(sch.get_loops("C"), (64, 64, 128), strict=True)
    loops = [sch.split(loop, [None, size]) for loop, size in tiles]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, "local.vtcm")
        sch.compute_at(copy, loops[2][0])
        sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), loops[1][0])
    return sch.func


def moved(func: PrimFunc) -> Schedule:
    """The program after a move of a block."""
    sch = Schedule(func)
    sch.compute_at("b200", sch.get_loops("b201")[0])
    return sch


def row_of(func: PrimFunc, block: str) -> str:
    """The row of a block in the tree."""
    return row_ids(func).of(block)


def many_steps(count: int) -> str:
    """A workload and a schedule of many lines."""
    lines = "".join(f'sch.annotate("b{n % 8}", "note{n}", {n})\n' for n in range(count))
    return elementwise_stages(8) + "# %% schedule\nsch = tilewright.Schedule(stages)\n" + lines
