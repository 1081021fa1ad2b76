"""Edits of the statements of a TileLang kernel: each writes a minimal change into the person's text, which is read again and compared.

An edit of stages, threads, memory or policy keeps every block of the program; a statement that moves keeps what the kernel computes, by the
buffers that it and the statements that it passes read and write.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ...hwsim.tile_layouts import layouts_given
from ...ir import (
    Block,
    BlockRealize,
    BufferLoad,
    For,
    IRModule,
    Node,
    PrimFunc,
    Refusal,
    allocated_buffers,
    build,
    first_difference,
    replace_buffers,
    rewrite,
    walk,
)
from ...lower import planned
from ...prove import tested
from ...script import Parsed, find_tree, parse
from ...script.language import called_name
from ...script.subset.bindings import bound_names
from ...script.tilelang.names import COPY, GEMM, LAYOUTS, PANELS, THREADS, WHOLE
from ...script.tilelang.pipelines import ORDER, STAGE
from .edits import KernelError, TextEdit, TextSpans, with_edits
from .layouts import layout_edits
from .literals import KernelValue, kernel_text

PLANNED = (THREADS, STAGE, ORDER, "num_stages", GEMM, COPY, LAYOUTS, PANELS, WHOLE)
"""Annotations that follow from stages, threads, policies, tiles, layouts and the order of blocks."""
ALLOCATIONS: Mapping[str, str] = {
    "shared.dyn": "alloc_shared",
    "shared": "alloc_shared",
    "local.fragment": "alloc_fragment",
    "local": "alloc_local",
}
POLICIES = ("Square", "FullRow", "FullCol")
Side: TypeAlias = Literal["earlier", "later"]
SERIAL = ("Pipelined", "serial", "Serial", "range")
"""Loops whose copies may run ahead."""
OF_PIPES = ("barrier_all", "pipe_barrier", "set_flag", "wait_flag")
"""Statements that order the pipes of one AI core."""
_ORDERED = ("sync", "barrier", "fence", "wait", "arrive", "flag", "print", "commit")
"""Parts of names of statements that no other statement passes."""


class Effects(msgspec.Struct, frozen=True, eq=False):
    """The buffers that a statement reads and writes, by name. One that `exchanges` data with another core through global memory keeps its
    order with the others that do."""

    reads: frozenset[str]
    writes: frozenset[str]
    exchanges: frozenset[str] = frozenset()

    def meets(self, other: Effects) -> str:
        """Return a buffer because of which two statements must keep their order; "" if there is none."""
        both = (self.writes & (other.reads | other.writes)) | (self.reads & other.writes)
        return min(both or (self.exchanges if other.exchanges else ()), default="")


class KernelStatements:
    """The statements of a kernel's text and the blocks and loops that they became. Raises ParseError."""

    def __init__(self, text: str) -> None:
        tree = find_tree(text)
        assert tree is not None
        self.text, self.tree, self.spans = text, tree, TextSpans(text)
        self.parsed: Parsed = parse(text)
        self.func = _function(self.parsed.program)
        self.loops = [node for node in walk(self.func.body) if isinstance(node, For)]
        self.bodies: dict[ast.stmt, tuple[ast.AST, list[ast.stmt]]] = {}
        self._at: dict[tuple[int, int], ast.stmt] = {}
        for node in ast.walk(tree):
            for field in ("body", "orelse"):
                body: list[ast.stmt] | ast.expr | None = getattr(node, field, None)
                if isinstance(body, list):
                    for stmt in body:
                        self.bodies[stmt] = node, body
                        self._at[stmt.lineno, stmt.col_offset + 1] = stmt
        self._effects = self._all_effects()

    # --- statements

    def statement(self, node: Node) -> ast.stmt:
        """Return the statement that became a block or a loop. Raises KernelError "no-statement"."""
        for place in self.parsed.positions.get(node, ()):
            found = self._at.get((place.line, place.column))
            if found is not None:
                return found
        raise KernelError(Refusal("no-statement", "this is no statement of its own in the kernel's text"))

    def of_block(self, name: str) -> ast.stmt:
        """Return the statement of a block."""
        realize = next((n for n in walk(self.func.body) if isinstance(n, BlockRealize) and n.block.name == name), None)
        if realize is None:
            raise KernelError(Refusal("no-statement", f"there is no block {name!r} in the kernel"))
        return self.statement(realize)

    def of_loop(self, number: int) -> ast.For | ast.With:
        """Return the statement of a loop by its number: a `for`, or the launch of the grid."""
        loop = self.loops[number]
        found = self.statement(loop)
        is_own = isinstance(found, ast.For | ast.With)
        if not is_own:
            name = loop.loop_var.name
            raise KernelError(
                Refusal("no-statement", f"{name} is a loop of an operation, not one of the kernel's text")
            )
        assert isinstance(found, ast.For | ast.With)
        return found

    def _unit(self, stmt: ast.stmt) -> ast.stmt:
        """Return the loops of T.Parallel around a statement, which move with it."""
        owner = self.bodies[stmt][0]
        while isinstance(owner, ast.For) and isinstance(owner.iter, ast.Call) and called_name(owner.iter) == "Parallel":
            stmt, owner = owner, self.bodies[owner][0]
        return stmt

    def buffers(self, block: str) -> list[str]:
        """Return the names of the buffers that a block writes."""
        return sorted(self._of(self.of_block(block)).writes)

    def _all_effects(self) -> dict[ast.stmt, Effects]:
        found: dict[ast.stmt, list[BlockRealize]] = {}
        for node in walk(self.func.body):
            if isinstance(node, BlockRealize) and node is not self.func.body:
                for place in self.parsed.positions.get(node, ())[:1]:
                    stmt = self._at.get((place.line, place.column))
                    if stmt is not None:
                        found.setdefault(stmt, []).append(node)
        effects = {stmt: _effects(nodes) for stmt, nodes in found.items()}
        exchanged = self._exchanged(effects.values())
        return {s: replace(e, exchanges=(e.reads | e.writes) & exchanged) for s, e in effects.items()}

    def _exchanged(self, effects: Collection[Effects]) -> frozenset[str]:
        """Return the parameters of a kernel for AI cores that it writes and reads."""
        if not any(kernel.barriers is None for kernel in self.parsed.synchronised):
            return frozenset()
        reads, writes = {n for e in effects for n in e.reads}, {n for e in effects for n in e.writes}
        return frozenset(reads & writes & {buffer.name for buffer in self.func.buffers})

    def _of(self, stmt: ast.stmt) -> Effects:
        """Return the effects of a statement with those inside it."""
        inside = [self._effects[s] for s in ast.walk(stmt) if isinstance(s, ast.stmt) and s in self._effects]
        reads = {name for effects in inside for name in effects.reads}
        exchanged = frozenset(name for effects in inside for name in effects.exchanges)
        return Effects(frozenset(reads), frozenset(name for effects in inside for name in effects.writes), exchanged)

    # --- edits of values

    def with_stages(self, loop: int, stages: int) -> str:
        """Return the text with another number of stages of a pipelined loop. Raises KernelError."""
        return self._accepted([self._stages(self.of_loop(loop)).edit(str(stages))])

    def _stages(self, loop: ast.stmt) -> KernelValue:
        call = loop.iter if isinstance(loop, ast.For) else None
        is_pipelined = isinstance(call, ast.Call) and called_name(call) == "Pipelined"
        value = self._value(call, "stages") if isinstance(call, ast.Call) and is_pipelined else None
        if value is None:
            raise KernelError(Refusal("no-stages", "the stages of this loop are not one number of the text",
                                      expected="for k in T.Pipelined(n, num_stages=2)"))  # fmt: skip
        return value

    def with_value(self, name: str, text: str) -> str:
        """Return the text with another value of a literal that feeds stages, threads or tiles, or of a parameter of the call."""
        kernel = kernel_text(self.text, {name: (text,)})
        assert kernel is not None
        (value,) = kernel.values
        made = self._accepted([value.edit(text)], keeps="operations")
        if value.role in ("tile", "split"):
            verdict = tested(read_statements(made).func, self.func, ())
            if verdict.status == "failed":
                raise KernelError(Refusal("other-results", f"the kernel computes something else with {name} = {text}", verdict.detail,
                                          "a value that divides the sizes"))  # fmt: skip
        return made

    def _value(self, call: ast.Call, role: str) -> KernelValue | None:
        """Return the literal that feeds the stages or threads of a call."""
        kernel = kernel_text(self.text)
        assert kernel is not None
        first, last = self.spans.span(call)
        values = [v for v in kernel.values if v.role == role]
        inside = [v for v in values if first <= v.first <= last]
        named = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
        found = inside or [v for v in values if v.name in named]
        return found[0] if len(found) == 1 or inside else values[0] if len(values) == 1 else None

    def with_policy(self, block: str, policy: str) -> str:
        """Return the text with another partition of a product among warps. Raises KernelError."""
        stmt = self.of_block(block)
        call = stmt.value if isinstance(stmt, ast.Expr) else None
        if not isinstance(call, ast.Call) or called_name(call) != "gemm" or policy not in POLICIES:
            raise KernelError(
                Refusal("no-policy", "only T.gemm has a policy", found=policy, expected=", ".join(POLICIES))
            )
        given = next((k.value for k in call.keywords if k.arg == "policy"), None)
        name = f"{self.spans.of(call.func).rpartition('.')[0]}.GemmWarpPolicy.{policy}"
        edit = self.spans.with_argument(call, f"policy={name}") if given is None else self.spans.replaced(given, name)
        return self._accepted([edit])

    def with_panel(self, panel: int, along: str = "row") -> str:
        """Return the text with panels of this many rows or columns of blocks (rasterisation), 0 for none. Raises KernelError."""
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and called_name(n) == "use_swizzle"]
        launch = next((n for n in ast.walk(self.tree) if isinstance(n, ast.With) and _launches(n)), None)
        is_given = bool(calls and calls[0].args and isinstance(calls[0].args[0], ast.Constant))
        call = calls[0] if calls else launch.items[0].context_expr if launch is not None else None
        if not isinstance(call, ast.Call) or launch is None or len(calls) > 1 or (calls and not is_given):
            raise KernelError(Refusal("no-panel", "the panel of this kernel is not a number of the text",
                                      expected="T.use_swizzle(10)"))  # fmt: skip
        owner = self.spans.of(call.func).rpartition(".")[0]
        order = ', order="column"' if along == "column" else ""
        made = f"{owner}.use_swizzle({panel}{order})" if panel else f"{owner}.use_swizzle(1, enable=False)"
        if calls and along == "row" and panel and len(call.args) == 1 and not call.keywords:
            return self._accepted([self.spans.replaced(call.args[0], str(panel))])
        return self._accepted([self.spans.replaced(call, made) if calls else self._insertion(launch.body[0], made)])

    def with_scope(self, block: str, scope: str) -> str:
        """Return the text with the buffer that a block writes in another memory. Raises KernelError."""
        name = ALLOCATIONS.get(scope)
        (buffer, *others) = self.buffers(block) or ("",)
        made = self._allocation(buffer)
        function = made.value.func if made is not None and isinstance(made.value, ast.Call) else None
        is_known = isinstance(function, ast.Attribute) and function.attr in ALLOCATIONS.values()
        if name is None or others or not is_known:
            raise KernelError(Refusal("no-scope", f"{buffer or block} has no allocation of its own in the text that can be in {scope}",
                                      expected=", ".join(ALLOCATIONS)))  # fmt: skip
        assert isinstance(function, ast.Attribute)
        self._require_operands(buffer, name)
        last = self.spans.span(function)[1]
        return self._accepted([TextEdit(last - len(function.attr), last, name)], moved=buffer)

    def _allocation(self, buffer: str) -> ast.Assign | None:
        """Return the only statement that allocates a buffer."""
        made = [
            n
            for n in ast.walk(self.tree)
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id == buffer
            and isinstance(n.value, ast.Call) and called_name(n.value).startswith("alloc_")
        ]  # fmt: skip
        return made[0] if len(made) == 1 else None

    def with_layout(self, buffer: str, layout: str) -> str:
        """Return the text with another layout of a shared buffer, "" for the one that the compiler chooses. Raises KernelError."""
        made = self._allocation(buffer)
        if made is None:
            raise KernelError(Refusal("no-layout", f"{buffer} has no allocation of its own in the text",
                                      expected=f"{buffer} = T.alloc_shared(…)"))  # fmt: skip
        text = self._accepted(layout_edits(self.tree, self.spans, made, self.bodies[made][1], buffer, layout))
        found = layouts_given(read_statements(text).func).get(buffer, "")
        if found != layout:
            raise KernelError(
                Refusal("reads-otherwise", f"the edited text gives {buffer} another layout", found, layout)
            )
        return text

    def with_slots(self, block: str, slots: int) -> str:
        """Return the text in which the loop around a copy runs it ahead, so that its buffer has several slots. Raises KernelError."""
        (buffer, *_) = self.buffers(block) or ("",)
        loop = self.bodies[self._unit(self.of_block(block))][0]
        call = loop.iter if isinstance(loop, ast.For) else None
        if not isinstance(loop, ast.For) or not isinstance(call, ast.Call) or called_name(call) not in SERIAL:
            raise KernelError(Refusal("no-stages", f"the copy into {buffer or block} stands in no serial loop of its own",
                                      expected="a copy directly in a loop of T.serial or T.Pipelined"))  # fmt: skip
        removed: list[TextEdit] = []
        if called_name(call) == "Pipelined":
            edits = [self._stages(loop).edit(str(slots))]
        else:
            removed = self._without_waits(loop)
            launch = next(n for n in ast.walk(self.tree) if isinstance(n, ast.With) and _launches(n))
            owner = self.spans.of(launch.items[0].context_expr).rpartition(".Kernel(")[0]
            edits = [
                self.spans.replaced(call.func, f"{owner}.Pipelined"),
                self.spans.with_argument(call, f"num_stages={slots}"),
                *self._waits_by_compiler(),
                *removed,
            ]
        text = self._accepted(edits, keeps="operations" if removed else "structure")
        piped = planned(read_statements(text).func).piped.buffers
        found = next((build.int_value(many.shape[0]) for one, many in piped.items() if one.name == buffer), 1)
        if found != slots:
            raise KernelError(Refusal("no-slots", f"{buffer} has {found} slots with num_stages={slots}", str(found),
                                      "a copy from global memory whose reader runs in a later stage"))  # fmt: skip
        return text

    def _without_waits(self, loop: ast.For) -> list[TextEdit]:
        """Return the edits that remove the flags and barriers between the pipes of an AI core from a loop, since the compiler sets them in
        one whose copies run ahead. Raises KernelError for others, which no copy may pass."""
        ordered = [n for n in ast.walk(loop) if isinstance(n, ast.Call) and _is_ordered(n)]
        of_pipes = [call for call in ordered if called_name(call) in OF_PIPES]
        own = [s for s in loop.body if isinstance(s, ast.Expr) and s.value in of_pipes]
        if len(own) < len(ordered) or (own and not self._asks_for_waits):
            raise KernelError(Refusal("passes-barrier", "no copy runs ahead of a flag or barrier that the text sets by hand",
                                      f"line {ordered[0].lineno}: {self.spans.of(ordered[0])}",
                                      "a loop whose waits the compiler sets"))  # fmt: skip
        return [TextEdit(*self.spans.lines(s.lineno, s.end_lineno or s.lineno), "") for s in own]

    def _waits_by_compiler(self) -> list[TextEdit]:
        """Return the edit that lets the compiler set the waits of a kernel for AI cores, which it does only if the text asks for it."""
        makers = self._makers
        if not self._is_core or "AUTO_SYNC" in self.text or len(makers) != 1:
            return []
        owner = self.spans.of(makers[0].func).rpartition(".")[0]
        option = f"{owner}.PassConfigKey.TL_ASCEND_AUTO_SYNC: True"
        given = self._options(makers[0])
        if given is None:
            return [self.spans.with_argument(makers[0], f"pass_configs={{{option}}}")]
        if not isinstance(given, ast.Dict) or not given.values:
            return []
        at = self.spans.span(given.values[-1])[1]
        return [TextEdit(at, at, f", {option}")]

    @property
    def _asks_for_waits(self) -> bool:
        """Whether the compiler sets the waits of an AI core: the text asks for it, or can."""
        return self._is_core and ("AUTO_SYNC" in self.text or bool(self._waits_by_compiler()))

    @property
    def _is_core(self) -> bool:
        launches = [n.items[0].context_expr for n in ast.walk(self.tree) if isinstance(n, ast.With) and _launches(n)]
        return any(isinstance(n, ast.Call) and any(k.arg == "is_npu" for k in n.keywords) for n in launches)

    @property
    def _makers(self) -> list[ast.Call]:
        """The decorators `@tilelang.jit(…)`."""
        found = [d for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef) for d in n.decorator_list]
        return [d for d in found if isinstance(d, ast.Call) and called_name(d) == "jit"]

    def _options(self, maker: ast.Call) -> ast.expr | None:
        """Return the options of a decorator, in it or in the variable that it names."""
        given = next((k.value for k in maker.keywords if k.arg == "pass_configs"), None)
        if not isinstance(given, ast.Name):
            return given
        named = (n for n in self.tree.body if isinstance(n, ast.Assign) and given.id in bound_names(n))
        return next((n.value for n in named), given)

    # T.gemm reads its second operand from shared memory, and adds in fragments.
    def _require_operands(self, buffer: str, allocation: str) -> None:
        for call in ast.walk(self.tree):
            if isinstance(call, ast.Call) and called_name(call) == "gemm" and len(call.args) > 2:
                for n, needs in ((1, "alloc_shared"), (2, "alloc_fragment")):
                    if self.spans.of(call.args[n]).partition("[")[0] == buffer and allocation != needs:
                        operand = ("the second operand", "the result")[n - 1]
                        raise KernelError(
                            Refusal("bad-operand", f"{buffer} is {operand} of T.gemm", found=allocation, expected=needs)
                        )

    def without_stop(self, block: str) -> str:
        """Return the text in which a copy reads what another copy put into its source, which nothing else uses: `T.copy(A, part)` and
        `T.copy(part, tile)` become `T.copy(A, tile)`. Raises KernelError."""
        second = self.of_block(block)
        arguments = _copied(second)
        middle = arguments[0] if arguments is not None else None
        if not isinstance(middle, ast.Name):
            raise KernelError(Refusal("no-copy", "this is no copy of a whole buffer", expected="T.copy(part, tile)"))
        users = [s for s, effects in self._effects.items() if middle.id in effects.reads | effects.writes]
        first = next((s for s in users if s is not second), None)
        source = None if first is None else _copied(first)
        made = self._allocation(middle.id)
        if first is None or source is None or made is None or len(users) != 2 or not isinstance(source[1], ast.Name):
            raise KernelError(Refusal("other-use", f"{middle.id} is not filled by one copy for this one alone",
                                      expected=f"T.copy(A, {middle.id}), and no other use"))  # fmt: skip
        body = self.bodies[second][1]
        if self.bodies[first][1] is not body or body.index(first) > body.index(second):
            raise KernelError(Refusal("not-reachable", "the copies do not follow each other in one body"))
        self._require_passes(first, body[body.index(first) + 1 : body.index(second)])
        names = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id == middle.id]
        edits = [self.spans.replaced(middle, self.spans.of(source[0])), self._without_line(first)]
        edits += [self._without_line(made)] if len(names) == 3 else []
        text = with_edits(self.text, edits)
        found = read_statements(text).func
        old, new = _operations(self.func), _operations(found)
        verdict = tested(found, self.func, ())
        if verdict.status == "failed" or (len(old - new), len(new - old)) != (2, 1):
            raise KernelError(
                Refusal("reads-otherwise", "the edited text reads as another program", verdict.detail[:200])
            )
        return text

    def _without_line(self, stmt: ast.stmt) -> TextEdit:
        """Return the edit that removes a statement with its lines. Raises KernelError if another one stands there."""
        last = stmt.end_lineno or stmt.lineno
        if any(s is not stmt and s.lineno <= last and stmt.lineno <= s.lineno for s in self._at.values()):
            raise KernelError(
                Refusal("shared-line", "another statement stands on the same line", expected="a line of its own")
            )
        return TextEdit(*self.spans.lines(stmt.lineno, last), "")

    # --- edits of order

    def moved(self, block: str, side: Side) -> str:
        """Return the text with a statement before the one above it, or after the one below. Raises KernelError."""
        stmt = self._unit(self.of_block(block))
        _, body = self.bodies[stmt]
        at = body.index(stmt) + (-1 if side == "earlier" else 1)
        if not 0 <= at < len(body):
            raise KernelError(
                Refusal("no-neighbour", f"there is no statement {'above' if side == 'earlier' else 'below'}")
            )
        self._require_passes(stmt, [body[at]])
        target = body[at] if side == "earlier" else body[at + 1] if at + 1 < len(body) else None
        return self._with_move(stmt, target, body[-1])

    def moved_to(self, block: str, loop: int) -> str:
        """Return the text with a statement in another loop: in front of the first statement there that needs it. Raises KernelError."""
        stmt, target = self._unit(self.of_block(block)), self.of_loop(loop)
        body = self.bodies[stmt][1]
        if body is target.body:
            raise KernelError(Refusal("already-there", "the statement is in this loop already"))
        if target in body:
            return self._into(stmt, target, body)
        return self._out_of(stmt, target)

    def _into(self, stmt: ast.stmt, target: ast.For | ast.With, body: list[ast.stmt]) -> str:
        """Return the text with a statement in a loop beside it: of one below it, in front of the first statement there that needs it, of
        one above it, at the end."""
        own, first, last = self._of(stmt), body.index(stmt), body.index(target)
        if first > last:
            self._require_passes(stmt, body[last + 1 : first])
            self._require_free(stmt, target.body)
            self._require_last(stmt, target.body)
            self._require_runs(target)
            return self._with_move(stmt, None, target.body[-1])
        self._require_passes(stmt, body[first + 1 : last])
        self._require_repeatable(stmt, target.body)
        self._require_runs(target)
        after = next((s for s in target.body if self._of(s).reads & own.writes), target.body[0])
        self._require_free(stmt, target.body[: target.body.index(after)])
        return self._with_move(stmt, after, target.body[-1])

    def _out_of(self, stmt: ast.stmt, target: ast.For | ast.With) -> str:
        """Return the text with a statement in a loop around its own one: in front of its own one, or behind it, where only its last run
        counts."""
        try:
            return self._beside(stmt, target, is_after=False)
        except KernelError as before:
            try:
                return self._beside(stmt, target, is_after=True)
            except KernelError:
                raise before from None

    def _beside(self, stmt: ast.stmt, target: ast.For | ast.With, *, is_after: bool) -> str:
        here = stmt
        while self.bodies[here][1] is not target.body:
            owner, body = self.bodies[here]
            if not isinstance(owner, ast.For) or owner not in self.bodies:
                raise KernelError(Refusal("not-reachable", "this loop is neither beside the statement nor around it",
                                          expected="a loop beside the statement, or around it"))  # fmt: skip
            names = {n.id for n in ast.walk(owner.target) if isinstance(n, ast.Name)}
            used = names & {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}
            if used:
                raise KernelError(
                    Refusal(
                        "depends-on-loop",
                        f"the statement uses {min(used)}",
                        expected="a statement that is the same in each iteration",
                    )
                )
            self._require_runs(owner)
            others = [s for s in body if s is not here]
            if is_after:
                self._require_free(stmt, others)
                self._require_last(stmt, others)
                self._require_passes(stmt, body[body.index(here) + 1 :])
            else:
                self._require_repeatable(stmt, others)
                self._require_passes(stmt, body[: body.index(here)])
            here = owner
        if is_after:
            at = target.body.index(here) + 1
            return self._with_move(stmt, target.body[at] if at < len(target.body) else None, target.body[-1])
        return self._with_move(stmt, here, target.body[-1])

    # The statement must have the same effect however often it runs, and nothing else in the loop may change it.
    def _require_repeatable(self, stmt: ast.stmt, others: Sequence[ast.stmt]) -> None:
        own = self._of(stmt)
        if own.reads & own.writes:
            raise KernelError(Refusal("not-repeatable", f"the statement reads {min(own.reads & own.writes)} and changes it",
                                      expected="a statement with the same effect however often it runs"))  # fmt: skip
        for other in others:
            known = self._of(other)
            meets = (own.writes & known.writes) | (own.reads & known.writes)
            if meets:
                raise self._conflict(stmt, other, min(meets))

    # Only the last run of the statement has an effect: it overwrites the same elements each time, and nothing else in the loop uses them.
    def _require_last(self, stmt: ast.stmt, others: Sequence[ast.stmt]) -> None:
        own = self._of(stmt)
        self._require_repeatable(stmt, ())
        for other in others:
            known = self._of(other)
            meets = own.writes & (known.reads | known.writes)
            if meets:
                raise self._conflict(stmt, other, min(meets))

    # A loop that may have no iteration does not run the statement.
    def _require_runs(self, owner: ast.For | ast.With) -> None:
        loop = next((n for n in self.loops if owner is self._at.get(_start(self.parsed, n))), None)
        extent = None if loop is None else build.int_value(loop.extent)
        if not extent:
            raise KernelError(
                Refusal("may-not-run", "the loop may have no iteration", expected="a loop of known length")
            )

    def _require_free(self, stmt: ast.stmt, passed: Sequence[ast.stmt]) -> None:
        names = {n.id for s in passed for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        used = names & {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}
        if used:
            raise KernelError(Refusal("needs-name", f"the statement uses {min(used)}, which is set in between"))

    def _require_passes(self, stmt: ast.stmt, passed: Sequence[ast.stmt]) -> None:
        self._require_free(stmt, passed)
        own = self._of(stmt)
        if not own.reads | own.writes:
            raise KernelError(Refusal("no-effect", "what the statement reads and writes is not known"))
        for other in passed:
            buffer = own.meets(self._of(other))
            if buffer:
                raise self._conflict(stmt, other, buffer)
            ordered = [n for n in ast.walk(other) if isinstance(n, ast.Call) and _is_ordered(n)]
            if other not in self._effects and ordered:
                raise KernelError(Refusal("passes-barrier", f"no statement passes {called_name(ordered[0])}"))

    def _conflict(self, stmt: ast.stmt, other: ast.stmt, buffer: str) -> KernelError:
        line = self.spans.of(other).split("\n")[0]
        found = f"{buffer}, in line {other.lineno}: {line}"
        return KernelError(Refusal("dependence", f"both statements use {buffer}, and one of them writes it", found,
                                   "statements without a dependence between them"))  # fmt: skip

    def _with_move(self, stmt: ast.stmt, before: ast.stmt | None, last: ast.stmt) -> str:
        """Return the text with the lines of a statement in front of another one, or after the last one of its body."""
        assert stmt.end_lineno is not None and last.end_lineno is not None
        lines = self.text.split("\n")
        first = stmt.lineno
        while (
            lines[first - 2].lstrip().startswith("#") and first > 1 and not lines[first - 2].lstrip().startswith("# %%")
        ):
            first -= 1
        start, end = self.spans.lines(first, stmt.end_lineno)
        others = [s for s in self._at.values() if s is not stmt and stmt not in ast.walk(s) and s not in ast.walk(stmt)]
        if any(s.lineno <= stmt.end_lineno and (s.end_lineno or 0) >= stmt.lineno for s in others):
            raise KernelError(
                Refusal("shared-line", "another statement stands on the same line", expected="a line of its own")
            )
        moved = self.text[start:end]
        moved = moved if moved.endswith("\n") else f"{moved}\n"
        column = (before or last).col_offset
        moved = _indented(moved, stmt.col_offset, column)
        if before is None:
            at = self.spans.lines(last.lineno, last.end_lineno)[1]
        else:
            at = self.spans.lines(self._first_line(before, lines), before.lineno)[0]
        inserted = TextEdit(at, at, moved)
        return self._accepted([TextEdit(start, end, ""), inserted], keeps="operations")

    def _first_line(self, stmt: ast.stmt, lines: list[str]) -> int:
        first = stmt.lineno
        while first > 1 and lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return first

    def _insertion(self, before: ast.stmt, text: str) -> TextEdit:
        at = self.spans.lines(before.lineno, before.lineno)[0]
        return TextEdit(at, at, f"{' ' * before.col_offset}{text}\n")

    # --- comparison

    def _accepted(self, edits: Sequence[TextEdit], *, keeps: str = "structure", moved: str = "") -> str:
        """Return the text with edits, if it reads as the program that the edit means. Raises KernelError "reads-otherwise"."""
        text = with_edits(self.text, edits)
        found = read_statements(text).func
        if keeps == "structure":
            difference = first_difference(_plain(self.func, moved), _plain(found, moved))
            why = "" if difference is None else str(difference)
        else:
            old, new = (_operations(func) for func in (self.func, found))
            missing = [*((old - new).keys()), *((new - old).keys())]
            why = f"operations on {missing[0]}" if missing else ""
        if why:
            raise KernelError(Refusal("reads-otherwise", "the edited text reads as another program", why[:200]))
        return text


@lru_cache(maxsize=8)
def read_statements(text: str) -> KernelStatements:
    """Return the statements of a text. Cached, because the targets of a drag, the drop and the next edit read the same texts."""
    return KernelStatements(text)


def _function(program: IRModule | PrimFunc) -> PrimFunc:
    return program if isinstance(program, PrimFunc) else program.functions[0]


def _effects(blocks: Sequence[BlockRealize]) -> Effects:
    """Return the effects of blocks. A sum reads the buffer that it adds to, which its declared reads leave out."""
    reads = {region.buffer.name for realize in blocks for region in realize.block.reads}
    loads = {
        node.buffer.name for realize in blocks for node in walk(realize.block.body) if isinstance(node, BufferLoad)
    }
    writes = {region.buffer.name for realize in blocks for region in realize.block.writes}
    return Effects(frozenset(reads | loads), frozenset(writes))


def _start(parsed: Parsed, node: Node) -> tuple[int, int]:
    place = next(iter(parsed.positions.get(node, ())), None)
    return (0, 0) if place is None else (place.line, place.column)


def _copied(stmt: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the operands of `T.copy(source, target)`; None for another statement, or a copy with options."""
    match stmt:
        case ast.Expr(value=ast.Call(args=[source, target], keywords=[]) as call) if called_name(call) == "copy":
            return source, target
        case _:
            return None


def _is_ordered(call: ast.Call) -> bool:
    return any(part in called_name(call) for part in _ORDERED)


def _launches(node: ast.With) -> bool:
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and called_name(call) == "Kernel"


def _indented(lines: str, old: int, new: int) -> str:
    if old == new:
        return lines
    kept = [line[min(old, len(line) - len(line.lstrip())) :] for line in lines.split("\n")]
    return "\n".join(f"{' ' * new}{line}" if line else line for line in kept)


def _plain(func: PrimFunc, moved: str) -> PrimFunc:
    """Return a function without what follows from stages and threads, and with the buffer that moved in one memory for all scopes."""

    def leave(node: Node) -> Node:
        assert isinstance(node, For | Block)
        kept = tuple(note for note in node.annotations if note[0] not in PLANNED)
        return node if len(kept) == len(node.annotations) else replace(node, annotations=kept)

    buffers = {b: replace(b, scope="shared") for b in allocated_buffers(func.body) if b.name == moved}
    return (
        replace_buffers(rewrite(func, leave, kinds={For, Block}), buffers)
        if buffers
        else rewrite(func, leave, kinds={For, Block})
    )


def _operations(func: PrimFunc) -> Counter[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the buffers that the blocks of a function read and write, by name, with the count of such blocks."""
    return Counter(
        (tuple(sorted(r.buffer.name for r in n.block.reads)), tuple(sorted(r.buffer.name for r in n.block.writes)))
        for n in walk(func.body)
        if isinstance(n, BlockRealize)
    )


__all__ = ["ALLOCATIONS", "POLICIES", "KernelStatements", "Side", "read_statements"]
