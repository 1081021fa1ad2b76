"""TileLang's statements: the launch of a kernel, loops and tile operations."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from msgspec.structs import replace

from ...arith import prove_equal, simplify
from ...ir import (
    NE,
    Annotation,
    Annotations,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    NodeAttr,
    SeqStmt,
    Stmt,
    StringImm,
    TilewrightError,
    Var,
    allocated_buffers,
    build,
    substitute,
    walk,
)
from ..reading.blocks import read_annotations
from ..reading.expressions import difference
from ..reading.intrinsics import parameters
from ..reading.reader import Item
from ..reading.statements.helpers import in_macro
from ..reading.statements.loops import header
from ..subset.bindings import bound_names
from ..subset.values import Function, Module
from .ascend.cores import CoreReader
from .names import LAYOUTS, NO_PRODUCERS, PANELS, THREADS
from .opaque import OPAQUE, declared, uses_two_cores
from .operations import OPERATIONS, update_before
from .persistent import STAGES
from .pipelines import ORDER, STAGE, planned, spread
from .schedulers import Scheduler
from .sync.barriers import BEGINS, COPIES, READ_BARRIERS, completed
from .sync.grid import GRID_BARRIERS, in_phases, kept_across, phases, read_grid_barrier
from .sync.slots import slots_noted, whole_noted
from .sync.statement import sync_of
from .sync.warps import has_groups
from .threads import GRID, UNORDERED, bound_axis

_LOOPS: dict[str, ForKind] = {
    "Pipelined": "serial", "serial": "serial", "Serial": "serial", "unroll": "unrolled", "Unroll": "unrolled",
    "vectorized": "vectorized", "Vectorized": "vectorized",
}  # fmt: skip
_NO_PRODUCERS = re.compile(r"disable_warp_speciali[sz]ed\W+True", re.IGNORECASE)
_HINTS = (
    "annotate_l2_hit_ratio", "disable_warp_group_reg_alloc", "set_max_nreg", "dec_max_nreg",
    "inc_max_nreg", "no_set_max_nreg", "sync_threads", "sync_warp", "device_assert", "print", "import_source", "pdl_sync", "pdl_trigger",
    "annotate_padding", "fence_proxy_async", "annotate_restrict_buffers", "annotate_compile_flags", "annotate_producer_reg_dealloc",
    "annotate_consumer_reg_alloc", "assume", "ptx_fence_barrier_init", "barrier_init", "mbarrier_expect_tx",
    "warpgroup_arrive", "warpgroup_commit_batch",
    "warpgroup_fence_operand", "tcgen05_after_thread_sync", "tcgen05_before_thread_sync",
    "deallocate_tmem", "tma_store_arrive", "tma_store_wait", "create_list_of_mbarrier", "syncthreads", "fence_view_async_shared",
    "printf", "dump_tensor", "cluster_sync", "tvm_storage_sync",
)  # fmt: skip
"""Statements without an effect on what a kernel computes: placement in caches and registers, layouts, synchronisation, output."""


class TileReader(CoreReader):
    """Translates the statements of TileLang kernels."""

    def begin_function(self) -> None:
        super().begin_function()
        self.exprs.exchange = self

    def _rare(self, node: ast.stmt) -> Item | None:
        if isinstance(node, ast.Return) and (self.tensors or self.outputs):
            return None  # the outputs of an eager kernel
        if isinstance(node, ast.While) and not node.orelse:
            return self._while(node)
        return super()._rare(node)

    # --- launches

    def _with(self, node: ast.With, *, is_last: bool) -> Item | None:
        kept = [item for item in node.items if not self._is_output(item.context_expr)]
        if not kept:
            return self.same_scope(node.body)
        if len(kept) < len(node.items):
            node = ast.copy_location(ast.With(kept, node.body), node)
        match node:
            case ast.With(items=[ast.withitem(ast.Call(args=[ast.Call() as reducer, ast.Constant("reduce_scope"), *_]))],
                          body=[ast.Expr(ast.Call(args=[ast.Call() as reduction]))]):  # fmt: skip
                return self.placed(self.all_reduced(reducer, reduction), self.source.header(node))
            case _:
                pass
        item = node.items[0]
        call, function = item.context_expr, self.exprs.called(item.context_expr)
        if isinstance(call, ast.Call) and function in ("T.Kernel", "T.ClusterKernel"):
            return self._kernel(node, call, item.optional_vars)
        if (
            isinstance(call, ast.Call)
            and function == "T.sblock"
            and ast.unparse(call).startswith("T.sblock('tilelang_root')")
        ):
            return self.body(_returned(node.body))
        if isinstance(call, ast.Call) and function == "T.Scope":
            return self.core_scope(node, call)
        if isinstance(call, ast.Call) and function == "T.attr" and _constant(call.args[1], None) == "async_scope":
            return self.same_scope(node.body)  # loads that the text awaits itself
        if isinstance(call, ast.Call) and function == "T.ws":
            return self.warp_group(node, call)
        return super()._with(node, is_last=is_last)

    def _kernel(self, node: ast.With, call: ast.Call, target: ast.expr | None) -> Stmt:
        """Read `with T.Kernel(m, n, threads=128) as (bx, by):`: a block of threads for each point of the grid."""
        extents = [self.exprs.index(argument) for argument in call.args]
        names = [] if target is None else target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names, units = (names[:1], names[1:]) if self.is_core(call) else (names, [])
        if len(extents) > len(GRID) or len(names) > len(extents):
            raise self.source.error(call, "wrong-arguments", f"{len(extents)} extents of a grid for {len(names)} names",
                                    expected="at most three extents, and a name for each")  # fmt: skip
        threads = next((k.value for k in call.keywords if k.arg == "threads"), None)
        loops: list[For] = []
        place = self.source.header(node)
        with self.exprs.scope.nested():
            for number, extent in enumerate(extents):
                given = names[number] if number < len(names) else None
                name = given.id if isinstance(given, ast.Name) else f"b{GRID[number]}"
                var = Var(name, extent.dtype)
                notes = self.threads_of(threads) if number == len(extents) - 1 else ()
                empty = Evaluate(build.const(0, "int32"))
                loops.append(
                    For(
                        var,
                        build.const(0, extent.dtype),
                        extent,
                        "thread_binding",
                        empty,
                        f"blockIdx.{GRID[number]}",
                        notes,
                    )
                )
                self.loops[var] = loops[-1]
                self.exprs.define(name, var, given or call)
            self.exprs.blocks = [loop.loop_var for loop in loops]
            is_core = self.is_core(call)
            outer, self.lanes = (
                self.lanes,
                self.enter_core(node, call, units) if is_core else self.units_of(node.body, self.threads_of(threads)),
            )
            self.grid_body = node.body
            body = self.nested_body(_returned(node.body))
            wide, lanes = {*self.private.values()}, 0 if self.lanes is None else len(self.lanes.vars)
            slots = (
                *self._whole(body),
                *slots_noted(body, wide, lanes),
                *(self.reuse() if is_core else self._options(node)),
            )
            parts = [self.leave_core(part) if is_core else part for part in _phases(body)]
            self.lanes, self.exprs.threads = outer, ()
        if loops:
            notes = (*loops[-1].annotations, *self._taken_layouts(), *self.panels, *slots)
            loops[-1] = replace(loops[-1], annotations=notes)
            self.panels = ()
        for loop in loops:
            del self.loops[loop.loop_var]
        nests = in_phases(loops, parts, self.positions)
        for inner in nests:
            for _ in loops:
                assert isinstance(inner, For)
                inner = self.mark(inner, place).body
        return build.seq(nests)

    def _options(self, node: ast.With) -> Annotations:
        """Return what options say of a kernel for a GPU: those of the decorators around it, else those of its function and of the lines
        outside of functions."""
        source = self.source.owner(node)
        functions = [part for part in ast.walk(source.tree) if isinstance(part, ast.FunctionDef)]
        own = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
        decorators = [d for f in own for d in f.decorator_list if isinstance(d, ast.Call) and d.keywords]
        names = {n.id for d in decorators for n in ast.walk(d) if isinstance(n, ast.Name)}
        given = [part for part in source.tree.body if isinstance(part, ast.Assign) and bound_names(part) & names]
        of_others = {number for f in functions if f not in own and f in source.tree.body for number in _lines(f)}
        lines = [line for number, line in enumerate(source.lines, 1) if number not in of_others]
        texts = [*map(ast.unparse, [*decorators, *given])] if decorators else lines
        return ((NO_PRODUCERS, IntImm(1)),) if any(map(_NO_PRODUCERS.search, texts)) else ()

    def printed_thread(self, target: ast.expr, call: ast.Call) -> None:
        """Read `tx: T.int32 = T.launch_thread_idx(0)` of the printed IR, whose block has the number of threads."""
        assert isinstance(target, ast.Name)
        body = self.following[-1]
        uses = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == target.id]
        if len(uses) < 2:
            return
        if self.lanes is None:
            printed = next(
                (launched(part) for node in body for part in ast.walk(node) if launched(part) is not None), None
            )
            self.lanes = self.units_of(body, self.threads_of(printed))
        self.exprs.define(target.id, self.exprs.threads[self.exprs.constant_int(call.args[0])], target)

    # --- operations

    def updated(self, node: ast.Call) -> Expr:
        """Return the value of an element before an update."""
        element, value, conditions = update_before(self, node)
        return self.before(node, element, value, conditions)

    def _expression(self, node: ast.Expr) -> Item | None:
        function = (self.exprs.called(node.value) or "").removeprefix("T.")
        if function in ("reads", "writes"):
            return None
        if function == "use_swizzle" or (function == "attr" and _is_none(node.value)):
            self.panels = self._panels(node.value) or self.panels
            return None
        printed = launched(node.value)
        lost = noted(node.value, "layout_map")
        arrivals = noted(node.value, "barrier_init")
        if isinstance(arrivals, ast.Dict):
            self._arrivals(arrivals)
            return None
        if printed is not None or lost is not None:
            names = [_owner(key) for key in (lost.keys if isinstance(lost, ast.Dict) else ()) if key is not None]
            self.layouts.update((name.id, "") for name in names if isinstance(name, ast.Name))
            self.launch = self.threads_of(printed)
            return None
        if function in GRID_BARRIERS and node in self.grid_body:
            return read_grid_barrier(function)
        if self.on_core and isinstance(node.value, ast.Call):
            found, item = self.core_statement(function, node.value)
            if found:
                return self.placed(item, self.source.place(node)) if isinstance(item, Stmt) else item
        synchronise = READ_BARRIERS.get(function)
        if synchronise is not None and isinstance(node.value, ast.Call):
            made = synchronise(self, node.value)
            return None if made is None else self.placed(made, self.source.place(node))
        read = OPERATIONS.get(function)
        if isinstance(node.value, ast.Call) and (read is not None or function in OPAQUE or uses_two_cores(node.value)):
            return self._operation(node.value, function)
        if function == "annotate_safe_value":
            self._safe_values(node.value)
            return None
        if function == "annotate_layout":
            self._layouts(node.value)
            return None
        if function in _HINTS or self._is_output(node.value):
            return None
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=root), attr="init" | "next_tile" as method)):
                scheduler = self.exprs.scope.get(root)
                if isinstance(scheduler, Scheduler):
                    state = self.advanced(scheduler, node.value, method)
                    return None if state is None else self.placed(state, self.source.place(node))
            case _:
                pass
        made = self._called_macro(node)
        if made is not None:
            return self._macro(made, node)
        return super()._expression(node)

    def _arrivals(self, found: ast.Dict) -> None:
        """Read the printed `{mbar.data: [128, 128]}`: the arrivals that barriers expect."""
        for key, value in zip(found.keys, found.values, strict=True):
            barrier = self.barrier(None if key is None else _owner(key))
            given = self.exprs.value(value)
            if barrier is not None and isinstance(given, list | tuple):
                numbers = [n.value if isinstance(n, IntImm) else n for n in given]
                self.barriers[barrier[0]] = tuple(n if isinstance(n, int) else None for n in numbers)

    def _operation(self, node: ast.Call, function: str) -> Stmt | None:
        """Read an operation, and that it tells a barrier when it ends."""
        told = completed(self, node)
        self.agent = BEGINS.get(function, COPIES if told is not None and function == "copy" else "")
        if function in OPAQUE or uses_two_cores(node):
            made: Stmt | None = declared(self, node, function)
        else:
            made = OPERATIONS[function](self, node)
        self.agent = ""
        parts = [part for part in (made, told) if part is not None]
        return self.placed(build.seq(parts), self.source.place(node)) if parts else None

    def _is_output(self, node: ast.expr) -> bool:
        """Whether a call prints, or marks a place for a profiler."""
        match node:
            case ast.Call(func=ast.Name(id="print")):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=root))):
                return self._is_profiler(root)
            case _:
                return False

    def _is_profiler(self, name: str) -> bool:
        module = self.exprs.scope.get(name)
        return isinstance(module, Module) and module.name.startswith("tilelang.tools.")

    def _safe_values(self, call: ast.expr) -> None:
        """Read `T.annotate_safe_value({A: value})`: what copies read outside of a buffer."""
        found = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if not isinstance(found, ast.Dict):
            raise self.source.error(call, "wrong-arguments", "the values must be a dict", expected="{A: 0}")
        for key, value in zip(found.keys, found.values, strict=True):
            buffer = self.exprs.value(key) if key is not None else None
            if not isinstance(buffer, Buffer):
                raise self.source.error(call, "wrong-type", "a safe value needs a buffer", expected="{A: 0}")
            self.safe[buffer] = build.cast(self.exprs.expr(value), buffer.dtype)

    def _layouts(self, call: ast.expr) -> None:
        """Read `T.annotate_layout({A: make_swizzled_layout(A)})`: names of buffers and of layouts, "" for a layout that is not known."""
        found = call.args[0] if isinstance(call, ast.Call) and call.args else None
        for key, value in zip(found.keys, found.values, strict=True) if isinstance(found, ast.Dict) else ():
            buffer = self.exprs.value(key) if key is not None else None
            if isinstance(buffer, Buffer):
                self.allocated[buffer.name] = buffer
                self.layouts[buffer.name] = self._layout(value)

    def _taken_layouts(self) -> Annotations:
        """Return the layouts that the text gives as an annotation of the kernel; they are taken once."""
        given = {self.allocated[name].name: layout for name, layout in self.layouts.items() if name in self.allocated}
        self.layouts = {}
        return (
            ((LAYOUTS, tuple((StringImm(name), StringImm(layout)) for name, layout in given.items())),) if given else ()
        )

    def _whole(self, body: Stmt) -> Annotations:
        return whole_noted((*self.frame.alloc_buffers, *allocated_buffers(body)))

    def _panels(self, node: ast.expr) -> Annotations:
        """Return the order of blocks that `T.use_swizzle(8, order="column")` gives, or its printed form; () if it is not one of them."""
        match node:
            case ast.Call(args=[_, _, ast.Call(args=[ast.Constant(value=str(name)), width])]):
                order = {"rasterization2DRow": "row", "rasterization2DColumn": "column"}.get(name)
            case ast.Call(args=values, keywords=keywords) if not _is_none(node):
                given = dict(zip(("panel_size", "order", "enable"), values, strict=False))
                given |= {k.arg or "": k.value for k in keywords}
                width = given.get("panel_size", node)
                order = _constant(given.get("order"), "row") if _constant(given.get("enable"), True) is True else None
            case _:
                return ()
        try:
            panel = self.exprs.constant_int(width)
        except TilewrightError:
            return ()
        return ((PANELS, (StringImm(str(order)), IntImm(panel))),) if order in ("row", "column") else ()

    def _layout(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as func, args=[_], keywords=[]):
                name = func.id if isinstance(func, ast.Name) else func.attr
                is_own = isinstance(func, ast.Attribute) or not isinstance(self.exprs.scope.get(name), Function)
                is_layout = name.startswith("make_") and name.endswith("_layout")
                return name.removeprefix("make_").removesuffix("_layout") if is_own and is_layout else ""
            case ast.Lambda(
                args=ast.arguments(posonlyargs=[], args=[row, column], kwonlyargs=[], vararg=None, kwarg=None)
            ):
                return self._padded(row.arg, column.arg, node.body)
            case _:
                return ""

    def _padded(self, row: str, column: str, body: ast.expr) -> str:
        """Read `lambda i, j: i * 136 + j`: the layout "padded 136"; "" for others."""
        i, j = Var(row, "int32"), Var(column, "int32")
        with self.exprs.scope.nested():
            self.exprs.scope.define(row, i)
            self.exprs.scope.define(column, j)
            place = self.exprs.index(body)
        step = simplify(
            build.sub(substitute(place, {i: IntImm(1), j: IntImm(0)}), substitute(place, {i: IntImm(0), j: IntImm(0)}))
        )
        is_linear = prove_equal(place, build.add(build.mul(i, step), j))
        return f"padded {step.value}" if isinstance(step, IntImm) and is_linear else ""

    def _called_macro(self, node: ast.Expr) -> Function | None:
        """Return the macro that a call of another value calls, such as one that a function of the text returns."""
        if (
            not isinstance(node.value, ast.Call)
            or self.exprs.called(node.value) is not None
            or isinstance(node.value.func, ast.Name)
        ):
            return None
        value = self.exprs.value(node.value.func)
        return value if isinstance(value, Function) else None

    def _macro(self, macro: Function, node: ast.Expr) -> Item | None:
        assert isinstance(macro.node, ast.FunctionDef) and isinstance(node.value, ast.Call)
        with in_macro(self.exprs, macro, node.value):
            return self.same_scope(macro.node.body)

    def _if(self, node: ast.If) -> Stmt | None:
        test = self.exprs.value(node.test)
        if isinstance(test, IntImm):
            test = test.value
        if not isinstance(test, Expr):
            return self.same_scope(node.body if test else node.orelse)
        zero = build.const(0, test.dtype)
        condition = test if test.dtype == "bool" else build.compare(NE, test, zero)
        if self.differs(condition):
            return self.masked(node, condition)
        otherwise = self.nested_body(node.orelse) if node.orelse else None
        return self.mark(IfThenElse(condition, self.nested_body(node.body), otherwise), self.source.header(node))

    def _assert(self, node: ast.Assert) -> Item | None:
        """Read an assertion on constants; one on sizes is passed over."""
        test = self.exprs.value(node.test)
        if not isinstance(test, Expr) and not test:
            raise self.source.error(
                node,
                "out-of-range",
                "the assertion does not hold for these values",
                expected="values for which it holds",
            )
        return None

    # --- loops

    def _for(self, node: ast.For) -> Stmt:
        if isinstance(node.iter, ast.Call) and self.exprs.called(node.iter) == "T.Persistent":
            return self.persistent(node, node.iter)
        axis = bound_axis(node.iter)
        if axis is not None and any(loop.thread_tag is not None for loop in self.loops.values()):
            return self._bound_threads(node, axis)
        if isinstance(node.target, ast.Name) and not node.orelse:
            found, step = self.headers(node.iter)
            if len(found) == 1 and (step is not None or self.differs(found[0].min) or self.differs(found[0].extent)):
                return self.own_loop(node, found[0], step)
        made = super()._for(node)
        if (self.launch or self.layouts or self.panels) and isinstance(made, For) and made.thread_tag is not None:
            whole = self._whole(made.body) if self.launch else ()
            notes = (*self.launch, *self._taken_layouts(), *self.panels, *whole)
            self.launch = self.panels = ()
            made = replace(made, annotations=(*made.annotations, *notes))
            self.mark(made, self.source.header(node))
            self.lanes = None
        if isinstance(made, For) and made.annotations:
            made, branch = self._without_branch(made, node)
            if branch:
                return self._pipelined(made, branch)
            piped = self._pipelined(made, [self.made[part] for part in node.body if part in self.made])
            return made if piped is made else self.mark(piped, self.source.header(node))
        return made

    def _without_branch(self, loop: For, node: ast.For) -> tuple[For, list[Stmt]]:
        """Return a pipelined loop whose body is one branch with the condition at each statement, and these statements, as TileLang's pass
        IfStmtBinding has them; other loops as they are."""
        body = [part for part in node.body if part in self.made]
        branch = loop.body
        if (
            len(body) != 1
            or not isinstance(body[0], ast.If)
            or not isinstance(branch, IfThenElse)
            or branch.else_case is not None
        ):
            return loop, []
        inner = [self.made[part] for part in body[0].body if part in self.made]
        written = {part.buffer for part in walk(branch.then_case) if isinstance(part, BufferStore)}
        loaded = {part.buffer for part in walk(branch.condition) if isinstance(part, BufferLoad)}
        if len(inner) < 2 or not written.isdisjoint(loaded):
            return loop, []
        place = self.source.header(body[0])
        parts = [
            build.seq([self.mark(IfThenElse(branch.condition, stmt), place) for stmt in _several(part)])
            for part in inner
        ]
        return self.mark(replace(loop, body=build.seq(parts)), self.source.header(node)), parts

    def _pipelined(self, loop: For, parts: Sequence[Stmt]) -> For:
        """Return a pipelined loop with the stages and orders that TileLang chooses, or that the text gives."""
        notes = dict(loop.annotations)
        if has_groups(loop):
            return loop  # its text has the slots and waits
        several = [[stmt for stmt in _several(part) if sync_of(stmt) is None] for part in parts]
        groups = [group for group in several if group]
        depth = notes.get(STAGES)
        found = None
        if "tl_pipeline_stage" in notes and "tl_pipeline_order" in notes:
            stages, orders = (numbers(notes[key]) for key in ("tl_pipeline_stage", "tl_pipeline_order"))
            found = spread(groups, stages, orders) if len(stages) == len(orders) == len(groups) else None
        elif isinstance(depth, IntImm) and depth.value > 0:
            found = planned(groups, depth.value)
        if found is None or len(found[0]) < 2:
            return loop
        added: Annotations = tuple(
            (key, tuple(map(IntImm, values))) for key, values in zip((STAGE, ORDER), found, strict=True)
        )
        return replace(loop, annotations=(*loop.annotations, *added))

    def _bound_threads(self, node: ast.For, axis: int) -> Stmt:
        """Read the printed `for v in T.thread_binding(128, thread="threadIdx.x"):`, which T.thread_binding of a kernel becomes."""
        if self.lanes is None:
            printed = next((launched(part) for part in ast.walk(node) if launched(part) is not None), None)
            self.lanes = self.units_of([node], self.threads_of(printed) or self.launch)
        with self.exprs.scope.nested():
            assert isinstance(node.target, ast.Name)
            self.exprs.define(node.target.id, self.exprs.threads[axis], node.target)
            return self.nested_body(node.body)

    def headers(self, node: ast.expr) -> tuple[list[For], Expr | None]:
        function = (self.exprs.called(node) or "").removeprefix("T.")
        if isinstance(node, ast.Call) and function == "Parallel":
            return [header(build.const(0, e.dtype), e, "parallel") for e in map(self.exprs.index, node.args)], None
        if isinstance(node, ast.Call) and function in _LOOPS:
            return self._loop(node, _LOOPS[function])
        return super().headers(node)

    def _loop(self, node: ast.Call, kind: ForKind) -> tuple[list[For], Expr | None]:
        """Read `T.Pipelined(start, stop, num_stages=3)` and the other loops with the arguments of range."""
        names = (
            ("start", "stop", "num_stages", "order", "stage")
            if (self.exprs.called(node) or "").endswith("Pipelined")
            else ("start", "stop", "step")
        )
        options = ("explicit", "annotations", "sync", "group", "cross_interval")
        written = next((k.value for k in node.keywords if k.arg == "annotations"), None)
        printed = read_annotations(self.exprs, written) if isinstance(written, ast.Dict) else ()
        kept = [k for k in node.keywords if k.arg not in options]
        call = ast.copy_location(ast.Call(node.func, node.args, kept), node)
        given: dict[str, ast.expr | None] = dict(zip(names, parameters(self.exprs, call, names, 1), strict=True))
        start, stop = given["start"], given["stop"]
        assert start is not None
        low, end = (
            (self.exprs.index(start), self.exprs.index(stop)) if stop is not None else (None, self.exprs.index(start))
        )
        notes: Annotations = ()
        stages = given.get("num_stages")
        if stages is not None and not build.is_const(count := self.exprs.index(stages), 0):
            notes = ((STAGES, count),)
        for name, key in (("stage", "tl_pipeline_stage"), ("order", "tl_pipeline_order")):
            given_list = given.get(name)
            if given_list is not None:
                values = self.exprs.require_known(self.exprs.value(given_list), given_list)
                found = values if isinstance(values, tuple | list) else ()
                notes = (*notes, (key, tuple(self.exprs.as_expr(v, given_list) for v in found)))
        notes = (*notes, *printed)
        step_node = given.get("step")
        step = self.exprs.index(step_node) if step_node is not None else None
        if low is None:
            return [header(build.const(0, end.dtype), end, kind, None, notes)], step
        low, end = build.match_dtypes(low, end)
        return [header(low, difference(end, low), kind, None, notes)], step


def _returned(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a kernel without `if x: T.thread_return()`: those behind it are its other branch."""
    for number, node in enumerate(body):
        if _returns(node):
            return body[:number]
        if isinstance(node, ast.If) and not node.orelse and node.body and _returns(node.body[-1]):
            rest = _returned(body[number + 1 :])
            if not rest:
                return [
                    *body[:number],
                    *([ast.copy_location(ast.If(node.test, node.body[:-1], []), node)] if node.body[1:] else []),
                ]
            taken = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            made = ast.If(node.test, node.body[:-1], rest) if node.body[1:] else ast.If(taken, rest, [])
            return [*body[:number], ast.copy_location(made, node)]
    return body


