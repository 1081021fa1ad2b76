"""The rows of engines: one for each engine with tasks; in a program of several groups of warps, one for each engine of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ....engine.hwsim import Kind, Report
from ....engine.ir import Block, IRModule, PrimFunc, StringImm, walk
from ....engine.script.tilelang.names import WARP_GROUP
from ....engine.script.tilelang.sync.warps import threads_in

WARP = 32


class EngineRow(msgspec.Struct, frozen=True):
    """An engine, and the threads of the group of warps that it works for, such as "0 to 127"; "" for those of all."""

    engine: str
    threads: str = ""

    @property
    def name(self) -> str:
        return f"{self.engine} {self.threads.replace(' to ', '–')}" if self.threads else self.engine


def engine_rows(report: Report, templates: Sequence[Kind]) -> tuple[list[EngineRow], list[int]]:
    """The rows, those of a group together, and the row of each template."""
    groups = _groups(report.program.source)
    of = [EngineRow(kind.engine, next((groups[b] for b in kind.blocks if b in groups), "")) for kind in templates]
    engines = [name for name, engine in report.engines.items() if engine.tasks]
    rows = sorted(
        {*of, *(EngineRow(name) for name in engines)} if not groups else set(of),
        key=lambda row: (_first(row.threads), engines.index(row.engine)),
    )
    return rows, [rows.index(row) for row in of]


def _groups(program: IRModule | PrimFunc) -> Mapping[str, str]:
    """The group of warps of each block that one runs; empty with fewer than two groups. Parts of a warp are no group."""
    notes = {node.name: dict(node.annotations).get(WARP_GROUP) for node in walk(program) if isinstance(node, Block)}
    found = {name: note.value for name, note in notes.items() if isinstance(note, StringImm)}
    found = {name: threads for name, threads in found.items() if (threads_in(threads) or 0) >= WARP}
    return found if len(set(found.values())) > 1 else {}


def _first(threads: str) -> int:
    number = threads.partition(" ")[0]
    return int(number) if number.isdecimal() else -1
