"""Lints of the flags, barriers and waits of a kernel, by a run of the pipes of its AI core or of its groups of warps."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import msgspec

from ...adopt import KernelStatements, TextEdit, read_statements, with_edits
from ...ir import BlockRealize, Call, For, Stmt, TilewrightError, Var, walk
from ...script.tilelang.sync.run import UntraceableError
from ...script.tilelang.sync.slots import reuses_memory
from ...script.tilelang.sync.statement import READ, Synchronised, kind_of, sync_of, syncs_in, text_of
from ..finding import LintFinding
from ..subject import Subject
from .pipes import PipeTrace
from .trace import Race, Traced
from .warps import WarpTrace

AUTOMATIC = re.compile(r"auto_(?:cross_core_)?sync\W+True", re.IGNORECASE)
"""An option with which the compiler adds flags of its own."""
MOST_FLAGS = 8
"""The numbers of flags between two pipes."""
MOST_GROUPS = 40


class Flags(msgspec.Struct, frozen=True, eq=False):
    """The flags and barriers of a kernel's text, and what a run of its pipes shows."""

    statements: KernelStatements
    kernel: Synchronised
    grid: tuple[Var, ...]
    traced: Traced

    @property
    def body(self) -> Stmt:
        return self.kernel.body

    @property
    def on_core(self) -> bool:
        """Whether the kernel is one for an AI core."""
        return self.kernel.barriers is None

    def without(self, flags: Collection[Stmt]) -> Traced:
        return traced(self.kernel, self.grid, flags)

    def statement(self, stmt: Stmt) -> ast.stmt | None:
        """Return the statement of the text that a flag or barrier is; None if it has none of its own."""
        try:
            return self.statements.statement(stmt)
        except TilewrightError:
            return None

    def place(self, stmt: Stmt) -> str:
        """Return where a flag stands: how many flags before which block."""
        seen = False
        between = 0
        for node in walk(self.body):
            if seen and isinstance(node, BlockRealize):
                return f"{between} before {node.block.name}"
            between += seen and isinstance(node, Stmt) and sync_of(node) is not None
            seen = seen or node is stmt
        return f"{between} before the end"

    def groups(self) -> list[list[Stmt]]:
        """Return the flags and barriers that can only be left out together: settings and the waits that take them, and the copies of one
        statement of the text."""
        syncs = [
            n for n in walk(self.body) if isinstance(n, Stmt) and (call := sync_of(n)) is not None and _orders(call)
        ]
        of: dict[object, list[Stmt]] = {}
        for stmt in syncs:
            of.setdefault(self.statement(stmt) or stmt, []).append(stmt)
        found = [{*group} for group in of.values()]
        for pair in self.traced.pairs:
            met = [group for group in found if not group.isdisjoint(pair)]
            if len(met) > 1:
                found = [group for group in found if group not in met] + [set[Stmt]().union(*met)]
        order = {stmt: n for n, stmt in enumerate(syncs)}
        return sorted((sorted(group, key=order.__getitem__) for group in found), key=lambda g: order[g[0]])


def traced(kernel: Synchronised, grid: Collection[Var], without: Collection[Stmt] = ()) -> Traced:
    """Return what a run of a kernel shows on the first block of a grid, without some of its flags and barriers. Raises
    UntraceableError."""
    run = PipeTrace(grid, without) if kernel.barriers is None else WarpTrace(kernel, grid, without)
    return run.traced(kernel.body)


def _orders(call: Call) -> bool:
    return kind_of(call) in ("set_flag", "wait_flag", "barrier")


@lru_cache(maxsize=8)
def flags_of(text: str) -> Flags | None:
    """Return the flags of a kernel; None for a text without flags, or with some that the compiler adds, and for one that cannot be run."""
    if "T.Kernel" not in text or AUTOMATIC.search(text):
        return None
    try:
        statements = read_statements(text)
    except TilewrightError:
        return None
    kernels = statements.parsed.synchronised
    if len(kernels) != 1 or all(kind_of(call) == READ for call in syncs_in(kernels[0].body)):
        return None
    loops = (node for node in walk(statements.func.body) if isinstance(node, For))
    grid = tuple(loop.loop_var for loop in loops if (loop.thread_tag or "").startswith("blockIdx"))
    try:
        return Flags(statements, kernels[0], grid, traced(kernels[0], grid))
    except UntraceableError:
        return None