def _returns(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and ast.unparse(node.value).endswith(".thread_return()")


def _lines(function: ast.FunctionDef) -> range:
    """Return the lines of a function with its decorators."""
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    return range(first, (function.end_lineno or first) + 1)


def _several(stmt: Stmt) -> tuple[Stmt, ...]:
    return stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)


def numbers(note: Annotation) -> list[int]:
    """Return the numbers of an annotation that is a list."""
    return [n.value for n in note if isinstance(n, IntImm)] if isinstance(note, tuple) else []


def launched(node: ast.AST) -> ast.expr | None:
    """Return the numbers of threads in `T.sblock_attr({"tl.launch_threads": [128, 1, 1]})` of the printed IR; None for other code."""
    return noted(node, THREADS)


def noted(node: ast.AST, key: str) -> ast.expr | None:
    """Return the value of a key in `T.sblock_attr({"key": value})` of the printed IR; None for other code."""
    match node:
        case ast.Call(func=ast.Attribute(attr="sblock_attr"), args=[ast.Dict(keys=keys, values=values)]):
            return next(
                (v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and k.value == key), None
            )
        case _:
            return None


def _owner(node: ast.expr) -> ast.expr:
    """Return the buffer of `A.data`, or of `A`."""
    return node.value if isinstance(node, ast.Attribute) and node.attr == "data" else node


def _constant(node: ast.expr | None, default: object) -> object:
    return node.value if isinstance(node, ast.Constant) else default if node is None else None


def _phases(body: Stmt) -> list[Stmt]:
    """Return the parts of a kernel between barriers of all blocks; one part without an order if blocks keep tiles across a barrier."""
    parts = phases(body)
    kept = kept_across(parts) if len(parts) > 1 else []
    if not kept:
        return parts
    why = f"a barrier waits for all blocks, which keep {', '.join(buffer.name for buffer in kept)} meanwhile"
    return [NodeAttr(StringImm(why), UNORDERED, build.const(0, "int32"), build.seq(parts))]


def _is_none(node: ast.expr) -> bool:
    """Whether a call is the printed hint `T.attr(None, "threadblock_swizzle_pattern", …)`."""
    return (
        isinstance(node, ast.Call)
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value is None
    )


__all__ = ["TileReader"]
