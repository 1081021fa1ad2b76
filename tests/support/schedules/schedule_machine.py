"""Schedules as a state machine: any program, any calls, and after each accepted one the program must have the same meaning.

`ScheduleMachine` is run by pytest (tests/properties/test_schedule_machine.py) and, for longer, by `python -m support.schedules.deep`.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, note
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace as replace_fields
from support.programs.fitting_programs import fitting_programs
from support.programs.random_programs import programs
from support.programs.wild_programs import wild_programs
from support.schedules.calls import Call, apply, calls, describe
from support.schedules.likely import RARE, Likely
from support.schedules.meaning import TOO_COSTLY, Meaning, iterations
from support.schedules.naive import UnwrittenError
from support.schedules.races import find_race

from tilewright.engine.hwsim import MachineError, load_machine, simulate
from tilewright.engine.ir import IRModule, PrimFunc, first_difference
from tilewright.engine.lower import LowerError, lower
from tilewright.engine.schedule import PRIMITIVES, Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

FAMILIES: dict[str, tuple[str, ...]] = {
    "loops": ("split", "fuse", "reorder", "tile", "add_unit_loop", "loop_partition", "merge"),
    "kinds": ("parallel", "vectorize", "unroll", "bind", "annotate", "unannotate", "double_buffer", "pipeline"),
    "moves": ("compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline", "fuse_reduction_epilogue"),
    "copies": (
        *("cache_read", "cache_write", "cache_inplace", "reindex", "reindex_cache_read", "reindex_cache_write"),
        *("read_at", "write_at", "cache_index"),
    ),
    "buffers": (
        *("set_scope", "storage_align", "unsafe_set_dtype", "transform_layout", "set_layout", "set_axis_separator"),
        *("annotate_buffer_access", "unsafe_hide_buffer_access"),
    ),
    "blocks": ("transform_block_layout", "reorder_block_iter_var", "blockize", "tensorize"),
    "reductions": (
        *("decompose_reduction", "rfactor", "decompose_padding", "pad_einsum", "rolling_buffer"),
    ),
}  # fmt: skip
CONCURRENT = ("parallel", "vectorize", "bind")
OVERLAPPED = ("double_buffer", "pipeline")
"""Calls with an effect only after lowering."""
MACHINE = load_machine("matrix-vector-npu")
LARGE = 200_000
"""Most iterations of a program that may still grow: repeated moves under unrelated loops multiply them."""


class Tally:
    """Counted calls: for each primitive the tried and accepted ones, and the codes of the refusals."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.checks: Counter[str] = Counter()
        self.programs = 0

    def add(self, other: Tally) -> None:
        for name in ("tried", "accepted", "refused", "checks"):
            getattr(self, name).update(getattr(other, name))
        self.programs += other.programs


def any_program() -> st.SearchStrategy[PrimFunc]:
    """As front ends make them, for the calls that few of these fit, or wild."""
    return st.one_of(programs(), fitting_programs(), wild_programs().map(lambda text: parse(text).program))


def growing(machine: ScheduleMachine) -> bool:
    return not machine.large