def _line(flags: Flags, block: str) -> int:
    try:
        return flags.statements.of_block(block).lineno
    except TilewrightError:
        return 0


# --- accesses that nothing orders


def find_races(subject: Subject) -> Iterator[LintFinding]:
    """A block of a kernel for an AI core reads a buffer before the copy or operation that fills it has ended, or overwrites one that
    another pipe still reads: no flag and no barrier orders the two pipes. Likewise for the groups of warps of a GPU's kernel (`T.ws`, or
    branches of threads) and the bulk copies and products that they begin, whose waits are `T.mbarrier_wait_parity` and `T.wait_wgmma`. The
    simulator lets the second one wait; the device does not. Found by a run over the first and the last iterations of each loop, for
    kernels whose text has flags or barriers and no option by which the compiler adds them."""
    flags = flags_of(subject.source) if subject.source else None
    races = () if flags is None else flags.traced.races
    others = {race.buffer for race in races if race.first != race.second}
    for race in races:
        assert flags is not None
        if race.first == race.second and race.buffer in others:
            continue  # a consequence
        lines = _line(flags, race.second), _line(flags, race.first)
        done = "has filled it" if race.kind == "reads" else "is done with it"
        pipes = " and ".join(_unit(flags, pipe) for pipe in race.pipes)
        message = (
            f"{race.second} (line {lines[0]}) {race.kind} {race.buffer} before {race.first} (line {lines[1]}) {done}: "
            f"nothing orders {pipes}"
        )
        yield LintFinding("missing-wait", "error", message, (race.second, race.first), (), (race.buffer,))


def _unit(flags: Flags, unit: str) -> str:
    """Return the name of a pipe, or of a group of warps."""
    if flags.on_core:
        return unit.partition(" ")[2]
    group, _, agent = unit.rpartition(" ")
    threads = f"threads {group}" if group else "the threads"
    return f"{agent} of {threads}" if agent else threads


def race_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`T.set_flag` and `T.wait_flag` in front of the statement that comes too early."""
    flags = flags_of(subject.source)
    race = (
        None if flags is None else next((r for r in flags.traced.races if (r.second, r.first) == finding.blocks), None)
    )
    if flags is None or race is None or not flags.on_core:
        return
    try:
        before = flags.statements.of_block(race.second)
    except TilewrightError:
        yield None
        return
    yield subject.edited(with_edits(subject.source, [_inserted(flags, before, [race.pipes])]))


def _inserted(flags: Flags, before: ast.stmt, pairs: Sequence[tuple[str, str]]) -> TextEdit:
    """Return the edit that lets the second pipe of each pair wait for the first one, in front of a statement."""
    at = flags.statements.spans.lines(before.lineno, before.lineno)[0]
    lines = (f"{' ' * before.col_offset}{line}\n" for line in _waiting(flags, pairs))
    return TextEdit(at, at, "".join(lines))


def _waiting(flags: Flags, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines that let the second pipe of each pair wait for the first one."""
    names = [(a.partition(" ")[2].lower(), b.partition(" ")[2].lower()) for a, b in pairs]
    several = [(a, b, _free_number(flags, a, b)) for a, b in names if a != b]
    found = [f'T.{verb}_flag("{a}", "{b}", {n})' for verb in ("set", "wait") for a, b, n in several]
    return [*found, *(f'T.pipe_barrier("{pipe}")' for pipe in dict.fromkeys(a for a, b in names if a == b))]


