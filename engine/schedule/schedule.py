"""A schedule: a program and the calls that transformed it. Method names and keywords are TVM's, so TVM's documentation applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast
from weakref import WeakMethod

import msgspec
from msgspec.structs import replace as replace_fields

from ..analysis import ProgramIndex, honest_signatures, opaque_refusal, unique_block_names
from ..cancellation import checkpoint
from ..execute import ParameterLayout, Verdict, verify
from ..ir import (
    Block,
    Buffer,
    For,
    IRModule,
    PrimFunc,
    ScheduleCall,
    TilewrightError,
    Var,
    allocated_buffers,
    refusing_depth,
    replace_nodes,
    walk_stmts,
)
from ..lower import Plan, planned, with_sizes
from ..prove import QUICK_RUN, Proof, check, prove, sized, tested
from ..script import from_tvm
from ..script.language import SCHEDULE_MAKERS, is_te, makes_schedule, tree_of
from .arguments import canonical
from .context import BlockRV, Context, LoopRV, R
from .errors import ScheduleError, refuse
from .gone import with_history
from .intrin import Intrinsics, TensorIntrin, process_intrinsics
from .primitives import PRIMITIVES, Primitive, Primitives
from .primitives.blocks.tensorize import described
from .primitives.motion.targets import Target, legal_targets
from .random_tiles import RandomState
from .repairs import with_repair
from .rules.vectors import with_thread_loops
from .sampling import INLINED, ROOT, Sampling
from .smaller import smaller_program
from .trace import Trace


class ScheduleState(msgspec.Struct, frozen=True, eq=False):
    """A state of a schedule: the module, the name of the current function, the trace up to here, and the parameter layout changes (with the
    name of their function)."""

    mod: IRModule
    func_name: str
    trace: Trace
    layouts: tuple[tuple[str, ParameterLayout], ...] = ()


class Schedule(Primitives, Sampling):
    """A program with the calls applied so far.

    Handles: a loop is its `Var`, a block its unique name; a loop's name is accepted if it is unique. A refused call raises
    ScheduleError and changes nothing. Blocks of one function that share a name are numbered (`X_local`, `X_local_1`).
    """

    @refusing_depth(ScheduleError)
    def __init__(
        self,
        program: object,
        func_name: str | None = None,
        *,
        seed: int | None = None,
        intrinsics: Intrinsics | None = None,
    ) -> None:
        """`program` is an IRModule, a PrimFunc, TVMScript text, or a module, function or schedule of TVM.

        `seed` is that of the random decisions, as in `seed`. `intrinsics` are those that `tensorize` finds by name; the default is the
        registry of `TensorIntrin.register`.
        """
        module = _module(program)
        module = replace_fields(
            module,
            functions=tuple(_prepared(f) for f in module.functions),
        )
        name = _default_function(module) if func_name is None else func_name
        _require_function(module, name)
        self._states: tuple[ScheduleState, ...] = (ScheduleState(module, name, Trace()),)
        self._context: Context | None = None
        self._intrinsics = process_intrinsics() if intrinsics is None else intrinsics
        self._described: tuple[PrimFunc, PrimFunc] | None = None
        self._followers: list[WeakMethod[Callable[[], None]]] = []
        self._random = RandomState(seed)

    def __repr__(self) -> str:
        """A summary in one line; `show` prints the program, `trace` has the calls."""
        calls = [step.method for step in self.trace.steps if step.changes]
        if len(calls) > _SHOWN_CALLS:
            calls = [f"{len(calls) - _SHOWN_CALLS} calls", *calls[-_SHOWN_CALLS:]]
        return f"<Schedule of {self.func_name!r} after {', '.join(calls) or 'no calls'}>"

    # Current state.

    @property
    def mod(self) -> IRModule:
        """The current module. Each call creates a new one and leaves the old one unchanged."""
        return self._states[-1].mod

    @property
    def func(self) -> PrimFunc:
        """The current function."""
        return self.mod[self.func_name]

    @property
    def func_name(self) -> str:
        """The name of the current function; see `work_on`."""
        return self._states[-1].func_name

    @property
    def original(self) -> IRModule:
        """The module before the first call."""
        return self._states[0].mod

    @property
    def layouts(self) -> tuple[ParameterLayout, ...]:
        """The layout changes of the current function's parameters, in order: callers must rearrange their arrays accordingly."""
        return tuple(layout for name, layout in self._states[-1].layouts if name == self.func_name)

    @property
    def trace(self) -> Trace:
        """The calls so far, including queries, with their results."""
        return self._states[-1].trace

    @property
    def states(self) -> tuple[ScheduleState, ...]:
        """All states from the original on, one per traced step."""
        return self._states

    @property
    def index(self) -> ProgramIndex:
        """The index of the current function: loops, blocks, readers and writers."""
        return self._ctx.index

    def work_on(self, func_name: str) -> None:
        """Work on another function of the module."""
        _require_function(self.mod, func_name)
        self._context = None
        step = ScheduleCall("work_on", (("func_name", func_name),), changes=False)
        moment = ScheduleState(self.mod, func_name, Trace((*self.trace.steps, step)), self._states[-1].layouts)
        self._states = (*self._states, moment)

    def undo(self) -> bool:
        """Undo the last change, with the queries after it. False if there is none."""
        changes = [i for i, step in enumerate(self.trace.steps) if step.changes]
        if not changes:
            return False
        self._states = self._states[: changes[-1] + 1]
        self._context = None
        return True

    def copy(self) -> Schedule:
        """An independent schedule in the same state; handles are valid in both."""
        other = object.__new__(Schedule)
        other._states = self._states
        other._context = self._context
        other._intrinsics = self._intrinsics
        other._described = self._described
        other._followers = []
        other._random = RandomState(self.fork_seed())
        return other

    def at(self, count: int) -> Schedule:
        """An independent schedule in the state after the first `count` traced steps; handles are valid in both."""
        if not 0 <= count < len(self._states):
            raise refuse("no-such-step", f"there is no step {count}", expected=f"0 to {len(self._states) - 1}")
        other = self.copy()
        if count < len(self._states) - 1:
            other._states = self._states[: count + 1]
            other._context = None
        return other

    def go_to(self, other: Schedule) -> None:
        """Adopt the state of `other`, a copy of this schedule that received other calls: all holders of this schedule see them.

        Raises ScheduleError "other-program" if the two did not start from the same program.
        """
        if other._states[0] is not self._states[0]:
            raise refuse(
                "other-program", "the two schedules belong to different programs", expected="a copy of this schedule"
            )
        self._states = other._states
        self._context = other._context
        self._followers = [follower for follower in self._followers if follower() is not None]
        for follower in tuple(self._followers):
            notify = follower()
            if notify is not None:
                notify()

    def make(self, call: ScheduleCall) -> tuple[Var | str, ...]:
        """Make a call that is given as a value, and return the handles of its results. Raises ScheduleError."""
        call.made_on(self)
        return self.trace.steps[-1].results

    def follow(self, follower: Callable[[], None]) -> None:
        """Call `follower`, a method, after each `go_to`, during the lifetime of its object; copies do not inherit followers."""
        self._followers.append(WeakMethod(follower))

    def replayed(self, original: IRModule | None = None) -> Schedule:
        """A fresh schedule of the original, or of a program of the same form, with every traced call repeated."""
        other = Schedule(original or self.original, self._states[0].func_name, intrinsics=self._intrinsics)
        for step, before in zip(self.trace.steps, self._states, strict=False):
            new = dict(zip(_handles(before), _handles(other._states[-1]), strict=True))
            call = step.with_handles(new)
            if step.changes:
                other._apply(PRIMITIVES[step.method], dict(call.arguments))
            else:
                call.made_on(other)
        return other

    def verify(
        self, original: PrimFunc | None = None, *, seed: int = 0, sizes: Mapping[str, int] | None = None
    ) -> Verdict:
        """Run the function and the original on the same random inputs and compare; see `execute.verify`. Parameters with changed layouts
        are compared element by element. `sizes` are numbers for symbolic sizes, by name.
        """
        func, remark = self._runnable
        on = sized(func, original or self.original[self.func_name], self.layouts, sizes)
        verdict = verify(on.func, on.original, seed=seed, layouts=on.layouts)
        if on.sizes and verdict.status != "failed":
            verdict = replace_fields(verdict, detail=f"{verdict.detail}, with {on.text}")
        return replace_fields(verdict, detail=f"{verdict.detail}{remark}") if verdict.status == "tested" else verdict

    @property
    def _runnable(self) -> tuple[PrimFunc, str]:
        """The function with the descriptions of the intrinsics whose implementations cannot run, and what to add to a verdict on it."""
        opaque = {name: intrin for name, intrin in self.tensorized.items() if not intrin.runs}
        names = ", ".join(dict.fromkeys(intrin.name for intrin in opaque.values()))
        return self._with_described(opaque), f"; {names} tested through its description" if opaque else ""

    def prove(self, original: PrimFunc | None = None) -> Proof:
        """Prove the function equal to the original for all inputs and sizes, or find a difference; see `engine.prove.prove`."""
        return prove(self.described, original or self.original[self.func_name], layouts=self.layouts)

    def check(self, sizes: Mapping[str, int] | None = None, original: PrimFunc | None = None) -> Verdict:
        """The strongest verdict available quickly: proved for all sizes, else for `sizes`, else tested by a run with those, or with smaller
        ones if that takes too long, which the verdict says. Of an
        intrinsic whose implementation cannot run, the description is compared. `original` is another program that must agree."""
        func, remark = self._runnable
        found = check(func, original or self.original[self.func_name], layouts=self.layouts, sizes=sizes)
        if found.is_too_costly and original is None:
            found = self._checked_on_smaller(sizes or {}) or found
        return (
            replace_fields(found, detail=f"{found.detail}{remark}") if found.status in ("proved", "tested") else found
        )

    def _checked_on_smaller(self, sizes: Mapping[str, int]) -> Verdict | None:
        """The verdict of a run of the same calls on a program with these sizes and smaller extents; None if that gives none."""
        whole = self.original[self.func_name]
        small = smaller_program(with_sizes(whole, sizes).func, QUICK_RUN)
        if small is None:
            return None
        func, new = small
        functions = tuple(func if f is whole else f for f in self.original.functions)
        try:
            other = self.replayed(replace_fields(self.original, functions=functions))
            verdict = tested(other._runnable[0], func, other.layouts)
        except TilewrightError:
            return None
        if verdict.status == "unknown":
            return None
        extents = ", ".join(f"{now} for {old}" for old, now in new.items())
        return replace_fields(
            verdict, detail=f"{verdict.detail}, on a smaller program ({extents}): a run of the whole takes too long"
        )

    @property
    def intrinsics(self) -> tuple[str, ...]:
        """The names that `tensorize` finds."""
        return tuple(self._intrinsics)

    @property
    def tensorized(self) -> dict[BlockRV, TensorIntrin]:
        """The blocks of the function that an intrinsic implements."""
        found: dict[BlockRV, TensorIntrin] = {}
        for step, after in zip(self.trace.steps, self._states[1:], strict=False):
            if step.method == "tensorize" and after.func_name == self.func_name:
                found[cast("BlockRV", step.results[0])] = step.argument("tensor_intrin")
        return {name: intrin for name, intrin in found.items() if self.index.has_block(name)}

    @property
    def described(self) -> PrimFunc:
        """The function with each intrinsic replaced by its description, for machine models and proofs."""
        if self._described is None or self._described[0] is not self.func:
            self._described = (self.func, self._with_described(self.tensorized))
        return self._described[1]

    def _with_described(self, intrinsics: Mapping[BlockRV, TensorIntrin]) -> PrimFunc:
        blocks = ((self.index.block(name), intrin) for name, intrin in intrinsics.items())
        return replace_nodes(self.func, {block: described(block, intrin) for block, intrin in blocks})

    @property
    def plan(self) -> Plan:
        """`lower.planned` of the `described` function; reuses the calls' cached plan if possible. Raises LowerError."""
        return self._ctx.plan if self.described is self.func else planned(self.described)

    def show(self) -> None:
        """Print the module as TVMScript."""
        self.mod.show()

    # Queries.

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The handle of the block called `name`: its name. Raises ScheduleError "unknown-block".

        The update block after decompose_reduction is found as `X`, its name here, and as `X_update`, its name in TVM.
        """
        if func_name is not None and func_name != self.func_name:
            self.work_on(func_name)
        block = name
        if not self.index.has_block(name) and self._is_decomposed(name.removesuffix("_update")):
            block = name.removesuffix("_update")
        self._ctx.realize(block)
        return cast("BlockRV", self._record("get_block", {"name": name}, (block,))[0])

    get_sblock = get_block

    def get_loops(self, block: BlockRV) -> list[LoopRV]:
        """The loops around a block, outermost first."""
        self._ctx.realize(block)
        loops = tuple(f.loop_var for f in self.index.loops_of(block))
        return cast("list[LoopRV]", list(self._record("get_loops", {"block": block}, loops)))

    def get_loop(self, name: str, block: BlockRV | None = None) -> LoopRV:
        """The loop called `name`, around `block` if one is given. Raises ScheduleError "unknown-loop", "ambiguous-loop"."""
        loop = self._ctx.loop(name, block)
        return cast("LoopRV", self._record("get_loop", {"name": name, "block": block}, (loop.loop_var,))[0])

    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly below a block or loop, in text order."""
        top = self._ctx.realize(block_or_loop) if isinstance(block_or_loop, str) else self._ctx.loop(block_or_loop)
        return self._blocks(
            "get_child_blocks", {"block_or_loop": block_or_loop}, [r.block.name for r in self.index.child_blocks(top)]
        )

    @refusing_depth(ScheduleError)
    def get_producers(self, block: BlockRV) -> list[BlockRV]:
        """The blocks of the same scope that write buffers which `block` reads."""
        self._ctx.realize(block)
        return self._blocks("get_producers", {"block": block}, self.index.producers(block))

    @refusing_depth(ScheduleError)
    def get_consumers(self, block: BlockRV) -> list[BlockRV]:
        """The blocks of the same scope that read buffers which `block` writes."""
        self._ctx.realize(block)
        return self._blocks("get_consumers", {"block": block}, self.index.consumers(block))

    @refusing_depth(ScheduleError)
    def get_output_blocks(self, scope_block: BlockRV = "root") -> list[BlockRV]:
        """The blocks of a scope that write a buffer from outside of the scope."""
        below = [r.block.name for r in self.index.child_blocks(self._ctx.realize(scope_block))]
        return self._blocks(
            "get_output_blocks", {"scope_block": scope_block}, [n for n in below if self.index.is_output(n)]
        )

    @refusing_depth(ScheduleError)
    def can_decompose_padding(self, block: BlockRV, loop: LoopRV) -> bool:
        """Whether `decompose_padding(block, loop)` would be accepted. Changes nothing and is not traced, as in TVM."""
        self._ctx.realize(block)
        return self._accepts("decompose_padding", {"block": block, "loop": self._ctx.loop(loop).loop_var})

    def get(self, handle: BlockRV | LoopRV) -> Block | For:
        """The node to which a handle currently refers."""
        return self._ctx.block(handle) if isinstance(handle, str) else self._ctx.loop(handle)

    @refusing_depth(ScheduleError)
    def legal_targets(self, block: BlockRV) -> tuple[Target, ...]:
        """The possible moves of `block`, one per loop of the function: the primitive, or the reason for refusal. Changes nothing."""
        return legal_targets(self._ctx, block)

    # Application of calls.

    @property
    def _ctx(self) -> Context:
        if self._context is None:
            self._context = Context(self.func, intrinsics=self._intrinsics)
        return self._context

    def _blocks(self, name: str, arguments: dict[str, object], found: Sequence[str]) -> list[BlockRV]:
        return cast("list[BlockRV]", list(self._record(name, arguments, tuple(found))))

    def _accepts(self, method: str, arguments: dict[str, object]) -> bool:
        try:
            PRIMITIVES[method].call(self._ctx, arguments)
        except ScheduleError:
            return False
        return True

    @refusing_depth(ScheduleError)
    def _apply(self, primitive: Primitive[..., R], arguments: Mapping[str, object]) -> R:
        """Call a primitive and trace it; on ScheduleError, the schedule stays unchanged."""
        checkpoint()
        if arguments.get("loop") is ROOT and primitive.name in _MOTIONS:
            return cast("R", None)
        if arguments.get("loop") is INLINED and primitive.name in _MOTIONS:
            primitive, arguments = PRIMITIVES[_MOTIONS[primitive.name]], {"block": arguments["block"]}
        before, name = self._ctx, primitive.name
        arguments = canonical(before, arguments)
        call = ScheduleCall(name, tuple(arguments.items()))
        try:
            result = primitive.call(before, arguments)
        except ScheduleError as error:
            refusal = with_history(error.refusal, arguments, self._states)
            raise ScheduleError(refusal, partial(with_repair, before, call)) from error
        mod = replace_fields(
            self.mod, functions=tuple(result.func if f is self.func else f for f in self.mod.functions)
        )
        made = replace_fields(call.with_arguments(result.traced), results=result.handles)
        self._push(mod, made, result.layout)
        self._context = before.after(result.func)
        self._context.opaque = None if name != "tensorize" else opaque_refusal(result.func)
        if name != "tensorize":  # only a program or an intrinsic has one
            self._context.has_while = before.has_while
        if not before.has_vectors and name != "tensorize":  # only a program or an intrinsic has them
            self._context.has_vectors = False
        return result.value

    def _is_decomposed(self, block: str) -> bool:
        return any(s.method == "decompose_reduction" and s.argument("block") == block for s in self.trace.steps)

    def _record(self, name: str, arguments: dict[str, object], results: tuple[Var | str, ...]) -> tuple[Var | str, ...]:
        self._push(self.mod, ScheduleCall(name, tuple(arguments.items()), results, changes=False))
        return results

    def _push(self, mod: IRModule, step: ScheduleCall, layout: ParameterLayout | None = None) -> None:
        layouts = self._states[-1].layouts
        if layout is not None:
            layouts = (*layouts, (self.func_name, layout))
        self._states = (*self._states, ScheduleState(mod, self.func_name, Trace((*self.trace.steps, step)), layouts))