class ScheduleMachine(RuleBasedStateMachine):
    """One schedule of one random program. `settled` is false from when a rule begins until it ended well.

    A program that became `large` is only made smaller, by `undo`: each form of it is run.
    """

    def __init__(self, tally: Tally | None = None) -> None:
        super().__init__()
        self.tally = tally or Tally()
        self.settled = False
        self.large = False

    @initialize(program=any_program(), beside=st.one_of(st.none(), st.none(), programs()))
    def begin(self, program: PrimFunc, beside: PrimFunc | None) -> None:
        self.meaning = Meaning(program)
        assume(self.meaning.known)
        others = () if beside is None else (replace_fields(beside, name="beside"),)
        self.sch = Schedule(IRModule((program, *others)), program.name)
        note(to_script(self.sch.mod))
        self.moments = [self.sch.mod]
        self.tally.programs += 1
        self.settled = True

    def call(self, call: Call) -> bool:
        """Make a call; whether it was accepted. It must keep the meaning, or leave the schedule unchanged and give a reason."""
        name, before = call[0], self.sch.mod
        self.tally.tried[name] += 1
        try:
            apply(self.sch, call)
        except ScheduleError as refused:
            assert refused.code and refused.refusal.message
            assert self.sch.mod is before, "a refusal must leave the schedule as it was"
            self.tally.refused[name, refused.code] += 1
            return False
        if current_build_context().is_final:
            note(describe(self.sch.trace.steps[-1]))
            note(to_script(self.sch.func))
        self.moments.append(self.sch.mod)
        fault = self.meaning.fault_of(self.sch)
        if fault == TOO_COSTLY:
            self.unrun()
            return True
        assert not fault, fault
        self.measure()
        if name in CONCURRENT and self.meaning.expected is not None and not self.sch.layouts:
            assert not (race := self.race()), race
        self.tally.accepted[name] += 1
        if name in OVERLAPPED:
            self.lowered()
        return True

    def unrun(self) -> None:
        """Prove a program that is too costly to run, if possible; otherwise skip it."""
        proof = self.sch.prove()
        assert proof.status != "refuted", proof.detail
        self.tally.checks[f"too costly to run: {proof.status}"] += 1
        self.sch.undo()
        self.moments.pop()

    def measure(self) -> None:
        was, self.large = self.large, iterations(self.sch.func) > LARGE
        self.tally.checks["grown large"] += self.large and not was

    def race(self) -> str:
        """Empty if there is no race; also if something reads unwritten elements, which the run above has judged."""
        try:
            return find_race(self.sch.func, self.meaning.arrays)
        except UnwrittenError:
            return ""

    def family(*names: str):
        @precondition(growing)
        @rule(data=st.data())
        def draw_one(self: ScheduleMachine, data: st.DataObject) -> None:
            self.settled = False
            self.call(data.draw(calls(self.sch, names)))
            self.settled = True

        return draw_one

    loops = family(*FAMILIES["loops"])
    kinds = family(*FAMILIES["kinds"])
    moves = family(*FAMILIES["moves"])
    copies = family(*FAMILIES["copies"])
    buffers = family(*FAMILIES["buffers"])
    blocks = family(*FAMILIES["blocks"])
    reductions = family(*FAMILIES["reductions"])

    @precondition(growing)
    @rule(data=st.data())
    def target(self, data: st.DataObject) -> None:
        """`legal_targets` of a loop predicts the call."""
        self.settled = False
        block = data.draw(st.sampled_from(self.sch.index.block_names))
        found = self.sch.legal_targets(block)
        legal = [target for target in found if target.legal]
        if legal or (found and data.draw(st.integers(0, 7)) == 7):
            target = data.draw(st.sampled_from(legal or found))
            accepted = self.call((target.primitive, {"block": block, "loop": target.loop}))
            assert accepted == target.legal, f"{target.primitive}({block}, {target.loop.name}): the call says otherwise"
        self.settled = True

    @precondition(growing)
    @rule(data=st.data())
    def rare(self, data: st.DataObject) -> None:
        """A call with rare requirements that this program meets."""
        self.settled = False
        likely = Likely(self.sch)
        if found := [name for name in RARE if likely.fitting(name)]:
            self.call(data.draw(calls(self.sch, found)))
        self.settled = True

    @precondition(growing)
    @rule(data=st.data())
    def rolled(self, data: st.DataObject) -> None:
        """Tiles of a consumer with its producer below them: needed by a rolling buffer, and very rare among random calls."""
        self.settled = False
        index = self.sch.index
        pairs = [(p, c) for c in index.block_names[1:] for p in index.producers(c) if len(index.loops_of(c)) < 4]
        if pairs:
            producer, consumer = data.draw(st.sampled_from(pairs))
            for f in index.loops_of(consumer)[:2]:
                self.call(("split", {"loop": f.loop_var, "factors": [None, data.draw(st.integers(1, 4))]}))
            loops = [f.loop_var for f in self.sch.index.loops_of(consumer)]
            order = (*loops[0::2], *loops[1::2])
            if len(loops) == 4 and not self.call(("reorder", {"ordered_loops": order})):
                order = tuple(loops)
            moved = order and self.call(
                ("compute_at", {"block": producer, "loop": data.draw(st.sampled_from(order[:2]))})
            )
            if moved and (Likely(self.sch).is_rolling(producer) or data.draw(st.integers(0, 7)) == 0):
                self.call(("rolling_buffer", {"block": producer, "write_buffer_index": 0}))
        self.settled = True

    @rule()
    def undo(self) -> None:
        self.settled = False
        had = len(self.moments) > 1
        assert self.sch.undo() == had
        if had:
            self.moments.pop()
        assert self.sch.mod is self.moments[-1]
        self.measure()
        self.settled = True

    def teardown(self) -> None:
        if self.settled and len(self.moments) > 1:
            assert self.sch.verify().status in ("tested", "unknown")
            self.reread()
            self.replayed()
            self.lowered()
            if len(self.moments) % 3 == 0:  # they cost more than all the rest
                self.proved()
                self.simulated()

    def reread(self) -> None:
        """The printed text is complete: parsed again it is the same program, and prints the same."""
        text = to_script(self.sch.func)
        again = parse(text).program
        assert to_script(again) == text
        assert first_difference(again, self.sch.func) is None, first_difference(again, self.sch.func)
        self.tally.checks["printed and read"] += 1

    def replayed(self) -> None:
        """The trace reproduces the schedule."""
        difference = first_difference(self.sch.replayed().mod, self.sch.mod)
        assert difference is None, difference
        self.tally.checks["replayed"] += 1

    def lowered(self) -> None:
        try:
            flat = lower(self.sch.func)
        except LowerError as refused:
            self.tally.checks[f"not lowered: {refused.code}"] += 1
            return
        fault = self.meaning.fault_of(self.sch, flat)
        assert fault in ("", TOO_COSTLY), f"lowered: {fault}"
        self.tally.checks["lowered" if not fault else "lowered, too costly to run"] += 1

    def proved(self) -> None:
        proof = self.sch.prove()
        assert proof.status != "refuted" and "isl fails" not in proof.detail, proof.detail
        self.tally.checks[proof.status] += 1

    def simulated(self) -> None:
        try:
            assert simulate(self.sch.func, MACHINE).cycles >= 0
        except (MachineError, LowerError):
            return
        self.tally.checks["simulated"] += 1


assert sorted(n for family in FAMILIES.values() for n in family) == sorted(PRIMITIVES), "a primitive without a family"
