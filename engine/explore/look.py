"""A candidate looked at before it is tried: what its copies move and its buffers take, from the loops alone, without plan, tasks or replay.

It costs a hundredth of a trial and chooses whom to try first, nothing more: conditions, layouts and pipelines are left out, so that what
it tells is near to what a replay finds, and no bound of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

import msgspec

from ..analysis import ProgramIndex
from ..hwsim import DmaEngine, Machine
from ..ir import BlockRealize, Buffer, BufferLoad, BufferStore, For, Stmt, build, free_vars
from ..ir import dtype as dt
from ..lower import DOUBLE_BUFFER_KEY


class Look(msgspec.Struct, frozen=True):
    """Of the memory that is the fullest, buffers take `filled` times what it has. `moving` are the cycles that copies keep the busiest
    memory or its DMA, and `tasks` how many tasks there are of all kinds."""

    filled: float
    moving: int
    tasks: int

    @property
    def fits(self) -> bool:
        return self.filled <= 1.0

    @property
    def rank(self) -> tuple[float, int, int]:
        """Whom to try first is the least: of those that fit, whoever moves less, in fewer tasks."""
        return (0.0 if self.fits else self.filled), self.moving, self.tasks


def look_at(index: ProgramIndex, machine: Machine) -> Look:
    """The look of a program."""
    leaves = [r for name in index.block_names if not index.child_blocks(r := index.realize(name))]
    paths = {leaf: tuple(index.path(leaf)) for leaf in leaves}
    below = Counter(stmt for path in paths.values() for stmt in path)
    tasks = {leaf: _times(stmt for stmt in path if below[stmt] > 1) for leaf, path in paths.items()}
    users: dict[Buffer, list[BlockRealize]] = {}
    for leaf in leaves:
        for region in (*leaf.block.reads, *leaf.block.writes):
            users.setdefault(region.buffer, []).append(leaf)
    held: Counter[str] = Counter()
    for buffer, leaves_of in users.items():
        memory = machine.find_memory(buffer.scope)
        if memory is not None and memory is not machine.far and not index.is_param(buffer):
            held[memory.name] += _footprint(buffer, leaves_of, paths)
    filled = max((size / machine.memory(name).capacity_bytes for name, size in held.items()), default=0.0)
    return Look(filled, _moving(paths, tasks, machine), sum(tasks.values()))


def _moving(paths: Mapping[BlockRealize, Sequence[Stmt]], tasks: Mapping[BlockRealize, int], machine: Machine) -> int:
    """Cycles of copies at the busiest memory, their set-ups among them: an element moves with each iteration."""
    setup = min((e.setup_cycles for e in machine.engines if isinstance(e, DmaEngine)), default=0)
    busy: Counter[str] = Counter()
    for leaf, path in paths.items():
        body = leaf.block.body
        if not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
            continue
        source, target = machine.find_memory(body.value.buffer.scope), machine.find_memory(body.buffer.scope)
        if source is None or target is None or source is target:
            continue
        size = _times(path) * dt.size_bytes(body.buffer.dtype)
        busy[source.name] += size // source.read_bytes_per_cycle + tasks[leaf] * setup
        busy[target.name] += size // target.write_bytes_per_cycle + tasks[leaf] * setup
    return max(busy.values(), default=0)


def _footprint(buffer: Buffer, users: Sequence[BlockRealize], paths: dict[BlockRealize, tuple[Stmt, ...]]) -> int:
    """What is live of a buffer, in all its slots: what is written of it within the loops that all who use it have in common."""
    common = set(paths[users[0]]).intersection(*(paths[user] for user in users[1:]))
    writer = next((user for user in users if any(w.buffer is buffer for w in user.block.writes)), None)
    if writer is None:
        return 0
    block = writer.block
    summed = {v for iv, value in zip(block.iter_vars, writer.iter_values, strict=True) if iv.iter_type != "spatial"
              for v in free_vars(value)}  # fmt: skip
    inside = [s for s in paths[writer] if s not in common and not (isinstance(s, For) and s.loop_var in summed)]
    slots = 2 if any(key == DOUBLE_BUFFER_KEY for key, _ in block.annotations) else 1
    whole = prod(build.int_value(n) or 1 for n in buffer.shape)
    return slots * min(_times(inside), whole) * dt.size_bytes(buffer.dtype)


def _times(path: Iterable[Stmt]) -> int:
    return prod(build.int_value(stmt.extent) or 1 for stmt in path if isinstance(stmt, For))


__all__ = ["Look", "look_at"]
