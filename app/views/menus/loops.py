"""Menu items of loops: form fields and preconditions of reshaping, loop kinds, pipelines and copies at a loop."""

from __future__ import annotations

from collections.abc import Callable

from ....engine.arith import divisors
from ....engine.ir import For, SeqStmt, build
from .copies import scope_field
from .entry import Chip, Choice, Field, field
from .facts import THREADS, Facts


def split_fields(_: Facts, loop: For) -> list[Field]:
    name = loop.loop_var.name
    extent = build.int_value(loop.extent)
    inner = next((f for f in (16, 32, 8, 4, 64, 2) if extent is not None and extent > f and extent % f == 0), 16)
    return [
        field(
            "factors",
            "Factors",
            "ints",
            f"None, {inner}",
            help="outermost first; None is derived",
            chips=factor_chips(extent, 1),
        ),
        field("names", "Names", "names", f"{name}_0, {name}_1", optional=True, stem=name, help="one per factor"),
    ]


MAX_CHIPS = 8


def factor_chips(extent: int | None, place: int) -> list[Chip]:
    """Divisors of an extent as choices for a split in two, where `place` has the number. Powers of two take precedence,
    since a form has room for few."""
    if extent is None or extent < 1:
        return []
    between = divisors(extent)[1:-1]
    chosen = sorted(sorted(between, key=lambda d: (d & (d - 1) != 0, abs(d.bit_length() - 5)))[:MAX_CHIPS])
    texts = (("None", str(d)) if place else (str(d), "None") for d in chosen)
    return [Chip(str(d), ", ".join(text)) for d, text in zip(chosen, texts, strict=True)]


def fuse_fields(facts: Facts, loop: For) -> list[Field]:
    return nest_fields(facts, loop)


def nest_fields(facts: Facts, loop: For, *, sized: bool = False) -> list[Field]:
    """The field that chooses how many of the nested loops; each choice sets their tile sizes if they are `sized`."""
    chain = [facts.ids.of(loop.loop_var)]
    choices: list[Choice] = []
    for inner in facts.inner_chain(loop):
        chain.append(inner)
        sizes = {"factors": ", ".join("16" for _ in chain)} if sized else None
        choices.append(Choice([*chain], " \u00d7 ".join(chain), sizes))
    return [field("loops", "Loops", "choice", choices[0].value, choices)]


def tile_fields(facts: Facts, loop: For) -> list[Field]:
    return [
        *nest_fields(facts, loop, sized=True),
        field("factors", "Tile sizes", "ints", "16, 16", help="one per loop; a remainder is guarded by a condition"),
    ]


def partition_fields(_: Facts, loop: For) -> list[Field]:
    extent = build.int_value(loop.extent) or 2
    return [
        field(
            "factors",
            "Lengths",
            "ints",
            f"{max(1, extent // 2)}",
            help="lengths of the pieces; the rest becomes one more",
        )
    ]


def too_short(_: Facts, loop: For) -> str:
    extent, first = build.int_value(loop.extent), build.int_value(loop.min)
    if extent is None or first is None:
        return "its bounds are not constant"
    return "" if extent > 1 else "it has a single iteration"


def merge_fields(facts: Facts, loop: For) -> list[Field]:
    own = facts.ids.of(loop.loop_var)
    choices = [Choice([own, other], other) for other in facts.mergeable_loops(loop)]
    return [field("loops", "With loop", "choice", choices[0].value, choices)]


def no_mergeable_loop(facts: Facts, loop: For) -> str:
    return "" if facts.mergeable_loops(loop) else "no later loop in its sequence has the same extent"


def no_inner_loop(facts: Facts, loop: For) -> str:
    return "" if facts.inner_chain(loop) else "it has no single loop as its body"


def bind_fields(_: Facts, __: For) -> list[Field]:
    return [field("thread_axis", "Thread axis", "choice", "blockIdx.x", THREADS)]


def is_kind(kind: str) -> Callable[[Facts, For], str]:
    return lambda _, loop: f"it is already {kind}" if loop.kind == kind else ""


def pipeline_fields(_: Facts, loop: For) -> list[Field]:
    count = len(loop.body.seq) if isinstance(loop.body, SeqStmt) else 1
    stages = ", ".join(["0"] * (count - 1) + ["1"])
    places = ", ".join(map(str, range(count)))
    return [
        field("stages", "Stages", "ints", stages, help="one per statement; a stage later runs an iteration later"),
        field("order", "Order", "ints", places, help="position of each statement in the new body"),
    ]


def no_pipeline(_: Facts, loop: For) -> str:
    if any(key.startswith("software_pipeline") for key, _ in loop.annotations):
        return "it is already pipelined"
    if loop.kind not in ("serial", "unrolled"):
        return f"it is {loop.kind}, and a pipeline needs sequential iterations"
    return "" if isinstance(loop.body, SeqStmt) else "its body is a single statement"


def touched_below(facts: Facts, loop: For, side: str) -> list[tuple[str, str]]:
    """The pairs (block, buffer) that the blocks below a loop read or write, each buffer once."""
    found: dict[str, tuple[str, str]] = {}
    for realize in facts.index.child_blocks(loop):
        for region in realize.block.reads if side == "read" else realize.block.writes:
            found.setdefault(region.buffer.name, (realize.block.name, region.buffer.name))
    return list(found.values())


def copy_at_fields(side: str) -> Callable[[Facts, For], list[Field]]:
    def fields(facts: Facts, loop: For) -> list[Field]:
        found = touched_below(facts, loop, side)
        word = "read" if side == "read" else "written"
        choices = [Choice([block, buffer], f"{buffer}  ({word} by {block})") for block, buffer in found]
        spread = ("block", f"{side}_buffer_index")
        return [field("copied", "Buffer", "choice", choices[0].value, choices, spread=spread), scope_field(facts)]

    return fields


def touches_nothing(side: str) -> Callable[[Facts, For], str]:
    return lambda facts, loop: "" if touched_below(facts, loop, side) else f"no block in it {side}s a buffer"