def _free_number(flags: Flags, source: str, target: str) -> int:
    used: set[int] = set()
    for call in ast.walk(flags.statements.tree):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr.endswith("_flag")
            and len(call.args) == 3
        ):
            names = [a.value.lower() for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if names == [source, target]:
                number = call.args[2]
                used |= {number.value} if isinstance(number, ast.Constant) and isinstance(number.value, int) else {0, 1}
    return next((n for n in range(MOST_FLAGS) if n not in used), 0)


# --- waits for flags that nothing sets


def find_unset_flags(subject: Subject) -> Iterator[LintFinding]:
    """A kernel for an AI core waits for a flag that nothing has set, so its pipe waits for ever; or it sets a flag once more than it waits
    for it, so that the next kernel on the core begins with a flag that is set. For the given sizes."""
    flags = flags_of(subject.source) if subject.source else None
    if flags is None:
        return
    for found, said in (
        (flags.traced.unset, "waits for a flag that nothing has set"),
        (flags.traced.left, "sets a flag that nothing waits for"),
    ):
        for stmt in found:
            yield LintFinding(
                "unmatched-flag", "warning", f"{_shown(flags, stmt)} {said}, for these sizes", place=flags.place(stmt)
            )


def _text(stmt: Stmt) -> str:
    call = sync_of(stmt)
    return text_of(call) if call is not None else ""


def _shown(flags: Flags, stmt: Stmt) -> str:
    node = flags.statement(stmt)
    return f"{_text(stmt)}{f' (line {node.lineno})' if node is not None else ''}"


# --- flags and barriers that order nothing


def find_needless_flags(subject: Subject) -> Iterator[LintFinding]:
    """Barriers, or flags with their waits, of a kernel for an AI core order only what others order as well: without them each block still
    waits for the data that it reads, and for the blocks whose data it overwrites. They can be left out together."""
    flags = flags_of(subject.source) if subject.source else None
    found = _needless(flags) if flags is not None else ()
    if flags is not None and found:
        lines = sorted(
            {node.lineno for group in found for stmt in group if (node := flags.statement(stmt)) is not None}
        )
        shown = ", ".join(dict.fromkeys(text for group in found for stmt in group if (text := _text(stmt))))
        message = f"{shown} in line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))} order nothing that others do not order"
        yield LintFinding("needless-flag", "warning", message, place="needless")


def needless_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """The lines of the barriers, and of the flags and their waits, removed."""
    flags = flags_of(subject.source)
    if flags is not None:
        nodes = {flags.statement(stmt) for group in _needless(flags) for stmt in group}
        edits = [_removed(flags, node) for node in nodes]
        yield None if None in edits else subject.edited(with_edits(subject.source, [e for e in edits if e is not None]))


def _removed(flags: Flags, node: ast.stmt | None) -> TextEdit | None:
    """Return the edit that removes a statement; None if it stands alone in its body, or shares its line."""
    if node is None or node.end_lineno is None or len(flags.statements.bodies[node][1]) == 1:
        return None
    spans = flags.statements.spans
    first, last = spans.lines(node.lineno, node.end_lineno)
    return TextEdit(first, last, "") if spans.text[first:last].strip() == spans.of(node).strip() else None


@lru_cache(maxsize=8)
def _needless(flags: Flags) -> tuple[tuple[Stmt, ...], ...]:
    """Return flags and barriers without which all accesses are ordered as before, the first ones first."""
    found: list[tuple[Stmt, ...]] = []
    known = flags.traced
    if known.races or known.unset or known.left or not known.is_whole or reuses_memory(flags.statements.func):
        return ()  # a barrier may order accesses to buffers that share memory
    for group in flags.groups()[:MOST_GROUPS]:
        after = flags.without([stmt for other in (*found, group) for stmt in other])
        removable = all(_removed(flags, flags.statement(stmt)) is not None for stmt in group)
        if removable and {*after.races, *after.others} <= {*known.races, *known.others} and not after.unset:
            found.append(tuple(group))
    return tuple(found)


# --- barriers where flags suffice


def find_serial_barriers(subject: Subject) -> Iterator[LintFinding]:
    """A barrier of all pipes of an AI core lets pipes wait that have nothing to do with each other, so nothing
    overlaps. Reported if flags between the pipes that exchange data make the kernel faster."""
    flags = flags_of(subject.source) if subject.source else None
    if flags is None or subject.report is None or flags.traced.races or reuses_memory(flags.statements.func):
        return
    waits = sum(
        w.cycles
        for e in subject.report.engines.values()
        for w in e.waits
        if w.cause == "flag" and "barrier" in w.buffer
    )
    barriers = _barriers(flags) if waits else []
    if barriers:
        others = f" and {len(barriers) - 1} more" if len(barriers) > 1 else ""
        message = f"{_shown(flags, barriers[0][0])}{others} stop all pipes of a core where flags between some suffice"
        yield LintFinding("serial-barrier", "warning", message, place="barriers")


def _barriers(flags: Flags) -> list[Sequence[Stmt]]:
    """Return the barriers that order something."""
    needless = {group[0] for group in _needless(flags)}
    calls = ((group, sync_of(group[0])) for group in flags.groups() if group[0] not in needless)
    return [group for group, call in calls if call is not None and kind_of(call) == "barrier"]


def serial_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`T.set_flag` and `T.wait_flag` between the pipes that exchange data across each barrier, in its place."""
    now: Subject | None = subject
    for _ in range(MOST_GROUPS):
        known = None if now is None else flags_of(now.source)
        barriers = [] if known is None else _barriers(known)
        if now is None or known is None or not barriers:
            break
        now = _with_flags(now, known, barriers[0])
    yield None if now is subject else now


def _with_flags(subject: Subject, flags: Flags, group: Sequence[Stmt]) -> Subject | None:
    """Return the kernel with flags in the place of a barrier; None if these do not order what it orders."""
    node = flags.statement(group[0])
    if node is None:
        return None
    after, known = flags.without(group), {*flags.traced.races, *flags.traced.others}
    lost = [race for race in (*after.races, *after.others) if race not in known]
    lines = _waiting(flags, list(dict.fromkeys(race.pipes for race in lost)))
    if not lines:
        return None
    made = subject.edited(
        with_edits(subject.source, [flags.statements.spans.replaced(node, f"\n{' ' * node.col_offset}".join(lines))])
    )
    now = None if made is None else flags_of(made.source)
    is_ordered = now is not None and {*now.traced.races, *now.traced.others} <= known and not now.traced.unset
    return made if is_ordered else None


CROSS = ("cube to vector", "vector to cube")
"""The tokens of flags between the cube core and the vector cores."""
WAITING, WORKING = 0.25, 0.5
"""Cores take turns if an engine waits for flags of the other core for this part of the cycles, and none works for that part."""


def find_serial_flags(subject: Subject) -> Iterator[LintFinding]:
    """Flags between the cube core and the vector cores let one of them wait while the other works, so nothing overlaps. The first products
    of the next tile may run before the wait for this one, if buffers in global memory have two slots with flags of their own."""
    report = subject.report
    if report is None or not report.cycles:
        return
    waits = {
        name: sum(w.cycles for w in engine.waits if w.cause == "flag" and w.buffer in CROSS)
        for name, engine in report.engines.items()
    }
    name = max(waits, key=lambda n: waits[n])
    busy = max(engine.busy for engine in report.engines.values()) / report.cycles
    if waits[name] >= WAITING * report.cycles and busy < WORKING:
        yield LintFinding(
            "serial-flags", "warning",
            f"flags let the cube core and the vector cores take turns: {name} waits for {waits[name]:,} of {report.cycles:,} cycles for "
            f"the other core, and no engine works for more than {100 * busy:.0f} % of them",
            place="flags between cores",
        )  # fmt: skip


__all__ = [
    "Race",
    "find_needless_flags",
    "find_races",
    "find_serial_barriers",
    "find_serial_flags",
    "find_unset_flags",
    "needless_fixes",
    "race_fixes",
    "serial_fixes",
]