_SHOWN_CALLS = 6

_MOTIONS = {"compute_at": "compute_inline", "reverse_compute_at": "reverse_compute_inline"}
"""The calls that accept a location of `sample_compute_location`, and the calls that inline."""


def _handles(state: ScheduleState) -> list[Var | Buffer]:
    """The loops and buffers of a state in text order: equal calls give corresponding objects at equal positions."""
    func = state.mod[state.func_name]
    stmts = list(walk_stmts(func.body))
    loops = [stmt.loop_var for stmt in stmts if isinstance(stmt, For)]
    views = [match.buffer for stmt in stmts if isinstance(stmt, Block) for match in stmt.match_buffers]
    return [*loops, *func.buffers, *allocated_buffers(func.body), *views]


def _module(program: object) -> IRModule:
    """The module of a program, of TVMScript text, or of an object of TVM. Raises "te-text" and "schedule-in-text" for other texts."""
    if isinstance(program, str):
        _require_program_alone(program)
    found = from_tvm(program)
    module = IRModule(found.functions, found.attrs) if isinstance(found, IRModule) else IRModule((found,))
    if not module.functions:
        raise refuse("no-function", "the module has no function to schedule")
    return module


def _require_program_alone(text: str) -> None:
    if is_te(text):
        raise refuse("te-text", "this is TE text, and a schedule is made of TVMScript", expected="TVMScript",
                     fix=("tilewright.read_te(text).schedule",))  # fmt: skip
    tree = tree_of(text) if any(maker in text for maker in SCHEDULE_MAKERS) else None
    if tree is not None and makes_schedule(tree):
        raise refuse("schedule-in-text", "the text has a schedule too", expected="TVMScript of the program alone",
                     fix=("tilewright.read_pasted(text).schedule",))  # fmt: skip


def _require_function(module: IRModule, name: str) -> None:
    names = [f.name for f in module.functions]
    if name not in names:
        raise refuse("unknown-function", f"there is no function {name!r}", expected=f"one of {', '.join(names)}")


def _default_function(module: IRModule) -> str:
    names = [f.name for f in module.functions]
    return "main" if "main" in names else names[0]


def _prepared(func: PrimFunc) -> PrimFunc:
    """The function as calls expect it; one with an opaque part, which calls refuse, stays as it is but for the names of blocks."""
    if opaque_refusal(func) is not None:
        return unique_block_names(func)
    return honest_signatures(unique_block_names(with_thread_loops(func)))
